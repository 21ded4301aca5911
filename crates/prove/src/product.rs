//! The product program: both programs at a loop head, built from what is claimed there.
//!
//! A start is an arbitrary state but for the claims: definitions are substituted, conditions assumed. Whatever a claim does not
//! mention is a fresh variable, so nothing is taken for granted that was not checked on every edge into the node.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::image::Code;
use crate::invariant::{
    Column, Definition, Hypothesis, Invariant, Moment, Node, entry_register, source_name,
};
use crate::ir::{BlockId, Env, Function, Val, ValueId};
use crate::memory::{SymMemory, World};
use crate::region::{MachineEnd, MachinePath, Signatures, bit_variable, check_trouble};
use crate::term::{Bv, Context, Terms};
use crate::x86::{ARGUMENTS, CALLEE_SAVED, LANES, NAMES, RSP, State, Unsupported};

/// The start of an edge: the entry, or a node.
pub type From = Option<u64>;

/// Why an edge is not proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fail {
    /// It could not be shown, and this is what is missing.
    Unproved(String),
    /// Something outside of what is supported.
    Unsupported(String),
    /// No time left.
    Time,
    /// The user interrupted.
    Interrupted,
}

impl std::convert::From<Unsupported> for Fail {
    fn from(Unsupported(what): Unsupported) -> Self {
        Fail::Unsupported(what)
    }
}

impl std::fmt::Display for Fail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fail::Unproved(what) => f.write_str(what),
            Fail::Unsupported(what) => write!(f, "not supported: {what}"),
            Fail::Time => f.write_str("the time limit was reached"),
            Fail::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// A claim that did not hold at the end of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// A definition.
    Invariant(u64, Invariant),
    /// A condition.
    Hypothesis(u64, Hypothesis),
}

/// Which source steps an edge takes, and which source values it pins to numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Edge {
    /// Numbers of source steps (visits of source loop heads, the return counted).
    pub steps: BTreeSet<usize>,
    /// Values that source variables have whenever this edge is taken: tried, not believed.
    pub pins: Vec<(ValueId, i64)>,
}

/// The source steps that a machine store realises on the edges from one start.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Realised {
    /// Counted from the start, the first is 1. Several for a store of several lanes, or of several paths.
    pub steps: BTreeSet<u64>,
    /// Whether a source step was found for every cell it stores.
    pub complete: bool,
}

impl Default for Realised {
    fn default() -> Self {
        Realised {
            steps: BTreeSet::new(),
            complete: true,
        }
    }
}

/// Source values that are numbers whenever an edge is taken: found by checking.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Settled {
    /// At its start.
    pub start: BTreeMap<ValueId, u64>,
    /// At its end, the phis of the loop head done, or at the return.
    pub end: BTreeMap<ValueId, u64>,
}

/// The product program with its claims.
pub struct Product<'a> {
    /// Terms, with the solver.
    pub t: Terms,
    /// What both programs live in.
    pub world: World<'a>,
    /// The machine function.
    pub code: &'a Code,
    /// The source function.
    pub function: &'a Function,
    /// The functions the source calls.
    pub calls: &'a Signatures,
    /// Callee-saved registers that the machine function writes.
    pub saved: &'a BTreeSet<usize>,
    /// Nodes by machine address.
    pub nodes: BTreeMap<u64, Node>,
    /// Edges that traces showed.
    pub edges: BTreeMap<(From, MachineEnd), Edge>,
    /// What the machine's stores realise, by start and address; filled by checking.
    pub stores: BTreeMap<(From, u64), Realised>,
    /// What is a number on each edge; filled by checking.
    pub settled: BTreeMap<(From, MachineEnd), Settled>,
    /// Split integer parameters by their residue modulo this power of two, where an edge needs it.
    pub modulus: Option<u64>,
    /// When to stop.
    pub deadline: Instant,
    /// Whether the user interrupted.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// Both programs at the start of an edge.
