//! What a file says of a function's variables now.

use std::collections::HashMap;
use std::ops::Range;

use gimli::constants::{self as dw, DwAt, DwForm, DwTag};
use gimli::{AttributeValue, Dwarf, EndianSlice, LittleEndian, Operation, Unit, UnitOffset};
use object::{Object as _, ObjectSection as _};

use super::elf::Elf;
use super::{Address, Refused};

pub(super) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Relocation types.
pub(super) const ABSOLUTE_64: u32 = 1;
pub(super) const ABSOLUTE_32: u32 = 10;
const ABSOLUTE_32_SIGNED: u32 = 11;

/// Debug sections, unpacked and relocated: each loaded section of a relocatable object is put at its number × 2^32.
pub(super) struct Sections {
    all: HashMap<String, Vec<u8>>,
}

impl Sections {
    pub(super) fn load(elf: &Elf) -> Result<Sections, Refused> {
        let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(elf.file())
            .map_err(|error| Refused::Damaged(error.to_string()))?;
        let symbols = elf.symbols();
        let mut all = HashMap::new();
        for (index, section) in elf.sections.iter().enumerate() {
            if !section.name.starts_with(".debug_") {
                continue;
            }
            let found = file
                .section_by_index(object::SectionIndex(index))
                .map_err(|error| Refused::Damaged(error.to_string()))?;
            let mut data = found
                .uncompressed_data()
                .map_err(|error| Refused::Damaged(error.to_string()))?
                .into_owned();
            for one in elf.relocations(index)?.1 {
                let symbol = symbols
                    .as_ref()
                    .and_then(|(_, all)| all.get(one.symbol as usize))
                    .ok_or_else(|| Refused::Damaged("a relocation names no symbol".to_owned()))?;
                let loaded = elf
                    .sections
                    .get(usize::from(symbol.section))
                    .is_some_and(|section| section.flags & 2 != 0);
                let base = if loaded {
                    u64::from(symbol.section) << 32
                } else {
                    0
                };
                let value = base
                    .wrapping_add(symbol.value)
                    .wrapping_add(one.addend as u64)
                    .to_le_bytes();
                let size = match one.kind {
                    ABSOLUTE_64 => 8,
                    ABSOLUTE_32 | ABSOLUTE_32_SIGNED => 4,
                    0 => continue,
                    // offsets of thread-local variables: no reader here needs them
                    17 | 21 => continue,
                    other => {
                        return Err(Refused::Unsupported(format!(
                            "relocations of type {other} in debug information"
                        )));
                    }
                };
                let at = one.offset as usize;
                data.get_mut(at..at.saturating_add(size))
                    .ok_or_else(|| Refused::Damaged("a relocation outside its section".to_owned()))?
                    .copy_from_slice(&value[..size]);
            }
            all.insert(section.name.clone(), data);
        }
        Ok(Sections { all })
    }

    /// A section's own bytes, unpacked but not relocated.
    pub(super) fn own_bytes(&self, elf: &Elf, name: &str) -> Result<Vec<u8>, Refused> {
        let Some(index) = elf.find(name)? else {
            return Ok(Vec::new());
        };
        Ok(if elf.sections[index].flags & 0x800 != 0 {
            self.get(name).to_vec()
        } else {
            elf.content(index).to_vec()
        })
    }

    pub(super) fn get(&self, name: &str) -> &[u8] {
        self.all.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn dwarf(&self) -> Result<Dwarf<Slice<'_>>, Refused> {
        Ok(Dwarf::load(|id| {
            Ok::<_, gimli::Error>(EndianSlice::new(self.get(id.name()), LittleEndian))
        })?)
    }
}

/// An attribute with the place of its bytes in the unit.
#[derive(Debug, Clone)]
pub(super) struct Attr<'a> {
    pub(super) name: DwAt,
    pub(super) form: DwForm,
    pub(super) implicit: Option<i64>,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) value: AttributeValue<Slice<'a>>,
}

