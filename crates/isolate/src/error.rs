//! What stops an isolation. A claim that does not reproduce or a compiler that crashes is a result.

use candor_toolchain::Family;

/// Errors of the isolate crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A compiler whose passes cannot be switched off one by one.
    #[error(
        "{compiler} is {family}, which cannot leave single passes out; expected gcc or clang (`candor doctor` lists what is installed)"
    )]
    Family {
        /// Its name.
        compiler: String,
        /// Whose it is.
        family: Family,
    },
    /// A clang or gcc that does not take the flags needed.
    #[error(
        "{compiler} does not take {flag}: {met}; use the compiler itself instead of a wrapper that filters flags"
    )]
    Flag {
        /// Its name.
        compiler: String,
        /// What was asked of it.
        flag: String,
        /// What it said.
        met: String,
    },
    /// The time given for the whole isolation is used up.
    #[error("the time for the whole isolation is used up")]
    OutOfTime,
    /// Kept spectra that cannot be written or read.
    #[error("{}: {why}", path.display())]
    Spectra {
        /// Their file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The predicate failed on our side.
    #[error(transparent)]
    Predicate(#[from] candor_predicate::Error),
    /// The coverage compiler.
    #[error(transparent)]
    Coverage(#[from] candor_coverage::Error),
    /// Building or running failed on our side.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
}

impl Error {
    /// Ctrl-C or the end of the time given: what is known so far still counts.
    pub fn is_interrupt(&self) -> bool {
        match self {
            Error::OutOfTime => true,
            Error::Predicate(error) => error.is_interrupt(),
            Error::Coverage(error) => error.is_interrupt(),
            Error::Toolchain(error) => matches!(error, candor_toolchain::Error::Interrupted),
            _ => false,
        }
    }
}
