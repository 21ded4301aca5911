//! DWARF expressions, decoded once per site into operations that need no more lookups: base types, indexed addresses,
//! called expressions and branch targets are resolved here. An operation that cannot be resolved becomes
//! [`Op::Bad`], which is an error only if it is reached.

use std::cell::Cell;
use std::sync::Arc;

use gimli::constants as dw;
use gimli::{AttributeValue, DieReference, Encoding, Operation, UnitOffset};

use crate::elf::Slice;
use crate::layout::{Scalar, scalar_of};
use crate::place::Place;
use crate::stack::{Binary, StackValue, Type, Unary};
use crate::tree::Damage;
use crate::units::{EntryId, Units};

/// Expressions called from expressions.
const MAX_CALLS: u8 = 8;
/// Operations of one variable's expression, called ones included.
const MAX_OPERATIONS: u32 = 200_000;

/// An operation with everything resolved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    Push(StackValue),
    /// An address in the file, to be moved to where it is loaded.
    Address(u64),
    /// The register plus an offset.
    Register {
        register: u16,
        offset: i64,
    },
    /// The register's low bytes as a base type.
    RegisterTyped {
        register: u16,
        ty: Type,
    },
    FrameBase(i64),
    Cfa,
    Tls,
    Deref {
        bytes: u8,
        ty: Type,
    },
    Pick(u8),
    Drop,
    Swap,
    Rot,
    Unary(Unary),
    Binary(Binary),
    PlusConstant(u64),
    Skip(usize),
    Branch(usize),
    Call(Arc<Program>),
    /// The value of a variable, of so many bytes.
    Variable {
        place: Arc<Place>,
        bytes: u8,
        signed: bool,
    },
    Entry(EntrySource),
    /// The value that the caller passed for this formal parameter.
    Parameter(EntryId),
    Convert(Type),
    Reinterpret(Type),
    Nop,
    /// The location is a register.
    InRegister(u16),
    /// The value itself is on the stack.
    StackValue,
    ImplicitValue(Arc<[u8]>),
    ImplicitPointer {
        variable: Arc<str>,
        offset: i64,
    },
    Piece {
        bits: u64,
        offset: u64,
    },
    Bad(Arc<str>),
}

/// What `DW_OP_entry_value` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntrySource {
    Register(u16),
    RegisterTyped(u16, Type),
    /// The memory that the register pointed to.
    Memory {
        register: u16,
        bytes: u8,
    },
    Unsupported,
}

/// A decoded expression.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
}

impl Program {
    /// Whether it says that all or a part of the object is in memory.
    pub(crate) fn is_memory(&self) -> bool {
        let mut value = false;
        let mut pieces = 0;
        for op in &self.ops {
            match op {
                Op::InRegister(_)
                | Op::StackValue
                | Op::ImplicitValue(_)
                | Op::ImplicitPointer { .. } => value = true,
                Op::Piece { .. } => {
                    if !value {
                        return true;
                    }
                    value = false;
                    pieces += 1;
                }
                _ => {}
            }
        }
        pieces == 0 && !value
    }
}

/// What decoding needs to know of the place that the expression is found in.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    pub(crate) units: &'a Units,
    /// `None` in call frame information, where no unit's tables can be meant.
    pub(crate) unit: Option<u32>,
    pub(crate) encoding: Encoding,
    /// For called expressions that are location lists.
    pub(crate) pc: u64,
    pub(crate) calls: u8,
    /// Operations that may still be decoded: calls multiply.
    pub(crate) budget: &'a Cell<u32>,
}

/// A fresh budget for one variable.
pub(crate) fn budget() -> Cell<u32> {
    Cell::new(MAX_OPERATIONS)
}

