//! The nouns of a campaign, as a store holds them.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Milliseconds since 1970, for people and plots; never for decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// The time from `earlier` to this, zero if the clock went backwards.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// The name of a content: BLAKE3, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hash(pub(crate) String);

impl Hash {
    /// Of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Hash(blake3::hash(bytes).to_hex().to_string())
    }

    /// From its text; `None` unless it is 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 64
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        fits.then(|| Hash(text.to_owned()))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A finding's name: a hash of where it was found (seed, variant, build, subject), so that finding it again after a
/// crash is not another finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FindingId(pub String);

impl FindingId {
    /// From what makes it unique. Sixteen digits are enough for a campaign and short enough to type.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        let mut text = String::new();
        for part in parts {
            // The length keeps ("a", "bc") and ("ab", "c") apart.
            text += &format!("{}:{part}\n", part.len());
        }
        let mut digits = Hash::of(text.as_bytes()).0;
        digits.truncate(16);
        FindingId(digits)
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which findings look the same before anybody looked closer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(pub String);

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A sequence of numbered seeds: `csmith`, or `corpus/<hash>` with the single number 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stream(pub String);

/// A process that works on the campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub i64);

/// What is known of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Its name in this store.
    pub id: WorkerId,
    /// Host and process number, for people.
    pub label: String,
    /// When it joined.
    pub joined: Timestamp,
    /// When it was last heard of.
    pub seen: Timestamp,
    /// Whether it still lives.
    pub alive: bool,
}

/// What a campaign is: made once, kept for all workers and for `--resume`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// When it was begun.
    pub created: Timestamp,
    /// candor's version.
    pub candor: String,
    /// What hunt was asked for (compilers with their versions, levels, generator, oracles, first seed).
    pub settings: Value,
}

/// Which seeds a worker would judge: `first`, `first + step`, ... below `end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Of which sequence.
    pub stream: Stream,
    /// The first number.
    pub first: u64,
    /// The distance to the next: the number of shards.
    pub step: u64,
    /// Where the sequence ends, if it does.
    pub end: Option<u64>,
    /// The file it is, for sequences of one file.
    pub file: Option<String>,
}

/// A seed that this worker judges, and nobody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Of which sequence.
    pub stream: Stream,
    /// Which of its numbers.
    pub number: u64,
    /// Whose.
    pub worker: WorkerId,
    /// 1 for the first time; more when workers died over it.
    pub attempt: u32,
    /// How many of its programs are judged already (see [`crate::Store::advance`]).
    pub done: u64,
    /// The file it is, for sequences of one file.
    pub file: Option<String>,
    /// The compilers to judge it with; `None`: all that are under test. A worker that lacks some of the campaign's is
    /// given the others' part, and somebody else the rest.
    pub compilers: Option<Vec<String>>,
}

/// The answer to a worker that asks for a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Judge this.
    Seed(Lease),
    /// None now, but others have seeds that may come back, or the store cannot be reached: ask again.
    Later,
    /// None, and asking again is no use.
    Nothing,
}

/// What became of a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every build was judged.
    Judged,
    /// It is no use as a test (undefined behaviour, too slow, too small), in a few words.
    Rejected(String),
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Seeds that passed the gate, and their variants.
    Programs,
    /// Seeds that did not.
    Rejected,
    /// Compiler calls whose result was run or refused.
    Builds,
    /// Builds whose debug information was compared.
    Checks,
    /// Values compared.
    Values,
    /// Builds that showed something which could not be confirmed.
    Undecided,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 6] = [
        Metric::Programs,
        Metric::Rejected,
        Metric::Builds,
        Metric::Checks,
        Metric::Values,
        Metric::Undecided,
    ];

    /// As text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Metric::Programs => "programs",
            Metric::Rejected => "rejected",
            Metric::Builds => "builds",
            Metric::Checks => "checks",
            Metric::Values => "values",
            Metric::Undecided => "undecided",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Metric::ALL.into_iter().find(|metric| metric.name() == text)
    }
}

/// So many more of something, by one compiler or (empty name) by none in particular.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Count {
    /// Of what.
    pub metric: Metric,
    /// By whom; empty where it does not apply.
    pub compiler: String,
    /// How many.
    pub more: u64,
}

/// What was counted within one interval, by all workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The interval's begin.
    pub time: Timestamp,
    /// What.
    pub metric: Metric,
    /// By which compiler; empty where it does not apply.
    pub compiler: String,
    /// How many.
    pub count: u64,
}

