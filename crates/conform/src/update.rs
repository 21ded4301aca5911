//! The words of the analysis: an update is a destination with what was done to its location, and per
//! source rule the sources and what the control flow requires.

use candor_llvm::{Location, Opcode, Svma};

use crate::paths::Avoid;

/// What a location should undergo (paper 002, section 2.1).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Required {
    /// The source's location stays.
    Preserve,
    /// The sources' locations are merged.
    Merge,
    /// No location.
    Drop,
}

impl std::fmt::Display for Required {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Required::Preserve => "Preserve",
            Required::Merge => "Merge",
            Required::Drop => "Drop",
        })
    }
}

/// How a destination came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Made from nothing.
    Created,
    /// A copy.
    Cloned,
    /// It was in the input, elsewhere.
    Moved,
}

/// The last thing the pass did to a destination's location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Nothing: it was created without one.
    Nothing,
    /// Nothing: it was moved and kept its own.
    Kept,
    /// Nothing: it came with the copy.
    Copied,
    /// A location was set.
    Set,
    /// Its location was cleared.
    Cleared,
    /// `applyMergedLocation`.
    Merged,
    /// `dropLocation`.
    Dropped,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Operation::Nothing => "no update",
            Operation::Kept => "no update (kept by the move)",
            Operation::Copied => "no update (copied by the clone)",
            Operation::Set => "setDebugLoc",
            Operation::Cleared => "cleared",
            Operation::Merged => "applyMergedLocation",
            Operation::Dropped => "dropLocation",
        })
    }
}

/// How the final location relates to the sources'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// None.
    Nothing,
    /// Line 0.
    Zero,
    /// The only line the sources have.
    Same,
    /// One of several.
    One,
    /// Some other instruction's.
    Other,
}

/// Where sources come from, in the order in which they are asked.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Rule {
    /// Algorithm 1 of the paper: clones, moves, replaced uses.
    P,
    /// The terminator a block lost when it got a new one.
    T,
    /// The neighbour something was created beside.
    N,
    /// The instruction whose location it ends up with.
    S,
    /// No source at all: new, without a location, nothing done. Always a low class.
    C,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 5] = [Rule::P, Rule::T, Rule::N, Rule::S, Rule::C];

    /// The letter of `--rules`.
    pub fn letter(self) -> &'static str {
        match self {
            Rule::P => "P",
            Rule::T => "T",
            Rule::N => "N",
            Rule::S => "S",
            Rule::C => "C",
        }
    }

    /// For people.
    pub fn describe(self) -> &'static str {
        match self {
            Rule::P => "clone, move or replaced uses (Algorithm 1)",
            Rule::T => "the terminator it replaces",
            Rule::N => "the neighbour it was created for",
            Rule::S => "the instruction whose location it has",
            Rule::C => "new, without a location, and nothing was done",
        }
    }
}

/// A source in the input.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Source {
    /// Its block.
    pub block: String,
    /// Its opcode.
    pub opcode: Opcode,
    /// Its location.
    pub location: Location,
}

/// Why a neighbour is taken for a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Evidence {
    /// The neighbour is gone.
    pub erased: bool,
    /// It uses the destination.
    pub uses: bool,
    /// The destination uses it.
    pub used: bool,
    /// They share an operand that is no constant.
    pub shares: bool,
}

impl Evidence {
    /// Whether there is any.
    pub fn any(self) -> bool {
        self.erased || self.uses || self.used || self.shares
    }
}

/// One rule's opinion on an update.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Candidate {
    /// Which rule.
    pub rule: Rule,
    /// The sources, in the input.
    pub sources: Vec<Source>,
    /// What readings D, R and X of the paths require.
    pub readings: [Required; 3],
    /// What the avoid check says.
    pub avoid: Avoid,
    /// How the final location relates to the sources'.
    pub effect: Effect,
    /// Whether a source had a location when the destination was made.
    pub located_then: bool,
    /// Whether all sources are in the destination's own block.
    pub same_block: bool,
    /// Whether all sources are in the destination's function.
    pub same_function: bool,
    /// For rule N.
    pub evidence: Evidence,
    /// For rule T: more successors than the old terminator.
    pub grows: bool,
    /// For rule S: whoever gets to the destination has been in the source's block.
    pub precedes: bool,
    /// No path goes through the blocks of two sources.
    pub alternatives: bool,
}

impl Candidate {
    /// Whether all three readings say Drop.
    pub fn all_drop(&self) -> bool {
        self.readings == [Required::Drop; 3]
    }

    /// Whether any reading says Drop.
    pub fn any_drop(&self) -> bool {
        self.readings.contains(&Required::Drop)
    }
}

/// A destination whose location deserves a look.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Update {
    /// Its number in the run, the same in every run.
    pub number: u32,
    /// The function it is in.
    pub function: String,
    /// Its block.
    pub block: String,
    /// As IR text.
    pub text: String,
    /// Its opcode.
    pub opcode: Opcode,
    /// The location it ends up with.
    pub location: Location,
    /// How it came to be.
    pub origin: Origin,
    /// The last thing done to its location.
    pub operation: Operation,
    /// One per rule that has sources.
    pub candidates: Vec<Candidate>,
    /// It was moved on its own.
    pub moved_alone: bool,
    /// It was moved with its block.
    pub moved_in_bulk: bool,
    /// Its block cannot be reached in the output.
    pub dead: bool,
    /// It is an assumption, or only assumptions use it: no code.
    pub assumption: bool,
    /// Who made it (or moved it, if it was in the input), innermost first.
    pub stack: Vec<Svma>,
    /// Who moved it last, if it was made by the pass.
    pub move_stack: Vec<Svma>,
}
