//! # What it removes
//! Drop verdicts by rule S unless all three readings demand it or the instruction was moved alone;
//! and all on PHIs.
//!
//! # Why
//! Somebody chose that location. That a path avoids its owner is weak evidence against a choice.
//!
//! # Example
//! LICM gives a sunk store the location of one of the stores it replaces.
//!
//! # What it may hide
//! A wrong choice above an if without else.
//!
//! # Source
//! Measured: 1 site on LLVM 19.

use candor_llvm::Opcode;

use crate::filters::{Case, Class, Filter};
use crate::update::Rule;

/// See the module's text.
#[derive(Debug)]
pub struct ExplicitSource;

impl Filter for ExplicitSource {
    fn name(&self) -> &'static str {
        "explicit-source"
    }

    fn about(&self) -> &'static str {
        "a location taken from elsewhere is wrong only if all readings say so"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.candidate.rule == Rule::S
            && (case.class != Class::ShouldDrop
                || case.update.opcode == Opcode::PHI
                || !(case.candidate.all_drop() || case.update.moved_alone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn chosen_locations_need_all_readings() {
        let mut update = fixture::hoisted();
        update.moved_alone = false;
        update.candidates[0].rule = Rule::S;
        assert!(!ExplicitSource.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.candidates[0].readings[2] = crate::update::Required::Preserve;
        assert!(ExplicitSource.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.moved_alone = true;
        assert!(!ExplicitSource.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.opcode = Opcode::PHI;
        assert!(ExplicitSource.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
