//! # True conditional block (TCB)
//!
//! ## What it does
//! Inserts a block that runs: it backs up one to three variables, assigns new, defined values to them, uses them under
//! a false guard, and restores them. The environment is updated line by line, so that later predicates and
//! expressions may use the new values.
//!
//! ## Why
//! Live code that really changes the state, and really changes it back: every pass has to carry it through.
//!
//! ## Example
//! `{ int candor_b0 = (g_3 ^ 5); if (g_3 == 1) { candor_b0 = l_2; l_2 = (candor_b0 << 2); if (l_2 < 0) {
//! __builtin_printf("%d\n", (int)l_2); } l_2 = candor_b0; } }`
//!
//! ## False alarms
//! Objects with two names (unions, aliases, restrict) and objects the compiler owns (`va_list`): the rules keep them out.
//!
//! ## Source
//! Paper 004 §4.2 Figure 4 and §4.4 Figure 6, for several variables and types. The restoring assignment is outside the
//! conditional block, as there: it is the backup's use.

use super::{Made, Site};
use crate::environment::{Column, stored};
use crate::expression;
use crate::place::Place;
use crate::predicate;

pub const ABOUT: &str = "True conditional block (paper 004 §4.2, Figures 4 and 6): inserts a block that runs. It backs up \
one to three variables, assigns new values computed without undefined behaviour, uses them behind a false guard, and \
restores them.";

/// Variables one block changes, at most.
const MOST: usize = 3;

pub fn make(site: &Site<'_>, random: &mut fastrand::Rng) -> Option<Made> {
    let mut environment = site.environment.clone();
    let mut writable: Vec<usize> = (0..environment.columns.len())
        .filter(|index| {
            environment
                .columns
                .get(*index)
                .is_some_and(|c| c.place.is_writable)
        })
        .collect();
    if writable.is_empty() {
        return None;
    }
    random.shuffle(&mut writable);
    writable.truncate(random.usize(1..=MOST));

    let mut text = String::from("{ ");
    let mut pairs = Vec::new();
    for changed in writable {
        let scalar = environment.columns.get(changed)?.place.scalar.declared();
        let name = format!("{}b{}_{}", site.prefix, site.point.id, pairs.len());
        let initial = expression::synthesise(&environment, random);
        text += &format!("{} {name} = {}; ", scalar.kind.c_name(), initial.text);
        let values = stored(scalar, &initial);
        let place = Place {
            text: name,
            scalar,
            is_writable: true,
            is_local: true,
        };
        pairs.push((changed, environment.columns.len()));
        environment.columns.push(Column { place, values });
    }

    let entered = predicate::synthesise(&environment, true, random)?;
    text += &format!("if ({}) {{ ", entered.text);
    for (changed, backup) in &pairs {
        let value = environment.columns.get(*changed)?.read();
        let column = environment.columns.get_mut(*backup)?;
        text += &format!("{} = {}; ", column.place.text, value.text);
        column.assign(&value);
    }
    for (changed, _) in &pairs {
        let value = expression::synthesise(&environment, random);
        let column = environment.columns.get_mut(*changed)?;
        text += &format!("{} = {}; ", column.place.text, value.text);
        column.assign(&value);
    }

    let skipped = predicate::synthesise(&environment, false, random)?;
    let keyword = if random.bool() { "if" } else { "while" };
    let shown = environment.columns.get(pairs.first()?.0)?.read().text;
    text += &format!(
        "{keyword} ({}) {{ __builtin_printf(\"%d\\n\", (int){shown}); ",
        skipped.text
    );
    if random.bool() {
        text += &site.surroundings.block(random);
    }
    text += " } } ";
    for (changed, backup) in &pairs {
        let target = &environment.columns.get(*changed)?.place.text;
        let source = &environment.columns.get(*backup)?.place.text;
        text += &format!("{target} = {source}; ");
    }
    text += "} ";
    Some(Made {
        text,
        removed: None,
        predicates: vec![entered, skipped],
    })
}
