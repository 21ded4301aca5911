//! A sandboxed process that is kept and asked again and again: an SMT solver behind a pipe.
//!
//! Starting a process costs more than most questions; a session pays that once. Each question has its own
//! deadline, the whole process tree is killed when it passes or when the session is dropped.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Sandbox, Started, Tree, borrowed};
use crate::Error;

/// A running process with which lines are exchanged.
pub struct Session {
    sandbox: Sandbox,
    tree: Tree,
    stdin: OwnedFd,
    stdout: OwnedFd,
    /// Kept open so that the process can write there; never read.
    _others: [OwnedFd; 2],
    buffered: Vec<u8>,
    most_output: usize,
    over: bool,
}

impl Session {
    pub(super) fn new(
        sandbox: Sandbox,
        started: Started,
        most_output: usize,
    ) -> Result<Self, Error> {
        use nix::fcntl::{FcntlArg, OFlag, fcntl};
        let Started { tree, pipes, .. } = started;
        for fd in [&pipes.stdin, &pipes.stdout] {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
                .map_err(|error| system(error.into()))?;
        }
        Ok(Session {
            sandbox,
            tree,
            stdin: pipes.stdin,
            stdout: pipes.stdout,
            _others: [pipes.stderr, pipes.report],
            buffered: Vec::new(),
            most_output,
            over: false,
        })
    }

    /// Sends `text` and waits for one line. `None`: the process ended, said too much, or did not answer in
    /// time; it is gone then, and a new session is needed.
    pub fn ask(&mut self, text: &str, time: Duration) -> Result<Option<String>, Error> {
        if self.over {
            return Ok(None);
        }
        let answer = self.exchange(text.as_bytes(), time);
        if !matches!(answer, Ok(Some(_))) {
            self.over = true;
            self.tree.kill();
        }
        answer
    }

    fn exchange(&mut self, input: &[u8], time: Duration) -> Result<Option<String>, Error> {
        let deadline = Instant::now() + time;
        let mut sent = 0;
        let mut buffer = [0u8; 16 << 10];
        loop {
            if let Some(end) = self.buffered.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffered.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()));
            }
            if self.sandbox.interrupted() {
                return Err(Error::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.buffered.len() > self.most_output {
                return Ok(None);
            }
            let sleep = (left.as_millis() as u64 + 1).min(100) as u16;
            let mut polled = vec![PollFd::new(borrowed(&self.stdout), PollFlags::POLLIN)];
            if sent < input.len() {
                polled.push(PollFd::new(borrowed(&self.stdin), PollFlags::POLLOUT));
            }
            match poll(&mut polled, PollTimeout::from(sleep)) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(system(error.into())),
            }
            let ready: Vec<bool> = polled
                .iter()
                .map(|fd| fd.revents().is_some_and(|events| !events.is_empty()))
                .collect();
            if ready.get(1) == Some(&true) {
                match nix::unistd::write(&self.stdin, &input[sent..]) {
                    Ok(count) => sent += count,
                    Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => {}
                    Err(_) => return Ok(None), // it closed its input: it is gone
                }
            }
            if ready.first() == Some(&true) {
                match nix::unistd::read(&self.stdout, &mut buffer) {
                    Ok(0) => return Ok(None),
                    Ok(count) => self.buffered.extend_from_slice(&buffer[..count]),
                    Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => {}
                    Err(error) => return Err(system(error.into())),
                }
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.tree.kill();
        self.tree.reap();
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("over", &self.over).finish()
    }
}

fn system(source: io::Error) -> Error {
    Error::System {
        doing: "talk to a sandboxed process",
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Job, Limits, Sandbox};

    #[test]
    fn a_session_answers_until_its_process_ends_or_is_too_slow() {
        let sandbox = Sandbox::detect();
        let directory = tempfile::tempdir().unwrap();
        let job = Job::new("cat", directory.path());
        let second = Duration::from_secs(5);
        let mut cat = sandbox.session(&job, &Limits::program()).unwrap();
        assert_eq!(cat.ask("one\n", second).unwrap().as_deref(), Some("one"));
        assert_eq!(cat.ask("two\n", second).unwrap().as_deref(), Some("two"));
        // no newline, no answer: the deadline passes and the process is gone
        assert_eq!(cat.ask("three", Duration::from_millis(50)).unwrap(), None);
        assert_eq!(cat.ask("\n", second).unwrap(), None);
        let job = Job::new("true", directory.path());
        let mut gone = sandbox.session(&job, &Limits::program()).unwrap();
        assert_eq!(gone.ask("anyone?\n", second).unwrap(), None);
    }
}
