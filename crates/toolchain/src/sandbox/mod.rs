//! Running hostile programs: own process tree, own scratch directory, no network, hard bounds.
//!
//! In: a [`Job`] (command, directory, input, environment) and [`Limits`]. Out: a [`Finished`] run.
//! The steps: [`Sandbox::detect`] asks the kernel once what it allows; [`Sandbox::run`] prepares
//! everything, clones (`child.rs` is the new process's side), pumps the pipes under a deadline and
//! reaps. One `poll` loop per run and no helper threads: any number of threads may run jobs at once.

mod capabilities;
mod child;
mod limits;
mod pump;
mod session;

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use capabilities::Capabilities;
pub use child::ChildSetup;
pub use limits::{Bound, Ending, Finished, Limits};
pub use session::Session;

use crate::Error;
use child::{Plan, Report};

/// How far a job is walled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confinement {
    /// Writes only below its directory, no network, cleared environment.
    #[default]
    Full,
    /// Limits and the process tree only. For compiler wrappers that need more (a chroot, ssh).
    Open,
}

/// One command to run.
#[derive(Clone, Debug)]
pub struct Job {
    program: PathBuf,
    arguments: Vec<OsString>,
    directory: PathBuf,
    stdin: Vec<u8>,
    environment: Vec<(OsString, OsString)>,
    writable: Vec<PathBuf>,
    confinement: Confinement,
    no_aslr: bool,
}

