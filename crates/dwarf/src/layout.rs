//! Types, down to their scalar leaves. Padding and decimal numbers have none: what is read of them means nothing across
//! builds. Of a union there are the parts that each of its members defines (`coverage`); of an array whose length is
//! known at run time only as many elements as are wanted, to be held against the length at each stop.

use std::collections::BTreeSet;
use std::sync::Arc;

use gimli::constants as dw;
use gimli::{AttributeValue, Operation};

use crate::coverage::{Coverage, Sort};
use crate::route::{Reading, Route, Step};
use crate::tree::{Damage, Value};
use crate::units::{EntryId, Units};
use crate::{Omission, ScalarKind};

/// What the parts of a complex number are called at the end of a path; see [`crate::LeafKey`].
const REAL: &str = ".__real__";
const IMAGINARY: &str = ".__imag__";

/// Nesting of types, and type entries looked at for one variable.
const MAX_DEPTH: usize = 32;
const MAX_VISITS: usize = 200_000;
/// Qualifiers and typedefs in a row.
const MAX_QUALIFIERS: usize = 64;
/// Stretches of one type's coverage; what would have more counts as covering nothing.
const MAX_STRETCHES: usize = 4096;
/// Types looked at for the coverage of one union.
const MAX_COVERED: usize = 20_000;

/// One scalar part of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) path: Box<str>,
    pub(crate) kind: ScalarKind,
    pub(crate) signed: bool,
    pub(crate) bit_offset: u64,
    pub(crate) bit_size: u32,
    /// How it is reached, where it does not simply lie in the variable.
    pub(crate) route: Option<Arc<Route>>,
}

/// A type's scalar parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) shapes: Vec<Shape>,
    /// Names of the types in it that may not be `Copy`; none in C.
    pub(crate) owning: Arc<[Box<str>]>,
    /// Why some of it has no leaves (C).
    pub(crate) omissions: BTreeSet<Omission>,
    /// For an array whose length is known at run time only: who knows it.
    pub(crate) length: Option<Length>,
}

/// Where the length of an array is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Length {
    /// The entry of its outermost dimension, with a bound that is computed.
    pub(crate) dimension: EntryId,
    /// The size of what that dimension counts.
    pub(crate) element_bits: u64,
}

/// How many elements a dimension has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Constant(u64),
    AtRunTime(EntryId),
}

/// What a base type is for the evaluation of expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Integer {
        signed: bool,
        kind: ScalarKind,
    },
    Float,
    /// Something without a value that could be compared.
    Other,
}

pub(crate) fn scalar_of(encoding: gimli::DwAte) -> Scalar {
    let integer = |signed, kind| Scalar::Integer { signed, kind };
    match encoding {
        dw::DW_ATE_signed => integer(true, ScalarKind::Signed),
        dw::DW_ATE_unsigned | dw::DW_ATE_address => integer(false, ScalarKind::Unsigned),
        dw::DW_ATE_boolean => integer(false, ScalarKind::Bool),
        dw::DW_ATE_signed_char => integer(true, ScalarKind::Char),
        dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF | dw::DW_ATE_UCS | dw::DW_ATE_ASCII => {
            integer(false, ScalarKind::Char)
        }
        dw::DW_ATE_float => Scalar::Float,
        _ => Scalar::Other,
    }
}

/// Flattens a type into at most `cap` leaves.
pub(crate) fn layout(units: &Units, ty: EntryId, cap: usize) -> Result<Layout, Damage> {
    let mut walk = Walk {
        units,
        cap,
        visits: 0,
        shapes: Vec::new(),
        path: String::new(),
        rust: is_rust(units, ty.unit),
        steps: Vec::new(),
        followed: 0,
        owning: Vec::new(),
        unions: Vec::new(),
        omissions: BTreeSet::new(),
        length: None,
    };
    match walk.visit(ty, 0, 0) {
        Ok(()) => {}
        Err(Stop::VariableLength) => {
            return Ok(Layout {
                omissions: [Omission::RunTimeSize].into(),
                ..Layout::default()
            });
        }
        Err(Stop::Damage(damage)) => return Err(damage),
    }
    Ok(Layout {
        shapes: walk.shapes,
        owning: walk.owning.into(),
        omissions: walk.omissions,
        length: walk.length,
    })
}

