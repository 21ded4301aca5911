//! How long an array is whose length is known at run time only (`int a[n]`). gcc without optimisation gives an
//! expression for the bound, gcc with it and clang a variable without a name in the source that holds it.

use gimli::constants as dw;

use crate::expression::{Decoder, budget};
use crate::frame::{Frame, Part, Piece};
use crate::layout::Length;
use crate::observe::object_bits;
use crate::place::Place;
use crate::stack::Fault;
use crate::tree::{Damage, Value};
use crate::units::{EntryId, Units};

/// Where the length is at one address.
#[derive(Debug)]
pub(crate) struct Count {
    place: Place,
    /// The bits of the variable at that place; `None` where the place itself is the number.
    held: Option<u32>,
    /// It is the last index instead of the number of elements.
    is_last: bool,
    element_bits: u64,
}

impl Count {
    /// Of the array that `variable` is.
    pub(crate) fn new(units: &Units, length: Length, variable: EntryId, pc: u64) -> Count {
        let dimension = length.dimension;
        let count = units.own(dimension, dw::DW_AT_count);
        let bound = count.or_else(|| units.own(dimension, dw::DW_AT_upper_bound));
        let found = match bound {
            Some(bound) => place(units, dimension.unit, bound, variable, pc),
            None => Ok((Place::OptimisedOut, None)),
        };
        let (place, held) = found.unwrap_or_else(|Damage(why)| {
            (Place::IllFormed(format!("length: {why}").into()), None)
        });
        Count {
            place,
            held,
            is_last: count.is_none(),
            element_bits: length.element_bits,
        }
    }

    /// How many bits the array has.
    pub(crate) fn bits(&self, frame: &Frame<'_>, pieces: &mut Vec<Piece>) -> Result<u64, Fault> {
        frame.locate(&self.place, pieces)?;
        let number = match (self.held, pieces.as_slice()) {
            (Some(bits), pieces) => object_bits(frame, pieces, 0, bits)? as u64,
            (
                None,
                [
                    Piece {
                        bits: None, part, ..
                    },
                ],
            ) => match part {
                Part::Memory(number) => *number,
                Part::Value(value) => value.address("the length of an array")?,
                Part::Register(register) => frame.register(*register)? as u64,
                _ => return Err(Fault::OptimisedOut),
            },
            _ => return Err(Fault::OptimisedOut),
        };
        let elements = number.wrapping_add(u64::from(self.is_last));
        Ok(elements.saturating_mul(self.element_bits))
    }
}

fn place(
    units: &Units,
    unit: u32,
    bound: &Value,
    variable: EntryId,
    pc: u64,
) -> Result<(Place, Option<u32>), Damage> {
    if bound.exprloc_value().is_some() {
        let place = match Place::expression_of(units, unit, bound, pc)? {
            Some((bytes, encoding)) => {
                let decoder = Decoder {
                    units,
                    unit: Some(unit),
                    encoding,
                    pc,
                    calls: 0,
                    budget: &budget(),
                };
                Place::of_program(decoder.decode(bytes))
            }
            None => Place::OptimisedOut,
        };
        return Ok((place, None));
    }
    let holder = here(units, units.resolve(unit, bound)?, variable);
    let (place, _) = Place::of_variable(units, holder, pc, 0, &budget());
    Ok((place, Some(width(units, holder))))
}

/// The entry that stands for `wanted` where `variable` is: a type of an inlined function refers to the variables of the
/// abstract instance, which have no place.
fn here(units: &Units, wanted: EntryId, variable: EntryId) -> EntryId {
    let Ok(tree) = units.tree(variable.unit) else {
        return wanted;
    };
    let entry = |index| EntryId {
        unit: variable.unit,
        index,
    };
    let mut scope = tree.entry(variable.index).parent;
    loop {
        let stands_for = |id: &EntryId| units.lineage(*id).any(|origin| origin == wanted);
        if let Some(found) = tree.children(scope).map(entry).find(stands_for) {
            return found;
        }
        let is_function = matches!(
            tree.entry(scope).tag,
            dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine
        );
        let parent = tree.entry(scope).parent;
        if is_function || parent == scope {
            return wanted;
        }
        scope = parent;
    }
}

/// The width of the variable that holds a length.
fn width(units: &Units, holder: EntryId) -> u32 {
    let size = || {
        let (owner, reference) = units.inherited(holder, dw::DW_AT_type)?;
        let mut ty = units.resolve(owner.unit, reference).ok()?;
        for _ in 0..8 {
            if let Some(size) = units.own(ty, dw::DW_AT_byte_size) {
                return size.udata_value();
            }
            let next = units.own(ty, dw::DW_AT_type)?;
            ty = units.resolve(ty.unit, next).ok()?;
        }
        None
    };
    size().filter(|size| (1..=8).contains(size)).unwrap_or(8) as u32 * 8
}
