//! What a check leaves out: names that are visible at a point that was reached, and not compared there, or not in full.
//! Always counted in (point, variable) pairs, once for each reason.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use candor_dwarf::{Observation, Omitted, PointerValue, ScalarKind, Value};
use candor_source::{Point, Variable};

use crate::plan::Plan;
use crate::recording::{KeyId, LeftOut};
use crate::truth::Truth;

/// Another variable has the same name, line and function.
const AMBIGUOUS: &str = "SameNameAndLine";
/// Its type is not known to be `Copy`, and a use by value came before.
const MOVED: &str = "MaybeMoved";
/// Nothing of its type can be compared: raw and function pointers, trait objects, unions, state machines, what has no
/// size.
const TYPE: &str = "TypeNotCompared";

/// C: another variable of the same name hides it.
const SHADOWED: &str = "Shadowed";
/// C: at some stop of the point it points to where no build has a name: stack, heap.
const NAMELESS: &str = "PointerWithoutName";

/// (point, variable) pairs that are left out, wholly or in part, by reason.
///
/// In C the reasons are those of [`candor_dwarf::Omission`], [`SHADOWED`] and [`NAMELESS`].
pub fn not_compared(plan: &Plan, truth: &Truth) -> BTreeMap<String, usize> {
    let mut left_out = BTreeMap::new();
    if plan.only.is_some() {
        return left_out;
    }
    if !plan.unit.is_rust() {
        in_layouts(plan, truth, &mut left_out);
        nameless_pointers(truth, &mut left_out);
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

/// What types and scopes leave out of a C program.
fn in_layouts(plan: &Plan, truth: &Truth, left_out: &mut BTreeMap<String, usize>) {
    let mut seen = BTreeSet::new();
    for site in truth.recording.sites() {
        let Some(point) = site.point.and_then(|point| plan.points().get(point)) else {
            continue;
        };
        if !seen.insert(point.id) {
            continue;
        }
        let LeftOut {
            own,
            globals,
            shadowed,
        } = &site.left_out;
        let visible = |omitted: &&Omitted| {
            omitted.parameter || plan.is_visible(point, &omitted.variable, omitted.decl_line.0)
        };
        let own = own
            .iter()
            .filter(|omitted| omitted.depth == 0)
            .filter(visible);
        for reason in own
            .chain(globals.iter())
            .flat_map(|omitted| &*omitted.reasons)
        {
            *left_out.entry(format!("{reason:?}")).or_default() += 1;
        }
        if !shadowed.is_empty() {
            *left_out.entry(SHADOWED.into()).or_default() += shadowed.len();
        }
    }
}

/// Pointers of a C program that mean nothing in another build.
fn nameless_pointers(truth: &Truth, left_out: &mut BTreeMap<String, usize>) {
    let recording = &truth.recording;
    let pointer = |key: &KeyId| {
        let leaf = recording.leaf(*key);
        leaf.is_some_and(|leaf| leaf.kind == ScalarKind::Pointer)
    };
    // per point: the pointers that were not yet seen to be without a name there
    let mut open: BTreeMap<usize, Vec<KeyId>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut nameless = HashSet::new();
    let mut replay = recording.replay();
    for stop in 0..recording.len() as u64 {
        if !replay.advance(stop) {
            break;
        }
        for key in replay.changed().filter(pointer) {
            let value = replay.seen(key).and_then(Observation::value);
            if matches!(value, Some(Value::Pointer(PointerValue::Opaque(_)))) {
                nameless.insert(key);
            } else {
                nameless.remove(&key);
            }
        }
        let Some((site, _)) = recording.site(stop) else {
            continue;
        };
        let Some(point) = site.point.filter(|_| !nameless.is_empty()) else {
            continue;
        };
        let here = open.entry(point).or_insert_with(|| {
            let all = site.leaves.iter().map(|(_, key)| key);
            all.filter(pointer).collect()
        });
        here.retain(|key| {
            if !nameless.contains(key) {
                return true;
            }
            if let Some(leaf) = recording.leaf(*key) {
                let key = &leaf.key;
                found.insert((point, &key.function, &key.variable, key.decl_line));
            }
            false
        });
    }
    if !found.is_empty() {
        left_out.insert(NAMELESS.into(), found.len());
    }
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
