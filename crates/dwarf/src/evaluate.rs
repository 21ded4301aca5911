//! The stack machine: runs a decoded expression in a frame (DWARF 5, sections 2.5 and 2.6).

use crate::caller;
use crate::expression::{Op, Program};
use crate::frame::{Frame, Part, Piece};
use crate::place::Place;
use crate::stack::{Fault, StackValue, Type};

/// Entries of the stack, and pieces.
const MAX_STACK: usize = 4096;

/// One evaluation.
pub(crate) struct Run<'r, 'a> {
    frame: &'r Frame<'a>,
    stack: Vec<StackValue>,
    pieces: &'r mut Vec<Piece>,
    /// Something was evaluated since the last piece.
    dirty: bool,
}

impl<'r, 'a> Run<'r, 'a> {
    /// Starts with `first` on the stack; pieces go to `pieces`.
    pub(crate) fn new(
        frame: &'r Frame<'a>,
        first: Option<u64>,
        pieces: &'r mut Vec<Piece>,
    ) -> Run<'r, 'a> {
        Run {
            frame,
            stack: first.into_iter().map(StackValue::generic).collect(),
            pieces,
            dirty: false,
        }
    }

    /// What is on top of the stack.
    pub(crate) fn top(self) -> Option<StackValue> {
        self.stack.last().copied()
    }

    fn pop(&mut self, operation: &'static str) -> Result<StackValue, Fault> {
        self.stack
            .pop()
            .ok_or_else(|| Fault::ill_formed(format!("{operation}: the stack is empty")))
    }

    fn push(&mut self, value: StackValue) -> Result<(), Fault> {
        if self.stack.len() >= MAX_STACK {
            return Err(Fault::ill_formed("the stack grows without end"));
        }
        self.stack.push(value);
        Ok(())
    }