/// Whether a unit was written in Rust.
pub(crate) fn is_rust(units: &Units, unit: u32) -> bool {
    let language = units.own(EntryId { unit, index: 0 }, dw::DW_AT_language);
    matches!(language, Some(AttributeValue::Language(dw::DW_LANG_Rust)))
}

pub(crate) enum Stop {
    VariableLength,
    Damage(Damage),
}

impl From<Damage> for Stop {
    fn from(damage: Damage) -> Stop {
        Stop::Damage(damage)
    }
}

pub(crate) fn damage(text: &str) -> Stop {
    Stop::Damage(Damage(text.into()))
}

pub(crate) struct Walk<'a> {
    pub(crate) units: &'a Units,
    cap: usize,
    visits: usize,
    shapes: Vec<Shape>,
    pub(crate) path: String,
    rust: bool,
    /// The way from the variable to what is being visited, and how many references it follows.
    pub(crate) steps: Vec<Step>,
    pub(crate) followed: usize,
    /// See [`Layout`].
    pub(crate) owning: Vec<Box<str>>,
    /// The unions around what is visited: where each starts, in bits, and what its members agree on.
    unions: Vec<(u64, Coverage)>,
    omissions: BTreeSet<Omission>,
    length: Option<Length>,
}

impl Walk<'_> {
    pub(crate) fn tag(&self, id: EntryId) -> Result<gimli::DwTag, Stop> {
        self.units
            .tag(id)
            .map_err(|error| Stop::Damage(Damage(error.to_string())))
    }

    pub(crate) fn children(&self, id: EntryId) -> Result<Vec<EntryId>, Stop> {
        let tree = self
            .units
            .tree(id.unit)
            .map_err(|error| Stop::Damage(Damage(error.to_string())))?;
        Ok(tree
            .children(id.index)
            .map(|index| EntryId {
                unit: id.unit,
                index,
            })
            .collect())
    }

    /// The type that an entry is of; `None` for void.
    pub(crate) fn type_of(&self, id: EntryId) -> Result<Option<EntryId>, Stop> {
        match self.units.own(id, dw::DW_AT_type) {
            Some(reference) => Ok(Some(self.units.resolve(id.unit, reference)?)),
            None => Ok(None),
        }
    }

    /// The type behind typedefs and qualifiers.
    pub(crate) fn strip(&self, id: EntryId) -> Result<Option<EntryId>, Stop> {
        let mut at = id;
        for _ in 0..MAX_QUALIFIERS {
            match self.tag(at)? {
                dw::DW_TAG_typedef
                | dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_atomic_type
                | dw::DW_TAG_immutable_type
                | dw::DW_TAG_packed_type
                | dw::DW_TAG_shared_type => match self.type_of(at)? {
                    Some(next) => at = next,
                    None => return Ok(None),
                },
                _ => match self.units.own(at, dw::DW_AT_signature) {
                    // A type that is only named here and written in a unit of its own (-fdebug-types-section).
                    Some(reference) => at = self.units.resolve(at.unit, reference)?,
                    None => return Ok(Some(at)),
                },
            }
        }
        Err(damage("typedefs and qualifiers that lead in a circle"))
    }

    fn number(&self, id: EntryId, name: gimli::DwAt) -> Option<u64> {
        self.units.own(id, name)?.udata_value()
    }

    pub(crate) fn size(&self, id: EntryId, depth: usize) -> Result<u64, Stop> {
        if depth > MAX_DEPTH {
            return Err(damage("types nested too deeply"));
        }
        let Some(id) = self.strip(id)? else {
            return Ok(0);
        };
        if let Some(size) = self.number(id, dw::DW_AT_byte_size) {
            return Ok(size);
        }
        match self.tag(id)? {
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type => Ok(8),
            dw::DW_TAG_array_type => {
                let Some(element) = self.type_of(id)? else {
                    return Ok(0);
                };
                let element = self.size(element, depth + 1)?;
                let count = product(&constant(&self.dimensions(id)?)?)?;
                count
                    .checked_mul(element)
                    .ok_or_else(|| damage("an array larger than memory"))
            }
            _ => Ok(0),
        }
    }

    fn dimensions(&self, id: EntryId) -> Result<Vec<Extent>, Stop> {
        let mut dimensions = Vec::new();
        for child in self.children(id)? {
            if !matches!(
                self.tag(child)?,
                dw::DW_TAG_subrange_type | dw::DW_TAG_generic_subrange
            ) {
                continue;
            }
            let strided = |name| self.units.own(child, name).is_some();
            if strided(dw::DW_AT_byte_stride) || strided(dw::DW_AT_bit_stride) {
                return Err(Stop::VariableLength);
            }
            let count = match (
                self.units.own(child, dw::DW_AT_count),
                self.units.own(child, dw::DW_AT_upper_bound),
            ) {
                (Some(count), _) => bound(count).map_or(Extent::AtRunTime(child), Extent::Constant),
                (None, Some(upper)) => {
                    let lower = self
                        .units
                        .own(child, dw::DW_AT_lower_bound)
                        .map_or(Some(0), bound);
                    let lower = lower.ok_or(Stop::VariableLength)?;
                    match bound(upper) {
                        Some(upper) => Extent::Constant(upper.wrapping_sub(lower).wrapping_add(1)),
                        None if lower == 0 => Extent::AtRunTime(child),
                        None => return Err(Stop::VariableLength),
                    }
                }
                // A flexible array member: nothing of it belongs to the variable.
                (None, None) => Extent::Constant(0),
            };
            dimensions.push(count);
        }
        Ok(dimensions)
    }

    pub(crate) fn visit(&mut self, id: EntryId, offset: u64, depth: usize) -> Result<(), Stop> {
        self.visits += 1;
        if self.is_full() {
            self.omissions.insert(Omission::ElementsBeyondLimit);
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(damage("types nested too deeply"));
        }
        let Some(id) = self.strip(id)? else {
            return Ok(());
        };
        match self.tag(id)? {
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => {
                if let Some((kind, signed, bits)) = self.scalar(id)? {
                    self.push(kind, signed, offset, bits);
                } else if let Some((bytes, bits)) = self.complex(id)? {
                    let length = self.path.len();
                    for (part, start) in [(REAL, 0), (IMAGINARY, bytes * 8)] {
                        self.path.push_str(part);
                        let start = offset.saturating_add(start);
                        if self.is_full() {
                            self.omissions.insert(Omission::ElementsBeyondLimit);
                        } else {
                            self.push(ScalarKind::Float, false, start, bits);
                        }
                        self.path.truncate(length);
                    }
                } else {
                    self.omissions.insert(Omission::TypeNotCompared);
                }
                Ok(())
            }
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type => {
                if self.rust {
                    self.rust_pointer(id, offset, depth)?;
                } else if self.size(id, depth)? == 8 {
                    self.push(ScalarKind::Pointer, false, offset, 64);
                } else {
                    self.omissions.insert(Omission::TypeNotCompared);
                }
                Ok(())
            }
            dw::DW_TAG_structure_type if self.rust => self.rust_struct(id, offset, depth),
            // what is in a `va_list` or a `jmp_buf` is the library's business, and another matter in each build
            dw::DW_TAG_structure_type
                if self
                    .units
                    .name(id)
                    .is_some_and(|name| name.starts_with("__")) =>
            {
                self.omissions.insert(Omission::TypeNotCompared);
                Ok(())
            }
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type => self.members(id, offset, depth),
            dw::DW_TAG_union_type if !self.rust => {
                let mut budget = MAX_COVERED;
                let common = self.coverage(id, depth, &mut budget)?;
                self.unions.push((offset, common));
                let walked = self.members(id, offset, depth);
                self.unions.pop();
                walked
            }
            dw::DW_TAG_array_type => self.elements(id, offset, depth),
            _ => {
                self.omissions.insert(Omission::TypeNotCompared);
                Ok(())
            }
        }
    }

    /// The bits that a store of such an object defines. What is not understood defines nothing.
    fn coverage(&self, id: EntryId, depth: usize, budget: &mut usize) -> Result<Coverage, Stop> {
        let nothing = Ok(Coverage::default());
        *budget = budget.saturating_sub(1);
        if depth > MAX_DEPTH || *budget == 0 {
            return nothing;
        }
        let Some(id) = self.strip(id)? else {
            return nothing;
        };
        match self.tag(id)? {
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => {
                if let Some((_, _, bits)) = self.scalar(id)? {
                    return Ok(Coverage::of(0, bits.into(), Sort::Plain));
                }
                let Some((bytes, bits)) = self.complex(id)? else {
                    return nothing;
                };
                let part = Coverage::of(0, bits.into(), Sort::Plain);
                let mut both = part.clone();
                both.and_behind(&part, bytes * 8);
                Ok(both)
            }
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type
                if self.size(id, depth)? == 8 =>
            {
                Ok(Coverage::of(0, 64, Sort::pointer(0)))
            }
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
                let mut all = Coverage::default();
                for (start, part) in self.covered_members(id, depth, budget)? {
                    all.and_behind(&part, start);
                }
                Ok(all)
            }
            dw::DW_TAG_union_type => {
                let mut common: Option<Coverage> = None;
                for (start, part) in self.covered_members(id, depth, budget)? {
                    let mut placed = Coverage::default();
                    placed.and_behind(&part, start);
                    common = Some(match common {
                        None => placed,
                        Some(before) => before.within(&placed),
                    });
                }
                Ok(common.unwrap_or_default())
            }
            dw::DW_TAG_array_type => self.covered_elements(id, depth, budget),
            _ => nothing,
        }
    }

    /// Where each member starts, in bits, and which bits from there on it defines.
    fn covered_members(
        &self,
        id: EntryId,
        depth: usize,
        budget: &mut usize,
    ) -> Result<Vec<(u64, Coverage)>, Stop> {
        let mut all = Vec::new();
        for member in self.children(id)? {
            if !matches!(
                self.tag(member)?,
                dw::DW_TAG_member | dw::DW_TAG_inheritance
            ) {
                continue;
            }
            let Some(ty) = self.type_of(member)? else {
                continue;
            };
            // unnamed bit-fields are padding
            let named = self.units.own(member, dw::DW_AT_name).is_some();
            all.push(match self.number(member, dw::DW_AT_bit_size) {
                Some(bits) => match self.bit_start(member, ty, bits)? {
                    Some(start) if named => (start, Coverage::of(0, bits, Sort::Plain)),
                    _ => continue,
                },
                None => match self.member_start(member)? {
                    Some(start) => (start, self.coverage(ty, depth + 1, budget)?),
                    None => (0, Coverage::default()),
                },
            });
        }
        Ok(all)
    }

    fn covered_elements(
        &self,
        id: EntryId,
        depth: usize,
        budget: &mut usize,
    ) -> Result<Coverage, Stop> {
        let strided = |name| self.units.own(id, name).is_some();
        let (Some(element), Ok(dimensions), false) = (
            self.type_of(id)?,
            constant(&self.dimensions(id)?),
            strided(dw::DW_AT_byte_stride) || strided(dw::DW_AT_bit_stride),
        ) else {
            return Ok(Coverage::default());
        };
        let count = product(&dimensions)?;
        let bits = self.size(element, depth + 1)?.saturating_mul(8);
        let one = self.coverage(element, depth + 1, budget)?;
        for sort in [Sort::Plain, Sort::pointer(0)] {
            if bits > 0 && one.has(0, bits, sort) {
                return Ok(Coverage::of(0, bits.saturating_mul(count), sort));
            }
        }
        let mut all = Coverage::default();
        let fits = count.saturating_mul(one.len() as u64) <= MAX_STRETCHES as u64;
        for index in 0..if fits { count } else { 0 } {
            all.and_behind(&one, bits.saturating_mul(index));
        }
        Ok(all)
    }

    /// Bytes of each part of a complex number, and how many bits of them count; `None` for what is none.
    fn complex(&self, id: EntryId) -> Result<Option<(u64, u32)>, Stop> {
        let is_complex = matches!(
            self.units.own(id, dw::DW_AT_encoding),
            Some(AttributeValue::Encoding(dw::DW_ATE_complex_float))
        );
        if self.rust || !is_complex {
            return Ok(None);
        }
        let quad = || self.units.name(id).is_some_and(|name| name.contains("128"));
        Ok(match self.number(id, dw::DW_AT_byte_size) {
            Some(size @ (4 | 8 | 16)) => Some((size / 2, size as u32 * 4)),
            Some(32) => Some((16, if quad() { 128 } else { 80 })),
            _ => None,
        })
    }

    fn push(&mut self, kind: ScalarKind, signed: bool, bit_offset: u64, bit_size: u32) {
        self.push_reading(kind, signed, bit_offset, bit_size, Reading::Scalar);
    }

    pub(crate) fn push_reading(
        &mut self,
        kind: ScalarKind,
        signed: bool,
        bit_offset: u64,
        bit_size: u32,
        reading: Reading,
    ) {
        let sort = match kind {
            ScalarKind::Pointer => Sort::Pointer { phase: 0 },
            _ => Sort::Plain,
        };
        let defined = |(start, common): &(u64, Coverage)| {
            let within = bit_offset.saturating_sub(*start);
            let sort = match sort {
                Sort::Plain => Sort::Plain,
                Sort::Pointer { .. } => Sort::pointer(within),
            };
            common.has(within, bit_size.into(), sort)
        };
        if !self.unions.iter().all(defined) {
            self.omissions.insert(Omission::UnionPart);
            return;
        }
        let plain = self.steps.is_empty() && reading == Reading::Scalar;
        let route = || Route {
            steps: self.steps.as_slice().into(),
            reading,
        };
        self.shapes.push(Shape {
            path: self.path.as_str().into(),
            kind,
            signed,
            bit_offset,
            bit_size,
            route: (!plain).then(|| Arc::new(route())),
        });
    }

    /// Whether no more leaves are wanted.
    pub(crate) fn is_full(&self) -> bool {
        self.shapes.len() >= self.cap || self.visits > MAX_VISITS
    }

    /// Kind, signedness and width of a base or enumeration type; `None` for what has no comparable value.
    fn scalar(&self, id: EntryId) -> Result<Option<(ScalarKind, bool, u32)>, Stop> {
        if matches!(
            self.units.own(id, dw::DW_AT_endianity),
            Some(AttributeValue::Endianity(dw::DW_END_big))
        ) {
            return Ok(None);
        }
        let Some(size @ 1..=16) = self.number(id, dw::DW_AT_byte_size) else {
            return Ok(None);
        };
        let bits = match self.number(id, dw::DW_AT_bit_size) {
            Some(bits) if bits > 0 && bits <= size * 8 => bits as u32,
            _ => size as u32 * 8,
        };
        if self.tag(id)? == dw::DW_TAG_enumeration_type {
            return Ok(Some((ScalarKind::Enum, self.enum_is_signed(id)?, bits)));
        }
        let Some(AttributeValue::Encoding(encoding)) = self.units.own(id, dw::DW_AT_encoding)
        else {
            return Err(damage("a base type without an encoding"));
        };
        Ok(match scalar_of(*encoding) {
            Scalar::Integer { signed, kind } => Some((kind, signed, bits)),
            Scalar::Float if size == 16 => {
                // The x87 type has 10 bytes and 6 of padding.
                let quad = self.units.name(id).is_some_and(|name| name.contains("128"));
                Some((ScalarKind::Float, false, if quad { 128 } else { 80 }))
            }
            Scalar::Float if matches!(size, 2 | 4 | 8) => Some((ScalarKind::Float, false, bits)),
            _ => None,
        })
    }

    fn enum_is_signed(&self, id: EntryId) -> Result<bool, Stop> {
        let under = match self.type_of(id)? {
            Some(ty) => self.strip(ty)?,
            None => None,
        };
        let encoding = under
            .and_then(|ty| self.units.own(ty, dw::DW_AT_encoding))
            .or(self.units.own(id, dw::DW_AT_encoding));
        if let Some(AttributeValue::Encoding(encoding)) = encoding {
            return Ok(matches!(
                scalar_of(*encoding),
                Scalar::Integer { signed: true, .. }
            ));
        }
        let negative = |child: &EntryId| match self.units.own(*child, dw::DW_AT_const_value) {
            Some(AttributeValue::Sdata(value)) => *value < 0,
            _ => false,
        };
        Ok(self.children(id)?.iter().any(negative))
    }

    pub(crate) fn members(&mut self, id: EntryId, offset: u64, depth: usize) -> Result<(), Stop> {
        let length = self.path.len();
        for member in self.children(id)? {
            let tag = self.tag(member)?;
            let hidden = [
                dw::DW_AT_declaration,
                dw::DW_AT_external,
                dw::DW_AT_artificial,
            ];
            if !matches!(tag, dw::DW_TAG_member | dw::DW_TAG_inheritance)
                || hidden
                    .iter()
                    .any(|name| self.units.own(member, *name).is_some())
            {
                continue;
            }
            let Some(ty) = self.type_of(member)? else {
                continue;
            };
            let Some(start) = self.member_start(member)? else {
                self.omissions.insert(Omission::RunTimeSize);
                continue;
            };
            let start = offset
                .checked_add(start)
                .ok_or_else(|| damage("a member beyond memory"))?;
            let name = self
                .units
                .own(member, dw::DW_AT_name)
                .and_then(|value| self.units.string(member.unit, value));
            // The members of an unnamed member and of a base class are reached without a name of its own.
            if let (Some(name), dw::DW_TAG_member) = (&name, tag) {
                self.path.push('.');
                // The fields of a tuple are numbers in Rust.
                let number = name
                    .strip_prefix("__")
                    .filter(|rest| self.rust && rest.bytes().all(|byte| byte.is_ascii_digit()));
                self.path.push_str(number.unwrap_or(name));
            }
            match self.number(member, dw::DW_AT_bit_size) {
                Some(bits) if name.is_some() => self.bit_field(member, ty, offset, bits)?,
                Some(_) => {}
                None => self.visit(ty, start, depth + 1)?,
            }
            self.path.truncate(length);
        }
        Ok(())
    }

    /// Where a member starts in its structure, in bits; `None` when that is computed at run time.
    pub(crate) fn member_start(&self, member: EntryId) -> Result<Option<u64>, Stop> {
        let Some(value) = self.units.own(member, dw::DW_AT_data_member_location) else {
            return Ok(Some(0));
        };
        let bytes = match value.exprloc_value() {
            Some(expression) => {
                let loaded = self
                    .units
                    .loaded(member.unit)
                    .map_err(|error| Stop::Damage(Damage(error.to_string())))?;
                let mut operations = expression.operations(loaded.unit.encoding());
                let first = operations
                    .next()
                    .map_err(|error| Stop::Damage(error.into()))?;
                match (first, operations.next()) {
                    (
                        Some(
                            Operation::PlusConstant { value }
                            | Operation::UnsignedConstant { value },
                        ),
                        Ok(None),
                    ) => value,
                    _ => return Ok(None),
                }
            }
            None => value
                .udata_value()
                .ok_or_else(|| damage("DW_AT_data_member_location of an unknown form"))?,
        };
        Ok(Some(
            bytes
                .checked_mul(8)
                .ok_or_else(|| damage("a member beyond memory"))?,
        ))
    }

    fn bit_field(
        &mut self,
        member: EntryId,
        ty: EntryId,
        offset: u64,
        bits: u64,
    ) -> Result<(), Stop> {
        let Some(ty) = self.strip(ty)? else {
            return Ok(());
        };
        let known = matches!(
            self.tag(ty)?,
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type
        );
        let scalar = if known { self.scalar(ty)? } else { None };
        let Some((kind, signed, width)) = scalar else {
            self.omissions.insert(Omission::TypeNotCompared);
            return Ok(());
        };
        if bits == 0 {
            return Ok(());
        }
        if bits > u64::from(width) {
            return Err(damage("a bit-field wider than its type"));
        }
        let within = self.bit_start(member, ty, bits)?;
        let start = within
            .and_then(|within| offset.checked_add(within))
            .ok_or_else(|| damage("a bit-field outside its structure"))?;
        if self.shapes.len() < self.cap {
            self.push(kind, signed, start, bits as u32);
        } else {
            self.omissions.insert(Omission::ElementsBeyondLimit);
        }
        Ok(())
    }

    /// Where a bit-field starts in its structure, in bits.
    fn bit_start(&self, member: EntryId, ty: EntryId, bits: u64) -> Result<Option<u64>, Stop> {
        Ok(
            match (
                self.number(member, dw::DW_AT_data_bit_offset),
                self.number(member, dw::DW_AT_bit_offset),
            ) {
                (Some(start), _) => Some(start),
                (None, Some(from_top)) => {
                    // DWARF 2 to 4: counted from the most significant bit of a storage unit.
                    let storage = match self.number(member, dw::DW_AT_byte_size) {
                        Some(size) => size,
                        None => self.size(ty, 0)?,
                    };
                    let Some(unit) = self.member_start(member)? else {
                        return Ok(None);
                    };
                    storage.checked_mul(8).and_then(|top| {
                        let below =
                            i128::from(top) - i128::from(from_top as i64) - i128::from(bits);
                        u64::try_from(i128::from(unit) + below).ok()
                    })
                }
                (None, None) => self.member_start(member)?,
            },
        )
    }

    fn elements(&mut self, id: EntryId, offset: u64, depth: usize) -> Result<(), Stop> {
        let strided = |name| self.units.own(id, name).is_some();
        if strided(dw::DW_AT_byte_stride) || strided(dw::DW_AT_bit_stride) {
            self.omissions.insert(Omission::TypeNotCompared);
            return Ok(());
        }
        let dimensions = self.dimensions(id)?;
        let Some(element) = self.type_of(id)? else {
            return Ok(());
        };
        let bits = self
            .size(element, depth + 1)?
            .checked_mul(8)
            .ok_or_else(|| damage("an element larger than memory"))?;
        if dimensions.is_empty() || bits == 0 {
            return Ok(());
        }
        if let [Extent::AtRunTime(dimension), inner @ ..] = dimensions.as_slice() {
            let whole = self.path.is_empty() && offset == 0 && self.steps.is_empty();
            if !whole || self.rust {
                return Err(Stop::VariableLength);
            }
            let inner = constant(inner)?;
            let element_bits = product(&inner)?
                .checked_mul(bits)
                .filter(|bits| *bits > 0)
                .ok_or(Stop::VariableLength)?;
            self.length = Some(Length {
                dimension: *dimension,
                element_bits,
            });
            return self.elements_until_full(element, &inner, bits, depth);
        }
        let dimensions = constant(&dimensions)?;
        let count = product(&dimensions)?;
        count
            .checked_mul(bits)
            .ok_or_else(|| damage("an array larger than memory"))?;
        let length = self.path.len();
        for flat in 0..count {
            if self.is_full() {
                self.omissions.insert(Omission::ElementsBeyondLimit);
                break;
            }
            let mut rest = count;
            for dimension in &dimensions {
                rest /= dimension;
                self.path
                    .push_str(&format!("[{}]", flat / rest % dimension));
            }
            let start = offset
                .checked_add(flat * bits)
                .ok_or_else(|| damage("an element beyond memory"))?;
            self.visit(element, start, depth + 1)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    /// The elements of an array of unknown length, as many as are wanted. `inner` are the dimensions but the outermost.
    fn elements_until_full(
        &mut self,
        element: EntryId,
        inner: &[u64],
        bits: u64,
        depth: usize,
    ) -> Result<(), Stop> {
        let per_row = product(inner)?;
        let mut flat = 0u64;
        loop {
            let before = self.shapes.len();
            for _ in 0..per_row {
                // What lies beyond the limit may not exist at all: that is no omission.
                if self.is_full() {
                    return Ok(());
                }
                let mut rest = per_row;
                self.path.push_str(&format!("[{}]", flat / per_row));
                for dimension in inner {
                    rest /= dimension;
                    self.path
                        .push_str(&format!("[{}]", flat / rest % dimension));
                }
                let start = flat
                    .checked_mul(bits)
                    .ok_or_else(|| damage("an element beyond memory"))?;
                self.visit(element, start, depth + 1)?;
                self.path.clear();
                flat += 1;
            }
            if self.shapes.len() == before {
                return Ok(());
            }
        }
    }
}

fn constant(dimensions: &[Extent]) -> Result<Vec<u64>, Stop> {
    let each = dimensions.iter().map(|extent| match extent {
        Extent::Constant(count) => Ok(*count),
        Extent::AtRunTime(_) => Err(Stop::VariableLength),
    });
    each.collect()
}

fn product(dimensions: &[u64]) -> Result<u64, Stop> {
    let all = dimensions
        .iter()
        .try_fold(1u64, |all, dimension| all.checked_mul(*dimension));
    all.ok_or_else(|| damage("an array larger than memory"))
}

/// A constant bound; `None` for what is computed at run time.
fn bound(value: &Value) -> Option<u64> {
    match value {
        AttributeValue::Sdata(value) => Some(*value as u64),
        value if value.exprloc_value().is_some() => None,
        value => value.udata_value(),
    }
}
