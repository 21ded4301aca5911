//! # What it removes
//! Drop verdicts on PHIs, which become a low class.
//!
//! # Why
//! A PHI is no step of its own: it stands at the head of a block for values that other instructions computed.
//! Which line it carries is nothing one could stop at.
//!
//! # Example
//! Loop fusion moves the second header's PHIs into the first header.
//!
//! # What it may hide
//! A PHI that becomes a copy with the wrong line.
//!
//! # Source
//! Measured on LLVM 23 (docs/conform.md): 1 of 24 sites.

use candor_llvm::Opcode;

use crate::filters::{Case, Class, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct MovedPhi;

impl Filter for MovedPhi {
    fn name(&self) -> &'static str {
        "moved-phi"
    }

    fn about(&self) -> &'static str {
        "a PHI that keeps its location is a low class"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.class == Class::ShouldDrop && case.update.opcode == Opcode::PHI
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
    fn phis_may_keep_theirs() {
        let mut update = fixture::hoisted();
        assert!(!MovedPhi.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.opcode = Opcode::PHI;
        assert!(MovedPhi.noise(&fixture::case(&update, Class::ShouldDrop)));
        assert!(!MovedPhi.noise(&fixture::case(&update, Class::Lost)));
    }
}
