//! Everything visible at one program counter, prepared once and evaluated at each visit.

use crate::{Leaf, Line, Svma};

/// What a site shall hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteOptions {
    /// Also the globals of the unit.
    pub globals: bool,
    /// How many leaves of one variable at most.
    pub leaf_cap: usize,
    /// Also the variables of the functions that the innermost one is inlined into.
    pub all_frames: bool,
}

impl Default for SiteOptions {
    fn default() -> SiteOptions {
        SiteOptions { globals: true, leaf_cap: 64, all_frames: false }
    }
}

/// Everything visible at one program counter.
#[derive(Debug)]
pub struct Site {
    /// The address that was asked for.
    pub pc: Svma,
    /// The innermost function, inlined or not.
    pub function: String,
    /// The line of the row that covers the address.
    pub line: Option<Line>,
    pub(crate) leaves: Vec<Leaf>,
}

impl Site {
    /// The scalar parts of all variables, in the order of [`Image::observe`](crate::Image::observe)'s output.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }
}
