//! Moving bytes in and out of a running job under a deadline, with one `poll` loop.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::child::Report;
use super::limits::{Bound, Limits};

pub(super) struct Pipes {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub report: OwnedFd,
}

#[derive(Default)]
pub(super) struct Pumped {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub report: Option<Report>,
    pub exceeded: Option<Bound>,
    pub interrupted: bool,
}

/// A close-on-exec pipe: (read end, write end).
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?)
}

/// How long a poll may sleep before it looks at the interrupt flag again.
const LONGEST_SLEEP_MS: u16 = 100;

/// Runs until the report has come and both outputs are closed. `kill` ends the process tree, after
/// which the pipes close by themselves.
pub(super) fn pump(
    pipes: Pipes,
    input: &[u8],
    limits: &Limits,
    started: Instant,
    kill: impl Fn(),
    interrupted: impl Fn() -> bool,
) -> io::Result<Pumped> {
    let mut state = Pumped::default();
    let mut stdin = Some(pipes.stdin);
    let mut stdout = Some(pipes.stdout);
    let mut stderr = Some(pipes.stderr);
    let mut report = Some(pipes.report);
    if let Some(fd) = &stdin {
        set_nonblocking(fd)?;
    }
    let mut sent = 0;
    let mut killed = false;
    let deadline = started + limits.wall;
    let mut buffer = vec![0u8; 64 << 10];

    while stdout.is_some() || stderr.is_some() || report.is_some() {
        if sent == input.len() {
            stdin = None;
        }
        if !killed {
            if interrupted() {
                state.interrupted = true;
            } else if Instant::now() >= deadline && state.report.is_none() {
                state.exceeded = Some(Bound::Wall);
            }
            if state.interrupted || state.exceeded.is_some() {
                kill();
                killed = true;
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let sleep = (left.as_millis() as u64 + 1).min(u64::from(LONGEST_SLEEP_MS)) as u16;
        let ready = wait(
            [&stdin, &stdout, &stderr, &report],
            PollTimeout::from(sleep),
        )?;
        if ready[0]
            && let Some(fd) = &stdin
        {
            match nix::unistd::write(fd, &input[sent..]) {
                Ok(count) => sent += count,
                Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => {}
                // The program closed its input: not our concern.
                Err(_) => sent = input.len(),
            }
        }
        for (is_ready, fd, kept) in [
            (ready[1], &mut stdout, &mut state.stdout),
            (ready[2], &mut stderr, &mut state.stderr),
        ] {
            if !is_ready {
                continue;
            }
            let Some(open) = fd else { continue };
            let count = read(open, &mut buffer)?;
            if count == 0 {
                *fd = None;
                continue;
            }
            let room = limits.output - kept.len();
            kept.extend_from_slice(&buffer[..count.min(room)]);
            if count > room && state.exceeded.is_none() && !killed {
                state.exceeded = Some(Bound::Output);
            }
        }
        if ready[3]
            && let Some(open) = &report
        {
            let count = read(open, &mut buffer)?;
            // A program that could not start reports so, and then init reports its end: the
            // first record tells.
            if count >= std::mem::size_of::<Report>() && state.report.is_none() {
                // SAFETY: Report is plain integers, the buffer holds a whole record.
                let record = unsafe { std::ptr::read_unaligned(buffer.as_ptr().cast::<Report>()) };
                state.report = Some(record);
            }
            if count == 0 {
                report = None;
            }
        }
    }
    Ok(state)
}

fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(())
}

fn read(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match nix::unistd::read(fd, buffer) {
            Err(nix::errno::Errno::EINTR) => {}
            other => return Ok(other?),
        }
    }
}

/// Which of the four are ready (or closed).
fn wait(fds: [&Option<OwnedFd>; 4], timeout: PollTimeout) -> io::Result<[bool; 4]> {
    let mut polled = Vec::with_capacity(4);
    let mut place = Vec::with_capacity(4);
    for (index, fd) in fds.iter().enumerate() {
        if let Some(fd) = fd {
            let flags = if index == 0 {
                PollFlags::POLLOUT
            } else {
                PollFlags::POLLIN
            };
            polled.push(PollFd::new(super::borrowed(fd), flags));
            place.push(index);
            debug_assert!(fd.as_raw_fd() >= 0);
        }
    }
    match poll(&mut polled, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = [false; 4];
    for (fd, index) in polled.iter().zip(place) {
        ready[index] = fd.revents().is_some_and(|events| !events.is_empty());
    }
    Ok(ready)
}
