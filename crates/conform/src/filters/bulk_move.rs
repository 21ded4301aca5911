//! # What it removes
//! Verdicts on a present location where the instruction only moved together with its block, and those
//! by rules T and N (a location that came from elsewhere is rule S's business).
//!
//! # Why
//! Joining a block to its only predecessor or splitting one moves every instruction in the library's
//! lists and none in the program.
//!
//! # Example
//! `MergeBlockIntoPredecessor`, `SplitBlock`.
//!
//! # What it may hide
//! A splice of a whole block to where it did not belong.
//!
//! # Source
//! Measured: 6 sites on LLVM 19 alone, among them errors 24 and 25 at their fixed sites.

use candor_llvm::Opcode;

use crate::filters::{Case, Class, Filter};
use crate::update::Rule;

/// See the module's text.
#[derive(Debug)]
pub struct BulkMove;

impl Filter for BulkMove {
    fn name(&self) -> &'static str {
        "bulk-move"
    }

    fn about(&self) -> &'static str {
        "whole blocks that are joined or split are not moved instructions"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        if case.class == Class::Lost {
            return false;
        }
        let update = case.update;
        let only_bulk = update.moved_in_bulk && !update.moved_alone;
        let merge_of_phi = case.class == Class::ShouldMerge && update.opcode == Opcode::PHI;
        only_bulk || merge_of_phi || matches!(case.candidate.rule, Rule::T | Rule::N)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn bulk_moves_are_noise() {
        let mut update = fixture::hoisted();
        assert!(!BulkMove.noise(&fixture::case(&update, Class::ShouldDrop)));
        (update.moved_alone, update.moved_in_bulk) = (false, true);
        assert!(BulkMove.noise(&fixture::case(&update, Class::ShouldDrop)));
        assert!(!BulkMove.noise(&fixture::case(&update, Class::Lost)));
        update = fixture::hoisted();
        update.candidates[0].rule = Rule::N;
        assert!(BulkMove.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
