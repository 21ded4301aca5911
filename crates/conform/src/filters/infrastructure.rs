//! # What it removes
//! New PHIs with SSAUpdater, PromoteMem2Reg, SplitBlockPredecessors, SCEVExpander, LCSSA or loop
//! simplification among the six innermost frames.
//!
//! # Why
//! Such PHIs carry values over control flow; no source statement computes them.
//!
//! # Example
//! Loop-closed SSA inserts `%x.lcssa = phi` at every exit.
//!
//! # What it may hide
//! A pass that calls these helpers and then hands the PHI out as a result of its own.
//!
//! # Source
//! Measured: 2 sites on LLVM 19, 2 on other passes. Names are compared as whole words:
//! `MemorySSAUpdater` is somebody else.

use candor_llvm::Opcode;

use crate::filters::{Case, Filter};
use crate::update::Origin;

/// Functions and classes that repair SSA form.
const REPAIR: [&str; 9] = [
    "SSAUpdater",
    "SSAUpdaterImpl",
    "SplitBlockPredecessors",
    "UpdatePHINodes",
    "PromoteMem2Reg",
    "SCEVExpander",
    "formLCSSAForInstructions",
    "simplifyLoop",
    "InsertPreheaderForLoop",
];

/// Whether `name` is one of the words of a qualified name.
fn is_called(function: &str, name: &str) -> bool {
    function
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| word == name)
}

/// See the module's text.
#[derive(Debug)]
pub struct Infrastructure;

impl Filter for Infrastructure {
    fn name(&self) -> &'static str {
        "infrastructure"
    }

    fn about(&self) -> &'static str {
        "PHIs made by SSA repair have no source location"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        let update = case.update;
        update.opcode == Opcode::PHI
            && update.origin == Origin::Created
            && case
                .callers
                .iter()
                .take(6)
                .any(|caller| REPAIR.iter().any(|name| is_called(caller, name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn phis_of_ssa_repair_are_noise() {
        let mut update = fixture::lost();
        update.opcode = Opcode::PHI;
        let mut case = fixture::case(&update, crate::filters::Class::Lost);
        let ours = ["SSAUpdater::GetValueInMiddleOfBlock".to_owned()];
        let theirs = ["MemorySSAUpdater::insertDef".to_owned()];
        case.callers = &theirs;
        assert!(!Infrastructure.noise(&case));
        case.callers = &ours;
        assert!(Infrastructure.noise(&case));
    }
}
