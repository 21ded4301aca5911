//! Both programs run on the same inputs, and what is seen at each visit of a loop head.
//!
//! Traces prove nothing. They tell which loop heads may belong together and which relations are worth trying; and an input
//! on which the results differ, without undefined behaviour in the source, shows that the programs are different.
//!
//! Initial memory has no size: the content of an address is a function of the address and a seed, in one of several
//! *moods* (small numbers, so that sums do not wrap; any numbers; indices).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::domain::{Concrete, Side};
use crate::image::{Code, Image};
use crate::ir::{BlockId, Env, Flow, Function, SourceMemory, Val, ValueId};
use crate::region::MachineEnd;
use crate::term::{mask, signed};
use crate::x86::{
    ARGUMENTS, CALLEE_SAVED, Cpu, Flags, LANES, Memory, Next, Place, RAX, RSP, State, Unsupported,
};

/// rsp at the entry of a traced run.
pub const STACK: u64 = 0x7ffe_0000_0008;
/// Where pointer parameters point to.
pub const HEAP: u64 = 0x2_0000_0000;
/// Room between units in traced runs.
pub const UNIT_GAP: i64 = 1 << 20;
/// Instructions of one run, at most.
const MOST_STEPS: usize = 4_000_000;
/// Loads remembered for finding what a register holds.
const RECENT: usize = 160;
/// Bytes that are filled together.
const PIECE: usize = 64;

/// What initial memory looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mood {
    /// Numbers from -9 to 9.
    Small,
    /// Any numbers.
    Any,
    /// Numbers from 0 to 63.
    Indices,
}

/// An input: parameters, and how memory is filled.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Input {
    /// Values of the parameters.
    pub params: Vec<u64>,
    /// Decides the content of memory.
    pub seed: u64,
    /// What that content is like.
    pub mood: Mood,
}

/// A visit of a source loop head, or the return (block `None`).
#[derive(Clone, Debug)]
pub struct SourceVisit {
    /// The head.
    pub head: Option<BlockId>,
    /// Live values there.
    pub values: FxHashMap<ValueId, u64>,
    /// Hash of the set of cells written so far, and of the calls made.
    pub written: u64,
}

/// A visit of a machine loop head, or the return.
#[derive(Clone, Debug)]
pub struct MachineVisit {
    /// Where.
    pub at: MachineEnd,
    /// General registers.
    pub regs: [u64; 16],
    /// Vector registers.
    pub vectors: [[u32; LANES]; 16],
    /// Hash of the set of cells written so far.
    pub written: u64,
    /// Four-byte cells that were accessed recently, with their content now (some visits only).
    pub recent: Vec<(u64, u32)>,
    /// The frame: offsets from the entry's rsp and four-byte contents.
    pub frame: Vec<(i64, u32)>,
}

/// One input's run through both programs.
#[derive(Clone, Debug)]
pub struct Run {
    /// The input.
    pub input: Input,
    /// Visits of source heads, the return last.
    pub source: Vec<SourceVisit>,
    /// Visits of machine heads, the return last.
    pub machine: Vec<MachineVisit>,
}

/// An input on which the programs differ.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Difference {
    /// The input.
    pub input: Input,
    /// What kind of thing differs.
    pub kind: Differs,
    /// What differs, in words.
    pub what: String,
    /// What the processor says.
    pub native: Native,
}

/// What kind of thing differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Differs {
    /// The returned value.
    Result,
    /// The content of memory.
    Memory,
    /// The calls made.
    Calls,
    /// A register that the caller relies on.
    Register,
    /// The machine code traps.
    Trap,
    /// The machine code does not return.
    Endless,
}

/// A difference, tried on the processor itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict", content = "detail")]
pub enum Native {
    /// Both programs were run, and this differs.
    Confirmed(String),
    /// They were not, or that could not show it, and this is why.
    NotShown(String),
}

