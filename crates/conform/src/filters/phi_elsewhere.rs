//! # What it removes
//! Lost verdicts on what is no PHI where all sources are PHIs of other blocks, which become a low class.
//!
//! # Why
//! A PHI's location is that of its block's head. An instruction in another block that takes its place
//! computes the value anew, from something else.
//!
//! # Example
//! The vectoriser takes the last element of a vector in the middle block, in place of the PHI at the exit.
//!
//! # What it may hide
//! A computation that a pass hoists out of a PHI.
//!
//! # Source
//! Measured on LLVM 23 (docs/conform.md): 3 of 44 sites.

use candor_llvm::Opcode;

use crate::filters::{Case, Class, Filter};
use crate::update::Source;

/// See the module's text.
#[derive(Debug)]
pub struct PhiElsewhere;

impl Filter for PhiElsewhere {
    fn name(&self) -> &'static str {
        "phi-elsewhere"
    }

    fn about(&self) -> &'static str {
        "a PHI of another block is a weak source for what is no PHI"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        let from_phis = |source: &Source| source.opcode == Opcode::PHI;
        case.class == Class::Lost
            && case.update.opcode != Opcode::PHI
            && !case.candidate.same_block
            && case.candidate.sources.iter().all(from_phis)
    }

    fn lowers(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn only_phis_of_the_block_count() {
        let mut update = fixture::lost();
        update.candidates[0].sources[0].opcode = Opcode::PHI;
        assert!(PhiElsewhere.noise(&fixture::case(&update, Class::Lost)));
        update.candidates[0].same_block = true;
        assert!(!PhiElsewhere.noise(&fixture::case(&update, Class::Lost)));
        update.candidates[0].same_block = false;
        update.opcode = Opcode::PHI;
        assert!(!PhiElsewhere.noise(&fixture::case(&update, Class::Lost)));
    }
}