#[derive(Clone)]
pub struct Start {
    /// Source values.
    pub env: Env<Terms>,
    /// Machine registers.
    pub state: State<Terms>,
    /// Machine memory.
    pub memory: SymMemory,
    /// Source memory.
    pub source_memory: SymMemory,
    /// The source block (its phis done).
    pub block: BlockId,
    /// The machine address.
    pub at: u64,
    /// What holds there.
    pub context: Context,
}

/// A machine path with the start it belongs to (pinned values substituted).
pub struct Expanded {
    /// The start.
    pub start: Start,
    /// The path.
    pub path: MachinePath,
    /// What holds on the path.
    pub context: Context,
    /// The source values that were fixed.
    pub fix: Vec<(ValueId, Bv)>,
}

/// The source after some steps.
pub struct Reached {
    /// What holds.
    pub context: Context,
    /// Values.
    pub env: Env<Terms>,
    /// Memory.
    pub memory: SymMemory,
    /// The result, at a return.
    pub result: Option<Bv>,
    /// The block, if not at a return.
    pub block: Option<BlockId>,
}

/// What checking gives.
pub type Checked<T> = Result<T, Fail>;

/// Addresses of units and of the stack are below this.
const USER_SPACE: i64 = 1 << 46;

impl<'a> Product<'a> {
    pub(crate) fn pause(&self) -> Checked<()> {
        if (self.interrupted)() {
            return Err(Fail::Interrupted);
        }
        if Instant::now() > self.deadline {
            return Err(Fail::Time);
        }
        Ok(())
    }

    /// What is true of addresses everywhere.
    fn assume_world(&mut self) {
        let low = self.code.ops.values().any(|op| {
            let absolute = op.displacement.is_some() && !op.raw.is_ip_rel_memory_operand();
            absolute || op.immediate.is_some()
        });
        // a linker that accepts 32-bit fields has put everything below 2 GB
        let most = if low {
            (1 << 31) - (1 << 27)
        } else {
            USER_SPACE
        };
        let units = self.world.image.units.clone();
        for (unit, base) in units.iter().zip(self.world.bases.clone()) {
            self.assume_between(base, 0x1000, most);
            if unit.align.is_power_of_two() && unit.align > 1 {
                let t = &mut self.t;
                let mask = t.constant(unit.align - 1, 64);
                let rest = t.and(base, mask);
                let zero = t.constant(0, 64);
                let aligned = t.eq(rest, zero);
                t.assume(aligned);
            }
        }
        let rsp = self.world.rsp;
        self.assume_between(rsp, 1 << 16, 2 * USER_SPACE);
        // the calling convention: 16-byte alignment before the call pushed the return address
        let t = &mut self.t;
        let mask = t.constant(15, 64);
        let low = t.and(rsp, mask);
        let eight = t.constant(8, 64);
        let aligned = t.eq(low, eight);
        t.assume(aligned);
    }

    fn assume_between(&mut self, value: Bv, low: i64, high: i64) {
        let t = &mut self.t;
        let width = t.width(value);
        let (low, high) = (t.integer(low, width), t.integer(high, width));
        let below = t.slt(value, low);
        let above = t.slt(high, value);
        let (not_below, not_above) = (t.not(below), t.not(above));
        t.assume(not_below);
        t.assume(not_above);
    }

    /// Pointer parameters are aligned for what is accessed through them.
    fn assume_alignment(&mut self, env: &Env<Terms>) {
        let grain = u64::from(self.world.grain);
        if grain == 1 {
            return;
        }
        for param in &self.function.params {
            if let (true, Some(Some(Val::Int(value)))) =
                (param.pointer, env.get(param.value.0 as usize))
            {
                let t = &mut self.t;
                let mask = t.constant(grain - 1, 64);
                let rest = t.and(*value, mask);
                let zero = t.constant(0, 64);
                let aligned = t.eq(rest, zero);
                t.assume(aligned);
            }
        }
    }