/// An entry of the unit.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    pub(super) offset: usize,
    pub(super) end: usize,
    depth: isize,
    pub(super) tag: DwTag,
    pub(super) children: bool,
    pub(super) attributes: Vec<Attr<'a>>,
}

impl<'a> Entry<'a> {
    pub(super) fn get(&self, name: DwAt) -> Option<&Attr<'a>> {
        self.attributes.iter().find(|attr| attr.name == name)
    }
}

/// The unit of a function.
pub(super) struct Found<'a> {
    pub(super) dwarf: Dwarf<Slice<'a>>,
    pub(super) unit: Unit<Slice<'a>>,
    /// Its place in `.debug_info`.
    pub(super) offset: usize,
    pub(super) entries: Vec<Entry<'a>>,
    /// The function's address (relocatable objects: section number × 2^32 + offset) and size.
    pub(super) start: u64,
    pub(super) size: u64,
    /// Whether the unit is the last of the section.
    pub(super) last: bool,
}

/// A function's variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The function's size in bytes.
    pub size: u64,
    /// The version of the unit.
    pub version: u16,
    /// Variables and parameters, without those of inlined functions.
    pub variables: Vec<Variable>,
}

/// A variable and what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The entry's offset in its unit.
    pub entry: usize,
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub line: Option<u64>,
    /// Where it is in scope, from the function's start.
    pub scope: Vec<Range<u64>>,
    /// Its location.
    pub location: Location,
}

/// What is said of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Nothing.
    Missing,
    /// A constant wherever it is in scope.
    Constant,
    /// One expression wherever it is in scope.
    Everywhere(OldPiece),
    /// Expressions over ranges of addresses.
    List(Vec<OldPiece>),
}

/// An expression that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldPiece {
    /// Where it holds, from the function's start.
    pub pc: Range<u64>,
    /// The expression.
    pub expression: Vec<u8>,
    /// Whether it is a number whatever the machine does.
    pub constant: bool,
    /// Addresses in it that a linker fills in; `None`: one of them is of no section, and its bytes cannot be put elsewhere.
    pub addresses: Option<Vec<Address>>,
}

impl Variable {
    /// What is said at an address, for people; empty: nothing.
    pub fn said(&self, pc: u64) -> String {
        let encoding = gimli::Encoding {
            address_size: 8,
            format: gimli::Format::Dwarf32,
            version: 5,
        };
        let text = |piece: &OldPiece| crate::describe::expression_text(&piece.expression, encoding);
        match (self.at(pc), &self.location) {
            (None, _) | (_, Location::Missing) => String::new(),
            (_, Location::Constant) => "a constant over the whole scope".to_owned(),
            (_, Location::Everywhere(piece)) => text(piece),
            (_, Location::List(all)) => all
                .iter()
                .find(|piece| piece.pc.contains(&pc) && !piece.expression.is_empty())
                .map(text)
                .unwrap_or_default(),
        }
    }

    /// What is said at an address: nothing, a constant, or an expression.
    pub fn at(&self, pc: u64) -> Option<bool> {
        if !self.scope.iter().any(|range| range.contains(&pc)) {
            return None;
        }
        match &self.location {
            Location::Missing => None,
            Location::Constant => Some(true),
            Location::Everywhere(piece) => Some(piece.constant),
            Location::List(all) => all
                .iter()
                .find(|piece| piece.pc.contains(&pc) && !piece.expression.is_empty())
                .map(|piece| piece.constant),
        }
    }
}

