//! A traced program: started, waited for, resumed, killed and reaped.
//!
//! ptrace ties a traced program to the thread that started it, so a [`Tracee`] is not `Send`; any number of
//! them may live in different threads. Each program leads its own session and process group, and all waiting
//! is for that group and by this thread alone: concurrent tracees never take each other's events.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;

use candor_toolchain::Sandbox;

use crate::error::{Error, Result};
use crate::launch::{Launch, is_randomised, read_back};
use crate::memory::Memory;
use crate::watchdog::{Fired, Watchdog};

/// Why a traced program came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// This signal is about to be delivered (a breakpoint shows as SIGTRAP).
    Signal(i32),
    /// It made a process.
    Forked,
    /// It made a thread.
    Threaded,
    /// It replaced itself by another program.
    Executed,
    /// It ended with this code.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
}

/// A program under trace. Dropping it kills it and everything it started.
pub(crate) struct Tracee {
    pid: libc::pid_t,
    program: PathBuf,
    pub(crate) memory: Memory,
    stdout: Option<File>,
    stderr: Option<File>,
    output_limit: u64,
    randomised: bool,
    lifetime: Lifetime,
    _on_this_thread: PhantomData<*const ()>,
}

impl Tracee {
    /// Starts the program; it rests before its first instruction (the dynamic linker's, if it has one).
    pub(crate) fn start(launch: &Launch, sandbox: &Sandbox) -> Result<Self> {
        let started = launch.start(sandbox)?;
        let pid = started.pid;
        // From here on every early return kills and reaps.
        let mut lifetime = Lifetime {
            pid,
            watchdog: None,
            over: false,
        };
        let prepare = |what| move |source| Error::Prepare { what, source };
        let sandbox = sandbox.clone();
        lifetime.watchdog = Some(
            Watchdog::arm(
                launch.limits.wall,
                move || sandbox.interrupted(),
                move || kill_group(pid),
            )
            .map_err(prepare("a thread that watches the time"))?,
        );
        match lifetime.wait()? {
            Event::Signal(libc::SIGTRAP) => {}
            other => {
                return Err(Error::NoFirstStop {
                    program: started.program,
                    met: format!("{other:?} came first"),
                });
            }
        }
        let options = libc::PTRACE_O_EXITKILL
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC;
        // SAFETY: PTRACE_SETOPTIONS takes its argument by value.
        request(pid, "PTRACE_SETOPTIONS", || unsafe {
            libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options as libc::c_long)
        })?;
        let memory = Memory::open(pid).map_err(|source| Error::Ptrace {
            request: "open /proc/PID/mem",
            pid,
            source,
        })?;
        Ok(Tracee {
            pid,
            program: started.program,
            memory,
            stdout: started.stdout,
            stderr: started.stderr,
            output_limit: launch.limits.output as u64,
            randomised: is_randomised(pid),
            lifetime,
            _on_this_thread: PhantomData,
        })
    }

    pub(crate) fn program(&self) -> &PathBuf {
        &self.program
    }

    pub(crate) fn is_randomised(&self) -> bool {
        self.randomised
    }

    /// The program's entry point as loaded (AT_ENTRY of the auxiliary vector).
    pub(crate) fn loaded_entry(&self) -> Result<u64> {
        let failed = |source| Error::Ptrace {
            request: "read /proc/PID/auxv",
            pid: self.pid,
            source,
        };
        let auxv = std::fs::read(format!("/proc/{}/auxv", self.pid)).map_err(failed)?;
        let (pairs, _) = auxv.as_chunks::<16>();
        pairs
            .iter()
            .map(|pair| u128::from_le_bytes(*pair))
            .find(|pair| *pair as u64 == libc::AT_ENTRY)
            .map(|pair| (pair >> 64) as u64)
            .ok_or_else(|| failed(io::Error::other("it has no AT_ENTRY")))
    }

    /// Waits until the program rests or ends.
    pub(crate) fn wait(&mut self) -> Result<Event> {
        let event = self.lifetime.wait()?;
        self.memory.next_stop();
        Ok(event)
    }

    /// Lets the program run on, delivering `signal` (0: none). A program that is gone is no error: the next
    /// [`wait`](Self::wait) says how it ended.
    pub(crate) fn resume(&mut self, signal: i32) -> Result<()> {
        self.go(libc::PTRACE_CONT, "PTRACE_CONT", signal)
    }

    /// Like [`resume`](Self::resume) for one instruction.
    pub(crate) fn step(&mut self, signal: i32) -> Result<()> {
        self.go(libc::PTRACE_SINGLESTEP, "PTRACE_SINGLESTEP", signal)
    }

    fn go(&mut self, how: libc::c_uint, name: &'static str, signal: i32) -> Result<()> {
        // SAFETY: both requests take their argument by value.
        request(self.pid, name, || unsafe {
            libc::ptrace(how, self.pid, 0, libc::c_long::from(signal))
        })
        .map(drop)
    }

    /// The general registers, or `None` if the program is gone.
    pub(crate) fn registers(&self) -> Result<Option<libc::user_regs_struct>> {
        // SAFETY: all-zero bytes are a value of this plain C structure, which the kernel fills.
        unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            let there = request(self.pid, "PTRACE_GETREGS", || {
                libc::ptrace(libc::PTRACE_GETREGS, self.pid, 0, &raw mut registers)
            })?;
            Ok(there.then_some(registers))
        }
    }

    /// The floating point and vector registers, or `None` if they cannot be had.
    pub(crate) fn vector_registers(&self) -> Option<libc::user_fpregs_struct> {
        // SAFETY: as for `registers`.
        unsafe {
            let mut registers: libc::user_fpregs_struct = std::mem::zeroed();
            request(self.pid, "PTRACE_GETFPREGS", || {
                libc::ptrace(libc::PTRACE_GETFPREGS, self.pid, 0, &raw mut registers)
            })
            .ok()?
            .then_some(registers)
        }
    }

    /// Replaces the general registers; false if the program is gone.
    pub(crate) fn set_registers(&mut self, registers: &libc::user_regs_struct) -> Result<bool> {
        // SAFETY: the kernel reads one such structure from the pointer.
        request(self.pid, "PTRACE_SETREGS", || unsafe {
            libc::ptrace(
                libc::PTRACE_SETREGS,
                self.pid,
                0,
                std::ptr::from_ref(registers),
            )
        })
    }

    /// Sets a breakpoint.
    pub(crate) fn insert_breakpoint(&mut self, address: u64) -> Result<()> {
        let inserted = self.memory.insert(address);
        self.breakpoint(address, inserted)
    }

    /// Takes a breakpoint away.
    pub(crate) fn remove_breakpoint(&mut self, address: u64) -> Result<()> {
        let removed = self.memory.remove(address);
        self.breakpoint(address, removed)
    }

    fn breakpoint(&self, address: u64, done: io::Result<()>) -> Result<()> {
        match done {
            Ok(()) => Ok(()),
            // Killed while it rested: its memory is gone, and the next wait says so.
            Err(_) if self.registers()?.is_none() => Ok(()),
            Err(source) => Err(Error::Breakpoint {
                program: self.program.clone(),
                address,
                source,
            }),
        }
    }

    /// Kills what is left of the program and reaps it; says whether the watchdog had to.
    pub(crate) fn finish(&mut self) -> Option<Fired> {
        self.lifetime.end()
    }

    /// Captured standard output and standard error.
    pub(crate) fn output(&mut self) -> Result<(Vec<u8>, Vec<u8>)> {
        Ok((
            read_back(self.stdout.as_mut(), self.output_limit)?,
            read_back(self.stderr.as_mut(), self.output_limit)?,
        ))
    }
}