    fn fresh_state(&mut self, entry: bool) -> State<Terms> {
        let t = &mut self.t;
        let suffix = if entry { "@entry" } else { "" };
        let saved = self.saved;
        let regs = std::array::from_fn(|number| {
            let untouched = CALLEE_SAVED.contains(&number) && !saved.contains(&number);
            match number {
                RSP => self.world.rsp,
                _ if untouched || entry => entry_register(t, number),
                _ => t.var(NAMES[number], 64),
            }
        });
        let vectors = std::array::from_fn(|register| {
            std::array::from_fn(|lane| t.var(&format!("xmm{register}[{lane}]{suffix}"), 32))
        });
        State {
            regs,
            vectors,
            flags: crate::x86::Flags::Unknown,
        }
    }

    fn source_variable(&mut self, id: ValueId) -> Val<Terms> {
        let name = source_name(self.function, id);
        match self.function.value(id).width {
            1 => Val::Bit(bit_variable(&mut self.t, &name)),
            width => Val::Int(self.t.var(&name, width)),
        }
    }

    /// The state at the entry.
    fn start_entry(&mut self, fix: &[(ValueId, Bv)]) -> Checked<Start> {
        self.t.enter(Context::default());
        self.assume_world();
        let mut env: Env<Terms> = vec![None; self.function.values.len()];
        let mut state = self.fresh_state(true);
        for (param, register) in self.function.params.iter().zip(ARGUMENTS) {
            let value = match fix.iter().find(|(id, _)| *id == param.value) {
                Some((_, value)) => *value,
                None => match self.source_variable(param.value) {
                    Val::Int(value) => value,
                    Val::Bit(_) => {
                        return Err(Fail::Unsupported("a parameter of one bit".to_owned()));
                    }
                },
            };
            env[param.value.0 as usize] = Some(Val::Int(value));
            let t = &mut self.t;
            let known = match (param.width, param.extension) {
                (8 | 16, Some(true)) => t.sext(value, 32),
                (8 | 16, Some(false)) => t.zext(value, 32),
                _ => value,
            };
            let width = t.width(known);
            state.regs[register] = if width == 64 {
                known
            } else {
                let upper = t.var(&format!("{}@entry upper", NAMES[register]), 64 - width);
                t.concat(&[known, upper])
            };
        }
        self.assume_quotients(fix);
        self.assume_alignment(&env);
        Ok(Start {
            env,
            state,
            memory: SymMemory::default(),
            source_memory: SymMemory::default(),
            block: BlockId(0),
            at: self.code.start,
            context: self.t.context.clone(),
        })
    }

    /// Quotient variables of a residue split are not negative and small enough for `modulus · q + r` not to wrap.
    fn assume_quotients(&mut self, fix: &[(ValueId, Bv)]) {
        for (id, _) in fix {
            let name = quotient_name(self.function, *id);
            let Some(modulus) = self.modulus else {
                continue;
            };
            let width = self.function.value(*id).width;
            if width != 32 || !self.is_split(fix, *id) {
                continue;
            }
            let quotient = self.t.var(&name, width);
            let most = ((1u64 << 31) / modulus) as i64 - 1;
            self.assume_between(quotient, 0, most);
        }
    }

    pub(crate) fn is_split(&mut self, fix: &[(ValueId, Bv)], id: ValueId) -> bool {
        let name = quotient_name(self.function, id);
        let quotient = self.t.var(&name, self.function.value(id).width);
        fix.iter()
            .any(|(fixed, value)| *fixed == id && self.t.coefficient(quotient, *value).is_some())
    }

