//! The debugging information entries of one unit, flattened into an arena in file order, with the attributes that this
//! crate looks at. Built when the first address or variable of the unit is asked for.

use gimli::constants::{self as dw, DwAt, DwTag};
use gimli::{AttributeValue, Dwarf, Unit};

use crate::elf::Slice;

/// Entries per unit, and attribute values per unit, that are read before the unit counts as hostile.
const MAX_ENTRIES: usize = 16_000_000;
const MAX_ATTRIBUTES: usize = 200_000_000;
/// Address ranges per entry.
const MAX_RANGES: usize = 1_000_000;

pub(crate) type Value = AttributeValue<Slice>;

/// What is wrong with one entry, list or expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage(pub(crate) String);

impl From<gimli::Error> for Damage {
    fn from(error: gimli::Error) -> Damage {
        Damage(error.to_string())
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One entry. Its subtree is the entries up to `end`.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) offset: usize,
    pub(crate) tag: DwTag,
    pub(crate) parent: u32,
    pub(crate) end: u32,
    first_attribute: u32,
    attributes: u32,
}

/// The entries of a unit.
#[derive(Debug)]
pub(crate) struct Tree {
    entries: Vec<Entry>,
    attributes: Vec<(DwAt, Value)>,
    /// Functions with code, by address: start, end, entry.
    functions: Vec<(u64, u64, u32)>,
    /// Calls by their return address.
    calls: Vec<(u64, u32)>,
}

fn wanted(name: DwAt) -> bool {
    matches!(
        name,
        dw::DW_AT_name
            | dw::DW_AT_type
            | dw::DW_AT_signature
            | dw::DW_AT_abstract_origin
            | dw::DW_AT_specification
            | dw::DW_AT_location
            | dw::DW_AT_const_value
            | dw::DW_AT_frame_base
            | dw::DW_AT_byte_size
            | dw::DW_AT_encoding
            | dw::DW_AT_bit_size
            | dw::DW_AT_bit_offset
            | dw::DW_AT_data_bit_offset
            | dw::DW_AT_data_member_location
            | dw::DW_AT_upper_bound
            | dw::DW_AT_lower_bound
            | dw::DW_AT_count
            | dw::DW_AT_byte_stride
            | dw::DW_AT_bit_stride
            | dw::DW_AT_endianity
            | dw::DW_AT_language
            | dw::DW_AT_discr
            | dw::DW_AT_discr_value
            | dw::DW_AT_discr_list
            | dw::DW_AT_decl_line
            | dw::DW_AT_declaration
            | dw::DW_AT_external
            | dw::DW_AT_artificial
            | dw::DW_AT_low_pc
            | dw::DW_AT_high_pc
            | dw::DW_AT_ranges
            | dw::DW_AT_entry_pc
            | dw::DW_AT_call_return_pc
            | dw::DW_AT_call_origin
            | dw::DW_AT_call_target
            | dw::DW_AT_GNU_call_site_target
            | dw::DW_AT_call_value
            | dw::DW_AT_GNU_call_site_value
            | dw::DW_AT_call_data_value
            | dw::DW_AT_GNU_call_site_data_value
            | dw::DW_AT_call_parameter
            | dw::DW_AT_call_tail_call
            | dw::DW_AT_call_line
            | dw::DW_AT_GNU_tail_call
    )
}

impl Tree {
    /// Reads all entries of a unit.
    pub(crate) fn read(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>) -> Result<Tree, Damage> {
        let mut tree = Tree {
            entries: Vec::new(),
            attributes: Vec::new(),
            functions: Vec::new(),
            calls: Vec::new(),
        };
        let mut open: Vec<u32> = Vec::new();
        let mut read = 0usize;
        let mut raw = unit.entries_raw(None)?;
        while !raw.is_empty() {
            let offset = raw.next_offset().0;
            let Some(abbreviation) = raw.read_abbreviation()? else {
                let here = tree.entries.len() as u32;
                match open.pop() {
                    Some(parent) => tree.entries[parent as usize].end = here,
                    // Padding after the root's subtree.
                    None => break,
                }
                continue;
            };
            if open.is_empty() && !tree.entries.is_empty() {
                break;
            }
            let index = tree.entries.len() as u32;
            let first_attribute = tree.attributes.len() as u32;
            read += abbreviation.attributes().len() + 1;
            if tree.entries.len() >= MAX_ENTRIES || read > MAX_ATTRIBUTES {
                return Err(Damage(format!(
                    "more than {MAX_ENTRIES} entries or {MAX_ATTRIBUTES} attributes in one unit"
                )));
            }
            for specification in abbreviation.attributes() {
                let attribute = raw.read_attribute(*specification)?;
                if wanted(attribute.name()) {
                    // A constant's signedness is in its form, which only the raw value keeps.
                    let value = match attribute.name() {
                        dw::DW_AT_const_value => attribute.raw_value(),
                        _ => attribute.value(),
                    };
                    tree.attributes.push((attribute.name(), value));
                }
            }
            tree.entries.push(Entry {
                offset,
                tag: abbreviation.tag(),
                parent: open.last().copied().unwrap_or(index),
                end: index + 1,
                first_attribute,
                attributes: tree.attributes.len() as u32 - first_attribute,
            });
            if abbreviation.has_children() {
                open.push(index);
            }
        }
        // A unit that ends without the closing null entries: what is open ends with it.
        let end = tree.entries.len() as u32;
        for parent in open {
            tree.entries[parent as usize].end = end;
        }
        if tree.entries.is_empty() {
            return Err(Damage("the unit has no entries".into()));
        }
        tree.index(dwarf, unit);
        Ok(tree)
    }

