//! What an isolation comes to: the answer first, then its evidence.

use serde::{Deserialize, Serialize};

/// What an isolation found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Isolation {
    /// The program's file name.
    pub program: String,
    /// The compiler's command.
    pub compiler: String,
    /// Its release.
    pub version: String,
    /// Whose it is.
    pub family: String,
    /// The build's flags.
    pub flags: Vec<String>,
    /// What is claimed, in words.
    pub claim: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The passes to look at, the likeliest first. The first is the culprit.
    pub suspects: Vec<Suspect>,
    /// Every single change that makes the claim vanish.
    pub cures: Vec<Cure>,
    /// The installed releases of the family.
    pub releases: Option<Releases>,
    /// What the culprit changed.
    pub change: Option<Change>,
    /// What `-fchecking` or a crash said by itself.
    pub diagnosis: Option<Diagnosis>,
    /// What was tried.
    pub effort: Effort,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The command to run next, when there is one.
    pub next: Option<String>,
}

impl Isolation {
    /// The pass to blame, when there is one.
    pub fn culprit(&self) -> Option<&Suspect> {
        match self.outcome {
            Outcome::Found => self.suspects.first(),
            _ => None,
        }
    }
}

/// How an isolation ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "because")]
pub enum Outcome {
    /// A pass is named.
    Found,
    /// The claim does not hold (any more); what was seen instead.
    NotReproduced(String),
    /// The claim holds without optimisation too: no pass is to blame.
    Unoptimised(String),
    /// The claim holds at some times and not at others.
    Flaky(Rate),
    /// Nothing that can be switched off cures.
    NoCure(String),
    /// Could not be told.
    #[default]
    Unknown,
    /// Stopped before an answer was there.
    Interrupted,
}

/// How often a claim held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// So often,
    pub held: usize,
    /// of so many.
    pub of: usize,
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.held, self.of)
    }
}

/// A pass to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Suspect {
    /// Its name in the compiler's words: `tree-ivopts`, `Loop Strength Reduction`.
    pub pass: String,
    /// Its source files, the likeliest first.
    pub files: Vec<String>,
    /// On what it worked: a function, a loop, with file and line where known.
    pub place: Option<String>,
    /// Which run of a pass it was, for clang.
    pub run: Option<Run>,
    /// Which transformation of it, where a debug counter tells.
    pub instance: Option<Instance>,
    /// Flags that switch the pass off and make the claim vanish.
    pub disable: Vec<String>,
    /// Why it is here.
    pub why: Vec<String>,
    /// Whether its cures say little, because much else depends on the pass.
    pub unspecific: bool,
}

/// One run of a pass among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its number, from 1.
    pub number: u64,
    /// Of how many.
    pub total: u64,
    /// The greatest number before it that is known good; `number - 1` unless some cannot be told.
    pub last_good: u64,
}

/// One transformation among all of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// The debug counter.
    pub counter: String,
    /// Its number, from 1.
    pub number: u64,
    /// Of how many, where known.
    pub total: Option<u64>,
}

/// What sort of change a cure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CureKind {
    /// An optimisation option off.
    Option,
    /// One instance of a pass off.
    Pass,
    /// Several off together.
    Joint,
    /// A debug counter stopped.
    Counter,
    /// No passes from some number on.
    Limit,
}

/// A change that makes the claim vanish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cure {
    /// What sort.
    pub kind: CureKind,
    /// What is switched off: `-fivopts`, `tree-ivopts`, `ivopts_loop`.
    pub name: String,
    /// The flags that do it.
    pub flags: Vec<String>,
    /// Where in the pipeline, for passes.
    pub position: Option<usize>,
    /// Whether it cures much, whatever the matter.
    pub unspecific: bool,
}

/// What the compiler itself said about where it goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The flag that made it speak; empty for a crash of the build itself.
    pub flag: String,
    /// The pass it was in.
    pub pass: String,
    /// Its message.
    pub message: String,
    /// The source file it names.
    pub file: Option<String>,
}

/// The claim across the installed releases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Releases {
    /// Ascending.
    pub seen: Vec<Release>,
    /// The release from which on all installed ones show it.
    pub first_bad: Option<String>,
    /// The last one before it, which does not.
    pub last_good: Option<String>,
}

