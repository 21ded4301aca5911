//! Why a check could not be made. A program that is no use as a test is an answer of its own kind.

/// Errors of the check crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program cannot be a test: undefined behaviour, no end, no build.
    #[error("this program cannot be checked: {reason}")]
    Unfit {
        /// In words, with the sanitizer's or compiler's own.
        reason: String,
    },
    /// A tool that every check needs is missing.
    #[error("{what} is missing: {advice} (`candor doctor` shows what is there)")]
    Missing {
        /// The tool.
        what: &'static str,
        /// How to get it.
        advice: &'static str,
    },
    /// The source could not be read or instrumented.
    #[error(transparent)]
    Source(#[from] candor_source::Error),
    /// Building or running failed on our side.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
    /// Tracing failed on our side.
    #[error(transparent)]
    Tracer(#[from] candor_tracer::Error),
    /// Debug information that cannot be read at all.
    #[error(transparent)]
    Dwarf(#[from] candor_dwarf::Error),
}

impl Error {
    pub(crate) fn unfit(reason: impl Into<String>) -> Self {
        Error::Unfit {
            reason: reason.into(),
        }
    }

    /// Ctrl-C, wherever it was noticed.
    pub fn is_interrupt(&self) -> bool {
        use candor_toolchain::Error::Interrupted;
        matches!(
            self,
            Error::Toolchain(Interrupted)
                | Error::Tracer(candor_tracer::Error::Toolchain(Interrupted))
        )
    }
}
