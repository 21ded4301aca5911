//! # What it removes
//! Lost verdicts where the pass did something about the location, or did not make the instruction.
//!
//! # Why
//! A dropped or cleared location is a decision. LICM drops on every hoist; that is policy.
//!
//! # Example
//! `I.dropLocation()` after a hoist that all readings would allow to keep.
//!
//! # What it may hide
//! Decisions that are wrong.
//!
//! # Source
//! Measured: 3 sites on LLVM 19 alone.

use candor_llvm::Location;

use crate::filters::{Case, Class, Filter};
use crate::update::{Operation, Origin};

/// See the module's text.
#[derive(Debug)]
pub struct NoOperation;

impl Filter for NoOperation {
    fn name(&self) -> &'static str {
        "operation"
    }

    fn about(&self) -> &'static str {
        "lost means forgotten: new, without a location, and nothing was done"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        let update = case.update;
        let forgotten = update.location == Location::None
            && update.origin == Origin::Created
            && update.operation == Operation::Nothing;
        case.class == Class::Lost && !forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn decisions_are_not_losses() {
        let mut update = fixture::lost();
        assert!(!NoOperation.noise(&fixture::case(&update, Class::Lost)));
        update.operation = Operation::Dropped;
        assert!(NoOperation.noise(&fixture::case(&update, Class::Lost)));
        update.operation = Operation::Nothing;
        update.location = Location::Zero;
        assert!(NoOperation.noise(&fixture::case(&update, Class::Lost)));
    }
}