/// Finds the unit of a function and reads its entries.
pub(super) fn find<'a>(
    elf: &Elf,
    sections: &'a Sections,
    function: &str,
) -> Result<Found<'a>, Refused> {
    let (_, symbols) = elf
        .symbols()
        .ok_or_else(|| Refused::NoDebugInfo("the file is stripped".to_owned()))?;
    let symbol = symbols
        .iter()
        .find(|symbol| symbol.name == function && symbol.is_function() && symbol.section != 0)
        .ok_or_else(|| Refused::NoDebugInfo(format!("the file has no function `{function}`")))?;
    let base = if elf.relocatable {
        u64::from(symbol.section) << 32
    } else {
        0
    };
    let start = base + symbol.value;
    let dwarf = sections.dwarf()?;
    let mut headers = dwarf.units();
    let mut met = None;
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let mut ranges = dwarf.unit_ranges(&unit)?;
        let mut inside = false;
        while let Some(range) = ranges.next()? {
            inside |= (range.begin..range.end).contains(&start);
        }
        if inside {
            met = Some(unit);
            break;
        }
    }
    let unit = met
        .ok_or_else(|| Refused::NoDebugInfo(format!("no debug information covers `{function}`")))?;
    let header = &unit.header;
    let offset = header
        .offset()
        .to_debug_info_offset(header)
        .map(|offset| offset.0)
        .ok_or_else(|| Refused::Unsupported("a type unit".to_owned()))?;
    if header.encoding().format != gimli::Format::Dwarf32 || !matches!(header.version(), 4 | 5) {
        return Err(Refused::Unsupported(format!(
            "DWARF version {} ({:?}); versions 4 and 5 in 32-bit form are",
            header.version(),
            header.encoding().format
        )));
    }
    let entries = entries(&unit)?;
    let skeleton = entries.first().is_some_and(|root| {
        root.tag == dw::DW_TAG_skeleton_unit
            || root.get(dw::DW_AT_dwo_name).is_some()
            || root.get(dw::DW_AT_GNU_dwo_name).is_some()
    });
    if skeleton {
        return Err(Refused::Unsupported(
            "split DWARF (compile with -gno-split-dwarf)".to_owned(),
        ));
    }
    let end = offset + header.length_including_self();
    Ok(Found {
        offset,
        start,
        size: symbol.size,
        last: end == sections.get(".debug_info").len(),
        entries,
        dwarf,
        unit,
    })
}

fn entries<'a>(unit: &Unit<Slice<'a>>) -> Result<Vec<Entry<'a>>, Refused> {
    let mut all = Vec::new();
    let mut raw = unit.entries_raw(None)?;
    while !raw.is_empty() {
        let (offset, depth) = (raw.next_offset().0, raw.next_depth());
        let Some(abbreviation) = raw.read_abbreviation()? else {
            continue;
        };
        let mut entry = Entry {
            offset,
            end: 0,
            depth,
            tag: abbreviation.tag(),
            children: abbreviation.has_children(),
            attributes: Vec::new(),
        };
        for spec in abbreviation.attributes() {
            let start = raw.next_offset().0;
            let attribute = raw.read_attribute(*spec)?;
            entry.attributes.push(Attr {
                name: spec.name(),
                form: spec.form(),
                implicit: spec.implicit_const_value(),
                start,
                end: raw.next_offset().0,
                value: attribute.value(),
            });
        }
        entry.end = raw.next_offset().0;
        all.push(entry);
    }
    Ok(all)
}

/// The variables of a function.
pub(super) fn describe(
    elf: &Elf,
    sections: &Sections,
    function: &str,
) -> Result<Described, Refused> {
    let found = find(elf, sections, function)?;
    let mut variables = Vec::new();
    for index in own_variables(&found, function)? {
        let entry = &found.entries[index];
        let named = origin(&found, entry);
        let name = named
            .and_then(|entry| entry.get(dw::DW_AT_name))
            .and_then(|attr| found.dwarf.attr_string(&found.unit, attr.value).ok())
            .map(|name| String::from_utf8_lossy(name.slice()).into_owned());
        let Some(name) = name else { continue };
        let line = named
            .and_then(|entry| entry.get(dw::DW_AT_decl_line))
            .and_then(|attr| attr.value.udata_value());
        variables.push(Variable {
            entry: entry.offset,
            name,
            line,
            scope: scope(&found, index)?,
            location: location(elf, &found, entry)?,
        });
    }
    Ok(Described {
        size: found.size,
        version: found.unit.header.version(),
        variables,
    })
}