/// What was counted over the whole campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// Length of the intervals in seconds: 10, and longer for campaigns of more than a day.
    pub interval: u64,
    /// Oldest first; intervals in which nothing was counted are left out.
    pub samples: Vec<Sample>,
}

/// How far seeds are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeds {
    /// Judged completely.
    pub judged: u64,
    /// No use as tests.
    pub rejected: u64,
    /// Under way.
    pub leased: u64,
    /// Given up: workers died over them again and again.
    pub abandoned: u64,
}

/// How much is known of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Confirmed, as it was found.
    Found,
    /// A small program shows it.
    Reduced,
    /// The culprit is known.
    Isolated,
}

impl State {
    /// As text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Found => "found",
            State::Reduced => "reduced",
            State::Isolated => "isolated",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [State::Found, State::Reduced, State::Isolated]
            .into_iter()
            .find(|state| state.name() == text)
    }
}

/// A finding as it is first stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFinding {
    /// Its name.
    pub id: FindingId,
    /// The seed's sequence.
    pub stream: Stream,
    /// The seed.
    pub seed: u64,
    /// The variant's number; `None` for the seed itself.
    pub variant: Option<u64>,
    /// `miscompilation`, `crash`, `hang`, or one of check's kinds.
    pub kind: String,
    /// The compiler.
    pub compiler: String,
    /// Its release.
    pub version: String,
    /// Its family.
    pub family: String,
    /// The optimisation level.
    pub level: String,
    /// Which findings look the same.
    pub signature: Signature,
    /// Larger ones are reduced first.
    pub priority: i64,
    /// One line for people.
    pub title: String,
    /// The `finding.json` that all commands exchange.
    pub case: Value,
    /// Which builds of the same program show it: compiler → levels.
    pub affected: Value,
}

/// What is learnt of a finding later. `None` leaves what is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Improvement {
    /// The same case with a small program.
    pub reduced: Option<Value>,
    /// The pass, and what isolate says beyond it.
    pub culprit: Option<Value>,
    /// What makes it unique now that the culprit is known.
    pub key: Option<String>,
    /// Which builds show it.
    pub affected: Option<Value>,
    /// What the report's page of it shows.
    pub exhibit: Option<Value>,
}

/// A finding as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name.
    pub id: FindingId,
    /// When it was first stored.
    pub found: Timestamp,
    /// When it was last improved.
    pub changed: Timestamp,
    /// The seed's sequence.
    pub stream: Stream,
    /// The seed.
    pub seed: u64,
    /// The variant's number; `None` for the seed itself.
    pub variant: Option<u64>,
    /// `miscompilation`, `crash`, `hang`, or one of check's kinds.
    pub kind: String,
    /// The compiler.
    pub compiler: String,
    /// Its release.
    pub version: String,
    /// Its family.
    pub family: String,
    /// The optimisation level.
    pub level: String,
    /// Which findings look the same.
    pub signature: Signature,
    /// What makes it unique: the signature until the culprit is known.
    pub key: String,
    /// How much is known.
    pub state: State,
    /// One line for people.
    pub title: String,
    /// Which builds show it: compiler → levels.
    pub affected: Value,
    /// The culprit, when isolated.
    pub culprit: Option<Value>,
    /// The case as found (an object holding JSON; read it with [`crate::Store::case`]).
    pub case: Hash,
    /// The reduced case, likewise.
    pub reduced: Option<Hash>,
    /// What the report's page shows, likewise.
    pub exhibit: Option<Hash>,
}

/// A unique finding: one representative and those that share its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What they share.
    pub key: String,
    /// The one that is shown: the furthest improved, then the first found.
    pub representative: Finding,
    /// How many findings share the key, the representative included.
    pub findings: u64,
    /// How many signatures did.
    pub signatures: u64,
    /// When the latest of them was found.
    pub latest: Timestamp,
}

/// How many findings there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Duplicates included.
    pub findings: u64,
    /// By key.
    pub unique: u64,
    /// Unique ones whose culprit is known.
    pub isolated: u64,
    /// Signatures that still wait to be reduced and isolated, or are just then.
    pub waiting: u64,
}

/// One worker's task to improve what is known of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Of which signature.
    pub signature: Signature,
    /// The finding to work on.
    pub finding: Finding,
    /// Whose task.
    pub worker: WorkerId,
    /// 1 for the first time; more when workers died over it.
    pub attempt: u32,
}

/// Something that happened, for the log and for live reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Numbered in order.
    pub number: i64,
    /// When.
    pub time: Timestamp,
    /// What sort: `compiler-gone`, `found`, ...
    pub kind: String,
    /// The rest.
    pub body: Value,
}
