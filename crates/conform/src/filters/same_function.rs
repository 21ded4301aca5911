//! # What it removes
//! Verdicts whose sources are in another function than the destination.
//!
//! # Why
//! Inlining and outlining copy instructions from one control-flow graph into another. Paths of two
//! functions cannot be compared, and the copies get their location from the call (`inlinedAt`), which the
//! analysis does not follow.
//!
//! # Example
//! The inliner's block cloner, which "keeps" the location of every instruction of the callee.
//!
//! # What it may hide
//! A location that inlining loses.
//!
//! # Source
//! Measured on passes outside Table 6 (docs/conform.md): 7 of 59 sites on LLVM 19, all inlining.

use crate::filters::{Case, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct SameFunction;

impl Filter for SameFunction {
    fn name(&self) -> &'static str {
        "same-function"
    }

    fn about(&self) -> &'static str {
        "sources in another function (inlining) are not compared"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        !case.candidate.same_function
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::{Class, fixture};

    #[test]
    fn inlined_code_is_not_compared() {
        let mut update = fixture::hoisted();
        assert!(!SameFunction.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.candidates[0].same_function = false;
        assert!(SameFunction.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