/// The entries of variables and parameters of a function, not of functions inlined into it.
pub(super) fn own_variables(found: &Found<'_>, function: &str) -> Result<Vec<usize>, Refused> {
    let start = found.entries.iter().position(|entry| {
        entry.tag == dw::DW_TAG_subprogram && low_pc(found, entry) == Some(found.start)
    });
    let start =
        start.ok_or_else(|| Refused::NoDebugInfo(format!("no entry describes `{function}`")))?;
    let mut all = Vec::new();
    let mut hidden: Option<isize> = None;
    for (index, entry) in found.entries.iter().enumerate().skip(start + 1) {
        if entry.depth <= found.entries[start].depth {
            break;
        }
        if hidden.is_some_and(|depth| entry.depth > depth) {
            continue;
        }
        hidden = None;
        match entry.tag {
            dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => all.push(index),
            dw::DW_TAG_inlined_subroutine
            | dw::DW_TAG_subprogram
            | dw::DW_TAG_GNU_call_site
            | dw::DW_TAG_call_site
            | dw::DW_TAG_structure_type
            | dw::DW_TAG_union_type
            | dw::DW_TAG_subroutine_type => hidden = Some(entry.depth),
            _ => {}
        }
    }
    Ok(all)
}

fn low_pc(found: &Found<'_>, entry: &Entry<'_>) -> Option<u64> {
    let attr = entry.get(dw::DW_AT_low_pc)?;
    found
        .dwarf
        .attr_address(&found.unit, attr.value)
        .ok()
        .flatten()
}

fn origin<'f, 'a>(found: &'f Found<'a>, entry: &'f Entry<'a>) -> Option<&'f Entry<'a>> {
    if entry.get(dw::DW_AT_name).is_some() {
        return Some(entry);
    }
    let AttributeValue::UnitRef(at) = entry.get(dw::DW_AT_abstract_origin)?.value else {
        return None;
    };
    found.entries.iter().find(|entry| entry.offset == at.0)
}

/// Where an entry is in scope: the ranges of the innermost entry around it that has some.
fn scope(found: &Found<'_>, index: usize) -> Result<Vec<Range<u64>>, Refused> {
    let mut depth = found.entries[index].depth;
    for entry in found.entries[..index].iter().rev() {
        if entry.depth >= depth {
            continue;
        }
        depth = entry.depth;
        let described = found.unit.entry(UnitOffset(entry.offset))?;
        let mut ranges = found.dwarf.die_ranges(&found.unit, &described)?;
        let mut all = Vec::new();
        while let Some(range) = ranges.next()? {
            all.extend(inside(found, range.begin, range.end));
        }
        if !all.is_empty() || entry.tag == dw::DW_TAG_subprogram {
            return Ok(all);
        }
    }
    Ok(Vec::new())
}

/// A range of addresses from the function's start, cut to the function.
fn inside(found: &Found<'_>, begin: u64, end: u64) -> Option<Range<u64>> {
    let begin = begin.max(found.start);
    let end = end.min(found.start + found.size);
    (begin < end).then(|| begin - found.start..end - found.start)
}

fn location(elf: &Elf, found: &Found<'_>, entry: &Entry<'_>) -> Result<Location, Refused> {
    if entry.get(dw::DW_AT_const_value).is_some() {
        return Ok(Location::Constant);
    }
    let Some(attr) = entry.get(dw::DW_AT_location) else {
        return Ok(Location::Missing);
    };
    let piece = |expression: &[u8], pc: Range<u64>| -> Result<OldPiece, Refused> {
        let nature = nature(found, expression)?;
        Ok(OldPiece {
            pc,
            expression: expression.to_vec(),
            constant: nature.constant,
            addresses: addresses(elf, &nature),
        })
    };
    if let AttributeValue::Exprloc(expression) = &attr.value {
        return Ok(Location::Everywhere(piece(
            expression.0.slice(),
            0..found.size,
        )?));
    }
    let Some(mut list) = found.dwarf.attr_locations(&found.unit, attr.value)? else {
        return Err(Refused::Unsupported(
            "an unusual form of location".to_owned(),
        ));
    };
    let mut all = Vec::new();
    while let Some(one) = list.next()? {
        if let Some(pc) = inside(found, one.range.begin, one.range.end) {
            all.push(piece(one.data.0.slice(), pc)?);
        }
    }
    Ok(Location::List(all))
}

