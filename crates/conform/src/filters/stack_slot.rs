//! # What it removes
//! Lost verdicts on `alloca`, which become a low class.
//!
//! # Why
//! A stack slot in the entry block is part of the frame, not of a statement: the front end gives it no
//! location either.
//!
//! # Example
//! The slot for a by-value argument that inlining makes.
//!
//! # What it may hide
//! A dynamic `alloca`, which is code.
//!
//! # Source
//! Measured on passes outside Table 6 (docs/conform.md): 5 of 59 sites on LLVM 19.

use candor_llvm::Opcode;

use crate::filters::{Case, Class, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct StackSlot;

impl Filter for StackSlot {
    fn name(&self) -> &'static str {
        "stack-slot"
    }

    fn about(&self) -> &'static str {
        "a new alloca without a location is a low class"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.class == Class::Lost && case.update.opcode == Opcode::ALLOCA
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
    fn slots_are_a_low_class() {
        let mut update = fixture::lost();
        assert!(!StackSlot.noise(&fixture::case(&update, Class::Lost)));
        update.opcode = Opcode::ALLOCA;
        assert!(StackSlot.noise(&fixture::case(&update, Class::Lost)));
        assert!(!StackSlot.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
