//! What can go wrong in this crate, in sentences a user can act on.

use std::io;
use std::path::PathBuf;

/// Errors of the toolchain crate. Outcomes of programs and compilers (a crash, a time-out) are not
/// errors: they are what we came to observe.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A command that is not there.
    #[error(
        "`{program}` was not found on PATH; install it, or give its full path (`candor doctor` lists what is there)"
    )]
    NotOnPath {
        /// As it was given.
        program: String,
    },
    /// `execve` or what precedes it failed.
    #[error("cannot start `{}`: {source}", program.display())]
    NotStarted {
        /// The file that was to be executed.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A system call of ours failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// The action, as a verb phrase.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Landlock refused our rules.
    #[error("cannot confine a program to {}: {reason}", directory.display())]
    Confinement {
        /// The job's directory.
        directory: PathBuf,
        /// Landlock's reason.
        reason: String,
    },
    /// A command line that cannot be passed on.
    #[error("`{text}` contains a NUL byte and cannot be passed to a program")]
    NulInArgument {
        /// The argument.
        text: String,
    },
    /// An empty `--cc`.
    #[error(
        "an empty compiler command was given; expected something like `gcc-12` or `wrapper clang-19`"
    )]
    EmptyCommand,
    /// A command that answers, but not as a compiler.
    #[error("`{command}` does not behave like a C compiler: {reason}")]
    NotACompiler {
        /// The command as given.
        command: String,
        /// What was met.
        reason: String,
    },
    /// A file of the user's that cannot be used.
    #[error("{}: {reason}", path.display())]
    BadInput {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// The scratch space or the disk behind it is full.
    #[error("no space left on {}: free some, or set CANDOR_SCRATCH to a larger disk", directory.display())]
    NoSpace {
        /// Where it was to be written.
        directory: PathBuf,
    },
    /// Reading or writing a file of ours failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// The action, as a verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A run-time object of ours did not build with the user's compiler.
    #[error("{compiler} cannot build candor's own {what}: {reason}")]
    Support {
        /// Which compiler.
        compiler: String,
        /// Which part.
        what: &'static str,
        /// The compiler's message.
        reason: String,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// A file error, with a full disk told apart.
    pub fn file(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        if source.kind() == io::ErrorKind::StorageFull
            || source.kind() == io::ErrorKind::QuotaExceeded
        {
            let directory = path.parent().map(PathBuf::from).unwrap_or(path);
            Error::NoSpace { directory }
        } else {
            Error::File {
                doing,
                path,
                source,
            }
        }
    }
}
