//! What stops us from answering. A program or build that is no good is a verdict, not an error.

use std::path::PathBuf;

/// Errors of the predicate crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A case file that cannot be one.
    #[error(
        "{} is not a candor finding: {reason}; expected a finding.json of `candor check --save` or a report of `candor check --json`",
        path.display()
    )]
    NotACase {
        /// The file.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// A case of a newer candor.
    #[error("{} has schema {met}; this candor reads up to {known}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        met: u32,
        /// Ours.
        known: u32,
    },
    /// A predicate script that cannot be run.
    #[error("{} cannot be the predicate: {reason}", path.display())]
    BadCommand {
        /// As given.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// Checking failed on our side.
    #[error(transparent)]
    Check(#[from] candor_check::Error),
    /// Building or running failed on our side.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
}

impl Error {
    /// Ctrl-C, wherever it was noticed.
    pub fn is_interrupt(&self) -> bool {
        match self {
            Error::Check(error) => error.is_interrupt(),
            Error::Toolchain(error) => matches!(error, candor_toolchain::Error::Interrupted),
            _ => false,
        }
    }
}
