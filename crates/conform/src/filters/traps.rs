//! # What it removes
//! Drop verdicts whose only avoiding paths end in `unreachable`.
//!
//! # Why
//! Such a path aborts the program. That a line of the normal path shows just before is not what
//! misleads a reader, and hoisting above a bounds check is everywhere.
//!
//! # Example
//! `br i1 %oob, label %trap, label %cont` with a load hoisted from `cont`.
//!
//! # What it may hide
//! A crash report with a line that was not reached.
//!
//! # Source
//! Measured: should-drop sites on LLVM 19 go from 8 to 5, all 42 errors stay.

use crate::filters::{Case, Class, Filter};
use crate::paths::Avoid;

/// See the module's text.
#[derive(Debug)]
pub struct Traps;

impl Filter for Traps {
    fn name(&self) -> &'static str {
        "traps"
    }

    fn about(&self) -> &'static str {
        "paths that avoid the sources and end in unreachable do not count"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.class == Class::ShouldDrop
            && !case.candidate.all_drop()
            && case.candidate.avoid == Avoid::OnlyTraps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn traps_do_not_count() {
        let mut update = fixture::hoisted();
        update.candidates[0].readings = [crate::update::Required::Preserve; 3];
        assert!(!Traps.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.candidates[0].avoid = Avoid::OnlyTraps;
        assert!(Traps.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
