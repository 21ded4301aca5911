//! # What it removes
//! Every verdict from a pipeline of more than one pass.
//!
//! # Why
//! With several passes, what one pass made is another's input: sources resolve across them, and
//! inlining or vectorising rebuilds whole regions. Such runs belong to `--per-pass`, which gives each
//! pass an input of its own.
//!
//! # Example
//! `-passes='loop-vectorize,instcombine'`. Adaptors, analyses, printers, verifiers do not count.
//!
//! # What it may hide
//! Errors that only show after another pass prepared the ground: `--per-pass` finds them.
//!
//! # Source
//! Measured: removes 10 of 91 raw sites on LLVM 19 alone.

use crate::filters::{Case, Filter};
use crate::pipeline::passes;

/// See the module's text.
#[derive(Debug)]
pub struct OnePass;

impl Filter for OnePass {
    fn name(&self) -> &'static str {
        "one-pass"
    }

    fn about(&self) -> &'static str {
        "only pipelines of one pass are judged"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        passes(case.pipeline).len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    #[test]
    fn pipelines_are_counted_by_their_passes() {
        let update = fixture::lost();
        let mut case = fixture::case(&update, crate::filters::Class::Lost);
        assert!(!OnePass.noise(&case));
        case.pipeline = "function(loop-mssa(licm),verify)";
        assert!(!OnePass.noise(&case));
        case.pipeline = "loop-vectorize,instcombine";
        assert!(OnePass.noise(&case));
    }
}
