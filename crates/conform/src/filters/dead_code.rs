//! # What it removes
//! Verdicts on instructions in blocks that cannot be reached in the output.
//!
//! # Why
//! Nobody executes them, and the next clean-up removes them.
//!
//! # Example
//! Inlining an invoke of a function that never returns leaves a branch to the normal destination in a block
//! without predecessors.
//!
//! # What it may hide
//! Nothing a debugger could show.
//!
//! # Source
//! Measured on LLVM 23 (docs/conform.md): 1 of 24 sites.

use crate::filters::{Case, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct DeadCode;

impl Filter for DeadCode {
    fn name(&self) -> &'static str {
        "dead-code"
    }

    fn about(&self) -> &'static str {
        "nothing is said about code that cannot be reached"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.update.dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::Class;
    use crate::filters::fixture;

    #[test]
    fn unreachable_code_is_not_judged() {
        let mut update = fixture::lost();
        assert!(!DeadCode.noise(&fixture::case(&update, Class::Lost)));
        update.dead = true;
        assert!(DeadCode.noise(&fixture::case(&update, Class::Lost)));
    }
}
