//! # What it removes
//! Neighbours (rule N) without any tie to the new instruction.
//!
//! # Why
//! Much is put before a block's terminator for want of a better place: a preheader's branch is not
//! the source of what is hoisted there. A neighbour counts if it is erased, uses the new instruction,
//! is used by it, or shares a non-constant operand with it.
//!
//! # Example
//! LICM's promotion loads before the preheader's `br`; a trip count computed there.
//!
//! # What it may hide
//! A replacement whose operands were all replaced before, next to an instruction that stays.
//!
//! # Source
//! Measured: 8 sites on LLVM 19 alone.

use crate::filters::{Filter, Opinion};
use crate::update::{Candidate, Rule, Update};

/// See the module's text.
#[derive(Debug)]
pub struct NeighbourEvidence;

impl Filter for NeighbourEvidence {
    fn name(&self) -> &'static str {
        "evidence"
    }

    fn about(&self) -> &'static str {
        "a neighbour needs evidence to be a source"
    }

    fn source(&self, _update: &Update, candidate: &Candidate) -> Opinion {
        match candidate.rule == Rule::N && !candidate.evidence.any() {
            true => Opinion::Refused,
            false => Opinion::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn a_neighbour_without_ties_is_no_source() {
        let update = fixture::lost();
        let mut neighbour = fixture::candidate(Rule::N);
        assert_eq!(
            NeighbourEvidence.source(&update, &neighbour),
            Opinion::Refused
        );
        neighbour.evidence.uses = true;
        assert_eq!(NeighbourEvidence.source(&update, &neighbour), Opinion::Fine);
        let terminator = fixture::candidate(Rule::T);
        assert_eq!(
            NeighbourEvidence.source(&update, &terminator),
            Opinion::Fine
        );
    }
}
