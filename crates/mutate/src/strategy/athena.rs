//! # Athena
//!
//! ## What it does
//! Inserts random statements at a point that was not reached on the input.
//!
//! ## Why
//! New code in dead regions adds control and data flow that the compiler must honour around the live code.
//!
//! ## Example
//! `if (g_3) { { l_2 += 4; f(l_2); } l_2 = 1; }` where the branch is never taken.
//!
//! ## False alarms
//! None: the point was not reached in any of the builds.
//!
//! ## Source
//! Le, Sun, Su: Finding Deep Compiler Bugs via Guided Stochastic Program Mutation (OOPSLA 2015), as described in paper
//! 004 §2.

use super::{Made, Site};

pub const ABOUT: &str = "Athena (OOPSLA 2015, see paper 004 §2): inserts random code at a point the input never reaches.";

pub fn make(site: &Site<'_>, random: &mut fastrand::Rng) -> Option<Made> {
    Some(Made {
        text: format!("{} ", site.surroundings.block(random)),
        removed: None,
        predicates: Vec::new(),
    })
}