/// The duty to kill and reap, apart from [`Tracee`] so that it is in force while one is being made.
struct Lifetime {
    pid: libc::pid_t,
    watchdog: Option<Watchdog>,
    over: bool,
}

impl Lifetime {
    /// Waits for the group without taking the event away: a stop is over once the program is resumed, and
    /// an ended leader stays a zombie until [`end`](Self::end), so that its number is not reused.
    fn wait(&self) -> Result<Event> {
        let how = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL | libc::__WNOTHREAD;
        let info = wait_group(self.pid, how).map_err(|source| Error::Ptrace {
            request: "waitid",
            pid: self.pid,
            source,
        })?;
        // SAFETY: waitid fills in these fields for every child event.
        let (who, status) = unsafe { (info.si_pid(), info.si_status()) };
        if who != self.pid {
            let is_thread =
                std::path::Path::new(&format!("/proc/{}/task/{who}", self.pid)).exists();
            return Ok(if is_thread {
                Event::Threaded
            } else {
                Event::Forked
            });
        }
        Ok(match info.si_code {
            libc::CLD_EXITED => Event::Exited(status),
            libc::CLD_KILLED | libc::CLD_DUMPED => Event::Killed(status),
            _ => match status >> 8 {
                libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => Event::Forked,
                libc::PTRACE_EVENT_CLONE => Event::Threaded,
                libc::PTRACE_EVENT_EXEC => Event::Executed,
                _ => Event::Signal(status & 0x7f),
            },
        })
    }