impl Job {
    /// `program` (a path, or a name looked up on PATH) run in `directory`, below which it may write.
    pub fn new(program: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Job {
            program: program.into(),
            arguments: Vec::new(),
            directory: directory.into(),
            stdin: Vec::new(),
            environment: Vec::new(),
            writable: Vec::new(),
            confinement: Confinement::Full,
            no_aslr: false,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    pub fn args<I>(mut self, arguments: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Bytes for standard input (empty otherwise).
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets one environment variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Allows writing below `path` too.
    pub fn writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// How far it is walled in.
    pub fn confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// Loads the program at the same addresses every time.
    pub fn without_aslr(mut self) -> Self {
        self.no_aslr = true;
        self
    }

    /// The environment the program will see. [`Confinement::Full`] starts from nothing: PATH, and
    /// HOME and TMPDIR in the job's directory, the C locale.
    fn effective_environment(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = match self.confinement {
            Confinement::Open => std::env::vars_os().collect(),
            Confinement::Full => {
                let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
                vec![
                    ("PATH".into(), path),
                    ("HOME".into(), self.directory.clone().into()),
                ]
            }
        };
        all.push(("TMPDIR".into(), self.directory.clone().into()));
        all.push(("LC_ALL".into(), "C".into()));
        all.extend(self.environment.iter().cloned());
        let mut kept: Vec<(OsString, OsString)> = Vec::new();
        for (name, value) in all {
            kept.retain(|(known, _)| *known != name);
            kept.push((name, value));
        }
        kept
    }
}

/// The sandbox of this process. Cheap to clone and to share between threads.
#[derive(Clone, Debug)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    capabilities: Capabilities,
    /// An empty network namespace that every confined child joins (root only; others get a new one).
    network: Option<Arc<OwnedFd>>,
    interrupted: AtomicBool,
    ids: (u32, u32),
}

impl Sandbox {
    /// Asks the kernel what it allows. Does not fail: what is missing is a weaker sandbox, and
    /// [`Sandbox::capabilities`] says which.
    pub fn detect() -> Self {
        let (capabilities, network) = capabilities::detect();
        // SAFETY: these calls cannot fail and have no preconditions.
        let ids = unsafe { (libc::geteuid(), libc::getegid()) };
        Sandbox {
            inner: Arc::new(Inner {
                capabilities,
                network,
                interrupted: AtomicBool::new(false),
                ids,
            }),
        }
    }

    /// What the kernel allows.
    pub fn capabilities(&self) -> &Capabilities {
        &self.inner.capabilities
    }

    /// Ends all runs under way and refuses new ones (Ctrl-C). Async-signal-safe.
    pub fn interrupt(&self) {
        self.inner.interrupted.store(true, Ordering::SeqCst);
    }

    /// Whether [`Sandbox::interrupt`] was called.
    pub fn interrupted(&self) -> bool {
        self.inner.interrupted.load(Ordering::SeqCst)
    }

    /// The restrictions of a confined child, for callers that start it themselves (the tracer).
    pub fn child_setup(
        &self,
        directory: &Path,
        limits: &Limits,
        no_aslr: bool,
    ) -> Result<ChildSetup, Error> {
        let job = Job::new("", directory);
        self.setup(&job, limits, no_aslr)
    }

    fn setup(&self, job: &Job, limits: &Limits, no_aslr: bool) -> Result<ChildSetup, Error> {
        let full = job.confinement == Confinement::Full;
        let landlock = if full && self.inner.capabilities.landlock.is_some() {
            capabilities::write_only_below(&job.directory, &job.writable)?
        } else {
            None
        };
        Ok(ChildSetup {
            limits: limits.clone(),
            no_aslr,
            landlock,
            network: if full {
                self.inner.network.clone()
            } else {
                None
            },
        })
    }

    /// Runs `job` to its end or to the first bound it meets.
    pub fn run(&self, job: &Job, limits: &Limits) -> Result<Finished, Error> {
        let Started {
            tree,
            pipes,
            at,
            program,
        } = self.start(job, limits)?;
        let result = pump::pump(
            pipes,
            &job.stdin,
            limits,
            at,
            || tree.kill(),
            || self.interrupted(),
        );
        let usage = tree.reap();
        let mut pumped = result.map_err(system)?;
        if pumped.interrupted {
            return Err(Error::Interrupted);
        }
        // A tree that was killed could not report; what it used is known all the same.
        pumped.report.get_or_insert(usage);
        conclude(pumped, limits, at.elapsed(), &program)
    }

    /// Starts `job` and keeps it, to be asked and answered line by line. Its `stdin` bytes are not sent.
    pub fn session(&self, job: &Job, limits: &Limits) -> Result<Session, Error> {
        let started = self.start(job, limits)?;
        Session::new(self.clone(), started, limits.output)
    }

    /// Prepares everything and clones.
    fn start(&self, job: &Job, limits: &Limits) -> Result<Started, Error> {
        if self.interrupted() {
            return Err(Error::Interrupted);
        }
        let program = resolve(&job.program)?;
        let setup = self.setup(job, limits, job.no_aslr)?;
        let strings = Strings::new(&program, job)?;
        let directory = c_string(job.directory.as_os_str())?;
        let (stdin_read, stdin_write) = pump::pipe().map_err(system)?;
        let (stdout_read, stdout_write) = pump::pipe().map_err(system)?;
        let (stderr_read, stderr_write) = pump::pipe().map_err(system)?;
        let (report_read, report_write) = pump::pipe().map_err(system)?;

        let capabilities = &self.inner.capabilities;
        let own_pids = capabilities.pid_namespace;
        let full = job.confinement == Confinement::Full;
        let mut flags = libc::SIGCHLD;
        if own_pids {
            flags |= libc::CLONE_NEWPID | libc::CLONE_NEWNS;
        }
        let mut maps = None;
        if self.inner.ids.0 != 0 && own_pids {
            flags |= libc::CLONE_NEWUSER;
            let (uid, gid) = self.inner.ids;
            maps = Some((format!("{uid} {uid} 1"), format!("{gid} {gid} 1")));
            if full && capabilities.network_namespace {
                flags |= libc::CLONE_NEWNET;
            }
        }
        let plan = Plan {
            program: &strings.program,
            argv: &strings.argv,
            envp: &strings.envp,
            directory: &directory,
            stdin: stdin_read.as_raw_fd(),
            stdout: stdout_write.as_raw_fd(),
            stderr: stderr_write.as_raw_fd(),
            report: report_write.as_raw_fd(),
            setup: &setup,
            own_pids,
            id_maps: maps
                .as_ref()
                .map(|(uid, gid)| (uid.as_bytes(), gid.as_bytes())),
        };
        let started = Instant::now();
        // SAFETY: without CLONE_VM the child has its own copy of everything and runs only `init`,
        // which keeps to system calls.
        let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } as libc::pid_t;
        match pid {
            -1 => return Err(system(io::Error::last_os_error())),
            // SAFETY: this is the new process.
            0 => unsafe { child::init(&plan) },
            _ => {}
        }
        let tree = Tree { pid, own_pids };
        drop((stdin_read, stdout_write, stderr_write, report_write));
        Ok(Started {
            tree,
            pipes: pump::Pipes {
                stdin: stdin_write,
                stdout: stdout_read,
                stderr: stderr_read,
                report: report_read,
            },
            at: started,
            program,
        })
    }
}

fn system(source: io::Error) -> Error {
    Error::System {
        doing: "start a sandboxed process",
        source,
    }
}

/// A process tree that runs, with our ends of its pipes.
struct Started {
    tree: Tree,
    pipes: pump::Pipes,
    at: Instant,
    program: PathBuf,
}

/// The process tree of a run, from outside.
struct Tree {
    pid: libc::pid_t,
    own_pids: bool,
}

impl Tree {
    fn kill(&self) {
        // Killing the first process of a PID namespace kills the namespace. Without one, init leads
        // a session and group of its own.
        let target = if self.own_pids { self.pid } else { -self.pid };
        // SAFETY: a child of ours that is not reaped yet, so the number is not reused.
        unsafe {
            libc::kill(target, libc::SIGKILL);
            libc::kill(self.pid, libc::SIGKILL);
        }
    }

