//! What a check reports: findings with their evidence, and what makes two of them the same bug.

use std::collections::BTreeMap;

use candor_dwarf::{Observation, Value};
use serde::{Deserialize, Serialize};

use crate::frames::FrameCounts;
use crate::rounds::Round;
use crate::truth::same_value;

/// What sort of violation it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The debug information gives a value that the variable does not have.
    WrongValue,
    /// The debug information breaks the DWARF standard; no debugger can evaluate it.
    IllFormedLocation,
    /// A debugger shows something other than the debug information says.
    DebuggerDisagrees,
    /// A debugger dies or hangs on the debug information.
    DebuggerCrash,
    /// A static variable that is never read lost its stores or its initialiser, and shows its first
    /// value or zero.
    WriteOnlyStatic,
    /// A reference leads to something that is not what it refers to (Rust): another address, or memory whose stores were
    /// moved or removed.
    WrongReferent,
    /// A call is on another line than the source has it on.
    WrongLine,
    /// The functions that have not returned are others, or at other lines, than those that led there.
    WrongFrame,
}

impl Kind {
    /// Whether it is about where the program is, and not about a variable.
    pub fn is_about_place(self) -> bool {
        matches!(self, Kind::WrongLine | Kind::WrongFrame)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::WrongValue => "wrong-value",
            Kind::IllFormedLocation => "ill-formed-location",
            Kind::DebuggerDisagrees => "debugger-disagrees",
            Kind::DebuggerCrash => "debugger-crash",
            Kind::WriteOnlyStatic => "write-only-static",
            Kind::WrongReferent => "wrong-referent",
            Kind::WrongLine => "wrong-line",
            Kind::WrongFrame => "wrong-frame",
        })
    }
}

/// Another place where the same variable is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// How many visits of it show something wrong.
    pub visits: u64,
}

impl Place {
    /// From wrong visits per line.
    pub(crate) fn all(lines: &BTreeMap<u32, u64>) -> Vec<Place> {
        let place = |(line, visits): (&u32, &u64)| Place {
            line: *line,
            visits: *visits,
        };
        lines.iter().map(place).collect()
    }
}

/// A violated expectation with its evidence and a one-line replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What sort.
    pub kind: Kind,
    /// Who is to blame: the compiler's or the debugger's name.
    pub blame: String,
    /// The function; `None` for a global.
    pub function: Option<String>,
    /// The variable with its path, as a C expression. Of a wrong line `line`, of a wrong frame `frame[N]`; `merged line`
    /// and `merged frame[N]` where one call stands for several of the source.
    pub variable: String,
    /// Where it is declared.
    pub declared: u32,
    /// Where it was looked at.
    pub line: u32,
    /// In which frame, from 0 for the function that is stopped; inlined functions count.
    #[serde(default, skip_serializing_if = "is_innermost")]
    pub frame: u16,
    /// The text of that line.
    pub source_line: String,
    /// The number of the barrier call of the run, from 0.
    pub stop: u64,
    /// At which visit of that line's point, from 1.
    pub visit: u32,
    /// Of how many.
    pub visits: u32,
    /// The true value.
    pub expected: String,
    /// What is shown instead.
    pub shown: String,
    /// The compiler.
    pub compiler: String,
    /// Its release.
    pub version: String,
    /// The optimisation level.
    pub level: String,
    /// Who saw it: `native`, `gdb`, `lldb`; `print` for the shadow program.
    pub confirmed_by: Vec<String>,
    /// What each debugger printed.
    pub debuggers: BTreeMap<String, String>,
    /// The location in the debug information, in words.
    pub location: String,
    /// Where else the same variable is wrong in this build.
    pub places: Vec<Place>,
    /// What makes it the same bug as another.
    pub signature: Signature,
    /// What a reader should know before believing it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The round whose build shows it.
    #[serde(default)]
    pub round: Round,
    /// Every round of which a build shows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// Where that build's barriers are, as offsets in the program; empty where there is one before every statement, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barriers: Vec<usize>,
    /// The command that shows it again.
    pub replay: String,
}