    fn index(&mut self, dwarf: &Dwarf<Slice>, unit: &Unit<Slice>) {
        let (mut functions, mut calls) = (Vec::new(), Vec::new());
        for index in 0..self.entries.len() as u32 {
            match self.entries[index as usize].tag {
                // A function whose ranges are damaged has no addresses; asking for one says so.
                dw::DW_TAG_subprogram => {
                    if let Ok(Some(ranges)) = self.ranges(dwarf, unit, index) {
                        functions
                            .extend(ranges.into_iter().map(|(start, end)| (start, end, index)));
                    }
                }
                dw::DW_TAG_call_site | dw::DW_TAG_GNU_call_site => {
                    let address = self
                        .attribute(index, dw::DW_AT_call_return_pc)
                        .or(self.attribute(index, dw::DW_AT_low_pc));
                    if let Some(Ok(Some(address))) =
                        address.map(|value| dwarf.attr_address(unit, *value))
                    {
                        calls.push((address, index));
                    }
                }
                _ => {}
            }
        }
        functions.sort_unstable();
        calls.sort_unstable();
        (self.functions, self.calls) = (functions, calls);
    }

    pub(crate) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    pub(crate) fn entry(&self, index: u32) -> &Entry {
        &self.entries[index as usize]
    }

    /// The entry at an offset into the unit.
    pub(crate) fn at_offset(&self, offset: usize) -> Option<u32> {
        self.entries
            .binary_search_by_key(&offset, |entry| entry.offset)
            .ok()
            .map(|index| index as u32)
    }

    pub(crate) fn attribute(&self, index: u32, name: DwAt) -> Option<&Value> {
        let entry = &self.entries[index as usize];
        let first = entry.first_attribute as usize;
        let all = self
            .attributes
            .get(first..first + entry.attributes as usize)?;
        all.iter()
            .find(|(have, _)| *have == name)
            .map(|(_, value)| value)
    }

    pub(crate) fn flag(&self, index: u32, name: DwAt) -> bool {
        matches!(
            self.attribute(index, name),
            Some(AttributeValue::Flag(true))
        )
    }

    /// The direct children of an entry.
    pub(crate) fn children(&self, index: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.entries[index as usize].end;
        let mut next = index + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            // A child's subtree ends after its start, so this always moves on.
            next = self.entries[child as usize].end.max(child + 1);
            Some(child)
        })
    }

    /// The innermost function (in the sense of nested functions) whose code has the address.
    pub(crate) fn function_at(&self, pc: u64) -> Option<u32> {
        let after = self.functions.partition_point(|(start, _, _)| *start <= pc);
        // Functions rarely overlap; a handful of steps back finds an enclosing one.
        self.functions[..after]
            .iter()
            .rev()
            .take(64)
            .find(|(_, end, _)| pc < *end)
            .map(|(_, _, index)| *index)
    }

    /// The call sites that return to an address.
    pub(crate) fn calls_returning_to(&self, pc: u64) -> impl Iterator<Item = u32> + '_ {
        let first = self.calls.partition_point(|(address, _)| *address < pc);
        self.calls[first..]
            .iter()
            .take_while(move |(address, _)| *address == pc)
            .map(|(_, index)| *index)
    }

    /// An entry's addresses; `None` when it has no address attributes at all.
    pub(crate) fn ranges(
        &self,
        dwarf: &Dwarf<Slice>,
        unit: &Unit<Slice>,
        index: u32,
    ) -> Result<Option<Vec<(u64, u64)>>, Damage> {
        ranges(dwarf, unit, |name| self.attribute(index, name).copied())
    }

    /// The addresses of a unit's root, without reading the rest of the unit.
    pub(crate) fn read_root(
        dwarf: &Dwarf<Slice>,
        unit: &Unit<Slice>,
    ) -> Result<Vec<(u64, u64)>, Damage> {
        let root = unit.entry(unit.header.root_offset())?;
        Ok(ranges(dwarf, unit, |name| root.attr_value(name))?.unwrap_or_default())
    }
}

fn ranges(
    dwarf: &Dwarf<Slice>,
    unit: &Unit<Slice>,
    attribute: impl Fn(DwAt) -> Option<Value>,
) -> Result<Option<Vec<(u64, u64)>>, Damage> {
    let mut ranges = Vec::new();
    if let Some(value) = attribute(dw::DW_AT_ranges) {
        if let Some(mut list) = dwarf.attr_ranges(unit, value)? {
            while let Some(range) = list.next()? {
                ranges.push((range.begin, range.end));
                if ranges.len() > MAX_RANGES {
                    return Err(Damage(format!(
                        "more than {MAX_RANGES} ranges in one entry"
                    )));
                }
            }
        }
    } else {
        let Some(low) = attribute(dw::DW_AT_low_pc) else {
            return Ok(None);
        };
        let Some(high) = attribute(dw::DW_AT_high_pc) else {
            return Ok(None);
        };
        let low = dwarf
            .attr_address(unit, low)?
            .ok_or_else(|| Damage("DW_AT_low_pc is no address".into()))?;
        let high = match high.udata_value() {
            Some(length) => low
                .checked_add(length)
                .ok_or_else(|| Damage("DW_AT_high_pc overflows".into()))?,
            None => dwarf
                .attr_address(unit, high)?
                .ok_or_else(|| Damage("DW_AT_high_pc is no address".into()))?,
        };
        ranges.push((low, high));
    }
    // Linkers give code that they dropped the address 0.
    ranges.retain(|(start, end)| *start != 0 && start < end);
    Ok(Some(ranges))
}
