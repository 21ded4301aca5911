//! What happens between `clone` and `execve`, in the new process.
//!
//! candor is multi-threaded, and another thread may hold the allocator's lock at the moment of the
//! clone. So nothing here allocates, locks or panics: system calls on data prepared before, and
//! `_exit`. Two processes come to be: *init*, the first of its own PID namespace, which waits,
//! counts processes and reports; and the *program*. When init ends, for whatever reason, the kernel
//! kills everything in the namespace, however often it forked or left its process group.

use std::ffi::CStr;
use std::os::fd::RawFd;

use super::limits::Limits;

/// What init writes to the report pipe. Plain numbers, one atomic write.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Report {
    pub kind: i32,
    /// wait status, errno, or nothing
    pub value: i32,
    pub cpu_micros: u64,
    pub peak_kib: u64,
}

impl Report {
    /// What was used, without an ending.
    pub(super) fn used(usage: &libc::rusage) -> Self {
        Report {
            cpu_micros: micros(usage.ru_utime) + micros(usage.ru_stime),
            peak_kib: usage.ru_maxrss as u64,
            ..Report::default()
        }
    }
}

pub(super) const ENDED: i32 = 1;
pub(super) const NOT_STARTED: i32 = 2;
pub(super) const TOO_MANY_PROCESSES: i32 = 3;

/// Restrictions a child puts on itself just before `execve`. Also used by the tracer, whose tracees
/// are its own direct children.
#[derive(Debug)]
pub struct ChildSetup {
    pub(super) limits: Limits,
    pub(super) no_aslr: bool,
    pub(super) landlock: Option<std::os::fd::OwnedFd>,
    pub(super) network: Option<std::sync::Arc<std::os::fd::OwnedFd>>,
}

fn last_errno() -> i32 {
    // SAFETY: returns a pointer to this thread's errno, always valid.
    unsafe { *libc::__errno_location() }
}

impl ChildSetup {
    /// Applies limits, network and file-system confinement to the calling process.
    ///
    /// # Safety
    /// Only for a process that has just been forked and is about to `execve`: signal dispositions
    /// and the namespace of the caller change. Async-signal-safe: no allocation, no locks.
    pub unsafe fn apply(&self) -> std::io::Result<()> {
        use std::os::fd::AsRawFd;
        let check = |code: libc::c_int| {
            if code == -1 {
                Err(std::io::Error::from_raw_os_error(last_errno()))
            } else {
                Ok(())
            }
        };
        // SAFETY (whole block): plain system calls on values owned by `self`.
        unsafe {
            // Rust programs ignore SIGPIPE and worker threads may block signals; programs expect neither.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());

            let set = |what, soft: u64, hard: u64| {
                // Inside another sandbox (cvise asks candor) the limits that hold already cannot be raised.
                let mut held: libc::rlimit = std::mem::zeroed();
                check(libc::getrlimit(what, &mut held))?;
                let limit = libc::rlimit {
                    rlim_cur: soft.min(held.rlim_max),
                    rlim_max: hard.min(held.rlim_max),
                };
                check(libc::setrlimit(what, &limit))
            };
            // A hard limit one second above: SIGXCPU tells the CPU limit from other kills.
            let cpu = self.limits.cpu.as_secs() + u64::from(self.limits.cpu.subsec_nanos() > 0);
            set(libc::RLIMIT_CPU, cpu, cpu + 1)?;
            set(libc::RLIMIT_CORE, 0, 0)?;
            set(
                libc::RLIMIT_FSIZE,
                self.limits.file_size,
                self.limits.file_size,
            )?;
            let processes = u64::from(self.limits.processes);
            set(libc::RLIMIT_NPROC, processes, processes)?;
            if let Some(memory) = self.limits.memory {
                set(libc::RLIMIT_AS, memory, memory)?;
            }
            if let Some(network) = &self.network {
                check(libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET))?;
            }
            if self.no_aslr {
                check(libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong))?;
            }
            if let Some(ruleset) = &self.landlock {
                check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
                check(
                    libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0)
                        as libc::c_int,
                )?;
            }
        }
        Ok(())
    }
}

/// All that the two new processes need, prepared before the clone.
pub(super) struct Plan<'a> {
    pub program: &'a CStr,
    pub argv: &'a [*const libc::c_char],
    pub envp: &'a [*const libc::c_char],
    pub directory: &'a CStr,
    pub stdin: RawFd,
    pub stdout: RawFd,
    pub stderr: RawFd,
    pub report: RawFd,
    pub setup: &'a ChildSetup,
    /// In a PID namespace of our own: mount our own /proc, and count processes there.
    pub own_pids: bool,
    /// Content for /proc/self/uid_map and gid_map when a user namespace came along.
    pub id_maps: Option<(&'a [u8], &'a [u8])>,
}

