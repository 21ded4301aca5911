//! Symbolic execution from a cut point to the next ones.
//!
//! Cut points are the loop heads of both programs, so a region has no cycles; it is executed in reverse post-order. Paths
//! that come together are joined by choice where they differ in *data* conditions (which read memory), and kept apart
//! where they differ in *control* conditions, because these decide how far the other program goes.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::Domain as _;
use crate::guard::{Guard, distinguishing};
use crate::image::Code;
use crate::ir::{BlockId, Env, Flow, Function, Val};
use crate::memory::{MachineView, SourceView, SymMemory, World, merge, pick, pick_value};
use crate::term::{Bool, Bv, FALSE, TRUE, Terms};
use crate::x86::{ARGUMENTS, CALLEE_SAVED, Cpu, Flags, Next, RAX, RSP, State, Unsupported};

/// Block executions in one region, at most.
const MOST_BLOCKS: usize = 600;

/// Where a machine path ends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum MachineEnd {
    /// At a loop head.
    Head(u64),
    /// At the return instruction at this address.
    Return(u64),
}

/// A machine path through a region.
#[derive(Clone, Debug)]
pub struct MachinePath {
    /// Where it ends.
    pub end: MachineEnd,
    /// Its condition.
    pub guard: Guard,
    /// Registers at the end.
    pub state: State<Terms>,
    /// Memory at the end.
    pub memory: SymMemory,
}

/// Where a source path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceEnd {
    /// At a loop head, its phis done.
    Head(BlockId),
    /// At a return.
    Return,
}

/// A source path through a region.
#[derive(Clone, Debug)]
pub struct SourcePath {
    /// Where it ends.
    pub end: SourceEnd,
    /// Its condition.
    pub guard: Guard,
    /// Values at the end.
    pub env: Env<Terms>,
    /// Memory at the end.
    pub memory: SymMemory,
    /// The result.
    pub result: Option<Bv>,
}

/// Argument counts and result widths of the functions the source calls.
pub type Signatures = BTreeMap<String, (Vec<u8>, Option<u8>)>;

type Result<T> = std::result::Result<T, Unsupported>;

/// Fails if a term could not be built.
pub fn check_trouble(t: &mut Terms) -> Result<()> {
    match t.trouble.take() {
        Some(reason) => Err(Unsupported(reason)),
        None => Ok(()),
    }
}

struct Pending {
    guard: Guard,
    state: State<Terms>,
    memory: SymMemory,
}

type Control = BTreeSet<Bool>;

/// Executes the machine program from `start` to the next cut points.
pub fn machine_region(
    t: &mut Terms,
    world: &World<'_>,
    code: &Code,
    calls: &Signatures,
    start: u64,
    state: State<Terms>,
    memory: SymMemory,
) -> Result<Vec<MachinePath>> {
    let base = t.context.clone();
    let outcome = machine_paths(t, world, code, calls, start, state, memory);
    t.enter(base);
    t.obligations.clear();
    outcome
}

