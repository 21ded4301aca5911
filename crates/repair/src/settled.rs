//! Values that are numbers on an edge of the product: before a loop's first iteration, and behind its last.
//!
//! Between two visits of loop heads (or the entry, or a return) the machine is on one edge of the product, and the proof knows the source
//! values that are numbers at the start or at the end of it ([`candor_prove::Settled`]). An instruction that lies on such edges only
//! can show them: before the last store of the edge the number at its start, behind that the number at its end.

use std::collections::{BTreeMap, BTreeSet};

use candor_prove::image::Code;
use candor_prove::ir::{Function, Operand, ValueId};
use candor_prove::{MachineEnd, Proof, ProofEdge};
use iced_x86::FlowControl;

use crate::expression::Expression;
use crate::spread::Precision;
use crate::variables::{Variable, variables_at, variables_at_return};

/// A number that a variable is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    /// The value, as far as the variable's width goes.
    pub value: i64,
    /// How precise it is.
    pub precision: Precision,
    /// The value that the next loop head will have, before any loop: an expression from there says the same.
    pub ahead: bool,
}

impl Number {
    /// As an expression.
    pub fn expression(self) -> Expression {
        Expression {
            registers: Vec::new(),
            unit: None,
            constant: self.value,
            divisor: 1,
            narrow: false,
        }
    }
}

/// Numbers by instruction and variable.
pub(crate) type Numbers = BTreeMap<u64, BTreeMap<Variable, Number>>;

/// The numbers that the proof's edges give.
pub(crate) fn numbers(code: &Code, function: &Function, proof: &Proof) -> Numbers {
    let starts = starts(code);
    let ends = ends(code);
    let storing = storing(code, proof);
    let stores_at_all = !proof.stores.is_empty();
    let mut all = Numbers::new();
    for at in &code.reached {
        let (Some(from), Some(to)) = (starts.get(at), ends.get(at)) else {
            continue;
        };
        let edges: Vec<&ProofEdge> = proof
            .edges
            .iter()
            .filter(|edge| from.contains(&edge.from) && to.contains(&edge.to))
            .collect();
        let most = edges.iter().map(|edge| iterations(edge)).max();
        let Some(most) = most else { continue };
        let done = !storing.contains(at);
        let ahead = from.iter().all(Option::is_none);
        let within = if most <= 1 {
            Precision::Exact
        } else {
            Precision::Within(most)
        };
        let at_end = agreed(&edges, |edge| at_end(function, proof, edge));
        let at_start = agreed(&edges, |edge| at_start(function, proof, edge));
        let mut here: BTreeMap<Variable, Number> = BTreeMap::new();
        let mut put = |known: BTreeMap<Variable, i64>, precision: Precision| {
            for (variable, value) in known {
                here.entry(variable).or_insert(Number {
                    value,
                    precision,
                    ahead,
                });
            }
        };
        if done {
            // what is left of the edge is not seen from outside: the source may as well be at its end
            let precision = if stores_at_all {
                Precision::Exact
            } else {
                within
            };
            put(at_end, precision);
            put(at_start, within);
        } else {
            put(at_start, within);
            put(at_end, within);
        }
        all.insert(*at, here);
    }
    all
}

/// Source iterations of an edge; the return itself counts as a step.
fn iterations(edge: &ProofEdge) -> usize {
    let steps = edge.edge.steps.last().copied().unwrap_or(0);
    match edge.to {
        MachineEnd::Head(_) => steps,
        MachineEnd::Return(_) => steps.saturating_sub(1),
    }
}

/// What all edges say.
fn agreed(
    edges: &[&ProofEdge],
    known: impl Fn(&ProofEdge) -> BTreeMap<Variable, i64>,
) -> BTreeMap<Variable, i64> {
    let mut all: Option<BTreeMap<Variable, i64>> = None;
    for edge in edges {
        let own = known(edge);
        match &mut all {
            None => all = Some(own),
            Some(all) => all.retain(|variable, value| own.get(variable) == Some(value)),
        }
    }
    all.unwrap_or_default()
}