fn is_innermost(frame: &u16) -> bool {
    *frame == 0
}

impl Finding {
    /// The variable without its path.
    pub fn root(&self) -> &str {
        candor_dwarf::root_of(&self.variable)
    }
}

/// What makes two findings the same bug as far as one program can tell. The culprit pass, once known,
/// is the best part of it (paper 000 §6.4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Signature {
    /// What sort.
    pub kind: Kind,
    /// Whose compiler or debugger.
    pub family: String,
    /// `local int`, `parameter pointer`, `static unsigned`: names and lines left out.
    pub variable: String,
    /// The kind of statement it was seen at.
    pub statement: String,
    /// How the shown value relates to the true one: `zero`, `off by one`, `negated`, `other`.
    pub relation: String,
    /// Levels that show it, sorted.
    pub levels: Vec<String>,
    /// The compiler pass, when isolated.
    pub pass: Option<String>,
}

impl std::fmt::Display for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} | {} | {} | {} | {} | {}",
            self.kind,
            self.family,
            self.variable,
            self.statement,
            self.relation,
            self.levels.join(" ")
        )?;
        match &self.pass {
            Some(pass) => write!(f, " | {pass}"),
            None => Ok(()),
        }
    }
}

/// How a wrong number relates to the right one.
pub fn relation(expected: &str, shown: &str) -> &'static str {
    match (expected.parse::<i128>(), shown.parse::<i128>()) {
        (Ok(_), Ok(0)) => "zero",
        (Ok(a), Ok(b)) if a.checked_sub(b).is_some_and(|d| d.unsigned_abs() == 1) => "off by one",
        (Ok(a), Ok(b)) if a.checked_neg() == Some(b) => "negated",
        (Ok(_), Ok(_)) => "other",
        _ if shown == "0x0" => "zero",
        _ => "other",
    }
}

/// What became of one value, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Shown and true.
    Equal,
    /// At a stop that cannot be matched with the reference.
    Unaligned,
    /// Not shown.
    OptimisedOut,
    /// Well-formed, but not readable from outside.
    Unreadable,
    /// The debug information cannot be evaluated.
    IllFormed,
    /// Shown and not true.
    Wrong,
}

impl Class {
    /// Of what was seen, where the truth is known; `None` where nothing can be said.
    pub(crate) fn of(seen: Option<&Observation>, truth: Option<&Value>) -> Option<Class> {
        match (seen, truth) {
            (Some(Observation::IllFormed(_)), _) => Some(Class::IllFormed),
            (_, None) => None,
            (None | Some(Observation::OptimisedOut), Some(_)) => Some(Class::OptimisedOut),
            (Some(Observation::Unreadable(_)), Some(_)) => Some(Class::Unreadable),
            (Some(Observation::Value(shown)), Some(truth)) => {
                same_value(shown, truth).map(|same| if same { Class::Equal } else { Class::Wrong })
            }
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Class::Equal => "equal",
            Class::Unaligned => "unaligned",
            Class::OptimisedOut => "optimised out",
            Class::Unreadable => "unreadable",
            Class::IllFormed => "ill-formed",
            Class::Wrong => "wrong",
        }
    }
}

/// Values of one build, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Shown and true.
    pub equal: u64,
    /// Not shown.
    pub optimised_out: u64,
    /// Shown and not true.
    pub wrong: u64,
    /// The debug information cannot be evaluated.
    pub ill_formed: u64,
    /// At stops that cannot be matched with the reference.
    pub unaligned: u64,
    /// At stops where the build shows another line or function, which is reported by itself.
    #[serde(default)]
    pub misplaced: u64,
    /// Well-formed, but not readable from outside (an entry value without its caller, say).
    pub unreadable: u64,
}

impl Counts {
    /// One more of a class.
    pub fn add(&mut self, class: Class) {
        *self.of(class) += 1;
    }

