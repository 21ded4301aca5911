//! Which value of the IR each source variable has at a loop head.

use std::collections::{BTreeMap, VecDeque};

use candor_prove::ir::{BlockId, Function, Operand, Terminator, VariableIs};

/// A source variable: its name and the line of its declaration.
pub(crate) type Variable = (String, u32);

type Known = BTreeMap<Variable, Operand>;

/// What every variable is at the start of a block, its phis done.
pub(crate) fn variables_at(function: &Function, block: BlockId) -> Known {
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
        if record.after == 0 {
            set(&mut known, record);
        }
    }
    known
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