fn at_start(function: &Function, proof: &Proof, edge: &ProofEdge) -> BTreeMap<Variable, i64> {
    let node = proof.nodes.iter().find(|node| Some(node.at) == edge.from);
    match node {
        Some(node) => valued(
            function,
            variables_at(function, node.head),
            &edge.settled.start,
        ),
        None => BTreeMap::new(),
    }
}

fn at_end(function: &Function, proof: &Proof, edge: &ProofEdge) -> BTreeMap<Variable, i64> {
    let variables = match edge.to {
        MachineEnd::Return(_) => variables_at_return(function),
        MachineEnd::Head(at) => match proof.nodes.iter().find(|node| node.at == at) {
            Some(node) => variables_at(function, node.head),
            None => return BTreeMap::new(),
        },
    };
    valued(function, variables, &edge.settled.end)
}

fn valued(
    function: &Function,
    variables: BTreeMap<Variable, Operand>,
    numbers: &BTreeMap<ValueId, u64>,
) -> BTreeMap<Variable, i64> {
    variables
        .into_iter()
        .filter_map(|(variable, operand)| {
            let value = match operand {
                Operand::Value(id) => {
                    let unused = 64 - u32::from(function.value(id).width.clamp(1, 64));
                    (numbers.get(&id)? << unused) as i64 >> unused
                }
                Operand::Number(number) => number as i64,
                Operand::Global(..) => return None,
            };
            Some((variable, value))
        })
        .collect()
}

/// By instruction: the loop heads (or the entry) that it is reached from without passing another.
pub(crate) fn starts(code: &Code) -> BTreeMap<u64, BTreeSet<Option<u64>>> {
    let mut all: BTreeMap<u64, BTreeSet<Option<u64>>> = BTreeMap::new();
    let entry = Some(code.start).filter(|at| code.heads.contains(at));
    all.insert(code.start, BTreeSet::from([entry]));
    let mut waiting = vec![code.start];
    for head in &code.heads {
        all.insert(*head, BTreeSet::from([Some(*head)]));
        waiting.push(*head);
    }
    while let Some(at) = waiting.pop() {
        let own = all.get(&at).cloned().unwrap_or_default();
        for next in code.successors(at) {
            if code.heads.contains(&next) {
                continue;
            }
            let slot = all.entry(next).or_default();
            let before = slot.len();
            slot.extend(own.iter().copied());
            if slot.len() > before {
                waiting.push(next);
            }
        }
    }
    all
}

/// By instruction: the loop heads and returns that come next.
pub(crate) fn ends(code: &Code) -> BTreeMap<u64, BTreeSet<MachineEnd>> {
    let mut all: BTreeMap<u64, BTreeSet<MachineEnd>> = BTreeMap::new();
    loop {
        let mut changed = false;
        for at in code.reached.iter().rev() {
            let mut own = BTreeSet::new();
            let successors = code.successors(*at);
            if successors.is_empty() {
                own.insert(MachineEnd::Return(*at));
            }
            for next in successors {
                if code.heads.contains(&next) {
                    own.insert(MachineEnd::Head(next));
                } else if let Some(theirs) = all.get(&next) {
                    own.extend(theirs.iter().copied());
                }
            }
            if all.get(at) != Some(&own) {
                all.insert(*at, own);
                changed = true;
            }
        }
        if !changed {
            return all;
        }
    }
}

/// The instructions from which a store or call may follow before the next loop head or return.
fn storing(code: &Code, proof: &Proof) -> BTreeSet<u64> {
    let visible = |at: &u64| {
        proof.stores.iter().any(|store| store.at == *at)
            || code.ops.get(at).is_some_and(|op| {
                matches!(
                    op.raw.flow_control(),
                    FlowControl::Call | FlowControl::IndirectCall
                )
            })
    };
    let mut all: BTreeSet<u64> = code.reached.iter().copied().filter(visible).collect();
    loop {
        let mut changed = false;
        for at in code.reached.iter().rev() {
            let follows = code
                .successors(*at)
                .iter()
                .any(|next| !code.heads.contains(next) && all.contains(next));
            if follows && all.insert(*at) {
                changed = true;
            }
        }
        if !changed {
            return all;
        }
    }
}
