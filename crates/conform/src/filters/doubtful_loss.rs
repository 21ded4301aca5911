//! # What it removes
//! Lost verdicts where one of the three readings of "each loop once" requires Drop, which become a low class.
//!
//! # Why
//! By that reading the location had to go. Drop needs all readings to agree, or a path that avoids the
//! sources; what is between the two is undecided, and no loss.
//!
//! # Example
//! Tail recursion elimination puts a select before the return, in a block that the new loop reaches on
//! other ways than before; upstream calls that select compiler generated.
//!
//! # What it may hide
//! A loss in a block that is part of a loop only in the output.
//!
//! # Source
//! Chosen on the passes of Table 6 (docs/conform.md).

use crate::filters::{Case, Class, Filter};

/// See the module's text.
#[derive(Debug)]
pub struct DoubtfulLoss;

impl Filter for DoubtfulLoss {
    fn name(&self) -> &'static str {
        "doubtful-loss"
    }

    fn about(&self) -> &'static str {
        "a location that one reading of the paths requires to be dropped is not lost"
    }

    fn noise(&self, case: &Case<'_>) -> bool {
        case.class == Class::Lost && case.candidate.any_drop()
    }

    fn lowers(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;
    use crate::update::Required;

    #[test]
    fn one_reading_is_enough_for_doubt() {
        let mut update = fixture::lost();
        assert!(!DoubtfulLoss.noise(&fixture::case(&update, Class::Lost)));
        update.candidates[0].readings[2] = Required::Drop;
        assert!(DoubtfulLoss.noise(&fixture::case(&update, Class::Lost)));
        assert!(!DoubtfulLoss.noise(&fixture::case(&update, Class::ShouldDrop)));
    }
}
