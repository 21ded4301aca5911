//! # What it removes
//! Neighbours (rule N) as sources of PHIs, unless the neighbour is a PHI that goes away.
//!
//! # Why
//! PHIs stand at the top of a block whatever they are for; their neighbours say nothing.
//!
//! # Example
//! A widened induction variable's PHI beside the old one, which stays.
//!
//! # What it may hide
//! A PHI made for something that is no PHI, beside nothing that goes away.
//!
//! # Source
//! Measured: 4 sites on LLVM 19 alone. Error 4 of the paper's Table 6 is the reason for the exception.

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
        "a PHI's neighbour is its source only if it is a PHI that goes away"
    }

    fn source(&self, update: &Update, candidate: &Candidate) -> Opinion {
        let replaces_phi = candidate.evidence.erased
            && candidate
                .sources
                .iter()
                .all(|source| source.opcode == Opcode::PHI);
        match candidate.rule == Rule::N && update.opcode == Opcode::PHI && !replaces_phi {
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
        let mut gone = neighbour.clone();
        gone.evidence.erased = true;
        assert_eq!(PhiSource.source(&update, &gone), Opinion::Refused);
        gone.sources[0].opcode = Opcode::PHI;
        assert_eq!(PhiSource.source(&update, &gone), Opinion::Fine);
        assert_eq!(
            PhiSource.source(&update, &fixture::candidate(Rule::P)),
            Opinion::Fine
        );
    }
}
