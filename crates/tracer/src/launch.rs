//! How a program under test is started: its arguments, input, environment and limits.
//!
//! Everything that could make two builds of one program behave differently is pinned: the environment is
//! replaced (its size moves the stack), address randomisation is off, the session is its own (no terminal,
//! no stray signals), input comes from memory and output goes to memory or nowhere.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candor_toolchain::{Limits, Sandbox};

use crate::error::{Error, Result};

/// What the program reads from its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Nothing: `/dev/null`.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// What becomes of an output stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// It goes to `/dev/null`.
    #[default]
    Discard,
    /// It is kept, up to [`Limits::output`].
    Capture,
}

/// A program and the circumstances it is run in.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The executable. Its path is `argv[0]`, as in a debugger; since the path lies on the stack, builds to
    /// be compared should have paths of one length.
    pub program: PathBuf,
    /// `argv[1..]`.
    pub arguments: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs, and the only folder it may write to.
    pub directory: PathBuf,
    /// Standard input.
    pub input: Input,
    /// Standard output.
    pub stdout: Sink,
    /// Standard error.
    pub stderr: Sink,
    /// What it may use up.
    pub limits: Limits,
}

impl Launch {
    /// `program` run in `directory` without arguments, input or environment, its output discarded, under the
    /// limits for generated programs.
    pub fn new(program: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Launch {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: directory.into(),
            input: Input::Empty,
            stdout: Sink::Discard,
            stderr: Sink::Discard,
            limits: Limits::program(),
        }
    }

    /// Starts the program stopped right after `execve`, traced by the calling thread.
    pub(crate) fn start(&self, sandbox: &Sandbox) -> Result<Started> {
        // A path with a slash is never looked up in PATH, and gdb shows the same argv[0].
        let program = std::fs::canonicalize(&self.program).map_err(|source| Error::Start {
            program: self.program.clone(),
            source,
        })?;
        let stdin = match &self.input {
            Input::Empty => Stdio::null(),
            Input::Bytes(bytes) => Stdio::from(memory_file_with(bytes)?),
        };
        let (stdout, kept_stdout) = sink(self.stdout)?;
        let (stderr, kept_stderr) = sink(self.stderr)?;
        let mut command = Command::new(&program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(k, v)| (k, v)))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr);
        command.current_dir(&self.directory);
        let setup = sandbox.child_setup(&self.directory, &self.child_limits(), false)?;
        // SAFETY: the closure runs between fork and exec and makes system calls only.
        unsafe {
            command.pre_exec(move || setup.apply().and_then(|()| become_tracee()));
        }
        let child = command.spawn().map_err(|source| Error::Start {
            program: program.clone(),
            source,
        })?;
        Ok(Started {
            pid: child.id() as libc::pid_t,
            program,
            stdout: kept_stdout,
            stderr: kept_stderr,
        })
    }

    /// The limits as the child gets them.
    fn child_limits(&self) -> Limits {
        let mut limits = self.limits.clone();
        if Sink::Capture == self.stdout || Sink::Capture == self.stderr {
            limits.file_size = limits.file_size.min(limits.output as u64);
        }
        // The system counts all processes of the user here: a small number would make `fork` fail in the
        // program where ptrace would have us report it. Descendants are caught by ptrace.
        limits.processes = limits.processes.max(1 << 14);
        limits
    }
}

/// A child that was just started.
pub(crate) struct Started {
    pub(crate) pid: libc::pid_t,
    pub(crate) program: PathBuf,
    pub(crate) stdout: Option<File>,
    pub(crate) stderr: Option<File>,
}

/// The last steps of the child before `execve`: a session of its own, fixed addresses, a tracer.
fn become_tracee() -> io::Result<()> {
    // SAFETY: system calls without pointers; PTRACE_TRACEME ignores its other arguments.
    unsafe {
        // A session leader can neither leave its process group nor reach a terminal: the group stays a
        // complete list of what has to be waited for and killed.
        if libc::setsid() == -1 {
            return Err(io::Error::last_os_error());
        }
        // Some containers forbid this call. Addresses then move from run to run, which the engine copes
        // with and reports (`RunSummary::randomised`).
        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

fn sink(sink: Sink) -> Result<(Stdio, Option<File>)> {
    match sink {
        Sink::Discard => Ok((Stdio::null(), None)),
        Sink::Capture => {
            let file = memory_file()?;
            let ours = file.try_clone().map_err(|source| Error::Prepare {
                what: "a file for the program's output",
                source,
            })?;
            Ok((Stdio::from(file), Some(ours)))
        }
    }
}

/// A file in memory: unlike a pipe it needs no one to fill or drain it while the program is stopped, and
/// the file size limit bounds it.
fn memory_file() -> Result<File> {
    // SAFETY: the name is a C string constant; a descriptor that is not -1 is new and ours.
    unsafe {
        match libc::memfd_create(c"candor".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(Error::Prepare {
                what: "a file in memory",
                source: io::Error::last_os_error(),
            }),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}

fn memory_file_with(bytes: &[u8]) -> Result<File> {
    let mut file = memory_file()?;
    file.write_all(bytes)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .map_err(|source| Error::Prepare {
            what: "the program's input",
            source,
        })?;
    Ok(file)
}

/// Reads back what a captured stream holds.
pub(crate) fn read_back(file: Option<&mut File>, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(file) = file {
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.take(limit).read_to_end(&mut bytes))
            .map_err(|source| Error::Prepare {
                what: "the program's captured output",
                source,
            })?;
    }
    Ok(bytes)
}

/// Whether addresses of `pid` are randomised though we asked for fixed ones.
pub(crate) fn is_randomised(pid: libc::pid_t) -> bool {
    let flags =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("personality"));
    flags
        .ok()
        .and_then(|text| u64::from_str_radix(text.trim(), 16).ok())
        .is_none_or(|flags| flags & libc::ADDR_NO_RANDOMIZE as u64 == 0)
}
