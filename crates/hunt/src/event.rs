//! What a hunt tells whoever watches: one event per line in a pipe, a status line on a terminal.

use std::collections::BTreeMap;

use candor_store::{FindingId, State};
use serde::Serialize;

use crate::settings::Tested;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The hunt begins, or begins again with fewer compilers.
    Started {
        /// Those under test.
        compilers: Vec<Tested>,
        /// At these levels.
        levels: Vec<String>,
        /// With these oracles.
        oracles: Vec<&'static str>,
        /// Whether an earlier campaign goes on.
        resumed: bool,
    },
    /// A seed is no use as a test.
    Rejected {
        /// Its sequence.
        stream: String,
        /// Its number.
        seed: u64,
        /// Why.
        reason: String,
    },
    /// One program (a seed or a variant) is judged.
    Judged {
        /// The seed's sequence.
        stream: String,
        /// The seed.
        seed: u64,
        /// The variant; 0 is the seed itself.
        variant: u64,
        /// Builds made.
        builds: u64,
        /// Findings on it.
        findings: u64,
        /// Time it took.
        seconds: f64,
    },
    /// A finding is stored.
    Found {
        /// Its name.
        id: FindingId,
        /// What sort.
        kind: String,
        /// By whom.
        compiler: String,
        /// At which level.
        level: String,
        /// One line for people.
        title: String,
        /// Whether nothing like it was known.
        new: bool,
        /// The command that shows it again.
        replay: String,
    },
    /// More is known of a finding.
    Improved {
        /// Its name.
        id: FindingId,
        /// How much.
        state: State,
        /// Lines of the reduced program.
        lines: usize,
        /// The culprit, when it is known.
        culprit: Option<String>,
        /// Time it took.
        seconds: f64,
    },
    /// A finding stays as it is.
    Unimproved {
        /// Its name.
        id: FindingId,
        /// Why.
        reason: String,
    },
    /// Something looked wrong and could not be confirmed.
    Undecided {
        /// The seed's sequence.
        stream: String,
        /// The seed.
        seed: u64,
        /// What, and why it is not reported.
        reason: String,
    },
    /// A compiler stopped working and is left out.
    CompilerGone {
        /// Which.
        compiler: String,
        /// What was met.
        reason: String,
    },
    /// Something else a person should know.
    Notice {
        /// In words.
        text: String,
    },
    /// Where the hunt stands.
    Status(Status),
    /// The hunt is over.
    Ended(Status),
}

/// Where a hunt stands: this process's part, and what the store holds in all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// Time since the start.
    pub seconds: f64,
    /// Programs judged, variants included.
    pub programs: u64,
    /// Seeds that were no use.
    pub rejected: u64,
    /// Builds made.
    pub builds: u64,
    /// Builds whose debug information was compared.
    pub checks: u64,
    /// Values compared.
    pub values: u64,
    /// Builds made, per compiler.
    pub builds_by: BTreeMap<String, u64>,
    /// New findings, by kind.
    pub found: BTreeMap<String, u64>,
    /// What could not be confirmed.
    pub undecided: u64,
    /// Findings in the store.
    pub findings: u64,
    /// Unique ones.
    pub unique: u64,
    /// Of those, isolated.
    pub isolated: u64,
    /// Signatures that wait to be reduced and isolated, or are just then.
    pub waiting: u64,
    /// Threads that reduce or isolate now.
    pub improving: usize,
}

impl Status {
    /// So many of `count` in an hour at the present rate.
    #[must_use]
    pub fn per_hour(&self, count: u64) -> f64 {
        if self.seconds > 0.0 {
            count as f64 * 3600.0 / self.seconds
        } else {
            0.0
        }
    }
}
