//! Turns the parts that a location gives into the values of leaves. A leaf has a value only if all its bits have one:
//! what is past the last piece of an object, or past the end of a value on the stack, is optimised out.

use std::sync::Arc;

use crate::caller::Callers;
use crate::elf::File;
use crate::frame::{Frame, Part, Piece, Registers};
use crate::globals::AT_ONCE;
use crate::route::{Reading, Step};
use crate::sight::Sight;
use crate::site::{Site, Variable};
use crate::stack::Fault;
use crate::{Leaf, Machine, Observation, PointerValue, ScalarKind, Value};

pub(crate) fn observe(
    callers: &Callers<'_>,
    site: &Site,
    machine: &dyn Machine,
    out: &mut Vec<Observation>,
) {
    out.clear();
    out.resize(site.leaves().len(), Observation::OptimisedOut);
    let frame = Frame::new(callers, machine, &site.scope, Registers::Machine, 0);
    let mut reader = Reader::new(&frame);
    let (own, globals) = out.split_at_mut(site.own.leaves.len());
    for variable in &site.own.variables {
        reader.read(
            variable,
            variable.of(&site.own.leaves),
            variable.of_mut(own),
        );
    }
    for variable in &site.globals.fixed.variables {
        let leaves = variable.of(&site.globals.leaves);
        reader.read(variable, leaves, variable.of_mut(globals));
    }
}

pub(crate) fn look(callers: &Callers<'_>, site: &Site, machine: &dyn Machine, sight: &mut Sight) {
    let frame = Frame::new(callers, machine, &site.scope, Registers::Machine, 0);
    sight.look(&frame, site);
}

impl From<Fault> for Observation {
    fn from(fault: Fault) -> Observation {
        match fault {
            Fault::OptimisedOut => Observation::OptimisedOut,
            Fault::IllFormed(why) => Observation::IllFormed(Arc::from(why)),
            Fault::Unreadable(why) => Observation::Unreadable(Arc::from(why)),
        }
    }
}

/// Reads variables in one frame, one after the other.
pub(crate) struct Reader<'r, 'a> {
    pub(crate) frame: &'r Frame<'a>,
    pieces: Vec<Piece>,
    buffer: Vec<u8>,
}

