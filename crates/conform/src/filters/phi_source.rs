//! # What it removes
//! Neighbours (rule N) as sources of PHIs.
//!
//! # Why
//! PHIs stand at the top of a block whatever they are for; their neighbours say nothing.
//!
//! # Example
//! Sinking two stores makes a PHI of their operands at the top of the common successor.
//!
//! # What it may hide
//! A PHI made in place of another whose uses are rewritten one by one.
//!
//! # Source
//! Measured: 4 sites on LLVM 19 alone. An exception for neighbours that are PHIs and go away was tried
//! and brought back operand PHIs of sinking and loop-closed SSA.

use candor_llvm::Opcode;

use crate::filters::{Filter, Opinion};
use crate::update::{Candidate, Rule, Update};

/// See the module's text.
#[derive(Debug)]
pub struct PhiSource;

impl Filter for PhiSource {
    fn name(&self) -> &'static str {
        "phi-source"
    }

    fn about(&self) -> &'static str {
        "a PHI's neighbour is not its source"
    }

    fn source(&self, update: &Update, candidate: &Candidate) -> Opinion {
        match candidate.rule == Rule::N && update.opcode == Opcode::PHI {
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
    fn neighbours_of_phis_are_no_sources() {
        let mut update = fixture::lost();
        let neighbour = fixture::candidate(Rule::N);
        assert_eq!(PhiSource.source(&update, &neighbour), Opinion::Fine);
        update.opcode = Opcode::PHI;
        assert_eq!(PhiSource.source(&update, &neighbour), Opinion::Refused);
        assert_eq!(
            PhiSource.source(&update, &fixture::candidate(Rule::P)),
            Opinion::Fine
        );
    }
}