fn machine_paths(
    t: &mut Terms,
    world: &World<'_>,
    code: &Code,
    calls: &Signatures,
    start: u64,
    state: State<Terms>,
    memory: SymMemory,
) -> Result<Vec<MachinePath>> {
    let base = t.context.clone();
    let mut incoming: BTreeMap<(usize, u64), BTreeMap<Control, Vec<Pending>>> = BTreeMap::new();
    let mut ends: BTreeMap<(MachineEnd, Control), Vec<Pending>> = BTreeMap::new();
    let position = |at: u64| code.order.get(&at).copied().unwrap_or(usize::MAX);
    incoming
        .entry((position(start), start))
        .or_default()
        .insert(
            Control::new(),
            vec![Pending {
                guard: Guard::always(),
                state,
                memory,
            }],
        );
    let mut executed = 0;
    while let Some(((_, block), groups)) = incoming.pop_first() {
        for (control, group) in groups {
            executed += 1;
            if executed > MOST_BLOCKS {
                return Err(Unsupported(format!(
                    "more than {MOST_BLOCKS} blocks on the paths of one loop iteration"
                )));
            }
            let joined = join_machine(t, world, &base, group)?;
            let Pending {
                guard,
                mut state,
                mut memory,
            } = joined;
            memory.guard = guard.condition(t);
            memory.conditional = guard.reads_memory(t);
            let mut at = block;
            let targets: Vec<(Bool, u64)> = loop {
                let Some(op) = code.ops.get(&at) else {
                    return Err(Unsupported(format!("the jump to {at:#x}")));
                };
                memory.writer = at;
                let mut view = MachineView {
                    world,
                    memory: &mut memory,
                };
                let mut cpu = Cpu {
                    d: t,
                    state: &mut state,
                    memory: &mut view,
                    bases: &world.bases,
                };
                let next = cpu.step(op)?;
                check_trouble(t)?;
                let met = std::mem::take(&mut t.obligations);
                for obligation in met {
                    let not_here = t.not(memory.guard);
                    let guarded = t.or_all(&[not_here, obligation]);
                    memory.obligations.push(guarded);
                }
                let after = op.raw.next_ip();
                match next {
                    Next::Fall if code.leaders.contains(&after) => break vec![(TRUE, after)],
                    Next::Fall => at = after,
                    Next::Jump(to) => break vec![(TRUE, to)],
                    Next::Branch(condition, to) => {
                        let condition = decided(t, condition);
                        let negated = t.not(condition);
                        break vec![(condition, to), (negated, after)];
                    }
                    Next::Call => {
                        machine_call(t, world, op, calls, &mut state, &mut memory)?;
                        if code.leaders.contains(&after) {
                            break vec![(TRUE, after)];
                        }
                        at = after;
                    }
                    Next::Return => {
                        let end = (MachineEnd::Return(at), control.clone());
                        ends.entry(end).or_default().push(Pending {
                            guard: guard.clone(),
                            state: state.clone(),
                            memory: memory.clone(),
                        });
                        break Vec::new();
                    }
                }
            };
            for (condition, to) in targets {
                let guard = guard.and(t, condition);
                if condition == FALSE || guard.is_never() {
                    continue;
                }
                let mut control = control.clone();
                if condition != TRUE && !t.condition_reads_memory(condition) {
                    control.insert(condition);
                }
                let pending = Pending {
                    guard,
                    state: state.clone(),
                    memory: memory.clone(),
                };
                if code.heads.contains(&to) {
                    ends.entry((MachineEnd::Head(to), control))
                        .or_default()
                        .push(pending);
                } else {
                    incoming
                        .entry((position(to), to))
                        .or_default()
                        .entry(control)
                        .or_default()
                        .push(pending);
                }
            }
        }
    }
    let mut paths = Vec::new();
    for ((end, _), group) in ends {
        let joined = join_machine(t, world, &base, group)?;
        paths.push(MachinePath {
            end,
            guard: joined.guard,
            state: joined.state,
            memory: joined.memory,
        });
    }
    check_trouble(t)?;
    Ok(paths)
}

/// A condition, where the hypotheses decide it: decided.
fn decided(t: &mut Terms, condition: Bool) -> Bool {
    if condition == TRUE || condition == FALSE || t.condition_reads_memory(condition) {
        return condition;
    }
    if t.context.hypotheses().is_empty() {
        return condition;
    }
    if t.infeasible(condition) {
        return FALSE;
    }
    if t.valid(condition) {
        return TRUE;
    }
    condition
}

/// Enters the context of a guard.
fn enter_guard(t: &mut Terms, base: &crate::term::Context, guard: &Guard) {
    t.enter(base.clone());
    if !guard.is_always() {
        let condition = guard.condition(t);
        t.assume(condition);
    }
}

fn join_machine(
    t: &mut Terms,
    world: &World<'_>,
    base: &crate::term::Context,
    mut group: Vec<Pending>,
) -> Result<Pending> {
    if group.len() == 1
        && let Some(only) = group.pop()
    {
        enter_guard(t, base, &only.guard);
        return Ok(only);
    }
    let guards: Vec<Guard> = group.iter().map(|pending| pending.guard.clone()).collect();
    let guard = Guard::any(t, &guards);
    enter_guard(t, base, &guard);
    let conditions = distinguishing(t, &guards);
    let first = &group[0].state;
    let mut state = first.clone();
    for register in 0..16 {
        let values: Vec<Bv> = group.iter().map(|p| p.state.regs[register]).collect();
        state.regs[register] = pick(t, &conditions, &values);
        for lane in 0..crate::x86::LANES {
            let values: Vec<Bv> = group
                .iter()
                .map(|p| p.state.vectors[register][lane])
                .collect();
            state.vectors[register][lane] = pick(t, &conditions, &values);
        }
    }
    if group
        .iter()
        .any(|pending| pending.state.flags != first.flags)
    {
        state.flags = Flags::Unknown;
    }
    let memories: Vec<SymMemory> = group.into_iter().map(|pending| pending.memory).collect();
    let memory = merge(world, t, &conditions, &memories)?;
    check_trouble(t)?;
    Ok(Pending {
        guard,
        state,
        memory,
    })
}