    /// Waits for init; with a PID namespace this returns when every process in it is gone. What init
    /// and all it reaped used comes back as a report without an ending.
    fn reap(&self) -> Report {
        let mut status = 0;
        // SAFETY: as above; plain data, filled in by the kernel.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        while unsafe { libc::wait4(self.pid, &mut status, 0, &mut usage) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        Report::used(&usage)
    }
}

fn conclude(
    pumped: pump::Pumped,
    limits: &Limits,
    wall: Duration,
    program: &Path,
) -> Result<Finished, Error> {
    let report = pumped.report.unwrap_or_default();
    let cpu = Duration::from_micros(report.cpu_micros);
    let ending = match (pumped.exceeded, report) {
        (Some(bound), _) => Ending::Exceeded(bound),
        (
            None,
            Report {
                kind: child::NOT_STARTED,
                value,
                ..
            },
        ) => {
            return Err(Error::NotStarted {
                program: program.to_owned(),
                source: io::Error::from_raw_os_error(value),
            });
        }
        (
            None,
            Report {
                kind: child::TOO_MANY_PROCESSES,
                ..
            },
        ) => Ending::Exceeded(Bound::Processes),
        (
            None,
            Report {
                kind: child::ENDED,
                value,
                ..
            },
        ) => {
            if libc::WIFEXITED(value) {
                Ending::Exited(libc::WEXITSTATUS(value))
            } else {
                match libc::WTERMSIG(value) {
                    libc::SIGXCPU => Ending::Exceeded(Bound::Cpu),
                    libc::SIGKILL if cpu >= limits.cpu => Ending::Exceeded(Bound::Cpu),
                    libc::SIGXFSZ => Ending::Exceeded(Bound::FileSize),
                    signal => Ending::Signalled(signal),
                }
            }
        }
        // init itself was killed from outside (the kernel's out-of-memory killer).
        (None, _) => Ending::Signalled(libc::SIGKILL),
    };
    Ok(Finished {
        ending,
        stdout: pumped.stdout,
        stderr: pumped.stderr,
        cpu,
        wall,
        peak_memory: report.peak_kib * 1024,
    })
}

/// C strings for `execve`, kept alive together with the arrays that point into them.
struct Strings {
    program: CString,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    _owned: Vec<CString>,
}

impl Strings {
    fn new(program: &Path, job: &Job) -> Result<Self, Error> {
        let program_string = c_string(program.as_os_str())?;
        let mut owned = vec![c_string(job.program.as_os_str())?];
        for argument in &job.arguments {
            owned.push(c_string(argument)?);
        }
        let arguments = owned.len();
        for (name, value) in job.effective_environment() {
            let mut entry = name;
            entry.push("=");
            entry.push(value);
            owned.push(c_string(&entry)?);
        }
        let pointers = |part: &[CString]| {
            part.iter()
                .map(|text| text.as_ptr())
                .chain([std::ptr::null()])
                .collect()
        };
        let (argv, envp) = owned.split_at(arguments);
        Ok(Strings {
            program: program_string,
            argv: pointers(argv),
            envp: pointers(envp),
            _owned: owned,
        })
    }
}

fn c_string(text: &OsStr) -> Result<CString, Error> {
    CString::new(text.as_bytes()).map_err(|_| Error::NulInArgument {
        text: text.to_string_lossy().into_owned(),
    })
}

/// A path as it is; a bare name from PATH.
fn resolve(program: &Path) -> Result<PathBuf, Error> {
    if program.as_os_str().as_bytes().contains(&b'/') {
        return Ok(program.to_owned());
    }
    find_on_path(program.as_os_str()).ok_or_else(|| Error::NotOnPath {
        program: program.to_string_lossy().into_owned(),
    })
}

/// Looks `name` up on PATH.
pub fn find_on_path(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name.as_ref()))
        .find(|candidate| {
            std::fs::metadata(candidate)
                .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        })
}

/// Borrow helper shared by the submodules.
fn borrowed(fd: &OwnedFd) -> std::os::fd::BorrowedFd<'_> {
    fd.as_fd()
}