    fn end(&mut self) -> Option<Fired> {
        if self.over {
            return None;
        }
        self.over = true;
        kill_group(self.pid);
        let fired = self.watchdog.as_mut().and_then(Watchdog::disarm);
        // Threads and children are traced by us as well and hold back the end of their leader.
        while wait_group(self.pid, libc::WEXITED | libc::__WALL | libc::__WNOTHREAD).is_ok() {}
        fired
    }
}

impl Drop for Lifetime {
    fn drop(&mut self) {
        self.end();
    }
}

fn kill_group(leader: libc::pid_t) {
    // SAFETY: no memory is involved. The group exists: its leader is not reaped yet.
    unsafe {
        libc::kill(-leader, libc::SIGKILL);
        // A child that has not come to its setsid() is not a group yet.
        libc::kill(leader, libc::SIGKILL);
    }
}

fn wait_group(leader: libc::pid_t, how: libc::c_int) -> io::Result<libc::siginfo_t> {
    loop {
        // SAFETY: all-zero bytes are a value of this plain C structure, which the kernel fills.
        let (result, info) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let result = libc::waitid(libc::P_PGID, leader as libc::id_t, &raw mut info, how);
            (result, info)
        };
        if result == 0 {
            return Ok(info);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Makes a ptrace request; `Ok(false)` means that the program is gone (killed while it rested).
fn request(
    pid: libc::pid_t,
    request: &'static str,
    call: impl FnOnce() -> libc::c_long,
) -> Result<bool> {
    if call() != -1 {
        return Ok(true);
    }
    let source = io::Error::last_os_error();
    if source.raw_os_error() == Some(libc::ESRCH) {
        return Ok(false);
    }
    Err(Error::Ptrace {
        request,
        pid,
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tracee(program: &str, arguments: &[&str], limit: Duration) -> Tracee {
        let mut launch = Launch::new(program, std::env::temp_dir());
        launch.arguments = arguments.iter().map(Into::into).collect();
        launch.limits.wall = limit;
        Tracee::start(&launch, &Sandbox::detect()).unwrap()
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_program_is_loaded_resumed_and_reaped() {
        let mut tracee = tracee("/bin/sh", &["-c", "exit 5"], LONG);
        assert!(!tracee.is_randomised());
        assert!(tracee.registers().unwrap().is_some());
        let entry = tracee.loaded_entry().unwrap();
        assert!(tracee.memory.word(entry).is_some(), "the program is mapped");
        tracee.resume(0).unwrap();
        assert_eq!(tracee.wait().unwrap(), Event::Exited(5));
        assert_eq!(tracee.finish(), None);
        assert!(!std::path::Path::new(&format!("/proc/{}", tracee.pid)).exists());
    }

    #[test]
    fn a_sleeper_is_killed_in_time() {
        let mut tracee = tracee("/bin/sleep", &["60"], Duration::from_millis(100));
        tracee.resume(0).unwrap();
        assert_eq!(tracee.wait().unwrap(), Event::Killed(libc::SIGKILL));
        assert!(tracee.registers().unwrap().is_none(), "gone, and no error");
        assert_eq!(tracee.finish(), Some(Fired::TimedOut));
    }

    #[test]
    fn children_are_known_and_end_with_their_parent() {
        let mut tracee = tracee("/bin/sh", &["-c", "sleep 60 & wait"], LONG);
        tracee.resume(0).unwrap();
        assert_eq!(tracee.wait().unwrap(), Event::Forked);
        tracee.finish();
        // An orphan that is dead but not yet collected by the system's first process does no harm.
        let alive = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter(|entry| {
                let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                let fields: Vec<_> = stat
                    .rsplit(')')
                    .next()
                    .unwrap_or("")
                    .split_whitespace()
                    .collect();
                fields.get(2) == Some(&tracee.pid.to_string().as_str()) && fields[0] != "Z"
            });
        assert_eq!(alive.count(), 0, "the group is gone");
    }

    #[test]
    fn what_cannot_be_executed_is_an_error() {
        let launch = Launch::new("/etc/passwd", std::env::temp_dir());
        assert!(matches!(
            Tracee::start(&launch, &Sandbox::detect()),
            Err(Error::Start { .. })
        ));
    }
}
