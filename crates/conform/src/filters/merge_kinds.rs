//! # What it removes
//! Merge verdicts unless an instruction was moved and all sources are of its kind.
//!
//! # Why
//! Replacing the uses of an instruction by an existing value (redundancy elimination) makes one
//! location stand for several computations, but no instruction was merged: the surviving one is still
//! where it was.
//!
//! # Example
//! GVN replaces a load by an earlier one; InstCombine's builder gives a select one arm's location.
//!
//! # What it may hide
//! Merging by cloning one of several (GVNHoist does), which shows as should-drop instead.
//!
//! # Source
//! Measured: 1 site on LLVM 19, 45 on other passes.

use crate::filters::{Case, Class, Filter};
use crate::update::Origin;

/// See the module's text.
#[derive(Debug)]
pub struct MergeKinds;

impl Filter for MergeKinds {
    fn name(&self) -> &'static str {
        "merge-kinds"
    }

    fn about(&self) -> &'static str {
        "only moved instructions of one kind are merged"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        let update = case.update;
        case.class == Class::ShouldMerge
            && (update.origin != Origin::Moved
                || case
                    .candidate
                    .sources
                    .iter()
                    .any(|source| source.opcode != update.opcode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn only_moved_equals_are_merged() {
        let mut update = fixture::hoisted();
        update.candidates[0].sources[0].opcode = update.opcode;
        assert!(!MergeKinds.noise(&fixture::case(&update, Class::ShouldMerge)));
        update.candidates[0].sources[0].opcode = candor_llvm::Opcode(12);
        assert!(MergeKinds.noise(&fixture::case(&update, Class::ShouldMerge)));
        update.candidates[0].sources[0].opcode = update.opcode;
        update.origin = Origin::Cloned;
        assert!(MergeKinds.noise(&fixture::case(&update, Class::ShouldMerge)));
    }
}
