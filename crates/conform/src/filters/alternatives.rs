//! # What it removes
//! Merge verdicts where one path goes through two of the sources.
//!
//! # Why
//! Merging is for alternatives: the same computation of several arms, of which one is executed. Where one
//! source comes after another, the later one was redundant, and the earlier one's location is right.
//!
//! # Example
//! InstCombine replaces a load by an equal one before it, then sinks that one.
//!
//! # What it may hide
//! A merge of arms inside a loop that a reading of the paths runs through twice.
//!
//! # Source
//! Measured on passes outside Table 6 (docs/conform.md): 2 sites on LLVM 19.

use crate::filters::{Case, Class, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct Alternatives;

impl Filter for Alternatives {
    fn name(&self) -> &'static str {
        "alternatives"
    }

    fn about(&self) -> &'static str {
        "only sources that exclude each other are merged"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.class == Class::ShouldMerge && !case.candidate.alternatives
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn sources_on_one_path_are_not_merged() {
        let mut update = fixture::hoisted();
        assert!(!Alternatives.noise(&fixture::case(&update, Class::ShouldMerge)));
        update.candidates[0].alternatives = false;
        assert!(Alternatives.noise(&fixture::case(&update, Class::ShouldMerge)));
        assert!(!Alternatives.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
