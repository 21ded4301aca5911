//! # What it removes
//! Verdicts on `llvm.assume` and `llvm.experimental.noalias.scope.decl`, and on what only these use.
//!
//! # Why
//! They generate no code: nothing to step on, nothing to lose.
//!
//! # Example
//! Knowledge retention puts an assume where an access was removed.
//!
//! # What it may hide
//! Nothing a debugger could show.
//!
//! # Source
//! Measured: 1 site on LLVM 19.

use crate::filters::{Case, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct Assumption;

impl Filter for Assumption {
    fn name(&self) -> &'static str {
        "assumption"
    }

    fn about(&self) -> &'static str {
        "llvm.assume and the like are no code"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.update.assumption
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn assumptions_are_noise() {
        let mut update = fixture::lost();
        assert!(!Assumption.noise(&fixture::case(&update, crate::filters::Class::Lost)));
        update.assumption = true;
        assert!(Assumption.noise(&fixture::case(&update, crate::filters::Class::Lost)));
    }
}
