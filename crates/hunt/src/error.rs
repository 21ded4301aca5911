//! Why a hunt cannot go on. What programs and compilers do is never an error here.

/// Errors of the hunt crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tool that every hunt needs is missing.
    #[error("{what} is missing: {advice} (`candor doctor` shows what is there)")]
    Missing {
        /// The tool.
        what: &'static str,
        /// How to get it.
        advice: &'static str,
    },
    /// Every compiler under test vanished.
    #[error("no compiler under test is left: {names} stopped working; what was found is stored")]
    NoCompilerLeft {
        /// Those that were there.
        names: String,
    },
    /// A compiler under test stopped working; the hunt goes on without it.
    #[error("{compiler} stopped working: {reason}")]
    CompilerGone {
        /// Which.
        compiler: String,
        /// What was met.
        reason: String,
    },
    /// The store belongs to a campaign with other settings.
    #[error(
        "this store's campaign has other settings ({differences}); go on with those by `--resume`, \
         change them by `--resume` and flags, or give another --store"
    )]
    OtherSettings {
        /// Setting by setting: the store's and ours.
        differences: String,
    },
    /// A worker with wishes of its own.
    #[error(
        "the campaign has other settings ({differences}), and they hold for all its workers; leave those flags out, or \
         begin another campaign"
    )]
    CampaignSettings {
        /// Setting by setting: the campaign's and ours.
        differences: String,
    },
    /// Another generator makes other programs of the same seeds.
    #[error(
        "the campaign's programs come from `{theirs}`, here is `{ours}`, which makes others of the same seeds; install \
         the same release"
    )]
    OtherGenerator {
        /// The campaign's.
        theirs: String,
        /// This machine's.
        ours: String,
    },
    /// Nothing to do for this machine.
    #[error("none of the campaign's compilers is here: it tests {theirs}; here are {ours}")]
    NoCommonCompiler {
        /// The campaign's.
        theirs: String,
        /// This machine's.
        ours: String,
    },
    /// `--resume` without anything to resume.
    #[error("there is no campaign in this store to resume; start one without --resume")]
    NothingToResume,
    /// A part of a job array without a campaign.
    #[error("there is no campaign in {store}; was `candor hunt --shard` ever run on it?")]
    NoCampaign {
        /// Where.
        store: String,
    },
    /// Parts of different campaigns.
    #[error(
        "{other} is not of the same campaign as {first} ({differences}); nothing was merged. Merge parts that \
         were hunted with the same settings"
    )]
    OtherCampaign {
        /// The one compared with.
        first: String,
        /// The one that does not fit.
        other: String,
        /// Setting by setting.
        differences: String,
    },
    /// The campaign's settings cannot be read.
    #[error(
        "the settings of this store's campaign cannot be read: {reason}; was it made by another candor?"
    )]
    UnreadableSettings {
        /// What was met.
        reason: String,
    },
    /// A setting that makes no sense.
    #[error("{what}")]
    BadSetting {
        /// What was expected, what was met.
        what: String,
    },
    /// Nothing can be judged, seed after seed.
    #[error("the last {count} seeds all failed, the last one with: {last}")]
    Unusable {
        /// How many.
        count: usize,
        /// The last reason.
        last: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] candor_store::Error),
    /// Building or running failed on our side.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
    /// A check failed on our side.
    #[error(transparent)]
    Check(#[from] candor_check::Error),
    /// Mutation failed on our side.
    #[error(transparent)]
    Mutate(#[from] candor_mutate::Error),
    /// Confirmation failed on our side.
    #[error(transparent)]
    Predicate(#[from] candor_predicate::Error),
    /// A reduction failed.
    #[error(transparent)]
    Reduce(#[from] candor_reduce::Error),
    /// An isolation failed.
    #[error(transparent)]
    Isolate(#[from] candor_isolate::Error),
}

/// The toolchain's error inside, if there is one.
fn root(error: &Error) -> Option<&candor_toolchain::Error> {
    match error {
        Error::Toolchain(error)
        | Error::Mutate(candor_mutate::Error::Toolchain(error))
        | Error::Reduce(candor_reduce::Error::Toolchain(error))
        | Error::Isolate(candor_isolate::Error::Toolchain(error)) => Some(error),
        Error::Check(error) | Error::Reduce(candor_reduce::Error::Check(error)) => in_check(error),
        Error::Predicate(error)
        | Error::Reduce(candor_reduce::Error::Predicate(error))
        | Error::Isolate(candor_isolate::Error::Predicate(error)) => match error {
            candor_predicate::Error::Toolchain(error) => Some(error),
            candor_predicate::Error::Check(error) => in_check(error),
            _ => None,
        },
        _ => None,
    }
}

fn in_check(error: &candor_check::Error) -> Option<&candor_toolchain::Error> {
    match error {
        candor_check::Error::Toolchain(error)
        | candor_check::Error::Tracer(candor_tracer::Error::Toolchain(error)) => Some(error),
        _ => None,
    }
}

impl Error {
    /// Ctrl-C or the end of the time, wherever it was noticed.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(root(self), Some(candor_toolchain::Error::Interrupted))
    }

    /// Whether the whole hunt must end: the store or the scratch space cannot take more, or the system refuses.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        use candor_toolchain::Error as Tool;
        match self {
            Error::Store(_)
            | Error::NoCompilerLeft { .. }
            | Error::Missing { .. }
            | Error::Unusable { .. } => true,
            other => matches!(
                root(other),
                Some(Tool::NoSpace { .. } | Tool::System { .. } | Tool::Confinement { .. })
            ),
        }
    }

    /// Whether a program of ours could not be started: a compiler may have vanished.
    #[must_use]
    pub fn is_missing_program(&self) -> bool {
        use candor_toolchain::Error as Tool;
        matches!(
            root(self),
            Some(Tool::NotStarted { .. } | Tool::NotOnPath { .. } | Tool::Support { .. })
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_is_recognised_however_deep_it_is() {
        let tool = || candor_toolchain::Error::Interrupted;
        let check = || candor_check::Error::Toolchain(tool());
        for error in [
            Error::Toolchain(tool()),
            Error::Check(check()),
            Error::Check(candor_check::Error::Tracer(
                candor_tracer::Error::Toolchain(tool()),
            )),
            Error::Mutate(candor_mutate::Error::Toolchain(tool())),
            Error::Predicate(candor_predicate::Error::Toolchain(tool())),
            Error::Predicate(candor_predicate::Error::Check(check())),
            Error::Reduce(candor_reduce::Error::Check(check())),
            Error::Isolate(candor_isolate::Error::Predicate(
                candor_predicate::Error::Toolchain(tool()),
            )),
        ] {
            assert!(error.is_interrupt(), "{error:?}");
            assert!(!error.is_fatal());
        }
        let full = candor_toolchain::Error::NoSpace {
            directory: "/".into(),
        };
        assert!(Error::Check(full.into()).is_fatal());
    }
}