/// How a traced run ended.
pub enum Traced {
    /// Both ended alike.
    Alike(Box<Run>),
    /// They differ, and the source's behaviour is defined.
    Different(Difference),
    /// Nothing can be said: undefined behaviour, or too long.
    Useless(String),
}

/// Memory of a traced program.
struct Bytes<'a> {
    image: &'a Image,
    bases: &'a [u64],
    input: &'a Input,
    element: u64,
    /// Small pieces: a loop that goes by indices reads here and there, and a piece is filled as a whole.
    pieces: FxHashMap<u64, [u8; PIECE]>,
    written: FxHashMap<u64, u8>,
    hash: u64,
    calls: u64,
    called: u64,
    recent: VecDeque<u64>,
    out_of_bounds: bool,
}

fn mixed(mut x: u64) -> u64 {
    x ^= x >> 31;
    x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 32
}

impl<'a> Bytes<'a> {
    fn new(image: &'a Image, bases: &'a [u64], input: &'a Input, element: u8) -> Self {
        Bytes {
            image,
            bases,
            input,
            element: u64::from(element),
            pieces: FxHashMap::default(),
            written: FxHashMap::default(),
            hash: 0,
            calls: 0,
            called: 0,
            recent: VecDeque::new(),
            out_of_bounds: false,
        }
    }

    fn place(&self, address: u64) -> Place {
        for (unit, base) in self.bases.iter().enumerate().rev() {
            if address >= *base && address < HEAP {
                return Place {
                    unit: Some(unit as u32),
                    offset: (address - base) as i64,
                };
            }
        }
        Place {
            unit: None,
            offset: address as i64,
        }
    }

    /// The content of a byte before the program runs.
    fn initial(&self, address: u64) -> u8 {
        if address < HEAP
            && let Some(bytes) = self.image.constant(self.place(address), 1)
        {
            return bytes[0];
        }
        let index = address / self.element;
        let random = mixed(index ^ self.input.seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let value = match (self.input.mood, self.element) {
            (Mood::Any, 1) if random.is_multiple_of(23) => 0, // strings end
            (Mood::Any, _) => random,
            (Mood::Small, 1) => random % 10,
            (Mood::Small, _) => ((random % 19) as i64 - 9) as u64,
            (Mood::Indices, _) => random % 64,
        };
        (value >> (8 * (address % self.element))) as u8
    }

    fn piece(&mut self, number: u64) -> &mut [u8; PIECE] {
        if !self.pieces.contains_key(&number) {
            let mut fresh = [0; PIECE];
            for (address, byte) in (number * PIECE as u64..).zip(&mut fresh) {
                *byte = self.initial(address);
            }
            self.pieces.insert(number, fresh);
        }
        self.pieces.entry(number).or_insert([0; PIECE])
    }

    fn byte(&mut self, address: u64) -> u8 {
        self.piece(address / PIECE as u64)[address as usize % PIECE]
    }

    fn read(&mut self, address: u64, bytes: u8) -> u64 {
        let mut value = 0;
        for index in 0..u64::from(bytes) {
            value |= u64::from(self.byte(address.wrapping_add(index))) << (8 * index);
        }
        value
    }

    fn write(&mut self, address: u64, bytes: u8, value: u64) {
        for index in 0..u64::from(bytes) {
            let at = address.wrapping_add(index);
            let byte = (value >> (8 * index)) as u8;
            self.piece(at / PIECE as u64)[at as usize % PIECE] = byte;
            if at.abs_diff(STACK) < 1 << 24 {
                continue;
            }
            let tag = |byte: u8| mixed(at << 8 ^ u64::from(byte));
            if let Some(old) = self.written.insert(at, byte) {
                self.hash = self.hash.wrapping_sub(tag(old));
            }
            self.hash = self.hash.wrapping_add(tag(byte));
        }
    }

    fn note(&mut self, address: u64) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(address);
    }