/// One release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Release {
    /// Its command.
    pub compiler: String,
    /// Its number.
    pub version: String,
    /// Whether the claim holds; `None` when it cannot be told, with the reason.
    pub bad: Option<bool>,
    /// What was seen, when it cannot be told.
    pub note: Option<String>,
}

/// What a pass changed, shortened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What is compared: `LLVM IR`, `GIMPLE`, `RTL`, `machine code`.
    pub of: String,
    /// The function.
    pub function: Option<String>,
    /// The difference, one string per line, starting with ' ', '-' or '+'.
    pub lines: Vec<String>,
    /// How many changed lines were left out.
    pub left_out: usize,
    /// Lines of the program that the changed code comes from.
    pub source_lines: Vec<u32>,
    /// How to see it all.
    pub command: String,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Effort {
    /// Builds asked about.
    pub builds: usize,
    /// Options looked at.
    pub options: usize,
    /// Passes (or runs of passes, for clang) looked at.
    pub passes: usize,
    /// Debug counters looked at.
    pub counters: usize,
    /// Seconds, by the clock.
    pub seconds: f64,
}

impl Isolation {
    /// The answer in one line.
    pub fn headline(&self) -> String {
        match (&self.outcome, self.suspects.first()) {
            (Outcome::Found, Some(suspect)) => match self.family.as_str() {
                "clang" => self.clang_headline(suspect),
                _ => self.gcc_headline(suspect),
            },
            (Outcome::Found | Outcome::Unknown, _) => "nothing is known".into(),
            (Outcome::NotReproduced(seen), _) => {
                format!("it does not reproduce with {}: {seen}", self.compiler)
            }
            (Outcome::Unoptimised(seen), _) => format!(
                "no pass is to blame: it is there at -O0 too ({seen}); the front end, mandatory code \
                 generation, or a predicate that does not look at the build"
            ),
            (Outcome::Flaky(rate), _) => format!(
                "undecided: the claim is flaky, it held {rate} times; make it hold always and ask again"
            ),
            (Outcome::NoCure(reason), _) => format!("no pass can be named: {reason}"),
            (Outcome::Interrupted, _) => "stopped before a pass could be named".into(),
        }
    }

    fn clang_headline(&self, suspect: &Suspect) -> String {
        let place = match &suspect.place {
            Some(place) => format!(" on {place}"),
            None => String::new(),
        };
        let mut known: Vec<String> = Vec::new();
        known.extend(
            suspect
                .run
                .map(|run| format!("pass run {} of {}", run.number, run.total)),
        );
        let file = suspect
            .files
            .first()
            .and_then(|file| file.rsplit('/').next());
        known.extend(file.map(str::to_owned));
        let curing = match suspect.disable.is_empty() {
            true => String::new(),
            false => format!("; curing: {}", suspect.disable.join(" ")),
        };
        format!(
            "{}: {}{place} ({}){curing}{}",
            self.family,
            suspect.pass,
            known.join(", "),
            self.first_bad()
        )
    }

    fn gcc_headline(&self, suspect: &Suspect) -> String {
        let pass = ["tree-", "rtl-", "ipa-"]
            .iter()
            .find_map(|kind| suspect.pass.strip_prefix(kind))
            .unwrap_or(&suspect.pass);
        let file = match suspect.files.first() {
            Some(file) => format!(" ({file})"),
            None => String::new(),
        };
        let place = match &suspect.place {
            Some(place) => format!(" in {place}"),
            None => String::new(),
        };
        let mut curing: Vec<&str> = suspect
            .why
            .iter()
            .filter_map(|why| why.strip_prefix("cured by "))
            .collect();
        curing.sort_unstable_by_key(|flag| flag.len());
        let curing = match curing.is_empty() {
            true => String::new(),
            false => format!("; curing: {}", curing.join(", ")),
        };
        format!(
            "{}: pass {pass}{file}{place}{curing}{}",
            self.family,
            self.first_bad()
        )
    }

    fn first_bad(&self) -> String {
        match self.releases.as_ref() {
            Some(Releases {
                first_bad: Some(first),
                last_good: Some(good),
                ..
            }) => format!("; first bad release {first} ({good} is good)"),
            Some(Releases {
                first_bad: Some(first),
                last_good: None,
                ..
            }) => format!("; bad in every release down to {first}"),
            _ => String::new(),
        }
    }
}
