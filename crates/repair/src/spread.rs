//! From loop heads to the instructions around them.
//!
//! Forward: a relation holds behind an instruction that changes none of its registers, and is rewritten behind one whose change
//! can be undone (`add rax, 16`). Backward the same, over such instructions only. Where ways meet, what holds on all
//! of them holds (paper 001 §IV-B, table I). At a loop head all relations are those of the proof there: nothing
//! is carried past one, so that no value is older than one iteration of the machine.

use std::collections::{BTreeMap, BTreeSet};

use candor_prove::image::Code;
use candor_prove::ir::{Function, Operand};
use candor_prove::x86::{CALLEE_SAVED, Op};
use candor_prove::{MachineEnd, Proof};
use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use crate::expression::Expression;
use crate::relations::solve;
use crate::settled::{ends, numbers, starts};
use crate::variables::{Variable, is_innermost, stride, variables_at};

/// Which of the paper's steps are taken (its ablation, §V-B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// Spread forward.
    pub forward: bool,
    /// Rewrite relations behind instructions that can be undone.
    pub reversible: bool,
    /// Spread backward.
    pub backward: bool,
    /// Numbers that the proof's edges give, before the first iteration of a loop and behind the last (not in the paper).
    pub settled: bool,
    /// Only exact values.
    pub strict: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Switches {
            forward: true,
            reversible: true,
            backward: true,
            settled: true,
            strict: false,
        }
    }
}

/// How near a value is to that of the source iteration which the machine is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// The value of that iteration.
    Exact,
    /// That of the first of so many source iterations which one vector instruction does at once.
    Lanes(usize),
    /// That of the first of so many source iterations which the machine does at once.
    Within(usize),
}

/// Relations at one place: variable and expression, with how precise they are.
type Facts = BTreeMap<(Variable, Expression), Precision>;

/// What is known of variables, by address.
pub(crate) type Spread = BTreeMap<u64, BTreeMap<Variable, (Expression, Precision)>>;

/// How an instruction changes registers.
enum Effect {
    /// A 64-bit register grows by a number.
    Grows(u8, i64),
    /// The low half of a register grows; the upper half is cleared.
    HalfGrows(u8, i64),
    /// These registers change.
    Changes(Vec<u8>),
}

/// Spreads the proof's relations over a function; without those that name addresses, if these are not wanted.
pub(crate) fn spread(
    code: &Code,
    function: &Function,
    proof: &Proof,
    switches: Switches,
    addresses: bool,
) -> Spread {
    let mut gen_facts = at_heads(function, proof);
    for facts in gen_facts.values_mut() {
        facts.retain(|(_, expression), _| addresses || expression.unit.is_none());
    }
    let at_stores = at_stores(code, function, proof);
    let effects: BTreeMap<u64, Effect> = code
        .reached
        .iter()
        .filter_map(|at| Some((*at, effect(code.ops.get(at)?))))
        .collect();
    let mut known: Spread = BTreeMap::new();
    let refined = |at: u64, variable: &Variable, expression: &Expression, precision: Precision| {
        let exactly = at_stores.get(&at).filter(|_| precision != Precision::Exact);
        let shifted = exactly.and_then(|(strides, first, lanes)| {
            let by = strides.get(variable)?.checked_mul(*first)?;
            let better = if *lanes == 1 {
                Precision::Exact
            } else {
                Precision::Lanes(*lanes)
            };
            Some((expression.plus(by)?, better))
        });
        shifted.unwrap_or_else(|| (expression.clone(), precision))
    };
    let mut put = |at: u64, facts: &Facts| {
        let slot = known.entry(at).or_default();
        for ((variable, expression), precision) in facts {
            let (expression, precision) = &refined(at, variable, expression, *precision);
            if switches.strict && *precision != Precision::Exact {
                continue;
            }
            match slot.get(variable) {
                Some((old, rank)) if (*rank, cost(old)) <= (*precision, cost(expression)) => {}
                _ => {
                    slot.insert(variable.clone(), (expression.clone(), *precision));
                }
            }
        }
    };
    if !switches.forward {
        for (at, facts) in &gen_facts {
            put(*at, facts);
        }
        return known;
    }
    let forward = forward(code, &gen_facts, &effects, switches.reversible);
    for (at, facts) in &forward {
        put(*at, facts);
    }
    if switches.backward {
        let backward = backward(code, &gen_facts, &effects, switches.reversible);
        for (at, facts) in &backward {
            let ahead: Facts = facts
                .iter()
                .filter(|((variable, _), _)| {
                    !known
                        .get(at)
                        .is_some_and(|slot| slot.contains_key(variable))
                })
                .map(|(fact, precision)| (fact.clone(), *precision))
                .collect();
            let slot = known.entry(*at).or_default();
            for ((variable, expression), precision) in ahead {
                if switches.strict && precision != Precision::Exact {
                    continue;
                }
                slot.entry(variable).or_insert((expression, precision));
            }
        }
    }
    if switches.settled {
        for (at, numbers) in numbers(code, function, proof) {
            let slot = known.entry(at).or_default();
            for (variable, number) in numbers {
                if switches.strict && number.precision != Precision::Exact {
                    continue;
                }
                match slot.get_mut(&variable) {
                    Some((_, precision)) if *precision <= number.precision => {}
                    Some((_, precision)) if number.ahead => *precision = number.precision,
                    _ => {
                        slot.insert(variable, (number.expression(), number.precision));
                    }
                }
            }
        }
    }
    known
}

