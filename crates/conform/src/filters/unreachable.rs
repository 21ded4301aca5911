//! # What it removes
//! Lost verdicts on `unreachable`, and on the stores to nowhere that stand for it inside a block, which
//! become a low class.
//!
//! # Why
//! No code is generated for it; a lost location there harms only remarks and sanitizer reports.
//!
//! # Example
//! `changeToUnreachable` in SimplifyCFG.
//!
//! # What it may hide
//! Nothing: `--all` shows them.
//!
//! # Source
//! Notes of the measurements: with it, 18 sites stay on LLVM 19, 2 of them false.

use candor_llvm::Opcode;

use crate::filters::{Case, Class, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct Unreachable;

impl Filter for Unreachable {
    fn name(&self) -> &'static str {
        "unreachable"
    }

    fn about(&self) -> &'static str {
        "a new unreachable without a location is a low class"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        let text = &case.update.text;
        let to_nowhere = text.starts_with("store ")
            && (text.contains("ptr poison,") || text.contains(" poison, ptr null,"));
        case.class == Class::Lost && (case.update.opcode == Opcode::UNREACHABLE || to_nowhere)
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
    fn unreachable_is_low() {
        let mut update = fixture::lost();
        assert!(!Unreachable.noise(&fixture::case(&update, Class::Lost)));
        update.opcode = Opcode::UNREACHABLE;
        assert!(Unreachable.noise(&fixture::case(&update, Class::Lost)));
        assert!(Unreachable.lowers());
        update.opcode = Opcode(27);
        update.text = "store i1 true, ptr poison, align 1".into();
        assert!(Unreachable.noise(&fixture::case(&update, Class::Lost)));
        update.text = "store i1 true, ptr %p, align 1".into();
        assert!(!Unreachable.noise(&fixture::case(&update, Class::Lost)));
    }
}