    /// What a called function answers: anything, but always the same.
    fn answer(&mut self, callee: &str, arguments: &[u64], result: Option<u8>) -> Option<u64> {
        let mut tag = mixed(self.calls);
        self.calls += 1;
        for byte in callee.bytes() {
            tag = mixed(tag ^ u64::from(byte));
        }
        for argument in arguments {
            tag = mixed(tag ^ argument);
        }
        self.hash = self.hash.wrapping_add(tag);
        self.called = self.called.wrapping_add(tag);
        result.map(|width| match self.input.mood {
            Mood::Any => tag & mask(width),
            _ => tag % 10,
        })
    }
}

impl Memory<Concrete> for Bytes<'_> {
    fn load(&mut self, _: &mut Concrete, address: u64, bytes: u8) -> Result<u64, Unsupported> {
        self.note(address);
        Ok(self.read(address, bytes))
    }
    fn store(
        &mut self,
        _: &mut Concrete,
        address: u64,
        bytes: u8,
        value: u64,
    ) -> Result<(), Unsupported> {
        self.note(address);
        self.write(address, bytes, value);
        Ok(())
    }
}

impl Bytes<'_> {
    fn check_bounds(&mut self, address: u64, bytes: u8, object: Option<&str>) {
        let Some(object) = object else { return };
        let Some(symbol) = self.image.symbols.get(object) else {
            return;
        };
        let start = address_of(self.bases, symbol.place);
        let inside = address >= start && address + u64::from(bytes) <= start + symbol.size;
        self.out_of_bounds |= !inside;
    }
}

impl SourceMemory<Concrete> for Bytes<'_> {
    fn global(&mut self, _: &mut Concrete, name: &str) -> Result<u64, Unsupported> {
        match self.image.symbols.get(name) {
            Some(symbol) => Ok(address_of(self.bases, symbol.place)),
            None => Err(Unsupported(format!(
                "the global `{name}`, which the object does not have"
            ))),
        }
    }
    fn load(
        &mut self,
        _: &mut Concrete,
        address: u64,
        bytes: u8,
        object: Option<&str>,
    ) -> Result<u64, Unsupported> {
        self.check_bounds(address, bytes, object);
        Ok(self.read(address, bytes))
    }
    fn store(
        &mut self,
        _: &mut Concrete,
        address: u64,
        bytes: u8,
        value: u64,
        object: Option<&str>,
    ) -> Result<(), Unsupported> {
        self.check_bounds(address, bytes, object);
        self.write(address, bytes, value);
        Ok(())
    }
    fn call(
        &mut self,
        _: &mut Concrete,
        callee: &str,
        arguments: &[(u64, u8)],
        result: Option<u8>,
    ) -> Result<Option<u64>, Unsupported> {
        let values: Vec<u64> = arguments.iter().map(|(value, _)| *value).collect();
        Ok(self.answer(callee, &values, result))
    }
}

/// Addresses of the units in traced runs.
pub fn bases(image: &Image) -> Vec<u64> {
    let mut next = 0x1000_0000;
    image
        .units
        .iter()
        .map(|unit| {
            let at = next;
            next += unit.size.next_multiple_of(1 << 20) + UNIT_GAP as u64;
            at
        })
        .collect()
}

/// The address of a place in traced runs.
pub fn address_of(bases: &[u64], place: Place) -> u64 {
    match place.unit {
        Some(unit) => bases[unit as usize].wrapping_add(place.offset as u64),
        None => place.offset as u64,
    }
}

