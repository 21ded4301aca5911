//! What can go wrong before or around a run. How a run *ends* (a crash, a time limit, a fork) is an
//! [`Outcome`](crate::Outcome), never an error: those are facts about the program under test.

use std::io;
use std::path::PathBuf;

/// Why a program could not be traced or a debugger could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to start the program under trace.
    #[error(
        "cannot start {} under trace: {source}; check that the file is an executable for this machine, \
         that its folder allows execution, and that ptrace is permitted here",
        program.display()
    )]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The program did not report the stop after `execve` that every traced program reports.
    #[error("expected {} to stop after it was loaded, but {met}", program.display())]
    NoFirstStop {
        /// The program.
        program: PathBuf,
        /// What happened in its place.
        met: String,
    },

    /// A request on a stopped program failed though the program is still there.
    #[error("the request {request} on process {pid} failed: {source}")]
    Ptrace {
        /// The request as ptrace(2) or proc(5) names it.
        request: &'static str,
        /// The process.
        pid: i32,
        /// What the system said.
        source: io::Error,
    },

    /// A breakpoint address is not mapped.
    #[error("cannot set a breakpoint at {address:#x} of {}: {source}", program.display())]
    Breakpoint {
        /// The program.
        program: PathBuf,
        /// The address in the process.
        address: u64,
        /// What the system said.
        source: io::Error,
    },

    /// Barrier mode was asked for on a program without barriers.
    #[error(
        "{} has no function `{symbol}`: build it with barriers and link the object that defines them, \
         or trace it line by line",
        program.display()
    )]
    NoBarrier {
        /// The program.
        program: PathBuf,
        /// The barrier function's name.
        symbol: String,
    },

    /// Line mode was asked for on a program whose line table names no statement.
    #[error("{} has no line table with statements to stop at: build it with -g", program.display())]
    NoLines {
        /// The program.
        program: PathBuf,
    },

    /// The debug information could not be used.
    #[error(transparent)]
    Dwarf(#[from] candor_dwarf::Error),

    /// The sandbox refused, or the user interrupted.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),

    /// A file that a run needs could not be made.
    #[error("cannot prepare {what}: {source}")]
    Prepare {
        /// What was being prepared.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },

    /// A debugger could not be started or did not say which version it is.
    #[error("{} is not a usable debugger: {met}; expected a gdb or lldb whose --version can be read", path.display())]
    NotADebugger {
        /// The program that was tried.
        path: PathBuf,
        /// What it said or what the system said.
        met: String,
    },

    /// The debugger has no Python, which the drivers' sessions are written in.
    #[error("{} was built without Python; install a build with Python (Debian's packages have it)", path.display())]
    NoPython {
        /// The debugger.
        path: PathBuf,
    },
}

/// Result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