/// Body of init. Never returns.
///
/// # Safety
/// Only in a freshly cloned process; see the module documentation.
pub(super) unsafe fn init(plan: &Plan<'_>) -> ! {
    // SAFETY (whole function): system calls on prepared data in a process of our own.
    unsafe {
        // If candor dies, so does init, and with it the namespace.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        libc::setsid();
        if let Some((uid_map, gid_map)) = plan.id_maps {
            write_file(c"/proc/self/setgroups", b"deny");
            if !write_file(c"/proc/self/uid_map", uid_map)
                || !write_file(c"/proc/self/gid_map", gid_map)
            {
                give_up(plan, last_errno());
            }
        }
        let mut counting = false;
        if plan.own_pids {
            // Tools that look at /proc/<pid> must see their own numbers. Failure (some containers
            // forbid it) only costs them that, and us the counting below.
            let none = std::ptr::null::<libc::c_char>();
            let private = libc::MS_REC | libc::MS_PRIVATE;
            counting = libc::mount(none, c"/".as_ptr(), none, private, std::ptr::null()) == 0
                && libc::mount(
                    c"proc".as_ptr(),
                    c"/proc".as_ptr(),
                    c"proc".as_ptr(),
                    libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
                    std::ptr::null(),
                ) == 0;
        } else {
            // Orphans come to us, so that they can be killed by their group or by us.
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        }
        // Have SIGCHLD queue up instead of interrupting, for sigtimedwait below.
        let mut child_set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut child_set);
        libc::sigaddset(&mut child_set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_SETMASK, &child_set, std::ptr::null_mut());

        let program = raw_fork();
        if program == -1 {
            give_up(plan, last_errno());
        }
        if program == 0 {
            start(plan);
        }
        // The clone copied every descriptor of candor, pipes of other runs among them, whose readers
        // would wait for us. Keep the report pipe alone; the program's copies close on exec.
        if plan.report > 0 {
            libc::syscall(libc::SYS_close_range, 0, plan.report - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, plan.report + 1, libc::c_int::MAX, 0);

        // RLIMIT_NPROC does not bind root. A fork bomb would starve init, so that counting comes too
        // late; a real-time priority (refused to ordinary users, whom the limit binds) prevents that.
        let priority = libc::sched_param { sched_priority: 1 };
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority);
        let tick = libc::timespec {
            tv_sec: 0,
            tv_nsec: 5_000_000,
        };
        loop {
            let mut status = 0;
            let mut usage: libc::rusage = std::mem::zeroed();
            let ended = libc::wait4(-1, &mut status, libc::WNOHANG, &mut usage);
            if ended == program {
                send(
                    plan,
                    Report {
                        kind: ENDED,
                        value: status,
                        ..Report::used(&usage)
                    },
                );
                finish(plan);
            }
            if ended > 0 {
                continue;
            }
            let signal = libc::sigtimedwait(&child_set, std::ptr::null_mut(), &tick);
            if signal == -1 && counting {
                let alive = count_processes();
                // init itself is one of them
                if alive > plan.setup.limits.processes as usize + 1 {
                    send(
                        plan,
                        Report {
                            kind: TOO_MANY_PROCESSES,
                            ..Report::default()
                        },
                    );
                    finish(plan);
                }
            }
        }
    }
}

/// The program's side of the fork: redirections, confinement, `execve`.
unsafe fn start(plan: &Plan<'_>) -> ! {
    // SAFETY: as for init.
    unsafe {
        if libc::dup2(plan.stdin, 0) == -1
            || libc::dup2(plan.stdout, 1) == -1
            || libc::dup2(plan.stderr, 2) == -1
            || libc::chdir(plan.directory.as_ptr()) == -1
        {
            give_up(plan, last_errno());
        }
        if let Err(error) = plan.setup.apply() {
            give_up(plan, error.raw_os_error().unwrap_or(libc::EIO));
        }
        libc::execve(
            plan.program.as_ptr(),
            plan.argv.as_ptr(),
            plan.envp.as_ptr(),
        );
        give_up(plan, last_errno());
    }
}

unsafe fn raw_fork() -> libc::pid_t {
    // SAFETY: clone without CLONE_VM and without a stack is fork. The libc wrapper is avoided: it
    // runs handlers that take locks.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t }
}

unsafe fn give_up(plan: &Plan<'_>, errno: i32) -> ! {
    // SAFETY: as for init.
    unsafe {
        send(
            plan,
            Report {
                kind: NOT_STARTED,
                value: errno,
                ..Report::default()
            },
        );
        libc::_exit(127)
    }
}

unsafe fn send(plan: &Plan<'_>, report: Report) {
    // SAFETY: a plain struct of integers, smaller than PIPE_BUF.
    unsafe {
        libc::write(
            plan.report,
            (&raw const report).cast(),
            std::mem::size_of::<Report>(),
        );
    }
}

unsafe fn finish(plan: &Plan<'_>) -> ! {
    // SAFETY: as for init.
    unsafe {
        if !plan.own_pids {
            // Without a PID namespace the process group, ours too, is all that can be named.
            libc::kill(0, libc::SIGKILL);
        }
        libc::_exit(0)
    }
}

unsafe fn write_file(path: &CStr, content: &[u8]) -> bool {
    // SAFETY: as for init.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file == -1 {
            return false;
        }
        let written = libc::write(file, content.as_ptr().cast(), content.len());
        libc::close(file);
        written == content.len() as isize
    }
}

fn micros(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64
}

/// Numeric entries of /proc, by `getdents64` into a buffer on the stack.
unsafe fn count_processes() -> usize {
    const HEADER: usize = 19; // ino 8, off 8, reclen 2, type 1
    let mut buffer = [0u8; 8192];
    let mut count = 0;
    // SAFETY: as for init; offsets are checked against what the kernel filled in.
    unsafe {
        let directory = libc::open(
            c"/proc".as_ptr(),
            libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC,
        );
        if directory == -1 {
            return 0;
        }
        loop {
            let filled = libc::syscall(
                libc::SYS_getdents64,
                directory,
                buffer.as_mut_ptr(),
                buffer.len(),
            );
            if filled <= 0 {
                break;
            }
            let mut at = 0usize;
            while at + HEADER < filled as usize {
                let length = u16::from_le_bytes([buffer[at + 16], buffer[at + 17]]) as usize;
                if buffer[at + HEADER].is_ascii_digit() {
                    count += 1;
                }
                if length == 0 {
                    break;
                }
                at += length;
            }
        }
        libc::close(directory);
    }
    count
}
