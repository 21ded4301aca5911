//! Why a reduction could not be made.

use std::path::PathBuf;

/// Errors of the reduce crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The predicate does not hold on the program it is said to hold on.
    #[error(
        "there is nothing to reduce: {claim} does not hold with {build}; seen instead: {instead}"
    )]
    NotThere {
        /// The claim in words.
        claim: String,
        /// Compiler and flags.
        build: String,
        /// The verdict in words.
        instead: String,
    },
    /// The predicate holds sometimes.
    #[error(
        "the predicate is flaky: it held in {held} of {asked} runs on the unchanged program (last: {last}); \
         a reduction would wander off. Make the program or the command deterministic, or raise --timeout"
    )]
    Flaky {
        /// Runs that held.
        held: usize,
        /// Runs.
        asked: usize,
        /// What was seen when it did not.
        last: String,
    },
    /// The file is not C.
    #[error("{} is not C: {reason}", path.display())]
    NotC {
        /// The file.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// The original does not pass a whole check, so nothing made from it can.
    #[error(
        "the finding is not borne out when checked from scratch with {build}: {instead}; \
         run `candor check` on the program to see what is found today"
    )]
    Verification {
        /// Compiler and flags.
        build: String,
        /// What was seen.
        instead: String,
    },
    /// The C grammar could not be used.
    #[error("the C grammar cannot be used: {0}")]
    Grammar(String),
    /// The variant of a case cannot be taken apart.
    #[error("the case's variant cannot be used: {reason}")]
    Variant {
        /// What was met.
        reason: String,
    },
    /// A second stage that is not here, or failed.
    #[error("cvise: {reason}")]
    Cvise {
        /// In words.
        reason: String,
    },
    /// Asking failed on our side.
    #[error(transparent)]
    Predicate(#[from] candor_predicate::Error),
    /// Building or running failed on our side.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
    /// Checking failed on our side.
    #[error(transparent)]
    Check(#[from] candor_check::Error),
}

impl Error {
    /// Ctrl-C, wherever it was noticed.
    pub fn is_interrupt(&self) -> bool {
        match self {
            Error::Predicate(error) => error.is_interrupt(),
            Error::Check(error) => error.is_interrupt(),
            Error::Toolchain(error) => matches!(error, candor_toolchain::Error::Interrupted),
            _ => false,
        }
    }
}
