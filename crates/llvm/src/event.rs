//! What was seen: plain data, fit for analysis without a library at hand.
//!
//! The manipulations of paper 002's Table 1 (Create, Clone, Move, Replace), the update operations of
//! its Table 2 (Merge, Drop, and setting a location, of which Preserve is one use), and where each new
//! instruction was put.

use std::collections::{BTreeMap, BTreeSet};

use candor_dwarf::Svma;

/// One instruction from its constructor to its destructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstId(pub u32);

/// A call stack, by number in [`Recording::stacks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

/// What happened to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It was made from nothing.
    Create,
    /// It was made as a copy of `other`, and has its location.
    Clone,
    /// It went to another block; `bulk` when blocks were joined or split around it.
    Move {
        /// Part of a whole block's move.
        bulk: bool,
    },
    /// All uses of `other` became uses of it.
    Replace,
    /// `applyMergedLocation`.
    Merge,
    /// `dropLocation`.
    Drop,
    /// It was given a location.
    SetLocation,
    /// Its location was taken away.
    ClearLocation,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub deed: Deed,
    /// To whom.
    pub on: InstId,
    /// The clone's source; the replaced instruction.
    pub other: Option<InstId>,
    /// Who did it: for creations, clones and moves.
    pub stack: Option<StackId>,
}

/// Where an instruction was put when it last entered a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// The instruction before it then.
    pub previous: Option<InstId>,
    /// The instruction behind it then.
    pub next: Option<InstId>,
    /// Put there by `insertAfter`.
    pub after: bool,
    /// For a terminator: the one its block had before, or still has behind it.
    pub old_terminator: Option<InstId>,
    /// How many events there were before.
    pub event: usize,
}

/// All that was recorded during one run of a pass.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// In order.
    pub events: Vec<Event>,
    /// Per instruction that was inserted, where.
    pub insertions: BTreeMap<InstId, Insertion>,
    /// By [`InstId`]: whether it was made while recording.
    pub new: Vec<bool>,
    /// By [`StackId`]: return addresses in the file, innermost first.
    pub stacks: Vec<Vec<Svma>>,
    /// Addresses of blocks destroyed while recording: whoever has such an address later is another.
    pub dead_blocks: BTreeSet<u64>,
    /// How many successors a terminator had when it was replaced.
    pub successors: BTreeMap<InstId, u32>,
}

impl Recording {
    /// Whether `id` was made while recording.
    pub fn is_new(&self, id: InstId) -> bool {
        self.new.get(id.0 as usize).copied().unwrap_or(false)
    }

    /// The frames of a stack.
    pub fn stack(&self, id: StackId) -> &[Svma] {
        self.stacks.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }
}
