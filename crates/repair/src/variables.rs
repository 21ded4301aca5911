//! Which value of the IR each source variable has at a loop head, and how it changes from one visit to the next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use candor_prove::image::Code;
use candor_prove::ir::{Binary, BlockId, Function, Inst, Operand, Terminator, ValueId, VariableIs};
use candor_prove::{Column, Definition, Proof};

use crate::settled::starts;

/// A source variable: its name and the line of its declaration.
pub(crate) type Variable = (String, u32);

type Known = BTreeMap<Variable, Operand>;

/// What every variable is at the start of a block, its phis done.
pub(crate) fn variables_at(function: &Function, block: BlockId) -> Known {
    known(function, block, false)
}

/// What every variable is at the return; nothing if there are several.
pub(crate) fn variables_at_return(function: &Function) -> Known {
    let mut returns = function
        .blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| matches!(block.terminator, Terminator::Return(_)));
    match (returns.next(), returns.next()) {
        (Some((index, _)), None) => known(function, BlockId(index as u32), true),
        _ => Known::new(),
    }
}

fn known(function: &Function, block: BlockId, whole: bool) -> Known {
    let count = function.blocks.len();
    let mut before: Vec<Option<Known>> = vec![None; count];
    before[0] = Some(Known::new());
    let mut waiting = VecDeque::from([0usize]);
    while let Some(index) = waiting.pop_front() {
        let Some(mut known) = before[index].clone() else {
            continue;
        };
        for record in &function.blocks[index].variables {
            set(&mut known, record);
        }
        for target in targets(&function.blocks[index].terminator) {
            let slot = &mut before[target.0 as usize];
            let met = match slot {
                None => known.clone(),
                Some(old) => old
                    .iter()
                    .filter(|(variable, operand)| known.get(*variable) == Some(*operand))
                    .map(|(variable, operand)| (variable.clone(), operand.clone()))
                    .collect(),
            };
            if slot.as_ref() != Some(&met) {
                *slot = Some(met);
                waiting.push_back(target.0 as usize);
            }
        }
    }
    let mut known = before[block.0 as usize].take().unwrap_or_default();
    for record in &function.block(block).variables {
        if record.after == 0 || whole {
            set(&mut known, record);
        }
    }
    known
}

/// By how much a value grows with each visit of a loop head, where that is one number.
pub(crate) fn stride(function: &Function, head: BlockId, id: ValueId) -> Option<i64> {
    let phi = function.block(head).phis.iter().find(|phi| phi.to == id)?;
    let width = function.value(id).width;
    let mut found = None;
    for (from, operand) in &phi.from {
        if function.order[from.0 as usize] < function.order[head.0 as usize] {
            continue; // into the loop
        }
        let Operand::Value(next) = operand else {
            return None;
        };
        let by = function
            .blocks
            .iter()
            .flat_map(|block| &block.steps)
            .find(|step| step.to == Some(*next))
            .and_then(|step| match &step.inst {
                Inst::Binary { op, a, b, .. } if *a == Operand::Value(id) => match (op, b) {
                    (Binary::Add, Operand::Number(number)) => Some(extended(*number, width)),
                    (Binary::Sub, Operand::Number(number)) => {
                        extended(*number, width).checked_neg()
                    }
                    _ => None,
                },
                _ => None,
            })?;
        if found.is_some_and(|other| other != by) {
            return None;
        }
        found = Some(by);
    }
    found
}

/// Whether no loop lies within that of a loop head.
pub(crate) fn is_innermost(function: &Function, head: BlockId) -> bool {
    let place = |block: BlockId| function.order[block.0 as usize];
    let mut inside = BTreeSet::from([head]);
    let before = |block: BlockId| {
        (0..function.blocks.len() as u32)
            .map(BlockId)
            .filter(move |from| targets(&function.block(*from).terminator).contains(&block))
    };
    let mut waiting: Vec<BlockId> = before(head)
        .filter(|from| place(*from) >= place(head))
        .collect();
    while let Some(block) = waiting.pop() {
        if inside.insert(block) {
            waiting.extend(before(block));
        }
    }
    function
        .heads
        .iter()
        .all(|other| *other == head || !inside.contains(other))
}

/// The machine addresses at which a variable's value changes from visit to visit of a loop, or is what such a loop left behind, so that
/// a constant is not right there for every run (unless the proof itself says the number).
pub(crate) fn varying(
    function: &Function,
    code: &Code,
    proof: &Proof,
) -> BTreeMap<Variable, BTreeSet<u64>> {
    let mut all: BTreeMap<Variable, BTreeSet<u64>> = BTreeMap::new();
    let starts = starts(code);
    for node in &proof.nodes {
        let behind = starts
            .iter()
            .filter(|(_, from)| from.contains(&Some(node.at)))
            .map(|(at, _)| *at);
        let behind: Vec<u64> = behind.collect();
        let block = function.block(node.head);
        let mut cycle: Option<BTreeSet<u64>> = None;
        for (variable, operand) in variables_at(function, node.head) {
            let Operand::Value(id) = operand else {
                continue;
            };
            let constant = node.invariants.iter().any(|invariant| {
                invariant.column == Column::Source(id)
                    && matches!(&invariant.by, Definition::Affine { terms, .. } if terms.is_empty())
            });
            if !constant && block.phis.iter().any(|phi| phi.to == id) {
                let cycle = cycle.get_or_insert_with(|| around(code, node.at));
                let slot = all.entry(variable).or_default();
                slot.extend(cycle.iter().chain(&behind));
            }
        }
    }
    all
}

/// The instructions on ways from an address back to it.
fn around(code: &Code, head: u64) -> BTreeSet<u64> {
    let reach = |next: &dyn Fn(u64) -> Vec<u64>| {
        let mut seen = BTreeSet::new();
        let mut waiting = next(head);
        while let Some(at) = waiting.pop() {
            if seen.insert(at) {
                waiting.extend(next(at));
            }
        }
        seen
    };
    let mut before: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for at in &code.reached {
        for next in code.successors(*at) {
            before.entry(next).or_default().push(*at);
        }
    }
    let forward = reach(&|at| code.successors(at));
    let backward = reach(&|at| before.get(&at).cloned().unwrap_or_default());
    forward.intersection(&backward).copied().collect()
}

fn extended(number: u64, width: u8) -> i64 {
    let unused = 64 - u32::from(width.clamp(1, 64));
    (number << unused) as i64 >> unused
}

fn set(known: &mut Known, record: &VariableIs) {
    known.insert((record.name.clone(), record.declared), record.value.clone());
}

fn targets(terminator: &Terminator) -> Vec<BlockId> {
    match terminator {
        Terminator::Jump(to) => vec![*to],
        Terminator::Branch(_, a, b) => vec![*a, *b],
        Terminator::Switch(_, _, cases, other) => {
            cases.iter().map(|(_, to)| *to).chain([*other]).collect()
        }
        Terminator::Return(_) | Terminator::Unreachable => Vec::new(),
    }
}
