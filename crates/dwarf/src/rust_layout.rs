//! Types as rustc describes them: references with what they refer to, slices, `Vec`, enumerations with data. A part
//! of `layout`, which has the rest.
//!
//! Raw pointers, function pointers and trait objects have no leaves: their addresses mean nothing in another build, and
//! nothing says that they may be followed. Unions (`MaybeUninit`) have none either.

use std::sync::Arc;

use gimli::AttributeValue;
use gimli::constants as dw;

use crate::ScalarKind;
use crate::layout::{Stop, Walk, damage};
use crate::route::{Condition, Reading, Step};
use crate::units::EntryId;

/// References that are followed on the way to one leaf.
const MAX_FOLLOWED: usize = 2;
/// Elements of a slice, vector or string that are looked at.
const ELEMENTS: u64 = 16;
/// Nested types looked through for the pointer of a `Vec`.
const MAX_SEARCH: usize = 8;

/// Types of the standard library that are `Copy` if what is in them is.
const TRANSPARENT: &[&str] = &[
    "Option",
    "Result",
    "PhantomData",
    "Ordering",
    "Wrapping",
    "Reverse",
];

/// The name without generic arguments.
fn plain(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}

impl Walk<'_> {
    fn entry_name(&self, id: EntryId) -> Option<Arc<str>> {
        let name = self.units.own(id, dw::DW_AT_name)?;
        self.units.string(id.unit, name)
    }

    /// Notes a type that a use by value may move away.
    fn owns(&mut self, name: &str) {
        if self.followed == 0 && !self.owning.iter().any(|known| **known == *name) {
            self.owning.push(name.into());
        }
    }

    /// With one more step on the way and one more piece of path.
    fn on(
        &mut self,
        steps: &[Step],
        path: &str,
        walk: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let (before, length, followed) = (self.steps.len(), self.path.len(), self.followed);
        self.steps.extend_from_slice(steps);
        self.path.push_str(path);
        self.followed += steps
            .iter()
            .filter(|step| matches!(step, Step::Follow { .. }))
            .count();
        let result = walk(self);
        self.steps.truncate(before);
        self.path.truncate(length);
        self.followed = followed;
        result
    }

    pub(crate) fn rust_pointer(
        &mut self,
        id: EntryId,
        bit_offset: u64,
        depth: usize,
    ) -> Result<(), Stop> {
        let name = self.entry_name(id).unwrap_or_default();
        let boxed = name.starts_with("alloc::boxed::Box<");
        if !(boxed || name.starts_with('&')) {
            return Ok(());
        }
        if boxed || name.starts_with("&mut ") {
            self.owns(if boxed { "Box" } else { "&mut" });
        }
        let Some(target) = self.type_of(id)? else {
            return Ok(());
        };
        if self.followed >= MAX_FOLLOWED {
            return Ok(());
        }
        self.on(&[Step::Follow { bit_offset }], ".*", |walk| {
            walk.visit(target, 0, depth + 1)
        })
    }

    pub(crate) fn rust_struct(
        &mut self,
        id: EntryId,
        offset: u64,
        depth: usize,
    ) -> Result<(), Stop> {
        let name = self.entry_name(id).unwrap_or_default();
        let boxed = name.starts_with("alloc::boxed::Box<");
        if boxed || name.starts_with('&') {
            if boxed || name.starts_with("&mut ") {
                self.owns(if boxed { "Box" } else { "&mut" });
            }
            return self.slice(id, offset, depth);
        }
        let (name, tuple) = (plain(&name), name.starts_with('('));
        // state machines describe variables of all their states at once; hash keys are random by design
        if name.starts_with("{async") || name.starts_with("{coroutine") || name == "RandomState" {
            self.owns(name);
            return Ok(());
        }
        if !tuple && !TRANSPARENT.contains(&name) {
            self.owns(name);
        }
        if name == "Vec" && self.vector(id, offset, depth)? {
            return Ok(());
        }
        self.fields(id, offset, depth)
    }

    /// Members and variant parts.
    fn fields(&mut self, id: EntryId, offset: u64, depth: usize) -> Result<(), Stop> {
        self.members(id, offset, depth)?;
        for child in self.children(id)? {
            if self.tag(child)? == dw::DW_TAG_variant_part {
                self.variants(child, offset, depth)?;
            }
        }
        Ok(())
    }

    /// A member by name: its type and where it is, in bits.
    fn member(&self, id: EntryId, wanted: &str) -> Result<Option<(EntryId, u64)>, Stop> {
        for child in self.children(id)? {
            if self.tag(child)? == dw::DW_TAG_member
                && self.entry_name(child).as_deref() == Some(wanted)
                && let (Some(ty), Some(start)) = (self.type_of(child)?, self.member_start(child)?)
            {
                return Ok(Some((ty, start)));
            }
        }
        Ok(None)
    }

    /// `&[T]`, `&str`, `Box<[T]>`: a pointer and a length. What is no such thing (`&dyn Trait`) has no leaves.
    fn slice(&mut self, id: EntryId, offset: u64, depth: usize) -> Result<(), Stop> {
        let (Some((pointer, pointer_at)), Some((length, length_at))) =
            (self.member(id, "data_ptr")?, self.member(id, "length")?)
        else {
            return Ok(());
        };
        let Some(pointer) = self.strip(pointer)? else {
            return Ok(());
        };
        let Some(element) = self.type_of(pointer)? else {
            return Ok(());
        };
        let (pointer_at, length_at) = (offset + pointer_at, offset + length_at);
        self.on(&[], ".length", |walk| {
            walk.visit(length, length_at, depth + 1)
        })?;
        self.run_of(element, pointer_at, length_at, depth)
    }

    /// `Vec<T>`; false for what only has its name.
    fn vector(&mut self, id: EntryId, offset: u64, depth: usize) -> Result<bool, Stop> {
        let (Some((buffer, buffer_at)), Some((length, length_at))) =
            (self.member(id, "buf")?, self.member(id, "len")?)
        else {
            return Ok(false);
        };
        let mut element = None;
        for child in self.children(id)? {
            if self.tag(child)? == dw::DW_TAG_template_type_parameter
                && self.entry_name(child).as_deref() == Some("T")
            {
                element = self.type_of(child)?;
            }
        }
        let pointer = self.first_pointer(buffer, offset + buffer_at, 0)?;
        let (Some(element), Some(pointer_at)) = (element, pointer) else {
            return Ok(false);
        };
        let length_at = offset + length_at;
        self.on(&[], ".len", |walk| walk.visit(length, length_at, depth + 1))?;
        self.run_of(element, pointer_at, length_at, depth)?;
        Ok(true)
    }

    /// The first pointer in a nest of structures.
    fn first_pointer(&self, id: EntryId, offset: u64, depth: usize) -> Result<Option<u64>, Stop> {
        let Some(id) = self.strip(id)?.filter(|_| depth < MAX_SEARCH) else {
            return Ok(None);
        };
        match self.tag(id)? {
            dw::DW_TAG_pointer_type => Ok(Some(offset)),
            dw::DW_TAG_structure_type => {
                for child in self.children(id)? {
                    if self.tag(child)? == dw::DW_TAG_member
                        && let (Some(ty), Some(start)) =
                            (self.type_of(child)?, self.member_start(child)?)
                        && let Some(found) = self.first_pointer(ty, offset + start, depth + 1)?
                    {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// The first elements behind a pointer, as many as the length says.
    fn run_of(
        &mut self,
        element: EntryId,
        pointer_at: u64,
        length_at: u64,
        depth: usize,
    ) -> Result<(), Stop> {
        let bits = self
            .size(element, depth + 1)?
            .checked_mul(8)
            .ok_or_else(|| damage("an element larger than memory"))?;
        if self.followed >= MAX_FOLLOWED || bits == 0 {
            return Ok(());
        }
        for index in 0..ELEMENTS {
            if self.is_full() {
                break;
            }
            let steps = [
                Step::Test {
                    bit_offset: length_at,
                    bit_size: 64,
                    condition: Condition::Above(index.into()),
                },
                Step::Follow {
                    bit_offset: pointer_at,
                },
            ];
            let Some(start) = index.checked_mul(bits) else {
                break;
            };
            self.on(&steps, &format!("[{index}]"), |walk| {
                walk.visit(element, start, depth + 1)
            })?;
        }
        Ok(())
    }

    /// An enumeration with data: which variant it is, and the parts of each where it is that one.
    fn variants(&mut self, part: EntryId, offset: u64, depth: usize) -> Result<(), Stop> {
        let mut variants = Vec::new();
        for child in self.children(part)? {
            if self.tag(child)? == dw::DW_TAG_variant {
                variants.push(child);
            }
        }
        let discriminant = match self.units.own(part, dw::DW_AT_discr) {
            Some(reference) => {
                let member = self.units.resolve(part.unit, reference)?;
                let (Some(ty), Some(start)) = (self.type_of(member)?, self.member_start(member)?)
                else {
                    return Ok(());
                };
                let size = self.size(ty, depth + 1)?;
                if !(1..=16).contains(&size) {
                    return Ok(());
                }
                Some((offset + start, size as u32 * 8))
            }
            None => None,
        };
        let Some((bit_offset, bit_size)) = discriminant else {
            // one variant, and nothing that says so
            return match variants.as_slice() {
                [only] => self.variant(*only, offset, depth),
                _ => Ok(()),
            };
        };
        let mut own = Vec::new();
        for variant in &variants {
            match self.discriminants(*variant, bit_size)? {
                Some(ranges) => own.push(ranges),
                None => return Ok(()),
            }
        }
        let all: Arc<[(u128, u128)]> = own.iter().flatten().copied().collect();
        let mut cases = Vec::new();
        for (variant, ranges) in variants.iter().zip(own) {
            let condition = if ranges.is_empty() {
                Condition::NotIn(all.clone())
            } else {
                Condition::In(ranges.into())
            };
            cases.push((condition, self.variant_name(*variant)?));
        }
        if !self.is_full() {
            let length = self.path.len();
            self.path.push_str(".?");
            self.push_reading(
                ScalarKind::Enum,
                false,
                bit_offset,
                bit_size,
                Reading::Variant(cases.iter().cloned().collect()),
            );
            self.path.truncate(length);
        }
        for (variant, (condition, _)) in variants.into_iter().zip(cases) {
            let step = Step::Test {
                bit_offset,
                bit_size,
                condition,
            };
            self.on(&[step], "", |walk| walk.variant(variant, offset, depth))?;
        }
        Ok(())
    }

    fn variant_name(&self, variant: EntryId) -> Result<Arc<str>, Stop> {
        for child in self.children(variant)? {
            if self.tag(child)? == dw::DW_TAG_member
                && let Some(name) = self.entry_name(child)
            {
                return Ok(name);
            }
        }
        Ok(Arc::from("?"))
    }

    /// The parts of one variant, whose type is a structure of its own inside the enumeration.
    fn variant(&mut self, variant: EntryId, offset: u64, depth: usize) -> Result<(), Stop> {
        for child in self.children(variant)? {
            if self.tag(child)? != dw::DW_TAG_member {
                continue;
            }
            let (Some(ty), Some(start), Some(name)) = (
                self.type_of(child)?,
                self.member_start(child)?,
                self.entry_name(child),
            ) else {
                continue;
            };
            let Some(ty) = self.strip(ty)? else { continue };
            if self.tag(ty)? == dw::DW_TAG_structure_type {
                self.on(&[], &format!(".{name}"), |walk| {
                    walk.fields(ty, offset + start, depth + 1)
                })?;
            }
        }
        Ok(())
    }

    /// The discriminants of a variant, none for the one that has the rest; `None` for what cannot be read.
    fn discriminants(
        &self,
        variant: EntryId,
        bits: u32,
    ) -> Result<Option<Vec<(u128, u128)>>, Stop> {
        // A list of ranges is allowed by the standard, and written by nobody.
        if self.units.own(variant, dw::DW_AT_discr_list).is_some() {
            return Ok(None);
        }
        let Some(value) = self.units.own(variant, dw::DW_AT_discr_value) else {
            return Ok(Some(Vec::new()));
        };
        let number = match value {
            AttributeValue::Sdata(value) => i128::from(*value) as u128,
            value => match value.udata_value() {
                Some(value) => value.into(),
                None => return Ok(None),
            },
        };
        let number = match bits {
            128 => number,
            bits => number & ((1 << bits) - 1),
        };
        Ok(Some(vec![(number, number)]))
    }
}
