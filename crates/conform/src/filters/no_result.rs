//! # What it removes
//! Neighbours (rule N) that stay, as sources of instructions without a result.
//!
//! # Why
//! What has a result may have been made for its neighbour. A store or a call without a result was not:
//! that they share an operand only says that they are about the same thing.
//!
//! # Example
//! Privatising an argument stores its parts into a slot at the function's start; the first statement,
//! which happens to use the slot, is not where that comes from.
//!
//! # What it may hide
//! A store made beside the one it completes.
//!
//! # Source
//! Measured on passes outside Table 6 (docs/conform.md): 4 of 59 sites on LLVM 19.

use crate::filters::{Filter, Opinion};
use crate::update::{Candidate, Rule, Update};

/// See the module's text.
#[derive(Debug)]
pub struct NoResult;

impl Filter for NoResult {
    fn name(&self) -> &'static str {
        "no-result"
    }

    fn about(&self) -> &'static str {
        "a neighbour that stays is no source of an instruction without a result"
    }

    fn source(&self, update: &Update, candidate: &Candidate) -> Opinion {
        let has_result = update.text.trim_start().starts_with('%');
        match candidate.rule == Rule::N && !candidate.evidence.erased && !has_result {
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
    fn stores_need_a_neighbour_that_goes_away() {
        let mut update = fixture::lost();
        update.text = "store i32 1, ptr %p, align 4".into();
        let mut neighbour = fixture::candidate(Rule::N);
        neighbour.evidence.shares = true;
        assert_eq!(NoResult.source(&update, &neighbour), Opinion::Refused);
        neighbour.evidence.erased = true;
        assert_eq!(NoResult.source(&update, &neighbour), Opinion::Fine);
        neighbour.evidence.erased = false;
        update.text = "%x = load i32, ptr %p, align 4".into();
        assert_eq!(NoResult.source(&update, &neighbour), Opinion::Fine);
    }
}
