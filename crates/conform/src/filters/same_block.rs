//! # What it removes
//! Drop verdicts where every source is in the destination's own block.
//!
//! # Why
//! Whoever executes the block executed the source; the sets differ because the pass changed the
//! graph around it.
//!
//! # Example
//! A block that became reachable from elsewhere by jump threading.
//!
//! # What it may hide
//! Nothing known.
//!
//! # Source
//! Measured: 1 site on LLVM 19, 1 on other passes.

use crate::filters::{Case, Class, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct SameBlock;

impl Filter for SameBlock {
    fn name(&self) -> &'static str {
        "same-block"
    }

    fn about(&self) -> &'static str {
        "a source in the same block never requires Drop"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.class == Class::ShouldDrop && case.candidate.same_block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn the_same_block_is_no_reason_to_drop() {
        let mut update = fixture::hoisted();
        assert!(!SameBlock.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.candidates[0].same_block = true;
        assert!(SameBlock.noise(&fixture::case(&update, Class::ShouldDrop)));
        assert!(!SameBlock.noise(&fixture::case(&update, Class::Lost)));
    }
}