    /// The state at a node: arbitrary, but for what is claimed there.
    fn start_node(&mut self, at: u64, fix: &[(ValueId, Bv)]) -> Checked<Start> {
        let node = self.nodes[&at].clone();
        self.t.enter(Context::default());
        self.assume_world();
        let mut env: Env<Terms> = vec![None; self.function.values.len()];
        for id in &node.sources {
            let value = match fix.iter().find(|(fixed, _)| fixed == id) {
                Some((_, value)) => Val::Int(*value),
                None => self.source_variable(*id),
            };
            env[id.0 as usize] = Some(value);
        }
        self.assume_quotients(fix);
        let fixed = |column: Column| match column {
            Column::Source(id) => fix.iter().any(|(other, _)| *other == id),
            _ => false,
        };
        let defined: BTreeSet<Column> = node.invariants.iter().map(|inv| inv.column).collect();
        let mut substituted: Vec<Hypothesis> = Vec::new();
        for hypothesis in &node.hypotheses {
            if let Hypothesis::ModAny(column @ Column::Source(id), modulus, rest) = hypothesis
                && !fixed(*column)
                && !defined.contains(column)
                && let Some((low, high)) = bounds(&node, *column)
                && low >= 0
            {
                // id = modulus · t + rest
                let width = self.function.value(*id).width;
                let name = quotient_name(self.function, *id);
                let quotient = self.t.var(&name, width);
                let (modulus, rest) = (*modulus as i64, *rest as i64);
                let least = (low - rest + modulus - 1).div_euclid(modulus);
                let most = (high - rest).div_euclid(modulus);
                self.assume_between(quotient, least, most);
                let rest = self.t.integer(rest, width);
                let value = self
                    .t
                    .linear(&[(modulus as u64, quotient), (1, rest)], width);
                env[id.0 as usize] = Some(Val::Int(value));
                substituted.push(hypothesis.clone());
            }
        }
        let mut state = self.fresh_state(false);
        state.regs[RSP] = self.t.offset(self.world.rsp, node.depth);
        let mut memory = SymMemory::default();
        let early = |hypothesis: &Hypothesis| {
            let columns = hypothesis.columns();
            columns
                .iter()
                .all(|c| c.is_source() && !defined.contains(c))
        };
        self.assume_claims(&node, &substituted, &env, &state, &memory, &early)?;
        self.assume_alignment(&env);
        let mut left: Vec<Invariant> = node
            .invariants
            .iter()
            .filter(|invariant| !fixed(invariant.column))
            .cloned()
            .collect();
        while !left.is_empty() {
            let open: BTreeSet<Column> = left.iter().map(|invariant| invariant.column).collect();
            let mut later = Vec::new();
            let before = left.len();
            for invariant in left {
                if needs(&invariant)
                    .iter()
                    .any(|column| overlaps(&open, *column))
                {
                    later.push(invariant);
                    continue;
                }
                let moment = Moment {
                    world: &self.world,
                    function: self.function,
                    env: &env,
                    state: &state,
                    memory: &memory,
                };
                let value = moment.defined(&mut self.t, &invariant)?;
                self.set(invariant.column, value, &mut env, &mut state, &mut memory);
            }
            if later.len() == before {
                return Err(Fail::Unproved("the definitions form a circle".to_owned()));
            }
            left = later;
        }
        let late = |hypothesis: &Hypothesis| !early(hypothesis);
        self.assume_claims(&node, &substituted, &env, &state, &memory, &late)?;
        check_trouble(&mut self.t)?;
        Ok(Start {
            env,
            state,
            memory,
            source_memory: SymMemory::default(),
            block: node.head,
            at,
            context: self.t.context.clone(),
        })
    }

    fn assume_claims(
        &mut self,
        node: &Node,
        except: &[Hypothesis],
        env: &Env<Terms>,
        state: &State<Terms>,
        memory: &SymMemory,
        wanted: &dyn Fn(&Hypothesis) -> bool,
    ) -> Checked<()> {
        for hypothesis in &node.hypotheses {
            if except.contains(hypothesis) || !wanted(hypothesis) {
                continue;
            }
            let moment = Moment {
                world: &self.world,
                function: self.function,
                env,
                state,
                memory,
            };
            let condition = moment.condition(&mut self.t, hypothesis)?;
            self.t.assume(condition);
        }
        Ok(())
    }