/// Runs both programs.
pub fn trace(
    image: &Image,
    code: &Code,
    function: &Function,
    calls: &crate::region::Signatures,
    input: &Input,
    element: u8,
) -> Result<Traced, Unsupported> {
    let bases = bases(image);
    let mut source_memory = Bytes::new(image, &bases, input, element);
    let mut d = Concrete::default();
    let written = |memory: &Bytes<'_>| memory.hash;
    let run = run_source(
        function,
        &mut d,
        &mut source_memory,
        &input.params,
        &written,
        &mut |_, _, _| {},
    )?;
    let Some(source) = run else {
        return Ok(Traced::Useless("the source runs too long".to_owned()));
    };
    let undefined = d.violated == Some(Side::Source) || source_memory.out_of_bounds;
    let mut machine_memory = Bytes::new(image, &bases, input, element);
    let mut d = Concrete::default();
    let ended = run_machine(
        code,
        calls,
        &bases,
        function,
        &mut d,
        &mut machine_memory,
        input,
    )?;
    let difference = |kind: Differs, what: String| {
        if undefined {
            return Traced::Useless("the input makes the source's behaviour undefined".to_owned());
        }
        Traced::Different(Difference {
            input: input.clone(),
            kind,
            what,
            native: Native::NotShown("not tried".to_owned()),
        })
    };
    if d.violated == Some(Side::Machine) {
        return Ok(difference(
            Differs::Trap,
            "the machine code traps: a division by zero or a misaligned vector access".to_owned(),
        ));
    }
    let Some(machine) = ended else {
        return Ok(difference(
            Differs::Endless,
            "the source returns, the machine code runs on".to_owned(),
        ));
    };
    let (Some(last_source), Some(last_machine)) = (source.last(), machine.last()) else {
        return Ok(Traced::Useless("nothing was executed".to_owned()));
    };
    if let Some(width) = function.result {
        let expected = last_source.values.get(&RESULT).copied().unwrap_or(0);
        let met = last_machine.regs[RAX] & mask(width);
        if expected != met {
            return Ok(difference(Differs::Result, results(expected, met)));
        }
    }
    if let Some(what) = first_difference(image, &bases, &mut source_memory, &mut machine_memory) {
        return Ok(difference(Differs::Memory, what));
    }
    if source_memory.called != machine_memory.called {
        return Ok(difference(
            Differs::Calls,
            "the programs call functions differently".to_owned(),
        ));
    }
    for register in CALLEE_SAVED.iter().chain([&RSP]) {
        if last_machine.regs[*register] != initial_register(*register) {
            let name = crate::x86::NAMES[*register];
            return Ok(difference(
                Differs::Register,
                format!("the machine code does not restore {name}"),
            ));
        }
    }
    Ok(Traced::Alike(Box::new(Run {
        input: input.clone(),
        source,
        machine,
    })))
}

/// Two results, in words.
pub(crate) fn results(source: u64, machine: u64) -> String {
    format!("the source returns {source:#x}, the machine code {machine:#x}")
}

/// A cell that the programs leave differently, in words.
pub(crate) fn cells(place: &str, source: u64, machine: u64) -> String {
    format!("at {place} the source leaves {source:#x}, the machine code {machine:#x}")
}

/// The content of memory before a run.
pub(crate) fn initial_bytes(
    image: &Image,
    input: &Input,
    element: u8,
    from: u64,
    length: u64,
) -> Vec<u8> {
    let bases = bases(image);
    let memory = Bytes::new(image, &bases, input, element);
    (from..from + length)
        .map(|address| memory.initial(address))
        .collect()
}

fn first_difference(
    image: &Image,
    bases: &[u64],
    source: &mut Bytes<'_>,
    machine: &mut Bytes<'_>,
) -> Option<String> {
    let mut all: Vec<u64> = source
        .written
        .keys()
        .chain(machine.written.keys())
        .copied()
        .collect();
    all.sort_unstable();
    all.dedup();
    for at in all {
        let (x, y) = (source.byte(at), machine.byte(at));
        if x != y {
            let element = source.element;
            let start = at - at % element;
            let (x, y) = (
                source.read(start, element as u8),
                machine.read(start, element as u8),
            );
            let owner = image.symbols.values().find_map(|symbol| {
                let from = address_of(bases, symbol.place);
                (!symbol.function && start >= from && start < from + symbol.size)
                    .then(|| format!("`{}` + {}", symbol.name, start - from))
            });
            let place = owner.unwrap_or_else(|| format!("{start:#x}"));
            return Some(cells(&place, x, y));
        }
    }
    None
}

