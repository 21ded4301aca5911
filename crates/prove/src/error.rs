//! What stops a proof before it begins, in sentences a user can act on. Whatever merely cannot be decided is a
//! verdict, not an error.

use std::path::PathBuf;

/// Errors of the prover.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// The action, as a verb phrase.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Not an object or executable this prover understands.
    #[error("{} is no x86-64 ELF object or executable: {reason}", path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// The file has no function symbols.
    #[error(
        "{} holds no function symbols; it is stripped, and without symbols no function can be found: prove the file before stripping",
        path.display()
    )]
    Stripped {
        /// The file.
        path: PathBuf,
    },
    /// A function that was asked for by name is not in the source or in the object.
    #[error("{0}")]
    NoSuchFunction(String),
    /// The C source does not compile.
    #[error("`{command}` did not accept {}: {message}", path.display())]
    Source {
        /// The source file.
        path: PathBuf,
        /// What was run.
        command: String,
        /// The first message.
        message: String,
    },
    /// The LLVM text has a form that is not understood at all.
    #[error("the LLVM IR of `{function}` is not understood: {reason}")]
    Ir {
        /// The function.
        function: String,
        /// The place.
        reason: String,
    },
    /// A command that is no solver.
    #[error(
        "`{command}` does not work as an SMT solver: {reason}; expected z3, cvc5 or bitwuzla (install z3, or give --solver)"
    )]
    Solver {
        /// As given.
        command: String,
        /// What was met.
        reason: String,
    },
    /// A certificate that cannot be used.
    #[error("{} is no certificate for this: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// Starting or running a tool failed.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
}
