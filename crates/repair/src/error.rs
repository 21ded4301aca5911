//! Why nothing was repaired.

use std::path::PathBuf;

/// Everything that can go wrong in this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file cannot be rewritten.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: candor_dwarf::rewrite::Refused,
    },
    /// The changed file is not as it has to be.
    #[error("the repaired file was not written: {0}")]
    NotAccepted(String),
    /// Compilers, tools and the sandbox.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
}