    fn set(
        &mut self,
        column: Column,
        value: Bv,
        env: &mut Env<Terms>,
        state: &mut State<Terms>,
        memory: &mut SymMemory,
    ) {
        let t = &mut self.t;
        match column {
            Column::Source(id) => env[id.0 as usize] = Some(Val::Int(value)),
            Column::Masked(..) | Column::Quotient(..) => {}
            Column::Reg(number) => state.regs[number as usize] = value,
            Column::Low(number) => state.regs[number as usize] = t.zext(value, 64),
            Column::LowAny(number) => {
                let upper = t.var(&format!("{} upper", NAMES[number as usize]), 32);
                state.regs[number as usize] = t.concat(&[value, upper]);
            }
            Column::Lane(register, lane) => state.vectors[register as usize][lane as usize] = value,
            Column::Slot(offset) => {
                let (low, high) = (t.extract(value, 0, 32), t.extract(value, 32, 32));
                memory.stack.insert(offset, low);
                memory.stack.insert(offset + 4, high);
            }
            Column::HalfSlot(offset) => {
                memory.stack.insert(offset, value);
            }
        }
    }

    /// The start of edges, with some source values fixed.
    pub fn start(&mut self, from: From, fix: &[(ValueId, Bv)]) -> Checked<Start> {
        match from {
            None => self.start_entry(fix),
            Some(at) => self.start_node(at, fix),
        }
    }
}

/// Name of the variable that a value is a multiple of, plus a constant.
pub(crate) fn quotient_name(function: &Function, id: ValueId) -> String {
    format!("{} quotient", source_name(function, id))
}

fn bounds(node: &Node, column: Column) -> Option<(i64, i64)> {
    let low = node
        .hypotheses
        .iter()
        .find_map(|hypothesis| match hypothesis {
            Hypothesis::AtLeast(other, bound) if *other == column => Some(*bound),
            _ => None,
        })?;
    let high = node
        .hypotheses
        .iter()
        .find_map(|hypothesis| match hypothesis {
            Hypothesis::AtMost(other, bound) if *other == column => Some(*bound),
            _ => None,
        })?;
    Some((low, high))
}

/// The columns a definition needs.
pub fn needs(invariant: &Invariant) -> Vec<Column> {
    match &invariant.by {
        Definition::Affine { terms, .. } | Definition::Cell { terms, .. } => terms
            .iter()
            .map(|(_, column)| match column {
                Column::Masked(id, _) | Column::Quotient(id, ..) => Column::Source(*id),
                other => *other,
            })
            .collect(),
        Definition::Extreme { of, .. } => of.clone(),
        Definition::Term(tree) => {
            let mut all = Vec::new();
            tree.variables(&mut all);
            all.iter()
                .filter_map(|name| crate::invariant::source_of_name(name).map(Column::Source))
                .collect()
        }
        Definition::Saved(_) => Vec::new(),
    }
}

/// Whether a column, or another view of its register, is still to be defined.
fn overlaps(open: &BTreeSet<Column>, column: Column) -> bool {
    let register = |column: Column| match column {
        Column::Reg(n) | Column::Low(n) | Column::LowAny(n) => Some(n),
        _ => None,
    };
    open.contains(&column)
        || register(column).is_some_and(|n| open.iter().any(|other| register(*other) == Some(n)))
}

/// A term cut to what a person will read.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 90;
    // the marks that tell equally named values apart are for us
    let mut clean = String::new();
    let mut skipping = false;
    for c in text.chars() {
        match c {
            '\'' => skipping = true,
            c if skipping && c.is_ascii_digit() => {}
            c => {
                skipping = false;
                clean.push(c);
            }
        }
    }
    if clean.chars().count() <= MOST {
        return clean;
    }
    let cut: String = clean.chars().take(MOST).collect();
    format!("{cut} …")
}

/// The start of an edge, for people.
pub fn show_from(from: From) -> String {
    match from {
        None => "the entry".to_owned(),
        Some(at) => format!("the loop head {at:#x}"),
    }
}

/// The end of an edge, for people.
pub fn show_end(end: MachineEnd) -> String {
    match end {
        MachineEnd::Head(at) => format!("the loop head {at:#x}"),
        MachineEnd::Return(at) => format!("the return at {at:#x}"),
    }
}

/// Unused lanes of registers keep the array's length in one place.
const _: () = assert!(LANES == 8);
