//! What happened to a campaign, as messages: the form in which a store that is a log keeps it.
//!
//! A fact has a name. Whoever tells it again, after a crash or because he was not heard, tells nothing new; so facts may
//! come twice, late, and from a worker whom everybody thought dead. They carry no time: clocks of workers differ, and
//! the log has one of its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Count, Finding, FindingId, Hash, Outcome, Signature, State, Stream, Timestamp, WorkerId,
};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fact {
    /// Somebody joined; the number of this fact in the log becomes the worker's.
    Joined {
        /// Who, for people.
        label: String,
    },
    /// So many programs of a seed are judged.
    Advanced {
        /// By whom.
        worker: WorkerId,
        /// The seed's sequence.
        stream: Stream,
        /// The seed.
        number: u64,
        /// Which compilers, where not all; empty otherwise.
        part: String,
        /// How many.
        done: u64,
        /// What the last of them took.
        counts: Vec<Count>,
    },
    /// A seed, or a part of it, is finished.
    Completed {
        /// By whom.
        worker: WorkerId,
        /// The seed's sequence.
        stream: Stream,
        /// The seed.
        number: u64,
        /// Which compilers, where not all; empty otherwise.
        part: String,
        /// Whether nothing of the seed is left.
        whole: bool,
        /// What became of it.
        outcome: Outcome,
        /// What the rest took.
        counts: Vec<Count>,
    },
    /// A seed is given up: too many workers died over it.
    Abandoned {
        /// The seed's sequence.
        stream: Stream,
        /// The seed.
        number: u64,
    },
    /// Something was found.
    Found {
        /// As it was found.
        finding: Box<Finding>,
        /// Larger ones are reduced first.
        priority: i64,
    },
    /// More is known of a finding. `None` leaves what is there.
    Learnt {
        /// Which.
        id: FindingId,
        /// The reduced case.
        reduced: Option<Hash>,
        /// The culprit, an object holding JSON.
        culprit: Option<Hash>,
        /// What makes it unique.
        key: Option<String>,
        /// Which builds show it.
        affected: Option<Value>,
        /// What its page shows.
        exhibit: Option<Hash>,
    },
    /// Nothing more will be learnt of a signature.
    Settled {
        /// Which.
        signature: Signature,
        /// At which attempt.
        attempt: u32,
        /// Why not everything is known.
        failure: Option<String>,
    },
    /// Something else that somebody should know.
    Noted {
        /// What sort.
        kind: String,
        /// The rest.
        body: Value,
    },
}

impl Fact {
    /// Its sort: a word of small letters.
    #[must_use]
    pub fn sort(&self) -> &'static str {
        match self {
            Fact::Joined { .. } => "joined",
            Fact::Advanced { .. } => "advanced",
            Fact::Completed { whole: false, .. } => "parted",
            Fact::Completed {
                outcome: Outcome::Judged,
                ..
            } => "judged",
            Fact::Completed { .. } => "rejected",
            Fact::Abandoned { .. } => "abandoned",
            Fact::Found { .. } => "found",
            Fact::Learnt { .. } => "learnt",
            Fact::Settled { .. } => "settled",
            Fact::Noted { .. } => "noted",
        }
    }

    /// All sorts there are.
    pub const SORTS: [&'static str; 10] = [
        "joined",
        "advanced",
        "parted",
        "judged",
        "rejected",
        "abandoned",
        "found",
        "learnt",
        "settled",
        "noted",
    ];

    /// The name under which it is told once, whoever tells it.
    #[must_use]
    pub fn name(&self) -> String {
        let content = || {
            let text = serde_json::to_string(self).unwrap_or_default();
            Hash::of(text.as_bytes())
        };
        match self {
            Fact::Advanced {
                stream,
                number,
                part,
                done,
                ..
            } => format!("seed/{}/{number}/{part}/{done}", stream.0),
            Fact::Completed {
                stream,
                number,
                part,
                ..
            } => format!("seed/{}/{number}/{part}/end", stream.0),
            Fact::Abandoned { stream, number } => format!("seed/{}/{number}//given-up", stream.0),
            Fact::Found { finding, .. } => format!("found/{}", finding.id),
            Fact::Settled {
                signature, attempt, ..
            } => format!("settled/{}/{attempt}", Hash::of(signature.0.as_bytes())),
            Fact::Joined { .. } => format!("joined/{}", content()),
            Fact::Learnt { id, .. } => format!("learnt/{id}/{}", content()),
            Fact::Noted { .. } => format!("noted/{}", content()),
        }
    }
}

/// A fact with its place in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its number.
    pub number: i64,
    /// When the log took it.
    pub time: Timestamp,
    /// What.
    pub fact: Fact,
    /// The culprit of [`Fact::Learnt`], fetched.
    pub culprit: Option<Value>,
}

/// The state that follows from what is known of a finding.
#[must_use]
pub fn state(reduced: bool, culprit: bool) -> State {
    match (reduced, culprit) {
        (_, true) => State::Isolated,
        (true, false) => State::Reduced,
        (false, false) => State::Found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;

    #[test]
    fn a_fact_told_again_by_another_worker_has_the_same_name() {
        let advanced = |worker: i64, done: u64| Fact::Advanced {
            worker: WorkerId(worker),
            stream: Stream("csmith".into()),
            number: 7,
            part: String::new(),
            done,
            counts: vec![Count {
                metric: Metric::Builds,
                compiler: "gcc-12".into(),
                more: 6,
            }],
        };
        assert_eq!(advanced(1, 2).name(), advanced(9, 2).name());
        assert_ne!(advanced(1, 2).name(), advanced(1, 3).name());
        let text = serde_json::to_string(&advanced(1, 2)).unwrap();
        assert_eq!(serde_json::from_str::<Fact>(&text).unwrap(), advanced(1, 2));
        assert!(Fact::SORTS.contains(&advanced(1, 2).sort()));
    }
}
