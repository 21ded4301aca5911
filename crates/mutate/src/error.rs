//! Why there are no variants. A program that cannot be mutated soundly is refused with the reason.

use std::path::PathBuf;

/// Errors of the mutate crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is no use as a seed.
    #[error("this program cannot be mutated: {reason}")]
    Unfit {
        /// In words, with the sanitizer's or compiler's own, and what to do.
        reason: String,
    },
    /// A tool that the profile needs is missing.
    #[error("{what} is missing: {advice} (`candor doctor` shows what is there)")]
    Missing {
        /// The tool.
        what: &'static str,
        /// How to get it.
        advice: &'static str,
    },
    /// A sidecar that does not fit.
    #[error("{}: {reason}", path.display())]
    Sidecar {
        /// The JSON file.
        path: PathBuf,
        /// What was expected and what was met.
        reason: String,
    },
    /// A strategy nobody knows.
    #[error("no strategy is called `{name}`; there are: fcb, tg, tcb, orion, athena")]
    UnknownStrategy {
        /// As given.
        name: String,
    },
    /// The source could not be read or edited.
    #[error(transparent)]
    Source(#[from] candor_source::Error),
    /// Building or running failed on our side.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
}

impl Error {
    pub(crate) fn unfit(reason: impl Into<String>) -> Self {
        Error::Unfit {
            reason: reason.into(),
        }
    }

    /// Ctrl-C, wherever it was noticed.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Error::Toolchain(candor_toolchain::Error::Interrupted))
    }
}
