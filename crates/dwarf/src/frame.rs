//! A frame of the stopped process: its registers, frame address and frame base, where things are in it, and how to get
//! from it to its caller.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::caller::{self, Callers};
use crate::cfi::{Cfa, Row, Rule};
use crate::evaluate::Run;
use crate::expression::Program;
use crate::place::Place;
use crate::stack::{Fault, StackValue};
use crate::units::EntryId;
use crate::{Avma, Machine};

/// Operations that one variable may take, those of called expressions and of callers included.
const MAX_STEPS: u32 = 100_000;
/// Frames outwards that entry values may lead.
pub(crate) const MAX_CALLERS: u8 = 8;
/// The stack pointer, and the last of the general registers and the program counter.
const STACK_POINTER: u16 = 7;
pub(crate) const GENERAL_REGISTERS: usize = 17;

/// What is known of a frame from its address alone.
#[derive(Debug)]
pub(crate) struct Scope {
    /// The function whose code it is, never an inlined one.
    pub(crate) function: EntryId,
    /// Where that function starts.
    pub(crate) entry: u64,
    /// `Err`: what is wrong with the frame description. `None`: there is none.
    pub(crate) row: Result<Option<Row>, Arc<str>>,
    pub(crate) frame_base: Option<Place>,
}

/// A part of an object, as an expression gives it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Empty,
    Memory(u64),
    Register(u16),
    Value(StackValue),
    Bytes(Arc<[u8]>),
    Pointer { variable: Arc<str>, offset: i64 },
}

/// A part and where in the object it belongs: after the parts before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    /// `None`: all of the object.
    pub(crate) bits: Option<u64>,
    /// Where in the part it starts.
    pub(crate) offset: u64,
    pub(crate) part: Part,
}

/// The registers of a frame: the machine's for the innermost one, otherwise what was saved.
pub(crate) enum Registers {
    Machine,
    Saved(Box<[Option<u64>; GENERAL_REGISTERS]>),
}

/// A frame of a stopped process.
pub(crate) struct Frame<'a> {
    pub(crate) callers: &'a Callers<'a>,
    pub(crate) machine: &'a dyn Machine,
    pub(crate) scope: &'a Scope,
    pub(crate) registers: Registers,
    pub(crate) depth: u8,
    cfa: Once,
    base: Once,
}

/// A computed address, which must not be asked for while it is being computed.
#[derive(Default)]
struct Once {
    busy: Cell<bool>,
    result: OnceCell<Result<u64, Fault>>,
}

impl Once {
    fn get(
        &self,
        what: &'static str,
        compute: impl FnOnce() -> Result<u64, Fault>,
    ) -> Result<u64, Fault> {
        if let Some(result) = self.result.get() {
            return result.clone();
        }
        if self.busy.replace(true) {
            return Err(Fault::ill_formed(format!("{what} in terms of itself")));
        }
        let result = compute();
        self.busy.set(false);
        self.result.get_or_init(|| result).clone()
    }
}

