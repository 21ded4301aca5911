//! DWARF locations in words, for reports.

use gimli::{DieReference, Encoding, Operation};

use crate::caller::register_name;
use crate::place::Text;

/// What the debug information says of a variable, e.g. `DW_OP_breg3 rbx+0, DW_OP_stack_value`.
pub(crate) fn describe(text: &Text) -> String {
    match text {
        Text::None => "no location".into(),
        Text::Constant(text) => text.clone(),
        Text::Expression(bytes, encoding) => expression(bytes, *encoding, 0),
    }
}

/// A location expression in words.
pub(crate) fn expression_text(bytes: &[u8], encoding: Encoding) -> String {
    if bytes.is_empty() {
        return "optimised out (an empty expression)".into();
    }
    expression(bytes, encoding, 0)
}

fn expression(bytes: &[u8], encoding: Encoding, depth: u8) -> String {
    let mut rest = gimli::EndianSlice::new(bytes, gimli::LittleEndian);
    let mut words = Vec::new();
    while let Some(opcode) = rest.first().copied() {
        let name = gimli::DwOp(opcode).to_string();
        match Operation::parse(&mut rest, encoding) {
            Ok(operation) => words.push(format!("{name}{}", operands(&operation, encoding, depth))),
            Err(error) => {
                words.push(format!("{name} ({error})"));
                break;
            }
        }
    }
    words.join(", ")
}

fn operands<'a>(
    operation: &Operation<gimli::EndianSlice<'a, gimli::LittleEndian>>,
    encoding: Encoding,
    depth: u8,
) -> String {
    match operation {
        Operation::RegisterOffset {
            register,
            offset,
            base_type,
        } if base_type.0 == 0 => {
            format!(" {}{offset:+}", register_name(register.0))
        }
        Operation::RegisterOffset {
            register,
            base_type,
            ..
        } => format!(" {} type {:#x}", register_name(register.0), base_type.0),
        Operation::Register { register } => format!(" {}", register_name(register.0)),
        Operation::FrameOffset { offset } => format!(" {offset}"),
        Operation::UnsignedConstant { value } => format!(" {value}"),
        Operation::SignedConstant { value } => format!(" {value}"),
        Operation::PlusConstant { value } => format!(" {value}"),
        Operation::Address { address } => format!(" {address:#x}"),
        Operation::AddressIndex { index } | Operation::ConstantIndex { index } => {
            format!(" {}", index.0)
        }
        Operation::Piece {
            size_in_bits,
            bit_offset: None,
        } => format!(" {}", size_in_bits / 8),
        Operation::Piece {
            size_in_bits,
            bit_offset: Some(offset),
        } => format!(" {size_in_bits} {offset}"),
        Operation::Deref {
            size, base_type, ..
        } if base_type.0 != 0 => format!(" {size} type {:#x}", base_type.0),
        Operation::Deref { size, .. } => {
            if *size == 8 {
                String::new()
            } else {
                format!(" {size}")
            }
        }
        Operation::Pick { index } => {
            if *index < 2 {
                String::new()
            } else {
                format!(" {index}")
            }
        }
        Operation::Convert { base_type } | Operation::Reinterpret { base_type } => {
            format!(" type {:#x}", base_type.0)
        }
        Operation::TypedLiteral { base_type, value } => {
            format!(" type {:#x} {:02x?}", base_type.0, value.slice())
        }
        Operation::ImplicitValue { data } => format!(" {:02x?}", data.slice()),
        Operation::ImplicitPointer { value, byte_offset } => {
            format!(" {:#x} {byte_offset}", value.0)
        }
        Operation::EntryValue { expression: inner } if depth < 4 => {
            format!("({})", expression(inner.slice(), encoding, depth + 1))
        }
        Operation::Call {
            offset: DieReference::UnitRef(offset),
        } => format!(" {:#x}", offset.0),
        Operation::Call {
            offset: DieReference::DebugInfoRef(offset),
        } => format!(" {:#x}", offset.0),
        Operation::ParameterRef { offset } => format!(" {:#x}", offset.0),
        Operation::VariableValue { offset } => format!(" {:#x}", offset.0),
        Operation::Bra { target } | Operation::Skip { target } => format!(" {target:+}"),
        _ => String::new(),
    }
}
