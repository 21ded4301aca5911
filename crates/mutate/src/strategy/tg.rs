//! # True guard (TG)
//!
//! ## What it does
//! Puts `if (p)` in front of an executed statement, where p is true whenever the point is reached.
//!
//! ## Why
//! What was straight-line code becomes conditional in the compiler's eyes: dominance, liveness and value ranges change.
//!
//! ## Example
//! `if ((l_2 <= 4) || (g_3 != 1)) x = l_2;`
//!
//! ## False alarms
//! As for FCB. Declarations are left alone (their scope would shrink to the `if`), and so is assembler. Only statements
//! directly inside a block are guarded, so an `else` that follows belongs to the guarded statement itself.
//!
//! ## Source
//! Paper 004 §4.2.

use candor_source::StatementKind;

use super::{Made, Site};
use crate::predicate;

pub const ABOUT: &str = "True guard (paper 004 §4.2): puts `if (p)` in front of an executed statement, where p is true \
for every value seen at the point. Straight-line code becomes conditional in the compiler's eyes.";

pub fn make(site: &Site<'_>, random: &mut fastrand::Rng) -> Option<Made> {
    if matches!(
        site.point.statement,
        StatementKind::Declaration | StatementKind::Asm
    ) {
        return None;
    }
    let predicate = predicate::synthesise(site.environment, true, random)?;
    Some(Made {
        text: format!("if ({}) ", predicate.text),
        removed: None,
        predicates: vec![predicate],
    })
}
