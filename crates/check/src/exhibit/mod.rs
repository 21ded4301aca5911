//! What a report shows of a finding: evidence that a person can follow without running anything.
//!
//! In: a program, the build that is wrong, and about which variable (or that it behaves wrongly).
//! Out: an [`Exhibit`], plain data that is stored as JSON and shown by `candor report`.
//!
//! - `source`: the program with, at each line, the true and the shown values side by side.
//! - `debug`: the exhibit of wrong debug information: where, the value's history over visits,
//!   the location list and code around the stop, every build that shows it, commands.
//! - `behaviour`: the exhibit of wrong code, a crash or a hang: what each build does instead.
//!
//! Nothing here judges: what is a finding was decided and confirmed before.

mod behaviour;
mod debug;
mod source;

use candor_dwarf::{Instruction, ListedLocation};
use candor_toolchain::{Compiler, Limits};
use serde::{Deserialize, Serialize};

use crate::finding::Counts;
use crate::{Class, Error, Workshop};

pub use behaviour::{BehaviourRequest, behaviour};
pub use debug::{DebugRequest, debug};
pub use source::{SourceLine, SourceRequest, SourceView, Value, truthfulness};

/// The version of this format.
pub const SCHEMA: u32 = 1;

/// One build, and who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildName {
    /// The compiler's command.
    pub compiler: String,
    /// Its release.
    pub version: String,
    /// Level and other flags.
    pub level: String,
    /// Who it says it is, in full: what a bug tracker asks for.
    #[serde(default)]
    pub identity: String,
}

/// What a finding is about, located in the exhibited build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The function; `None` for a global.
    pub function: Option<String>,
    /// The variable with its path.
    pub variable: String,
    /// Where it is declared.
    pub declared: u32,
    /// Where it is looked at.
    pub line: u32,
    /// At which visit of that place, from 1.
    pub visit: u32,
    /// The number of the barrier call, from 0.
    pub stop: u64,
    /// The true value, if known.
    pub truth: Option<String>,
    /// What the build shows.
    pub shown: String,
    /// What that comes to.
    pub class: Class,
    /// The location in words.
    pub location: String,
    /// The address of the stop.
    pub address: u64,
}

/// One look at the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The number of the barrier call.
    pub stop: u64,
    /// The line.
    pub line: u32,
    /// The visit of that place.
    pub visit: u32,
    /// The true value, if known.
    pub truth: Option<String>,
    /// What is shown.
    pub shown: String,
    /// What that comes to.
    pub class: Class,
}

/// The subject over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The line it is taken at; `None`: at every stop where the subject is visible.
    pub line: Option<u32>,
    /// How many moments there were; more than are kept for a long run.
    pub total: u64,
    /// The first of them.
    pub moments: Vec<Moment>,
}

/// One build of the matrix: whether it shows the finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildState {
    /// The compiler's command.
    pub compiler: String,
    /// Its release.
    pub version: String,
    /// The level.
    pub level: String,
    /// Whether it does.
    pub state: State,
    /// What it shows or does, in a few words.
    pub note: String,
}

/// Whether a build shows a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It does.
    Affected,
    /// It is right there.
    Right,
    /// It does not show the value there: no help, but no lie.
    OptimisedOut,
    /// It cannot be compared there.
    Unknown,
    /// There is no such build, or it does something else.
    Failed,
}

impl State {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            State::Affected => "affected",
            State::Right => "right",
            State::OptimisedOut => "optimised out",
            State::Unknown => "not comparable",
            State::Failed => "failed",
        }
    }
}

/// What one build did: compiled, or compiled and run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Which build.
    pub build: String,
    /// The command that made it.
    pub command: String,
    /// How it ended.
    pub ending: String,
    /// What was printed (the beginning of it).
    pub output: String,
    /// Whether this is how it should be.
    pub expected: bool,
}

/// Files and commands that show a finding without candor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproduction {
    /// Files to write: name and text.
    pub files: Vec<(String, String)>,
    /// Commands, in order.
    pub commands: Vec<String>,
}

/// What a report shows of one finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exhibit {
    /// [`SCHEMA`] when it was made.
    pub schema: u32,
    /// The build that is wrong.
    pub build: BuildName,
    /// What is wrong with it, for findings of debug information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The program with its values; without any for wrong code.
    pub source: SourceView,
    /// The subject over time.
    #[serde(default)]
    pub history: History,
    /// Every build there is, and whether it shows the finding.
    #[serde(default)]
    pub builds: Vec<BuildState>,
    /// All locations of the subject.
    #[serde(default)]
    pub locations: Vec<ListedLocation>,
    /// The code around the stop.
    #[serde(default)]
    pub code: Vec<Instruction>,
    /// What builds do, for wrong code, crashes and hangs.
    #[serde(default)]
    pub runs: Vec<Run>,
    /// How to see it without candor.
    #[serde(default)]
    pub reproduction: Reproduction,
    /// The program as it was found, before it was reduced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<SourceView>,
}

/// A build with the compiler's own words about itself.
fn build_name(
    workshop: &Workshop<'_>,
    compiler: &Compiler,
    level: &str,
) -> Result<BuildName, Error> {
    let directory = workshop.scratch.job()?;
    let answer = workshop.sandbox.run(
        &compiler.job(directory.path()).arg("-v"),
        &Limits::compiler(),
    )?;
    // gcc and clang answer on standard error; the search for other installations is noise
    let text = answer.stderr_text();
    let wanted = |line: &&str| {
        [
            " version ",
            "Target: ",
            "Configured with: ",
            "Thread model: ",
        ]
        .iter()
        .any(|sign| line.contains(sign))
    };
    let lines: Vec<&str> = text.lines().filter(wanted).collect();
    Ok(BuildName {
        compiler: compiler.name.clone(),
        version: compiler.version.to_string(),
        level: level.to_owned(),
        identity: lines.join("\n"),
    })
}

/// The words of a level.
fn flags(level: &str) -> Vec<String> {
    level.split_whitespace().map(str::to_owned).collect()
}

impl From<Counts> for State {
    /// What the values of one variable come to.
    fn from(counts: Counts) -> State {
        if counts.wrong + counts.ill_formed > 0 {
            State::Affected
        } else if counts.equal > 0 {
            State::Right
        } else if counts.optimised_out > 0 {
            State::OptimisedOut
        } else {
            State::Unknown
        }
    }
}