impl<'r, 'a> Reader<'r, 'a> {
    pub(crate) fn new(frame: &'r Frame<'a>) -> Reader<'r, 'a> {
        Reader {
            frame,
            pieces: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// Bytes at an address of the file, as far as they can be read at all.
    pub(crate) fn bytes(&self, start: u64, bytes: &mut [u8]) -> bool {
        self.frame.read(self.frame.moved(start), bytes).is_ok()
    }

    /// Observes the leaves of a variable, each in its slot.
    pub(crate) fn read(&mut self, variable: &Variable, leaves: &[Leaf], slots: &mut [Observation]) {
        let frame = self.frame;
        frame.callers.steps.set(0);
        let count = variable.known.count.as_ref();
        let length = match count.map(|count| count.bits(frame, &mut self.pieces)) {
            Some(Err(fault)) => {
                slots.fill(fault.into());
                return;
            }
            Some(Ok(length)) => Some(length),
            None => None,
        };
        if let Err(fault) = frame.locate(&variable.known.place, &mut self.pieces) {
            slots.fill(fault.into());
            return;
        }
        if let Some(length) = length {
            for (leaf, slot) in leaves.iter().zip(slots) {
                let end = leaf.bit_offset.saturating_add(leaf.bit_size.into());
                *slot = if end <= length {
                    observation(read_leaf(frame, leaf, &self.pieces))
                } else {
                    Fault::unreadable("the array ends before it").into()
                };
            }
            return;
        }
        // The common case: one stretch of memory, read at once.
        if let (
            [
                Piece {
                    bits: None,
                    part: Part::Memory(address),
                    ..
                },
            ],
            true,
        ) = (self.pieces.as_slice(), variable.known.reach <= AT_ONCE)
        {
            let buffer = &mut self.buffer;
            buffer.clear();
            buffer.resize(variable.known.reach as usize, 0);
            match frame.read(*address, buffer) {
                Ok(()) => {
                    for (leaf, slot) in leaves.iter().zip(slots) {
                        if leaf.route.is_some() {
                            *slot = observation(read_leaf(frame, leaf, &self.pieces));
                            continue;
                        }
                        let bits = bits_of(buffer, leaf.bit_offset, leaf.bit_size);
                        *slot = bits.map_or(Observation::OptimisedOut, |bits| {
                            Observation::Value(value(frame, leaf, bits))
                        });
                    }
                }
                Err(fault) => slots.fill(fault.into()),
            }
            return;
        }
        for (leaf, slot) in leaves.iter().zip(slots) {
            *slot = observation(read_leaf(frame, leaf, &self.pieces));
        }
    }
}

fn observation(read: Result<Value, Fault>) -> Observation {
    match read {
        Ok(value) => Observation::Value(value),
        Err(fault) => fault.into(),
    }
}

/// Some bits of a byte string, least significant first; `None` when it is too short.
pub(crate) fn bits_of(bytes: &[u8], offset: u64, size: u32) -> Option<u128> {
    if size > 128 {
        return None;
    }
    let first = usize::try_from(offset / 8).ok()?;
    let shift = (offset % 8) as u32;
    let count = (shift + size).div_ceil(8) as usize;
    let window = bytes.get(first..first.checked_add(count)?)?;
    let (low, high) = window.split_at(window.len().min(16));
    let mut wide = [0; 16];
    wide[..low.len()].copy_from_slice(low);
    let mut bits = u128::from_le_bytes(wide) >> shift;
    if let (Some(top), 1..) = (high.first(), shift) {
        bits |= u128::from(*top) << (128 - shift);
    }
    Some(if size == 128 {
        bits
    } else {
        bits & ((1 << size) - 1)
    })
}

fn read_leaf(frame: &Frame<'_>, leaf: &Leaf, pieces: &[Piece]) -> Result<Value, Fault> {
    if let Some(route) = &leaf.route {
        let mut elsewhere: Option<[Piece; 1]> = None;
        for step in route.steps.iter() {
            let object = elsewhere.as_ref().map_or(pieces, |piece| piece.as_slice());
            match step {
                Step::Follow { bit_offset } => {
                    let address = object_bits(frame, object, *bit_offset, 64)? as u64;
                    elsewhere = Some([Piece {
                        bits: None,
                        offset: 0,
                        part: Part::Memory(address),
                    }]);
                }
                Step::Test {
                    bit_offset,
                    bit_size,
                    condition,
                } => {
                    let bits = object_bits(frame, object, *bit_offset, *bit_size)?;
                    if !condition.holds(bits) {
                        return Err(Fault::unreadable("it does not exist in this state"));
                    }
                }
            }
        }
        let object = elsewhere.as_ref().map_or(pieces, |piece| piece.as_slice());
        let bits = object_bits(frame, object, leaf.bit_offset, leaf.bit_size)?;
        return match &route.reading {
            Reading::Scalar => Ok(value(frame, leaf, bits)),
            Reading::Variant(cases) => {
                let found = cases.iter().find(|(condition, _)| condition.holds(bits));
                let name = found.map(|(_, name)| name.clone());
                name.map(Value::Variant)
                    .ok_or_else(|| Fault::unreadable("no variant has this discriminant"))
            }
        };
    }
    let (start, end) = (
        leaf.bit_offset,
        leaf.bit_offset.saturating_add(leaf.bit_size.into()),
    );
    let mut at = 0u64;
    for piece in pieces {
        let piece_end = piece.bits.map_or(u64::MAX, |bits| at.saturating_add(bits));
        if let (Part::Pointer { variable, offset }, ScalarKind::Pointer) = (&piece.part, leaf.kind)
            && (start.max(at), end.min(piece_end)) == (start, end)
        {
            let within = i64::try_from((start - at) / 8).unwrap_or(0);
            return Ok(Value::Pointer(PointerValue::Synthetic {
                variable: variable.clone(),
                offset: offset.wrapping_add(within),
            }));
        }
        at = piece_end;
        if at >= end {
            break;
        }
    }
    object_bits(frame, pieces, start, leaf.bit_size).map(|bits| value(frame, leaf, bits))
}

/// Some bits of an object that lies in pieces: all of them, or none.
pub(crate) fn object_bits(
    frame: &Frame<'_>,
    pieces: &[Piece],
    start: u64,
    bit_size: u32,
) -> Result<u128, Fault> {
    let end = start.saturating_add(bit_size.into());
    let (mut bits, mut filled) = (0u128, 0u32);
    let mut at = 0u64;
    for piece in pieces {
        let piece_end = piece.bits.map_or(u64::MAX, |bits| at.saturating_add(bits));
        let (from, to) = (start.max(at), end.min(piece_end));
        if from < to {
            let size = u32::try_from(to - from).map_err(|_| Fault::OptimisedOut)?;
            let got = part_bits(
                frame,
                &piece.part,
                piece.offset.saturating_add(from - at),
                size,
            )?;
            bits |= got.checked_shl(filled).unwrap_or(0);
            filled += size;
        }
        at = piece_end;
        if at >= end {
            break;
        }
    }
    if filled == bit_size {
        Ok(bits)
    } else {
        Err(Fault::OptimisedOut)
    }
}

fn part_bits(frame: &Frame<'_>, part: &Part, offset: u64, size: u32) -> Result<u128, Fault> {
    match part {
        Part::Empty | Part::Pointer { .. } => Err(Fault::OptimisedOut),
        Part::Memory(address) => {
            let mut buffer = [0; 17];
            let shift = offset % 8;
            let count = (shift as u32 + size).div_ceil(8) as usize;
            let wanted = buffer.get_mut(..count).ok_or(Fault::OptimisedOut)?;
            frame.read(address.wrapping_add(offset / 8), wanted)?;
            bits_of(wanted, shift, size).ok_or(Fault::OptimisedOut)
        }
        Part::Register(register) => {
            let width: u64 = match register {
                0..=16 => 64,
                33..=40 => 80,
                _ => 128,
            };
            if offset.saturating_add(size.into()) > width {
                return Err(Fault::unreadable("more bits than the register has"));
            }
            bits_of(&frame.register(*register)?.to_le_bytes(), offset, size)
                .ok_or(Fault::OptimisedOut)
        }
        Part::Value(value) => {
            let bytes = value.bits.to_le_bytes();
            bits_of(
                &bytes[..usize::from(value.ty.bytes()).min(16)],
                offset,
                size,
            )
            .ok_or(Fault::OptimisedOut)
        }
        Part::Bytes(bytes) => bits_of(bytes, offset, size).ok_or(Fault::OptimisedOut),
    }
}

pub(crate) fn value(frame: &Frame<'_>, leaf: &Leaf, bits: u128) -> Value {
    match leaf.kind {
        ScalarKind::Float => Value::Float {
            bits,
            size: if leaf.bit_size > 64 {
                16
            } else {
                (leaf.bit_size / 8) as u8
            },
        },
        ScalarKind::Pointer => Value::Pointer(pointer(
            frame.callers.file,
            bits as u64,
            frame.machine.bias(),
        )),
        _ if leaf.signed && leaf.bit_size > 0 => {
            let unused = 128 - leaf.bit_size.min(128);
            Value::Signed(((bits << unused) as i128) >> unused)
        }
        _ => Value::Unsigned(bits),
    }
}

/// A pointer in terms of the program's symbols.
pub(crate) fn pointer(file: &File, raw: u64, bias: u64) -> PointerValue {
    if raw == 0 {
        return PointerValue::Null;
    }
    let stated = raw.wrapping_sub(bias);
    let (inside, ending) = file.extents_at(stated);
    let end_of = ending.map(|extent| (file.source_name(extent).0, extent.size));
    // What has no name of its own in the source, or none at all, is known by its bytes. Right behind an object it is
    // either that or the end of the object.
    if inside.is_none_or(|extent| file.is_unnamed(extent))
        && let Some(literal) = file.literal(stated, end_of.clone())
    {
        return PointerValue::Literal(literal);
    }
    match (inside, end_of) {
        (Some(extent), end_of) => {
            let (name, derived) = file.source_name(extent);
            PointerValue::Symbol {
                name,
                offset: stated - extent.start,
                derived,
                end_of,
            }
        }
        (None, Some((name, size))) => PointerValue::Symbol {
            name,
            offset: size,
            derived: false,
            end_of: None,
        },
        (None, None) => PointerValue::Opaque(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::bits_of;

    #[test]
    fn bits_are_cut_out_least_significant_first() {
        assert_eq!(bits_of(&[0b1010_0101, 0b1], 4, 5), Some(0b1_1010));
        assert_eq!(bits_of(&[0xff; 16], 0, 128), Some(u128::MAX));
        assert_eq!(bits_of(&[0xff; 17], 3, 128), Some(u128::MAX));
        assert_eq!(bits_of(&[0xff; 16], 3, 128), None);
        assert_eq!(bits_of(&[1, 2], 0, 24), None);
        assert_eq!(bits_of(&[], 0, 0), Some(0));
    }
}
