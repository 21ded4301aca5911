//! # What it removes
//! Drop verdicts on which the three readings of "each loop once" differ.
//!
//! # Why
//! The paper does not say which reading it means; where they differ the set comparison is about
//! rounds of a loop, not about paths that never meet the source.
//!
//! # Example
//! Copies of whole loops (peeling, unswitching): D sees a line of the copy that R saw before.
//!
//! # What it may hide
//! Hoists inside loops that only one reading notices and no path avoids.
//!
//! # Source
//! Measured: 1 site on LLVM 19, 6 on other passes.

use crate::filters::{Case, Class, Filter};
use crate::paths::Avoid;

/// See the module's text.
#[derive(Debug)]
pub struct Agreement;

impl Filter for Agreement {
    fn name(&self) -> &'static str {
        "agreement"
    }

    fn about(&self) -> &'static str {
        "Drop needs all three path readings, or a path that avoids the sources"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.class == Class::ShouldDrop
            && !case.candidate.all_drop()
            && !matches!(case.candidate.avoid, Avoid::Yes | Avoid::OnlyTraps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn readings_must_agree() {
        let mut update = fixture::hoisted();
        update.candidates[0].avoid = Avoid::No;
        assert!(!Agreement.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.candidates[0].readings[1] = crate::update::Required::Preserve;
        assert!(Agreement.noise(&fixture::case(&update, Class::ShouldDrop)));
        update.candidates[0].avoid = Avoid::Yes;
        assert!(!Agreement.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