    pub(crate) fn of(&mut self, class: Class) -> &mut u64 {
        match class {
            Class::Equal => &mut self.equal,
            Class::Unaligned => &mut self.unaligned,
            Class::OptimisedOut => &mut self.optimised_out,
            Class::Unreadable => &mut self.unreadable,
            Class::IllFormed => &mut self.ill_formed,
            Class::Wrong => &mut self.wrong,
        }
    }

    /// One that seemed wrong cannot be matched with the reference after all.
    pub(crate) fn take(&mut self, kind: Kind) {
        let seemed = match kind {
            Kind::IllFormedLocation => &mut self.ill_formed,
            _ => &mut self.wrong,
        };
        *seemed = seemed.saturating_sub(1);
        self.unaligned += 1;
    }

    /// As many more of each as `other` has.
    pub(crate) fn add_all(&mut self, other: &Counts) {
        self.equal += other.equal;
        self.optimised_out += other.optimised_out;
        self.wrong += other.wrong;
        self.ill_formed += other.ill_formed;
        self.unaligned += other.unaligned;
        self.misplaced += other.misplaced;
        self.unreadable += other.unreadable;
    }

    /// Those of which a value was shown that could be compared.
    pub fn compared(&self) -> u64 {
        self.equal + self.wrong + self.ill_formed
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.equal
            + self.unaligned
            + self.misplaced
            + self.optimised_out
            + self.unreadable
            + self.ill_formed
            + self.wrong
    }
}

/// One row of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The compiler.
    pub compiler: String,
    /// The level.
    pub level: String,
    /// What became of the values.
    #[serde(flatten)]
    pub counts: Counts,
    /// What became of the lines and functions shown, at each barrier call.
    #[serde(default)]
    pub frames: FrameCounts,
    /// Why there are none, or what else was noticed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What one round came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRow {
    /// Which.
    pub round: Round,
    /// Builds that were made and compared.
    pub builds: usize,
    /// Points with a barrier in one of them at least.
    pub points: usize,
    /// What became of the values.
    #[serde(flatten)]
    pub counts: Counts,
    /// Seconds that building and comparing took, of one core.
    #[serde(default)]
    pub seconds: f64,
    /// Findings that one of its builds shows.
    pub findings: usize,
    /// Findings that no other round shows.
    pub alone: usize,
    /// Points that are reached and had no turn.
    pub left_out: usize,
    /// What else is to be said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Something that looks wrong and could not be confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undecided {
    /// The variable with its path.
    pub variable: String,
    /// The line.
    pub line: u32,
    /// The compiler.
    pub compiler: String,
    /// The level.
    pub level: String,
    /// Why it is not reported.
    pub reason: String,
}

/// The result of one check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The program.
    pub program: String,
    /// Points with a barrier.
    pub points: usize,
    /// Places passed over, by reason.
    pub skipped: BTreeMap<String, usize>,
    /// Variables left out at points that were reached, wholly or in part, by reason: how many (point, variable) pairs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_compared: BTreeMap<String, usize>,
    /// Stops of the reference run.
    pub stops: usize,
    /// Points that the run comes by.
    #[serde(default)]
    pub reached: usize,
    /// Which rounds ran, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundRow>,
    /// Variables of which a value was shown and compared.
    #[serde(default)]
    pub variables: usize,
    /// Lines that are executed, and lines of them where a value was compared.
    #[serde(default)]
    pub lines: (usize, usize),
    /// The builds that say what is true: compiler and flags. None for two builds of the user's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// What became of the values, per compiler and level, all rounds together.
    pub summary: Vec<Row>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What could not be confirmed.
    pub undecided: Vec<Undecided>,
    /// Anything else a reader should know.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::relation;

    #[test]
    fn relations_between_wrong_and_right() {
        assert_eq!(relation("8", "0"), "zero");
        assert_eq!(relation("36902", "36901"), "off by one");
        assert_eq!(relation("-5", "5"), "negated");
        assert_eq!(relation("7", "12"), "other");
        assert_eq!(relation("&g", "0x0"), "zero");
        assert_eq!(relation("1.5", "2.5"), "other");
    }
}