/// The addresses of an expression by their sections, as [`Sections`] placed them.
fn addresses(elf: &Elf, nature: &Nature) -> Option<Vec<Address>> {
    if !elf.relocatable {
        return Some(Vec::new());
    }
    let placed = |(at, address): &(usize, u64)| {
        // an address may lie a little before its section's start
        let index = address.checked_add(1 << 31)? >> 32;
        let section = elf.sections.get(index as usize)?;
        let alone = elf.find(&section.name).ok().flatten() == Some(index as usize);
        (section.flags & 2 != 0 && alone).then(|| Address {
            at: *at,
            of: section.name.clone(),
            offset: address.wrapping_sub(index << 32) as i64,
        })
    };
    if nature.nested_address {
        return None;
    }
    nature.addresses.iter().map(placed).collect()
}

/// What an expression depends on.
pub(super) struct Nature {
    constant: bool,
    /// Where in it addresses stand, and which.
    addresses: Vec<(usize, u64)>,
    /// Whether there is one in an expression within it.
    nested_address: bool,
    /// Offsets in the unit of the base types it names.
    pub(super) types: Vec<usize>,
    /// Where in it an entry of `.debug_info` is named, and which.
    pub(super) entries: Vec<(usize, usize)>,
}

pub(super) fn nature(found: &Found<'_>, expression: &[u8]) -> Result<Nature, Refused> {
    let mut nature = Nature {
        constant: !expression.is_empty(),
        addresses: Vec::new(),
        nested_address: false,
        types: Vec::new(),
        entries: Vec::new(),
    };
    let encoding = found.unit.encoding();
    let whole = gimli::Expression(EndianSlice::new(expression, LittleEndian));
    let mut operations = whole.operations(encoding);
    let mut at = 0;
    while let Some(operation) = operations.next()? {
        match operation {
            Operation::UnsignedConstant { .. }
            | Operation::SignedConstant { .. }
            | Operation::Skip { .. }
            | Operation::Bra { .. }
            | Operation::StackValue
            | Operation::Nop
            | Operation::ImplicitValue { .. } => {}
            Operation::TypedLiteral { base_type, .. }
            | Operation::Convert { base_type }
            | Operation::Reinterpret { base_type } => nature.types.push(base_type.0),
            Operation::RegisterOffset { base_type, .. } | Operation::Deref { base_type, .. } => {
                nature.constant = false;
                nature.types.push(base_type.0);
            }
            Operation::Address { address } => nature.addresses.push((at + 1, address)),
            // a place in the unit's table of addresses, which stays where it is
            Operation::AddressIndex { .. } => {}
            Operation::ImplicitPointer { value, .. } => {
                nature.constant = false;
                nature.entries.push((at + 1, value.0));
            }
            Operation::EntryValue { expression } => {
                let inner = self::nature(found, expression.slice())?;
                nature.constant = false;
                nature.nested_address |= inner.nested_address || !inner.addresses.is_empty();
                nature.types.extend(inner.types);
            }
            Operation::Call { .. } | Operation::ParameterRef { .. } => {
                return Err(Refused::Unsupported(
                    "expressions that call other entries".to_owned(),
                ));
            }
            Operation::Register { .. }
            | Operation::FrameOffset { .. }
            | Operation::CallFrameCFA
            | Operation::PushObjectAddress
            | Operation::TLS => nature.constant = false,
            _ => {}
        }
        at = operations.offset_from(&whole);
    }
    nature.types.retain(|at| *at != 0);
    Ok(nature)
}
