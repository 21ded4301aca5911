//! # False conditional block (FCB)
//!
//! ## What it does
//! Inserts `if (p) { ... }` or `while (p) { ... }` with a predicate that is false whenever the point is reached, and
//! a body of random statements over the variables, arrays, pointers, functions and labels in scope.
//!
//! ## Why
//! The compiler cannot see that the body is dead: its control and data flow constrain every optimisation of the
//! live code around it.
//!
//! ## Example
//! `while ((g_3 > 7) && (l_2 == 4)) { l_2 = g_3; if (l_2) { goto end; } } x = l_2;`
//!
//! ## False alarms
//! A predicate that is false in the profile and true in another build: values that depend on the order of evaluation or
//! were never initialised. Both are why the profile takes two compilers, one of them with MSan.
//!
//! ## Source
//! Paper 004 §4.2.

use super::{Made, Site};
use crate::predicate;

pub const ABOUT: &str = "False conditional block (paper 004 §4.2): inserts `if (p) {...}` or `while (p) {...}` where p \
is false for every value seen at the point. The body is random code over what is in scope (loops, switches, calls, \
pointers, jumps); it never runs, but the compiler cannot know that and has to honour its control and data flow.";

pub fn make(site: &Site<'_>, random: &mut fastrand::Rng) -> Option<Made> {
    let predicate = predicate::synthesise(site.environment, false, random)?;
    let keyword = if random.bool() { "if" } else { "while" };
    // Inside a `while` of ours, `break` and `continue` would be legal even where the surroundings forbid them; the
    // body does without.
    let body = site.surroundings.block(random);
    Some(Made {
        text: format!("{keyword} ({}) {body} ", predicate.text),
        removed: None,
        predicates: vec![predicate],
    })
}