impl Decoder<'_> {
    pub(crate) fn decode(&self, bytes: Slice) -> Program {
        let mut ops = Vec::new();
        let mut starts = Vec::new();
        let mut branches: Vec<(usize, usize, i16)> = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            starts.push(bytes.len() - rest.len());
            let opcode = gimli::DwOp(rest[0]);
            let Some(left) = self.budget.get().checked_sub(1) else {
                ops.push(Op::Bad(Arc::from("the expression is too long")));
                break;
            };
            self.budget.set(left);
            let operation = match Operation::parse(&mut rest, self.encoding) {
                Ok(operation) => operation,
                Err(error) => {
                    ops.push(bad(match opcode.static_string() {
                        Some(name) => format!("{name}: {error}"),
                        None => format!("unknown operation {:#x}", opcode.0),
                    }));
                    break;
                }
            };
            if let Operation::Skip { target } | Operation::Bra { target } = operation {
                branches.push((ops.len(), bytes.len() - rest.len(), target));
            }
            ops.push(self.resolve(operation));
        }
        starts.push(bytes.len());
        for (index, after, distance) in branches {
            let target = (after as i64).wrapping_add(i64::from(distance));
            let found = usize::try_from(target)
                .ok()
                .and_then(|target| starts.binary_search(&target).ok());
            ops[index] = match (found, &ops[index]) {
                (None, _) => Op::Bad(Arc::from("a branch to a place where no operation starts")),
                (Some(target), Op::Branch(_)) => Op::Branch(target),
                (Some(target), _) => Op::Skip(target),
            };
        }
        Program { ops }
    }

    fn resolve(&self, operation: Operation<Slice>) -> Op {
        match operation {
            Operation::Deref { space: true, .. } => {
                bad("an address space, of which x86-64 Linux has none")
            }
            Operation::Deref {
                base_type, size, ..
            } => self.typed(base_type, |ty| match (ty, size) {
                (Type::Generic, 0 | 9..) => bad(format!(
                    "DW_OP_deref_size {size}: not a size of the generic type, which has 8 bytes"
                )),
                (_, 1..=16) => Op::Deref { bytes: size, ty },
                _ => bad(format!("DW_OP_deref_type {size}: no type of that size")),
            }),
            Operation::Drop => Op::Drop,
            Operation::Pick { index } => Op::Pick(index),
            Operation::Swap => Op::Swap,
            Operation::Rot => Op::Rot,
            Operation::Abs => Op::Unary(Unary::Abs),
            Operation::Neg => Op::Unary(Unary::Neg),
            Operation::Not => Op::Unary(Unary::Not),
            Operation::And => Op::Binary(Binary::And),
            Operation::Or => Op::Binary(Binary::Or),
            Operation::Xor => Op::Binary(Binary::Xor),
            Operation::Plus => Op::Binary(Binary::Plus),
            Operation::Minus => Op::Binary(Binary::Minus),
            Operation::Mul => Op::Binary(Binary::Mul),
            Operation::Div => Op::Binary(Binary::Div),
            Operation::Mod => Op::Binary(Binary::Mod),
            Operation::Shl => Op::Binary(Binary::Shl),
            Operation::Shr => Op::Binary(Binary::Shr),
            Operation::Shra => Op::Binary(Binary::Shra),
            Operation::Eq => Op::Binary(Binary::Eq),
            Operation::Ne => Op::Binary(Binary::Ne),
            Operation::Lt => Op::Binary(Binary::Lt),
            Operation::Le => Op::Binary(Binary::Le),
            Operation::Gt => Op::Binary(Binary::Gt),
            Operation::Ge => Op::Binary(Binary::Ge),
            Operation::PlusConstant { value } => Op::PlusConstant(value),
            // The targets are filled in when all operations are known.
            Operation::Bra { .. } => Op::Branch(0),
            Operation::Skip { .. } => Op::Skip(0),
            Operation::UnsignedConstant { value } => Op::Push(StackValue::generic(value)),
            Operation::SignedConstant { value } => Op::Push(StackValue::generic(value as u64)),
            Operation::Register { register } => Op::InRegister(register.0),
            Operation::RegisterOffset {
                register,
                offset,
                base_type: UnitOffset(0),
            } => Op::Register {
                register: register.0,
                offset,
            },
            Operation::RegisterOffset {
                register,
                base_type,
                ..
            } => self.typed(base_type, |ty| Op::RegisterTyped {
                register: register.0,
                ty,
            }),
            Operation::FrameOffset { offset } => Op::FrameBase(offset),
            // gdb takes the marker "not initialised yet" as a remark on the value.
            Operation::Nop | Operation::Uninitialized => Op::Nop,
            Operation::PushObjectAddress => {
                bad("DW_OP_push_object_address where no object is being looked at")
            }
            Operation::Call { offset } => self.call(offset),
            Operation::VariableValue { offset } => self.variable(offset.0),
            Operation::TLS => Op::Tls,
            Operation::CallFrameCFA => Op::Cfa,
            Operation::Piece {
                size_in_bits,
                bit_offset,
            } => Op::Piece {
                bits: size_in_bits,
                offset: bit_offset.unwrap_or(0),
            },
            Operation::ImplicitValue { data } => Op::ImplicitValue(Arc::from(data.slice())),
            Operation::StackValue => Op::StackValue,
            Operation::ImplicitPointer { value, byte_offset } => {
                self.implicit_pointer(value.0, byte_offset)
            }
            Operation::EntryValue { expression } => Op::Entry(self.entry_source(expression)),
            Operation::ParameterRef { offset } => {
                match self.entry(&AttributeValue::UnitRef(offset)) {
                    Ok(entry) => Op::Parameter(entry),
                    Err(damage) => bad(format!("DW_OP_GNU_parameter_ref: {damage}")),
                }
            }
            Operation::Address { address } => Op::Address(address),
            Operation::AddressIndex { index } => self.indexed(index, Op::Address),
            Operation::ConstantIndex { index } => {
                self.indexed(index, |value| Op::Push(StackValue::generic(value)))
            }
            Operation::TypedLiteral { base_type, value } => self.typed(base_type, |ty| {
                if value.len() != usize::from(ty.bytes()) {
                    return bad(format!(
                        "DW_OP_const_type: {} bytes for a {ty} value",
                        value.len()
                    ));
                }
                let bits = value
                    .iter()
                    .rev()
                    .fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
                Op::Push(StackValue::new(ty, bits))
            }),
            Operation::Convert { base_type } => self.typed(base_type, Op::Convert),
            Operation::Reinterpret { base_type } => self.typed(base_type, Op::Reinterpret),
            Operation::WasmLocal { .. }
            | Operation::WasmGlobal { .. }
            | Operation::WasmStack { .. } => bad("DW_OP_WASM_location in a program for x86-64"),
        }
    }

    fn entry(&self, reference: &AttributeValue<Slice>) -> Result<EntryId, Damage> {
        let unit = self
            .unit
            .ok_or_else(|| Damage("no unit that this could refer to".into()))?;
        self.units.resolve(unit, reference)
    }

    fn typed(&self, base_type: UnitOffset, make: impl FnOnce(Type) -> Op) -> Op {
        match self.base_type(base_type) {
            Ok(ty) => make(ty),
            Err(damage) => bad(format!("base type: {damage}")),
        }
    }

    fn base_type(&self, offset: UnitOffset) -> Result<Type, Damage> {
        if offset.0 == 0 {
            return Ok(Type::Generic);
        }
        let id = self.entry(&AttributeValue::UnitRef(offset))?;
        let tag = self
            .units
            .tag(id)
            .map_err(|error| Damage(error.to_string()))?;
        if tag != dw::DW_TAG_base_type {
            return Err(Damage(format!("expected DW_TAG_base_type, met {tag}")));
        }
        let size = self
            .units
            .own(id, dw::DW_AT_byte_size)
            .and_then(|size| size.udata_value());
        let encoding = match self.units.own(id, dw::DW_AT_encoding) {
            Some(AttributeValue::Encoding(encoding)) => *encoding,
            _ => return Err(Damage("it has no encoding".into())),
        };
        match (scalar_of(encoding), size) {
            (Scalar::Integer { signed, .. }, Some(size @ 1..=16)) => Ok(Type::Integer {
                bytes: size as u8,
                signed,
            }),
            (Scalar::Float, Some(size @ 1..=16)) => Ok(Type::Float { bytes: size as u8 }),
            (_, size) => Err(Damage(format!(
                "encoding {encoding} of size {size:?} has no arithmetic"
            ))),
        }
    }

    fn indexed(&self, index: gimli::DebugAddrIndex, make: impl FnOnce(u64) -> Op) -> Op {
        let address = || {
            let unit = self
                .unit
                .ok_or_else(|| Damage("no unit that this could refer to".into()))?;
            let loaded = self
                .units
                .loaded(unit)
                .map_err(|error| Damage(error.to_string()))?;
            Ok::<u64, Damage>(self.units.dwarf_of(loaded).address(&loaded.unit, index)?)
        };
        match address() {
            Ok(address) => make(address),
            Err(damage) => bad(format!("address index {}: {damage}", index.0)),
        }
    }

    fn call(&self, target: DieReference) -> Op {
        if self.calls >= MAX_CALLS {
            return bad("DW_OP_call: calls nested too deeply");
        }
        let reference = match target {
            DieReference::UnitRef(offset) => AttributeValue::UnitRef(offset),
            DieReference::DebugInfoRef(offset) => AttributeValue::DebugInfoRef(offset),
        };
        let entry = match self.entry(&reference) {
            Ok(entry) => entry,
            Err(damage) => return bad(format!("DW_OP_call: {damage}")),
        };
        let Some(location) = self.units.own(entry, dw::DW_AT_location) else {
            return Op::Nop;
        };
        match Place::expression_of(self.units, entry.unit, location, self.pc) {
            Ok(Some((bytes, encoding))) => {
                let callee = Decoder {
                    unit: Some(entry.unit),
                    encoding,
                    calls: self.calls + 1,
                    ..*self
                };
                Op::Call(Arc::new(callee.decode(bytes)))
            }
            Ok(None) => Op::Nop,
            Err(damage) => bad(format!("DW_OP_call: {damage}")),
        }
    }

    fn variable(&self, offset: usize) -> Op {
        if self.calls >= MAX_CALLS {
            return bad("DW_OP_GNU_variable_value: calls nested too deeply");
        }
        let found = || {
            let entry = self.entry(&AttributeValue::DebugInfoRef(gimli::DebugInfoOffset(
                offset,
            )))?;
            let (owner, reference) = self
                .units
                .inherited(entry, dw::DW_AT_type)
                .ok_or_else(|| Damage("a variable without a type".into()))?;
            let ty = self.units.resolve(owner.unit, reference)?;
            let layout = crate::layout::layout(self.units, ty, 2)?;
            match layout.shapes.as_slice() {
                [shape] if shape.path.is_empty() && shape.bit_size <= 64 => {
                    let (place, _) =
                        Place::of_variable(self.units, entry, self.pc, self.calls + 1, self.budget);
                    Ok((place, (shape.bit_size / 8) as u8, shape.signed))
                }
                _ => Err(Damage("a variable that is no scalar".into())),
            }
        };
        match found() {
            Ok((place, bytes, signed)) => Op::Variable {
                place: Arc::new(place),
                bytes,
                signed,
            },
            Err(Damage(why)) => bad(format!("DW_OP_GNU_variable_value: {why}")),
        }
    }

    fn implicit_pointer(&self, offset: usize, byte_offset: i64) -> Op {
        match self.entry(&AttributeValue::DebugInfoRef(gimli::DebugInfoOffset(
            offset,
        ))) {
            Ok(entry) => {
                // gcc points to entries without a name for values that never were a variable.
                let variable = self.units.name(entry).unwrap_or_else(|| Arc::from("?"));
                Op::ImplicitPointer {
                    variable,
                    offset: byte_offset,
                }
            }
            Err(damage) => bad(format!("DW_OP_implicit_pointer: {damage}")),
        }
    }

    fn entry_source(&self, expression: Slice) -> EntrySource {
        if self.calls >= MAX_CALLS {
            return EntrySource::Unsupported;
        }
        let program = Decoder {
            calls: self.calls + 1,
            ..*self
        }
        .decode(expression);
        match program.ops.as_slice() {
            [Op::InRegister(register)] => EntrySource::Register(*register),
            [Op::RegisterTyped { register, ty }] => EntrySource::RegisterTyped(*register, *ty),
            [
                Op::Register {
                    register,
                    offset: 0,
                },
            ] => EntrySource::Register(*register),
            [
                Op::Register {
                    register,
                    offset: 0,
                },
                Op::Deref { bytes, .. },
            ] => EntrySource::Memory {
                register: *register,
                bytes: *bytes,
            },
            _ => EntrySource::Unsupported,
        }
    }
}

fn bad(why: impl Into<String>) -> Op {
    Op::Bad(Arc::from(why.into()))
}