impl<'a> Frame<'a> {
    pub(crate) fn new(
        callers: &'a Callers<'a>,
        machine: &'a dyn Machine,
        scope: &'a Scope,
        registers: Registers,
        depth: u8,
    ) -> Frame<'a> {
        Frame {
            callers,
            machine,
            scope,
            registers,
            depth,
            cfa: Once::default(),
            base: Once::default(),
        }
    }

    /// Counts work, so that no expression goes on for ever; callers' expressions count with those of the callee.
    pub(crate) fn step(&self, cost: u32) -> Result<(), Fault> {
        let steps = self.callers.steps.get().saturating_add(cost);
        self.callers.steps.set(steps);
        if steps > MAX_STEPS {
            Err(Fault::ill_formed("the expression does not end"))
        } else {
            Ok(())
        }
    }

    pub(crate) fn register(&self, register: u16) -> Result<u128, Fault> {
        let value = match &self.registers {
            Registers::Machine => self.machine.register(register),
            Registers::Saved(saved) => saved
                .get(usize::from(register))
                .copied()
                .flatten()
                .map(u128::from),
        };
        match value {
            Some(value) => Ok(value),
            None if register > 66 => Err(Fault::ill_formed(format!(
                "register {register}, which x86-64 does not have"
            ))),
            None => Err(Fault::unreadable(format!(
                "register {} cannot be read",
                caller::register_name(register)
            ))),
        }
    }

    pub(crate) fn read(&self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        match self.machine.read(Avma(address), buffer) {
            true => Ok(()),
            false => Err(Fault::unreadable(format!("no memory at {address:#x}"))),
        }
    }

    pub(crate) fn read_word(&self, address: u64) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn row(&self) -> Result<&Row, Fault> {
        match &self.scope.row {
            Ok(Some(row)) => Ok(row),
            Ok(None) => Err(Fault::unreadable(
                "no call frame information for this address",
            )),
            Err(why) => Err(Fault::unreadable(format!("call frame information: {why}"))),
        }
    }

    /// The canonical frame address.
    pub(crate) fn cfa(&self) -> Result<u64, Fault> {
        let compute = || match &self.row()?.cfa {
            Cfa::Register { register, offset } => {
                Ok((self.register(*register)? as u64).wrapping_add_signed(*offset))
            }
            Cfa::Program(program) => self.value(program, None)?.address("the frame address"),
        };
        self.cfa.get("the frame address", compute)
    }

    /// The value of `DW_AT_frame_base`: gcc says the frame address, clang names a register that holds it.
    pub(crate) fn base(&self) -> Result<u64, Fault> {
        let compute = || match &self.scope.frame_base {
            None => Err(Fault::ill_formed(
                "DW_OP_fbreg in a function without DW_AT_frame_base",
            )),
            Some(place) => match self.locate_one(place)? {
                Part::Register(register) => self.register(register).map(|value| value as u64),
                Part::Memory(address) => Ok(address),
                Part::Value(value) => value.address("DW_AT_frame_base"),
                _ => Err(Fault::ill_formed("DW_AT_frame_base gives no address")),
            },
        };
        self.base.get("DW_AT_frame_base", compute)
    }

    pub(crate) fn locate_one(&self, place: &Place) -> Result<Part, Fault> {
        let mut pieces = Vec::new();
        self.locate(place, &mut pieces)?;
        match pieces.pop() {
            Some(Piece {
                bits: None, part, ..
            }) => Ok(part),
            _ => Err(Fault::ill_formed(
                "a location in pieces where one address is wanted",
            )),
        }
    }

    /// Where the parts of an object are.
    pub(crate) fn locate(&self, place: &Place, out: &mut Vec<Piece>) -> Result<(), Fault> {
        out.clear();
        let part = match place {
            Place::OptimisedOut => return Err(Fault::OptimisedOut),
            Place::IllFormed(why) => return Err(Fault::ill_formed(why.to_string())),
            Place::Constant(bytes) => Part::Bytes(bytes.clone()),
            Place::ConstantAddress(address) => {
                Part::Value(StackValue::generic(self.moved(*address)))
            }
            Place::Static(address) => Part::Memory(self.moved(*address)),
            Place::Frame(offset) => Part::Memory(self.base()?.wrapping_add_signed(*offset)),
            Place::Register(register) => Part::Register(*register),
            Place::Memory { register, offset } => {
                Part::Memory((self.register(*register)? as u64).wrapping_add_signed(*offset))
            }
            Place::Sum { register, offset } => Part::Value(StackValue::generic(
                (self.register(*register)? as u64).wrapping_add_signed(*offset),
            )),
            Place::Program(program) => {
                let mut run = Run::new(self, None, out);
                let pending = run.run(program)?;
                return run.finish(pending);
            }
        };
        out.push(Piece {
            bits: None,
            offset: 0,
            part,
        });
        Ok(())
    }

    /// The value that an expression computes; `first` is on the stack when it starts.
    pub(crate) fn value(&self, program: &Program, first: Option<u64>) -> Result<StackValue, Fault> {
        let mut pieces = Vec::new();
        let mut run = Run::new(self, first, &mut pieces);
        let pending = run.run(program)?;
        let top = run.top();
        if !pieces.is_empty() {
            return Err(Fault::ill_formed("pieces where a value is wanted"));
        }
        match (pending, top) {
            (Some(Part::Value(value)), _) | (None, Some(value)) => Ok(value),
            (Some(Part::Register(register)), _) => {
                Ok(StackValue::generic(self.register(register)? as u64))
            }
            (Some(Part::Bytes(bytes)), _) if bytes.len() <= 8 => {
                let bits = bytes
                    .iter()
                    .rev()
                    .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
                Ok(StackValue::generic(bits))
            }
            (Some(_), _) => Err(Fault::unreadable("a value that has no bits of its own")),
            (None, None) => Err(Fault::ill_formed(
                "the expression leaves nothing on the stack",
            )),
        }
    }

    pub(crate) fn moved(&self, address: u64) -> u64 {
        address.wrapping_add(self.machine.bias())
    }

    /// The registers that the caller had, as far as they can be known.
    pub(crate) fn unwind(&self) -> Result<[Option<u64>; GENERAL_REGISTERS], Fault> {
        let row = self.row()?;
        let cfa = self.cfa()?;
        let mut saved = [None; GENERAL_REGISTERS];
        for (register, slot) in (0u16..).zip(&mut saved) {
            let rule = row
                .rules
                .iter()
                .find(|(have, _)| *have == register)
                .map(|(_, rule)| rule);
            *slot = match rule {
                None if register == STACK_POINTER => Some(cfa),
                // rbx, rbp and r12 to r15 survive calls; a callee that leaves them alone says nothing.
                None if matches!(register, 3 | 6 | 12..=15) => {
                    self.register(register).ok().map(|value| value as u64)
                }
                None | Some(Rule::Undefined) => None,
                Some(Rule::Same) => self.register(register).ok().map(|value| value as u64),
                Some(Rule::Saved(offset)) => self.read_word(cfa.wrapping_add_signed(*offset)).ok(),
                Some(Rule::Value(offset)) => Some(cfa.wrapping_add_signed(*offset)),
                Some(Rule::Register(other)) => self.register(*other).ok().map(|value| value as u64),
                Some(Rule::SavedAt(program)) => {
                    let address = self
                        .value(program, Some(cfa))?
                        .address("a saved register")?;
                    self.read_word(address).ok()
                }
                Some(Rule::Computed(program)) => Some(
                    self.value(program, Some(cfa))?
                        .address("a saved register")?,
                ),
                Some(Rule::Constant(value)) => Some(*value),
            };
        }
        if let Some(address) = saved
            .get(usize::from(row.return_address))
            .copied()
            .flatten()
        {
            saved[GENERAL_REGISTERS - 1] = Some(address);
        }
        Ok(saved)
    }
}