fn cost(expression: &Expression) -> (usize, i64, i64) {
    (
        expression.registers.len() + 2 * usize::from(expression.unit.is_some()),
        expression.divisor,
        expression.constant.saturating_abs(),
    )
}

/// The proof's relations at the loop heads.
fn at_heads(function: &Function, proof: &Proof) -> BTreeMap<u64, Facts> {
    let mut all = BTreeMap::new();
    for node in &proof.nodes {
        let most = proof
            .edges
            .iter()
            .filter(|edge| edge.from == Some(node.at) || edge.to == MachineEnd::Head(node.at))
            .filter(|edge| edge.from.is_some())
            .filter_map(|edge| {
                let steps = edge.edge.steps.last().copied()?;
                // the return itself counts as a step
                Some(match edge.to {
                    MachineEnd::Head(_) => steps,
                    MachineEnd::Return(_) => steps - steps.min(1),
                })
            })
            .max()
            .unwrap_or(1);
        let precision = if most <= 1 {
            Precision::Exact
        } else {
            Precision::Within(most)
        };
        let solved = solve(node);
        let mut facts = Facts::new();
        for (variable, operand) in variables_at(function, node.head) {
            match operand {
                Operand::Value(id) => {
                    for expression in solved.get(&id).into_iter().flatten() {
                        facts.insert((variable.clone(), expression.clone()), precision);
                    }
                }
                Operand::Number(number) => {
                    let expression = Expression {
                        registers: Vec::new(),
                        unit: None,
                        constant: number as i64,
                        divisor: 1,
                        narrow: false,
                    };
                    facts.insert((variable, expression), precision);
                }
                Operand::Global(..) => {}
            }
        }
        all.insert(node.at, facts);
    }
    all
}

/// For each store of which the proof knows the source iterations: by how much variables grow with each of these, how many of them lie
/// before the first that is stored, and how many are stored.
type AtStores = BTreeMap<u64, (BTreeMap<Variable, i64>, i64, usize)>;

fn at_stores(code: &Code, function: &Function, proof: &Proof) -> AtStores {
    let (starts, ends) = (starts(code), ends(code));
    let mut all = AtStores::new();
    for store in &proof.stores {
        let alone = proof.stores.iter().filter(|one| one.at == store.at).count() == 1;
        let node = proof.nodes.iter().find(|node| Some(node.at) == store.from);
        let (Some(node), Some(first), Some(last), true) = (
            node,
            store.realised.steps.first(),
            store.realised.steps.last(),
            alone && store.realised.complete,
        ) else {
            continue;
        };
        // The steps must be visits of this loop's head and of no other: the store lies on the way from the head to itself, it
        // realises no later step than that way has, and the source's loop has no loop within.
        let again = MachineEnd::Head(node.at);
        let on_cycle = starts
            .get(&store.at)
            .is_some_and(|all| all.contains(&Some(node.at)))
            && ends.get(&store.at).is_some_and(|all| all.contains(&again));
        let mut own = proof
            .edges
            .iter()
            .filter(|edge| edge.from == Some(node.at) && edge.to == again);
        let (Some(edge), None) = (own.next(), own.next()) else {
            continue;
        };
        let steps = edge.edge.steps.last().copied().unwrap_or(0);
        if !on_cycle || *last > steps as u64 || !is_innermost(function, node.head) {
            continue;
        }
        let strides: BTreeMap<Variable, i64> = variables_at(function, node.head)
            .into_iter()
            .filter_map(|(variable, operand)| match operand {
                Operand::Value(id) => Some((variable, stride(function, node.head, id)?)),
                _ => None,
            })
            .collect();
        let lanes = store.realised.steps.len();
        if let Some(before) = i64::try_from(*first)
            .ok()
            .and_then(|step| step.checked_sub(1))
        {
            all.insert(store.at, (strides, before, lanes));
        }
    }
    all
}

fn forward(
    code: &Code,
    heads: &BTreeMap<u64, Facts>,
    effects: &BTreeMap<u64, Effect>,
    reversible: bool,
) -> BTreeMap<u64, Facts> {
    let mut before: BTreeMap<u64, Facts> = BTreeMap::from([(code.start, Facts::new())]);
    before.extend(heads.iter().map(|(at, facts)| (*at, facts.clone())));
    let mut waiting: BTreeSet<u64> = before.keys().copied().collect();
    while let Some(at) = waiting.pop_first() {
        let (Some(facts), Some(effect)) = (before.get(&at), effects.get(&at)) else {
            continue;
        };
        let behind = passed(facts, effect, reversible, false);
        for next in code.successors(at) {
            if heads.contains_key(&next) {
                continue;
            }
            meet(&mut before, &mut waiting, next, &behind);
        }
    }
    before
}

