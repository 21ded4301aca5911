//! # What it removes
//! Old terminators (rule T) as sources of new ones with more successors, and with them every later
//! rule's source. (Where exactly one terminator of the input decides the same on the same value, rule T
//! takes that one, and this filter has nothing to say.)
//!
//! # Why
//! A conditional branch put into a preheader decides something that was decided elsewhere; the
//! preheader's old branch is not where.
//!
//! # Example
//! Unswitching puts the loop's condition into the preheader.
//!
//! # What it may hide
//! A terminator that was replaced by a larger one on another condition.
//!
//! # Source
//! Measured: 2 sites on LLVM 19. Error 45 of the paper's Table 6 (a switch unswitched into the
//! preheader) is found by its twin in the loop.

use crate::filters::{Filter, Opinion};
use crate::update::{Candidate, Rule, Update};

/// See the module's text.
#[derive(Debug)]
pub struct GrowingTerminator;

impl Filter for GrowingTerminator {
    fn name(&self) -> &'static str {
        "growing-terminator"
    }

    fn about(&self) -> &'static str {
        "a terminator with more successors than the old one is no replacement of it"
    }

    fn source(&self, _update: &Update, candidate: &Candidate) -> Opinion {
        match candidate.rule == Rule::T && candidate.grows {
            true => Opinion::RefusedForGood,
            false => Opinion::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn a_growing_terminator_ends_the_search() {
        let update = fixture::lost();
        let mut old = fixture::candidate(Rule::T);
        assert_eq!(GrowingTerminator.source(&update, &old), Opinion::Fine);
        old.grows = true;
        assert_eq!(
            GrowingTerminator.source(&update, &old),
            Opinion::RefusedForGood
        );
    }
}