    /// Runs a program; gives the location that it ends with unless that is an address on the stack or in pieces.
    pub(crate) fn run(&mut self, program: &Program) -> Result<Option<Part>, Fault> {
        let frame = self.frame;
        let mut pending: Option<Part> = None;
        let mut next = 0;
        while let Some(op) = program.ops.get(next) {
            next += 1;
            frame.step(1)?;
            match (&pending, op) {
                (_, Op::Nop) => continue,
                (Some(_), Op::Piece { .. }) | (None, _) => {}
                (Some(_), _) => {
                    return Err(Fault::ill_formed(
                        "operations after one that must come last",
                    ));
                }
            }
            let was_dirty = std::mem::replace(&mut self.dirty, true);
            match op {
                Op::Push(value) => self.push(*value)?,
                Op::Address(address) => self.push(StackValue::generic(frame.moved(*address)))?,
                Op::Register { register, offset } => {
                    let value = (frame.register(*register)? as u64).wrapping_add_signed(*offset);
                    self.push(StackValue::generic(value))?;
                }
                Op::RegisterTyped { register, ty } => {
                    let value = frame.register(*register)?;
                    self.push(StackValue::new(*ty, value))?;
                }
                Op::FrameBase(offset) => self.push(StackValue::generic(
                    frame.base()?.wrapping_add_signed(*offset),
                ))?,
                Op::Cfa => self.push(StackValue::generic(frame.cfa()?))?,
                Op::Tls => {
                    let offset = self
                        .pop("DW_OP_form_tls_address")?
                        .address("DW_OP_form_tls_address")?;
                    let block = frame.callers.tls_block.ok_or_else(|| {
                        Fault::ill_formed(
                            "a thread-local variable in a program without a thread-local block",
                        )
                    })?;
                    let thread = frame
                        .machine
                        .fs_base()
                        .ok_or_else(|| Fault::unreadable("the thread pointer cannot be read"))?;
                    self.push(StackValue::generic(
                        thread.wrapping_sub(block).wrapping_add(offset),
                    ))?;
                }
                Op::Deref { bytes, ty } => {
                    let address = self.pop("DW_OP_deref")?.address("DW_OP_deref")?;
                    let mut buffer = [0; 16];
                    let wanted = buffer
                        .get_mut(..usize::from(*bytes))
                        .ok_or_else(|| Fault::ill_formed("a dereference of too many bytes"))?;
                    frame.read(address, wanted)?;
                    self.push(StackValue::new(*ty, u128::from_le_bytes(buffer)))?;
                }
                Op::Pick(index) => {
                    let from_top = self.stack.len().checked_sub(usize::from(*index) + 1);
                    let value = from_top
                        .map(|at| self.stack[at])
                        .ok_or_else(|| Fault::ill_formed("DW_OP_pick: the stack is too short"))?;
                    self.push(value)?;
                }
                Op::Drop => {
                    self.pop("DW_OP_drop")?;
                }
                Op::Swap => {
                    let (top, below) = (self.pop("DW_OP_swap")?, self.pop("DW_OP_swap")?);
                    self.push(top)?;
                    self.push(below)?;
                }
                Op::Rot => {
                    let (first, second, third) = (
                        self.pop("DW_OP_rot")?,
                        self.pop("DW_OP_rot")?,
                        self.pop("DW_OP_rot")?,
                    );
                    self.push(first)?;
                    self.push(third)?;
                    self.push(second)?;
                }
                Op::Unary(operation) => {
                    let value = self.pop(operation.name())?;
                    self.push(value.unary(*operation)?)?;
                }
                Op::Binary(operation) => {
                    let right = self.pop(operation.name())?;
                    let left = self.pop(operation.name())?;
                    self.push(left.binary(*operation, right)?)?;
                }
                Op::PlusConstant(constant) => {
                    let value = self.pop("DW_OP_plus_uconst")?;
                    value.integral("DW_OP_plus_uconst")?;
                    self.push(StackValue::new(
                        value.ty,
                        value.bits.wrapping_add(u128::from(*constant)),
                    ))?;
                }
                Op::Skip(target) => next = *target,
                Op::Branch(target) => {
                    if self.pop("DW_OP_bra")?.integral("DW_OP_bra")? != 0 {
                        next = *target;
                    }
                }
                Op::Call(callee) => pending = self.run(callee)?,
                Op::Variable {
                    place,
                    bytes,
                    signed,
                } => {
                    let value = self.variable(place, *bytes, *signed)?;
                    self.push(value)?;
                }
                Op::Entry(source) => {
                    let value = caller::entry_value(frame, *source)?;
                    self.push(value)?;
                }
                Op::Parameter(parameter) => {
                    let value = caller::parameter(frame, *parameter)?;
                    self.push(value)?;
                }
                Op::Convert(ty) => {
                    let value = self.pop("DW_OP_convert")?.convert(*ty)?;
                    self.push(value)?;
                }
                Op::Reinterpret(ty) => {
                    let value = self.pop("DW_OP_reinterpret")?.reinterpret(*ty)?;
                    self.push(value)?;
                }
                Op::Nop => {}
                Op::InRegister(register) => pending = Some(Part::Register(*register)),
                Op::StackValue => pending = Some(Part::Value(self.pop("DW_OP_stack_value")?)),
                Op::ImplicitValue(bytes) => pending = Some(Part::Bytes(bytes.clone())),
                Op::ImplicitPointer { variable, offset } => {
                    pending = Some(Part::Pointer {
                        variable: variable.clone(),
                        offset: *offset,
                    });
                }
                Op::Piece { bits, offset } => {
                    let part = match pending.take() {
                        Some(part) => part,
                        None if was_dirty => {
                            Part::Memory(self.pop("DW_OP_piece")?.address("DW_OP_piece")?)
                        }
                        None => Part::Empty,
                    };
                    if self.pieces.len() >= MAX_STACK {
                        return Err(Fault::ill_formed("pieces without end"));
                    }
                    self.pieces.push(Piece {
                        bits: Some(*bits),
                        offset: *offset,
                        part,
                    });
                    self.dirty = false;
                }
                Op::Bad(why) => return Err(Fault::ill_formed(why.to_string())),
            }
        }
        Ok(pending)
    }

    /// Ends the evaluation of a location.
    pub(crate) fn finish(mut self, pending: Option<Part>) -> Result<(), Fault> {
        if !self.pieces.is_empty() {
            return match self.dirty || pending.is_some() {
                true => Err(Fault::ill_formed("operations after the last DW_OP_piece")),
                false => Ok(()),
            };
        }
        let part = match pending {
            Some(part) => part,
            None => Part::Memory(
                self.pop("the end of the location")?
                    .address("the end of the location")?,
            ),
        };
        self.pieces.push(Piece {
            bits: None,
            offset: 0,
            part,
        });
        Ok(())
    }

    fn variable(&mut self, place: &Place, bytes: u8, signed: bool) -> Result<StackValue, Fault> {
        let frame = self.frame;
        let ty = Type::Integer { bytes, signed };
        let bits = match frame.locate_one(place)? {
            Part::Empty => return Err(Fault::OptimisedOut),
            Part::Memory(address) => {
                let mut buffer = [0; 16];
                let wanted = buffer
                    .get_mut(..usize::from(bytes))
                    .ok_or_else(|| Fault::ill_formed("a variable of too many bytes"))?;
                frame.read(address, wanted)?;
                u128::from_le_bytes(buffer)
            }
            Part::Register(register) => frame.register(register)?,
            Part::Value(value) => value.bits,
            Part::Bytes(bytes) => bytes
                .iter()
                .take(16)
                .rev()
                .fold(0, |bits, byte| bits << 8 | u128::from(*byte)),
            Part::Pointer { .. } => {
                return Err(Fault::unreadable("a pointer that has no bits of its own"));
            }
        };
        StackValue::new(ty, bits).convert(Type::Generic)
    }
}
