//! Where a variable is at one address: its location or constant from the debug information, prepared for evaluation.
//! The common forms are told apart here so that evaluating them costs a register or memory read and nothing else.

use std::cell::Cell;
use std::sync::Arc;

use gimli::constants as dw;
use gimli::{AttributeValue, Encoding};

use crate::elf::Slice;
use crate::expression::{Decoder, Op, Program};
use crate::tree::{Damage, Value};
use crate::units::{EntryId, Units};

/// Entries of one location list.
const MAX_LIST: usize = 1_000_000;

/// A variable's place at one address.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    OptimisedOut,
    IllFormed(Arc<str>),
    /// `DW_AT_const_value`, `DW_OP_implicit_value` and constants on the stack.
    Constant(Arc<[u8]>),
    /// A constant that is an address of the program.
    ConstantAddress(u64),
    /// At a fixed address.
    Static(u64),
    /// In memory, at an offset from the frame base.
    Frame(i64),
    Register(u16),
    /// In memory, at an offset from a register.
    Memory {
        register: u16,
        offset: i64,
    },
    /// The value is the register plus an offset.
    Sum {
        register: u16,
        offset: i64,
    },
    Program(Program),
}

/// What the debug information says, kept for reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Text {
    None,
    Expression(Box<[u8]>, Encoding),
    Constant(String),
}

impl Place {
    /// The place of a variable, parameter or whatever it completes.
    pub(crate) fn of_variable(
        units: &Units,
        entry: EntryId,
        pc: u64,
        calls: u8,
        budget: &Cell<u32>,
    ) -> (Place, Text) {
        for id in units.lineage(entry) {
            if let Some(location) = units.own(id, dw::DW_AT_location) {
                return match Place::expression_of(units, id.unit, location, pc) {
                    Ok(Some((bytes, encoding))) => {
                        let decoder = Decoder {
                            units,
                            unit: Some(id.unit),
                            encoding,
                            pc,
                            calls,
                            budget,
                        };
                        (
                            Place::of_program(decoder.decode(bytes)),
                            Text::Expression(bytes.slice().into(), encoding),
                        )
                    }
                    Ok(None) => (Place::OptimisedOut, Text::None),
                    Err(Damage(why)) => (Place::IllFormed(Arc::from(why)), Text::None),
                };
            }
            if let Some(value) = units.own(id, dw::DW_AT_const_value) {
                return match constant(units, id.unit, value) {
                    Ok((place, text)) => (place, Text::Constant(text)),
                    Err(Damage(why)) => (Place::IllFormed(Arc::from(why)), Text::None),
                };
            }
        }
        (Place::OptimisedOut, Text::None)
    }

    /// The expression of a location attribute that holds at an address: the attribute itself or an element of its
    /// list. `None` where there is no location.
    pub(crate) fn expression_of(
        units: &Units,
        unit: u32,
        value: &Value,
        pc: u64,
    ) -> Result<Option<(Slice, Encoding)>, Damage> {
        let loaded = units
            .loaded(unit)
            .map_err(|error| Damage(error.to_string()))?;
        let encoding = loaded.unit.encoding();
        if let Some(expression) = value.exprloc_value() {
            return Ok((!expression.0.is_empty()).then_some((expression.0, encoding)));
        }
        let list = units
            .dwarf_of(loaded)
            .attr_locations(&loaded.unit, *value)?;
        let mut list = list.ok_or_else(|| {
            Damage("DW_AT_location of a form that is neither an expression nor a list".into())
        })?;
        for _ in 0..MAX_LIST {
            match list.next()? {
                Some(element) if element.range.begin <= pc && pc < element.range.end => {
                    return Ok((!element.data.0.is_empty()).then_some((element.data.0, encoding)));
                }
                Some(_) => {}
                None => return Ok(None),
            }
        }
        Err(Damage(format!(
            "a location list of more than {MAX_LIST} elements"
        )))
    }

    pub(crate) fn of_program(program: Program) -> Place {
        match program.ops.as_slice() {
            [] => Place::OptimisedOut,
            [Op::Address(address)] => Place::Static(*address),
            [Op::FrameBase(offset)] => Place::Frame(*offset),
            [Op::InRegister(register)] => Place::Register(*register),
            [Op::Register { register, offset }] => Place::Memory {
                register: *register,
                offset: *offset,
            },
            [Op::Register { register, offset }, Op::StackValue] => Place::Sum {
                register: *register,
                offset: *offset,
            },
            [Op::Push(value), Op::StackValue] => Place::Constant(Arc::from(
                &value.bits.to_le_bytes()[..usize::from(value.ty.bytes())],
            )),
            [Op::ImplicitValue(bytes)] => Place::Constant(bytes.clone()),
            [Op::Bad(why)] => Place::IllFormed(why.clone()),
            _ => Place::Program(program),
        }
    }
}

/// A `DW_AT_const_value`. Fixed-size forms have no sign: they are extended by zeros, whatever the type.
fn constant(units: &Units, unit: u32, value: &Value) -> Result<(Place, String), Damage> {
    let wide = |value: u128| Place::Constant(Arc::from(value.to_le_bytes()));
    let number = |value: u128| (wide(value), format!("DW_AT_const_value {value}"));
    Ok(match *value {
        AttributeValue::Data1(value) => number(value.into()),
        AttributeValue::Data2(value) => number(value.into()),
        AttributeValue::Data4(value) => number(value.into()),
        AttributeValue::Data8(value) | AttributeValue::Udata(value) => number(value.into()),
        AttributeValue::Data16(value) => number(value),
        AttributeValue::Sdata(value) => (
            wide(i128::from(value) as u128),
            format!("DW_AT_const_value {value}"),
        ),
        AttributeValue::Flag(value) => number(value.into()),
        AttributeValue::Block(bytes) | AttributeValue::Exprloc(gimli::Expression(bytes)) => (
            Place::Constant(Arc::from(bytes.slice())),
            format!("DW_AT_const_value {:02x?}", bytes.slice()),
        ),
        AttributeValue::Addr(address) => (
            Place::ConstantAddress(address),
            format!("DW_AT_const_value {address:#x}"),
        ),
        _ => {
            let loaded = units
                .loaded(unit)
                .map_err(|error| Damage(error.to_string()))?;
            let dwarf = units.dwarf_of(loaded);
            if let Ok(Some(address)) = dwarf.attr_address(&loaded.unit, *value) {
                return Ok((
                    Place::ConstantAddress(address),
                    format!("DW_AT_const_value {address:#x}"),
                ));
            }
            let text = dwarf.attr_string(&loaded.unit, *value);
            let text = text
                .map_err(|_| Damage("DW_AT_const_value of a form that holds no constant".into()))?;
            let mut bytes = text.slice().to_vec();
            bytes.push(0);
            (
                Place::Constant(Arc::from(bytes)),
                format!("DW_AT_const_value {:?}", text.to_string_lossy()),
            )
        }
    })
}
