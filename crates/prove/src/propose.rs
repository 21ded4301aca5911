//! Claims taken from symbolic execution instead of traces: what a register holds on the way into a loop, as a term over
//! parameters and values that do not change (a broadcast value, `16·(n >> 2)`), and conditions on parameters that the way
//! in establishes (overlap checks, `n > 7`). Guesses like all others.

use std::collections::BTreeSet;

use crate::image::Code;
use crate::invariant::{Column, Definition, Hypothesis, Invariant, Moment, source_name};
use crate::ir::{Function, Val};
use crate::product::{Fail, From, Product};
use crate::region::{MachineEnd, SourceEnd};
use crate::term::Portable;
use crate::x86::{CALLEE_SAVED, RSP};

/// Terms of a proposed definition, at most.
const MOST_TERMS: usize = 6;

/// Adds proposals to the nodes of a product.
pub fn propose(product: &mut Product<'_>) {
    let mut done: BTreeSet<u64> = BTreeSet::new();
    let mut waiting: Vec<From> = vec![None];
    while let Some(from) = waiting.pop() {
        let Ok(expanded) = product.expand(from, &[]) else {
            continue;
        };
        for one in expanded {
            let MachineEnd::Head(at) = one.path.end else {
                continue;
            };
            if done.contains(&at) {
                continue;
            }
            let Some(edge) = product.edges.get(&(from, one.path.end)).cloned() else {
                continue;
            };
            let Some(fewest) = edge.steps.first() else {
                continue;
            };
            let node = product.nodes[&at].clone();
            let target = SourceEnd::Head(node.head);
            let steps = BTreeSet::from([*fewest]);
            let reached = match product.run_source(&one.context, &one.start, &steps, target) {
                Ok(reached) => reached,
                Err(Fail::Time | Fail::Interrupted) => return,
                Err(_) => continue,
            };
            let Some(reached) = reached.into_iter().next() else {
                continue;
            };
            done.insert(at);
            waiting.insert(0, Some(at));
            product.t.enter(reached.context.clone());
            let function = product.function;
            // variables of the start that are the values of source variables at the end
            let mut names: Vec<(String, String)> = Vec::new();
            for id in &node.sources {
                if let Some(Some(Val::Int(value))) = reached.env.get(id.0 as usize)
                    && let Some(var) = product.t.as_var(*value)
                {
                    let old = product.t.name_of(var).to_owned();
                    names.push((old, source_name(function, *id)));
                }
            }
            let mut found = Vec::new();
            for column in undefined(function, product.code, product.saved, &node) {
                let moment = Moment {
                    world: &product.world,
                    function,
                    env: &reached.env,
                    state: &one.path.state,
                    memory: &one.path.memory,
                };
                let Ok(value) = moment.value(&mut product.t, column) else {
                    continue;
                };
                let trivial =
                    product.t.as_var(value).is_some() || product.t.as_constant(value).is_some();
                if product.t.size(value) > MOST_TERMS || (column.is_source() && trivial) {
                    continue;
                }
                let Some(mut tree) = product.t.export(value) else {
                    continue;
                };
                if renamed(&mut tree, &names) {
                    found.push(Invariant {
                        column,
                        by: Definition::Term(tree),
                    });
                }
            }
            let mut literals = Vec::new();
            let certain = one.path.guard.certain();
            let known: Vec<_> = one.context.hypotheses().to_vec();
            for literal in certain.into_iter().chain(known) {
                if product.t.condition_reads_memory(literal) {
                    continue;
                }
                let Some(tree) = product.t.export_condition(literal) else {
                    continue;
                };
                let mut variables = Vec::new();
                tree.variables(&mut variables);
                let only_params = !variables.is_empty()
                    && variables.iter().all(|name| {
                        function
                            .params
                            .iter()
                            .any(|param| source_name(function, param.value) == *name)
                    });
                let literal = Hypothesis::Literal(tree);
                if only_params && !node.hypotheses.contains(&literal) {
                    literals.push(literal);
                }
            }
            if let Some(node) = product.nodes.get_mut(&at) {
                node.invariants.extend(found);
                for literal in literals {
                    if !node.hypotheses.contains(&literal) {
                        node.hypotheses.push(literal);
                    }
                }
            }
        }
    }
}

/// Renames variables to those of the end; false if one has no name there.
fn renamed(tree: &mut Portable, names: &[(String, String)]) -> bool {
    let mut variables = Vec::new();
    tree.variables(&mut variables);
    let known = |name: &str| names.iter().find(|(old, _)| old == name);
    if !variables
        .iter()
        .all(|name| known(name).is_some() || name.starts_with("unit "))
    {
        return false;
    }
    tree.rename(&|name| match known(name) {
        Some((_, new)) => new.clone(),
        None => name.to_owned(),
    });
    true
}

/// Columns without a definition: registers and lanes that are read later, and source values that are no parameters.
fn undefined(
    function: &Function,
    code: &Code,
    saved: &BTreeSet<usize>,
    node: &crate::invariant::Node,
) -> Vec<Column> {
    let defined: BTreeSet<Column> = node.invariants.iter().map(|inv| inv.column).collect();
    let live = code.live.get(&node.at).copied().unwrap_or(0);
    let mut all = Vec::new();
    for number in 0..16u8 {
        let index = number as usize;
        let untouched = CALLEE_SAVED.contains(&index) && !saved.contains(&index);
        let views = [
            Column::Reg(number),
            Column::Low(number),
            Column::LowAny(number),
        ];
        if live >> number & 1 == 1
            && index != RSP
            && !untouched
            && !views.iter().any(|view| defined.contains(view))
        {
            all.push(Column::Reg(number));
        }
    }
    let lanes = if code.uses_ymm() { 8 } else { 4 };
    for number in 0..16u8 {
        if live >> (16 + number) & 1 == 1 {
            all.extend((0..lanes).map(|lane| Column::Lane(number, lane)));
        }
    }
    for offset in (node.depth.max(-512)..0)
        .step_by(8)
        .filter(|offset| offset % 8 == 0)
    {
        let halves = [Column::HalfSlot(offset), Column::HalfSlot(offset + 4)];
        if !halves.iter().any(|half| defined.contains(half)) {
            all.push(Column::Slot(offset));
        }
    }
    for id in &node.sources {
        if !function.is_param(*id) && function.value(*id).width > 1 {
            all.push(Column::Source(*id));
        }
    }
    all.retain(|column| !defined.contains(column));
    all
}