/// The value id under which a return's result is kept.
pub const RESULT: ValueId = ValueId(u32::MAX);

/// Runs the source; nothing if it runs too long. `written` tells the hash of what was written, `executed` is told each block behind it,
/// with the number of visits so far.
pub(crate) fn run_source<M: SourceMemory<Concrete>>(
    function: &Function,
    d: &mut Concrete,
    memory: &mut M,
    params: &[u64],
    written: &dyn Fn(&M) -> u64,
    executed: &mut dyn FnMut(usize, BlockId, &Env<Concrete>),
) -> Result<Option<Vec<SourceVisit>>, Unsupported> {
    let mut env: Env<Concrete> = vec![None; function.values.len()];
    for (param, value) in function.params.iter().zip(params) {
        env[param.value.0 as usize] = Some(Val::Int(value & mask(param.width)));
    }
    let mut visits = Vec::new();
    let mut block = BlockId(0);
    let mut previous: Option<BlockId> = None;
    for _ in 0..MOST_STEPS / 4 {
        if let Some(from) = previous {
            let mut chosen = Vec::new();
            for phi in &function.block(block).phis {
                let width = function.value(phi.to).width;
                if let Some(operand) = phi.from.get(&from) {
                    chosen.push((phi.to, function.operand(d, memory, &env, operand, width)?));
                }
            }
            for (to, value) in chosen {
                env[to.0 as usize] = Some(value);
            }
        }
        if function.heads.contains(&block) {
            let mut values = FxHashMap::default();
            for id in &function.live[block.0 as usize] {
                if let Some(Some(value)) = env.get(id.0 as usize) {
                    let number = match value {
                        Val::Int(number) => *number,
                        Val::Bit(bit) => u64::from(*bit),
                    };
                    values.insert(*id, number);
                }
            }
            visits.push(SourceVisit {
                head: Some(block),
                values,
                written: written(memory),
            });
        }
        let flow = function.run_block(d, memory, &mut env, block)?;
        executed(visits.len(), block, &env);
        match flow {
            Flow::Return(value) => {
                let mut values = FxHashMap::default();
                if let Some(value) = value {
                    values.insert(RESULT, value);
                }
                visits.push(SourceVisit {
                    head: None,
                    values,
                    written: written(memory),
                });
                return Ok(Some(visits));
            }
            Flow::Never => return Ok(None),
            Flow::To(targets) => {
                previous = Some(block);
                match targets.into_iter().find(|(taken, _)| *taken) {
                    Some((_, to)) => block = to,
                    None => return Ok(None),
                }
            }
        }
    }
    Ok(None)
}

/// What registers hold before a traced run, arguments aside.
fn initial_register(register: usize) -> u64 {
    match register {
        RSP => STACK,
        _ => 0x1111_1111_0000_0000 + register as u64,
    }
}

/// What a parameter's register holds: a caller extends narrow ones to 32 bits, and the upper half is anything.
pub(crate) fn argument(param: &crate::ir::Param, value: u64) -> u64 {
    // Not the same for every value: a constant would look like a relation of the whole register.
    let upper = mixed(value ^ 0xdead) << 32;
    match (param.width, param.extension) {
        (64, _) => value,
        (32, _) | (_, None) => value & mask(param.width) | upper,
        (width, Some(true)) => signed(value, width) as u64 & mask(32) | upper,
        (width, Some(false)) => value & mask(width) | upper,
    }
}