/// An opaque call by the machine: arguments in registers, and everything a callee may clobber is unknown after it.
fn machine_call(
    t: &mut Terms,
    world: &World<'_>,
    op: &crate::x86::Op,
    calls: &Signatures,
    state: &mut State<Terms>,
    memory: &mut SymMemory,
) -> Result<()> {
    let Some(callee) = &op.callee else {
        return Err(Unsupported("a call through a pointer".to_owned()));
    };
    let Some((widths, result)) = calls.get(callee) else {
        return Err(Unsupported(format!(
            "the call of `{callee}`, which the source does not call (split off or changed by the compiler)"
        )));
    };
    let mut arguments = Vec::new();
    for (register, width) in ARGUMENTS.iter().zip(widths) {
        let value = state.regs[*register];
        arguments.push(t.trunc(value, *width));
    }
    let value = memory.call(t, callee, arguments, *result)?;
    let number = memory.calls.len();
    let depth = t.sub(state.regs[RSP], world.rsp);
    let Some(depth) = t.as_integer(depth) else {
        return Err(Unsupported(
            "a call with a stack of unknown depth".to_owned(),
        ));
    };
    let below: Vec<i64> = memory.stack.range(..depth).map(|(at, _)| *at).collect();
    for at in below {
        let unknown = t.var(&format!("clobbered{number}.frame{at}"), 32);
        memory.stack.insert(at, unknown);
    }
    for register in 0..16 {
        if register != RSP && !CALLEE_SAVED.contains(&register) {
            let name = format!("clobbered{number}.{}", crate::x86::NAMES[register]);
            state.regs[register] = t.var(&name, 64);
        }
        for lane in 0..crate::x86::LANES {
            let name = format!("clobbered{number}.v{register}.{lane}");
            state.vectors[register][lane] = t.var(&name, 32);
        }
    }
    if let (Some(value), Some(width)) = (value, result) {
        state.regs[RAX] = if *width == 64 {
            value
        } else {
            let upper = t.var(&format!("clobbered{number}.result"), 64 - width);
            t.concat(&[value, upper])
        };
    }
    state.flags = Flags::Unknown;
    Ok(())
}

struct Arriving {
    guard: Guard,
    from: BlockId,
    memory: SymMemory,
}

/// Executes the source program from a block (its phis done) to the next loop heads or returns.
pub fn source_region(
    t: &mut Terms,
    world: &World<'_>,
    function: &Function,
    start: BlockId,
    env: &Env<Terms>,
    memory: &SymMemory,
) -> Result<Vec<SourcePath>> {
    let base = t.context.clone();
    let outcome = source_paths(t, world, function, start, env, memory);
    t.enter(base);
    let (paths, unconditional) = outcome?;
    // what was learnt from blocks that are executed in any case holds from now on
    t.enter(unconditional);
    Ok(paths)
}