fn backward(
    code: &Code,
    heads: &BTreeMap<u64, Facts>,
    effects: &BTreeMap<u64, Effect>,
    reversible: bool,
) -> BTreeMap<u64, Facts> {
    // what holds before an instruction, from what holds before all that may follow it
    let mut before: BTreeMap<u64, Option<Facts>> =
        code.reached.iter().map(|at| (*at, None)).collect();
    for (at, facts) in heads {
        before.insert(*at, Some(facts.clone()));
    }
    loop {
        let mut changed = false;
        for at in code.reached.iter().rev() {
            if heads.contains_key(at) {
                continue;
            }
            let successors = code.successors(*at);
            let mut met: Option<Facts> = if successors.is_empty() {
                Some(Facts::new())
            } else {
                None
            };
            for next in &successors {
                if let Some(Some(facts)) = before.get(next) {
                    met = Some(match met {
                        None => facts.clone(),
                        Some(old) => common(&old, facts),
                    });
                }
            }
            let (Some(met), Some(effect)) = (met, effects.get(at)) else {
                continue;
            };
            let new = passed(&met, effect, reversible, true);
            if before.get(at) != Some(&Some(new.clone())) {
                before.insert(*at, Some(new));
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    before
        .into_iter()
        .filter_map(|(at, facts)| Some((at, facts?)))
        .collect()
}

fn meet(before: &mut BTreeMap<u64, Facts>, waiting: &mut BTreeSet<u64>, at: u64, facts: &Facts) {
    let new = match before.get(&at) {
        None => facts.clone(),
        Some(old) => common(old, facts),
    };
    if before.get(&at) != Some(&new) {
        before.insert(at, new);
        waiting.insert(at);
    }
}

fn common(a: &Facts, b: &Facts) -> Facts {
    a.iter()
        .filter_map(|(fact, precision)| {
            let other = b.get(fact)?;
            Some((fact.clone(), (*precision).max(*other)))
        })
        .collect()
}

/// Relations behind an instruction from those before it, or the other way round.
fn passed(facts: &Facts, effect: &Effect, reversible: bool, backward: bool) -> Facts {
    let mut all = Facts::new();
    for ((variable, expression), precision) in facts {
        let moved = match effect {
            Effect::Grows(register, by) if expression.reads(*register) => {
                let by = if backward {
                    by.checked_neg()
                } else {
                    Some(*by)
                };
                by.filter(|_| reversible)
                    .and_then(|by| expression.grown(*register, by))
            }
            Effect::HalfGrows(register, by) if expression.reads(*register) => {
                let by = if backward {
                    by.checked_neg()
                } else {
                    Some(*by)
                };
                by.filter(|_| reversible && expression.narrow)
                    .and_then(|by| expression.grown(*register, by))
            }
            Effect::Changes(registers)
                if registers.iter().any(|register| expression.reads(*register)) =>
            {
                None
            }
            _ => Some(expression.clone()),
        };
        if let Some(moved) = moved {
            all.insert((variable.clone(), moved), *precision);
        }
    }
    all
}

fn effect(op: &Op) -> Effect {
    let raw = &op.raw;
    if matches!(
        raw.flow_control(),
        FlowControl::Call | FlowControl::IndirectCall
    ) {
        return Effect::Changes(
            (0..16)
                .filter(|n| !CALLEE_SAVED.contains(&(*n as usize)))
                .collect(),
        );
    }
    // a number that the linker fills in is not known here
    let plain = op.immediate.is_none() && op.displacement.is_none() && op.table_slot.is_none();
    if plain && let Some(effect) = growth(raw) {
        return effect;
    }
    let mut changed = BTreeSet::new();
    let mut factory = InstructionInfoFactory::new();
    for used in factory.info(raw).used_registers() {
        let writes = matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        if writes && let Some(number) = number(used.register()) {
            changed.insert(number);
        }
    }
    Effect::Changes(changed.into_iter().collect())
}

/// `add`, `sub`, `inc`, `dec` and `lea` of a register to itself.
fn growth(raw: &Instruction) -> Option<Effect> {
    if raw.op_kind(0) != OpKind::Register {
        return None;
    }
    let register = raw.op0_register();
    let own = number(register)?;
    let by = match raw.mnemonic() {
        Mnemonic::Add => raw.try_immediate(1).ok()? as i64,
        Mnemonic::Sub => (raw.try_immediate(1).ok()? as i64).checked_neg()?,
        Mnemonic::Inc => 1,
        Mnemonic::Dec => -1,
        Mnemonic::Lea
            if raw.memory_base() == register
                && raw.memory_index() == Register::None
                && !raw.is_ip_rel_memory_operand() =>
        {
            raw.memory_displacement64() as i64
        }
        _ => return None,
    };
    match register.size() {
        8 => Some(Effect::Grows(own, by)),
        4 => Some(Effect::HalfGrows(own, i64::from(by as i32))),
        _ => None,
    }
}

/// The processor's number of a general register, whole or in part.
fn number(register: Register) -> Option<u8> {
    if !register.is_gpr() {
        return None;
    }
    Some(register.full_register().number() as u8)
}