fn run_machine(
    code: &Code,
    calls: &crate::region::Signatures,
    bases: &[u64],
    function: &Function,
    d: &mut Concrete,
    memory: &mut Bytes<'_>,
    input: &Input,
) -> Result<Option<Vec<MachineVisit>>, Unsupported> {
    let mut state: State<Concrete> = State {
        regs: std::array::from_fn(initial_register),
        vectors: [[0; LANES]; 16],
        flags: Flags::Unknown,
    };
    for ((param, value), register) in function.params.iter().zip(&input.params).zip(ARGUMENTS) {
        state.regs[register] = argument(param, *value);
    }
    let snapshots = [1, 2, 3, 5, 8, 13, 21, 40, 100, 300, 301, 1000];
    let mut visits: Vec<MachineVisit> = Vec::new();
    let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
    let mut at = code.start;
    for _ in 0..MOST_STEPS {
        let head = code.heads.contains(&at);
        let Some(op) = code.ops.get(&at) else {
            return Err(Unsupported(format!("the jump to {at:#x}")));
        };
        if head {
            let count = counts.entry(at).or_default();
            let keep = snapshots.contains(count);
            *count += 1;
            let recent = if keep { recently(memory) } else { Vec::new() };
            visits.push(visit(MachineEnd::Head(at), &state, memory, recent));
        }
        let mut cpu = Cpu {
            d,
            state: &mut state,
            memory,
            bases,
        };
        match cpu.step(op)? {
            Next::Fall => at = op.raw.next_ip(),
            Next::Jump(to) => at = to,
            Next::Branch(taken, to) => at = if taken { to } else { op.raw.next_ip() },
            Next::Call => {
                let known = op
                    .callee
                    .as_ref()
                    .and_then(|name| calls.get_key_value(name));
                let Some((name, (widths, result))) = known else {
                    return Err(Unsupported(format!(
                        "the call of `{}`, which the source does not call",
                        op.callee.as_deref().unwrap_or("a pointer")
                    )));
                };
                let arguments: Vec<u64> = ARGUMENTS
                    .iter()
                    .zip(widths)
                    .map(|(register, width)| state.regs[*register] & mask(*width))
                    .collect();
                let answer = memory.answer(name, &arguments, *result);
                for register in 0..16 {
                    if register != RSP && !CALLEE_SAVED.contains(&register) {
                        state.regs[register] = 0xc10b_c10b_0000_0000 + register as u64;
                    }
                }
                if let (Some(answer), Some(width)) = (answer, result) {
                    let garbage = mixed(answer ^ 0xbeef) & !mask((*width).max(32));
                    state.regs[RAX] = answer | garbage;
                }
                at = op.raw.next_ip();
            }
            Next::Return => {
                visits.push(visit(MachineEnd::Return(at), &state, memory, Vec::new()));
                return Ok(Some(visits));
            }
        }
        if d.violated == Some(Side::Machine) {
            return Ok(Some(visits));
        }
    }
    Ok(None)
}

fn recently(memory: &mut Bytes<'_>) -> Vec<(u64, u32)> {
    let mut addresses: Vec<u64> = memory
        .recent
        .iter()
        .copied()
        .filter(|at| at.abs_diff(STACK) >= 1 << 24)
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
        .into_iter()
        .map(|at| (at, memory.read(at, 4) as u32))
        .collect()
}

fn visit(
    at: MachineEnd,
    state: &State<Concrete>,
    memory: &mut Bytes<'_>,
    recent: Vec<(u64, u32)>,
) -> MachineVisit {
    let depth = STACK.saturating_sub(state.regs[RSP]).min(512);
    let frame = if depth == 0 {
        Vec::new()
    } else {
        (0..depth / 4)
            .map(|index| {
                let address = STACK - depth + 4 * index;
                let offset = address.wrapping_sub(STACK) as i64;
                (offset, memory.read(address, 4) as u32)
            })
            .collect()
    };
    MachineVisit {
        at,
        regs: state.regs,
        vectors: state.vectors.map(|lanes| lanes.map(|lane| lane as u32)),
        written: memory.hash,
        recent,
        frame,
    }
}
