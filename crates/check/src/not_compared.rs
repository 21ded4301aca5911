//! What a check of a Rust program leaves out: names that are visible at a point that was reached, and not compared there.

use std::collections::{BTreeMap, BTreeSet};

use candor_source::{Point, Variable};

use crate::plan::Plan;
use crate::truth::Truth;

/// Another variable has the same name, line and function.
const AMBIGUOUS: &str = "SameNameAndLine";
/// Its type is not known to be `Copy`, and a use by value came before.
const MOVED: &str = "MaybeMoved";
/// Nothing of its type can be compared: raw and function pointers, trait objects, unions, state machines, what has no
/// size.
const TYPE: &str = "TypeNotCompared";

/// (point, variable) pairs that are left out, by reason. C programs have none: whatever is visible there is looked at.
pub fn not_compared(plan: &Plan, truth: &Truth) -> BTreeMap<String, usize> {
    let mut left_out = BTreeMap::new();
    if !plan.unit.is_rust() || plan.only.is_some() {
        return left_out;
    }
    // points may have several sites: a generic function has instances
    let mut compared: BTreeMap<usize, BTreeSet<(&str, u32)>> = BTreeMap::new();
    for site in truth.recording.sites() {
        let Some(point) = site.point else { continue };
        let here = compared.entry(point).or_default();
        for (_, number) in site.leaves.own() {
            if let Some(leaf) = truth.recording.leaf(number) {
                here.insert((&leaf.key.variable, leaf.key.decl_line.0));
            }
        }
    }
    for (point, seen) in compared {
        let Some(point) = plan.points().get(point) else {
            continue;
        };
        for variable in plan.unit.visible_at(point) {
            if variable.function.is_some()
                && !seen.contains(&(variable.name.as_str(), variable.debug_line))
            {
                let reason = why(plan, point, variable);
                *left_out.entry(reason.to_owned()).or_default() += 1;
            }
        }
    }
    left_out
}

fn why(plan: &Plan, point: &Point, variable: &Variable) -> &'static str {
    if !plan.unit.is_distinct(variable) {
        AMBIGUOUS
    } else if !plan.unit.is_whole(point, variable) {
        MOVED
    } else {
        TYPE
    }
}