fn source_paths(
    t: &mut Terms,
    world: &World<'_>,
    function: &Function,
    start: BlockId,
    env: &Env<Terms>,
    memory: &SymMemory,
) -> Result<(Vec<SourcePath>, crate::term::Context)> {
    let mut base = t.context.clone();
    let mut env = env.clone();
    let mut incoming: BTreeMap<(usize, BlockId), Vec<Arriving>> = BTreeMap::new();
    let mut heads: BTreeMap<BlockId, Vec<Arriving>> = BTreeMap::new();
    let mut returns: Vec<(Guard, Option<Bv>, SymMemory)> = Vec::new();
    let mut now = Some((start, Guard::always(), memory.clone()));
    let writer = memory.writer;
    loop {
        let (block, guard, mut memory) = match now.take() {
            Some(first) => first,
            None => {
                let Some(((_, block), arriving)) = incoming.pop_first() else {
                    break;
                };
                let (guard, memory) = arrive(t, world, function, &base, block, arriving, &mut env)?;
                (block, guard, memory)
            }
        };
        enter_guard(t, &base, &guard);
        memory.guard = guard.condition(t);
        memory.conditional = guard.reads_memory(t);
        memory.writer = writer;
        let mut view = SourceView {
            world,
            memory: &mut memory,
        };
        let flow = function.run_block(t, &mut view, &mut env, block)?;
        check_trouble(t)?;
        let targets = match flow {
            Flow::Never => Vec::new(),
            Flow::Return(value) => {
                returns.push((guard.clone(), value, memory));
                if guard.is_always() {
                    base = t.context.clone();
                }
                continue;
            }
            Flow::To(targets) => targets
                .into_iter()
                .map(|(condition, to)| (decided(t, condition), to))
                .collect(),
        };
        if guard.is_always() {
            base = t.context.clone(); // facts of a block that is always executed
        }
        for (condition, to) in targets {
            let guard = guard.and(t, condition);
            if condition == FALSE || guard.is_never() {
                continue;
            }
            let arriving = Arriving {
                guard,
                from: block,
                memory: memory.clone(),
            };
            if function.heads.contains(&to) {
                heads.entry(to).or_default().push(arriving);
            } else {
                incoming
                    .entry((function.order[to.0 as usize], to))
                    .or_default()
                    .push(arriving);
            }
        }
    }
    let mut paths = Vec::new();
    for (head, arriving) in heads {
        let mut env = env.clone();
        let (guard, memory) = arrive(t, world, function, &base, head, arriving, &mut env)?;
        paths.push(SourcePath {
            end: SourceEnd::Head(head),
            guard,
            env,
            memory,
            result: None,
        });
    }
    if !returns.is_empty() {
        let guards: Vec<Guard> = returns.iter().map(|(guard, ..)| guard.clone()).collect();
        let guard = Guard::any(t, &guards);
        enter_guard(t, &base, &guard);
        let conditions = distinguishing(t, &guards);
        let values: Option<Vec<Bv>> = returns.iter().map(|(_, value, _)| *value).collect();
        let memories: Vec<SymMemory> = returns.into_iter().map(|(.., memory)| memory).collect();
        let memory = if memories.len() == 1 {
            memories[0].clone()
        } else {
            merge(world, t, &conditions, &memories)?
        };
        let result = values.map(|values| pick(t, &conditions, &values));
        paths.push(SourcePath {
            end: SourceEnd::Return,
            guard,
            env: env.clone(),
            memory,
            result,
        });
    }
    check_trouble(t)?;
    t.enter(base.clone());
    Ok((paths, base))
}

/// Paths come together at a block: phis choose, memories are joined.
fn arrive(
    t: &mut Terms,
    world: &World<'_>,
    function: &Function,
    base: &crate::term::Context,
    block: BlockId,
    arriving: Vec<Arriving>,
    env: &mut Env<Terms>,
) -> Result<(Guard, SymMemory)> {
    let guards: Vec<Guard> = arriving.iter().map(|a| a.guard.clone()).collect();
    let guard = Guard::any(t, &guards);
    enter_guard(t, base, &guard);
    let conditions = distinguishing(t, &guards);
    let mut chosen = Vec::new();
    for phi in &function.block(block).phis {
        let width = function.value(phi.to).width;
        let mut values: Vec<Val<Terms>> = Vec::new();
        for arriving in &arriving {
            let Some(operand) = phi.from.get(&arriving.from) else {
                return Err(Unsupported(
                    "a phi without a value for its predecessor".to_owned(),
                ));
            };
            let mut scratch = SymMemory::default();
            let mut view = SourceView {
                world,
                memory: &mut scratch,
            };
            values.push(function.operand(t, &mut view, env, operand, width)?);
        }
        chosen.push((phi.to, pick_value(t, &conditions, &values)));
    }
    for (to, value) in chosen {
        env[to.0 as usize] = Some(value);
    }
    let memories: Vec<SymMemory> = arriving.into_iter().map(|a| a.memory).collect();
    let memory = if memories.len() == 1 {
        memories[0].clone()
    } else {
        merge(world, t, &conditions, &memories)?
    };
    check_trouble(t)?;
    Ok((guard, memory))
}

/// The truth value of a variable of the IR.
pub fn bit_variable(t: &mut Terms, name: &str) -> Bool {
    let value = t.var(name, 1);
    let one = t.number(1, 1);
    t.eq(value, one)
}
