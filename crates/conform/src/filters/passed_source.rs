//! # What it removes
//! Drop verdicts by rule S where every way to the destination goes through the source's block.
//!
//! # Why
//! Somebody chose the location of something that has been executed by then: stepping stays on a line that
//! was passed, and does not show one that may never be reached.
//!
//! # Example
//! Structurising gives the branch of a new flow block the location of the branch that dominates it.
//!
//! # What it may hide
//! A loop's condition that is shown after the loop.
//!
//! # Source
//! Measured on passes outside Table 6 (docs/conform.md): 3 of 59 sites on LLVM 19.

use crate::filters::{Case, Class, Filter};
use crate::update::Rule;

/// See the module's text.
#[derive(Debug)]
pub struct PassedSource;

impl Filter for PassedSource {
    fn name(&self) -> &'static str {
        "passed-source"
    }

    fn about(&self) -> &'static str {
        "a chosen location of something that was passed on every way is a choice"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.class == Class::ShouldDrop && case.candidate.rule == Rule::S && case.candidate.precedes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn only_chosen_locations_that_were_passed() {
        let mut update = fixture::hoisted();
        update.candidates[0].precedes = true;
        assert!(!PassedSource.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.candidates[0].rule = Rule::S;
        assert!(PassedSource.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.candidates[0].precedes = false;
        assert!(!PassedSource.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
