//! Where in the file a variable's location bytes are, so that tests can falsify them in place; and the list of
//! functions for reports. Both look at every unit.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gimli::AttributeValue;
use gimli::constants as dw;

use crate::elf::File;
use crate::tree::Damage;
use crate::units::{EntryId, Units};
use crate::{Error, Line, Svma};

/// Where in the file the bytes of one location of a variable are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationSpan {
    /// The addresses that it holds for.
    pub pc: Range<Svma>,
    /// Where the bytes start in the file.
    pub file_offset: u64,
    /// How many there are.
    pub len: u64,
    /// What they are.
    pub kind: LocationKind,
}

/// What the bytes of a [`LocationSpan`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationKind {
    /// A DWARF expression.
    Expression,
    /// The value of a `DW_AT_const_value`.
    ConstValue,
}

/// A function that the debug information describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name in the source.
    pub name: Arc<str>,
    /// Where its own code is; empty when it exists only inlined.
    pub ranges: Vec<Range<Svma>>,
    /// The line of its declaration.
    pub decl_line: Option<Line>,
    /// How many times it is inlined.
    pub inlined: usize,
}

pub(crate) fn functions(units: &Units) -> Result<Vec<Function>, Error> {
    let mut found: BTreeMap<EntryId, Function> = BTreeMap::new();
    for unit in 0..units.count() {
        let tree = units.tree(unit)?;
        for index in 0..tree.len() {
            let id = EntryId { unit, index };
            let tag = tree.entry(index).tag;
            let inlined = tag == dw::DW_TAG_inlined_subroutine;
            if !inlined && tag != dw::DW_TAG_subprogram || tree.flag(index, dw::DW_AT_declaration) {
                continue;
            }
            let (Some(root), Some(name)) = (units.lineage(id).last(), units.name(id)) else {
                continue;
            };
            let decl_line = units.decl_line(id);
            let function = found.entry(root).or_insert(Function {
                name,
                ranges: Vec::new(),
                decl_line,
                inlined: 0,
            });
            if inlined {
                function.inlined += 1;
            } else if let Ok(Some(ranges)) = units.ranges(id) {
                function.ranges.extend(
                    ranges
                        .into_iter()
                        .map(|(start, end)| Svma(start)..Svma(end)),
                );
            }
        }
    }
    let mut functions: Vec<Function> = found.into_values().collect();
    functions.sort_by(|a, b| (&a.name, a.decl_line).cmp(&(&b.name, b.decl_line)));
    Ok(functions)
}

/// Where functions are entered: the start of each that has code of its own, with its name in the source.
pub(crate) fn entries(units: &Units) -> Result<Vec<(Svma, Arc<str>)>, Error> {
    let mut found = BTreeMap::new();
    for unit in 0..units.count() {
        let tree = units.tree(unit)?;
        for index in 0..tree.len() {
            let id = EntryId { unit, index };
            if tree.entry(index).tag != dw::DW_TAG_subprogram
                || tree.flag(index, dw::DW_AT_declaration)
            {
                continue;
            }
            // of several ranges the first is where it starts; the others are what was moved out of the way
            if let (Ok(Some(ranges)), Some(name)) = (units.ranges(id), units.name(id))
                && let Some((start, _)) = ranges.first()
            {
                found.insert(Svma(*start), name);
            }
        }
    }
    Ok(found.into_iter().collect())
}

pub(crate) fn location_spans(
    units: &Units,
    file: &File,
    function: &str,
    variable: &str,
) -> Result<Vec<LocationSpan>, Error> {
    let mut spans = Vec::new();
    let mut known = false;
    for unit in 0..units.count() {
        let tree = units.tree(unit)?;
        for index in 0..tree.len() {
            let id = EntryId { unit, index };
            if !matches!(
                tree.entry(index).tag,
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter
            ) || units.name(id).as_deref() != Some(variable)
                || enclosing(units, id)?.as_deref().unwrap_or("") != function
            {
                continue;
            }
            known = true;
            collect(units, file, id, &mut spans)?;
        }
    }
    if known {
        Ok(spans)
    } else {
        Err(Error::Unknown {
            what: format!("variable `{variable}` of function `{function}`"),
        })
    }
}

/// The function that an entry is in, inlined or not.
pub(crate) fn enclosing(units: &Units, id: EntryId) -> Result<Option<Arc<str>>, Error> {
    let tree = units.tree(id.unit)?;
    let mut index = tree.entry(id.index).parent;
    loop {
        let entry = tree.entry(index);
        if matches!(
            entry.tag,
            dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine
        ) {
            return Ok(units.name(EntryId {
                unit: id.unit,
                index,
            }));
        }
        if entry.parent == index {
            return Ok(None);
        }
        index = entry.parent;
    }
}

fn collect(
    units: &Units,
    file: &File,
    id: EntryId,
    spans: &mut Vec<LocationSpan>,
) -> Result<(), Error> {
    let malformed = |damage: Damage| Error::malformed("location", damage);
    let place = |bytes: &[u8], section: &str| {
        file.file_offset(bytes.as_ptr())
            .ok_or_else(|| Error::Compressed {
                section: section.to_owned(),
            })
    };
    if let Some(value) = units.own(id, dw::DW_AT_location) {
        let loaded = units.loaded(id.unit)?;
        if let Some(expression) = value.exprloc_value() {
            let (file_offset, len) = (
                place(expression.0.slice(), ".debug_info")?,
                expression.0.len() as u64,
            );
            spans.push(LocationSpan {
                pc: around(units, id)?,
                file_offset,
                len,
                kind: LocationKind::Expression,
            });
        } else if let Some(mut list) = units
            .dwarf_of(loaded)
            .attr_locations(&loaded.unit, *value)
            .map_err(|error| malformed(error.into()))?
        {
            while let Some(element) = list.next().map_err(|error| malformed(error.into()))? {
                let pc = Svma(element.range.begin)..Svma(element.range.end);
                let (file_offset, len) = (
                    place(element.data.0.slice(), ".debug_loclists")?,
                    element.data.0.len() as u64,
                );
                spans.push(LocationSpan {
                    pc,
                    file_offset,
                    len,
                    kind: LocationKind::Expression,
                });
            }
        }
    }
    if let Some(value) = units.own(id, dw::DW_AT_const_value) {
        let bytes = match value {
            AttributeValue::Block(bytes) | AttributeValue::Exprloc(gimli::Expression(bytes)) => {
                bytes.slice()
            }
            _ => const_value_bytes(units, id).map_err(malformed)?,
        };
        if !bytes.is_empty() {
            let (file_offset, len) = (place(bytes, ".debug_info")?, bytes.len() as u64);
            spans.push(LocationSpan {
                pc: around(units, id)?,
                file_offset,
                len,
                kind: LocationKind::ConstValue,
            });
        }
    }
    Ok(())
}

/// The bytes of an entry's `DW_AT_const_value`; none when its value is in the abbreviation, which others share.
fn const_value_bytes(units: &Units, id: EntryId) -> Result<&'static [u8], Damage> {
    let damage = |error: Error| Damage(error.to_string());
    let loaded = units.loaded(id.unit).map_err(damage)?;
    let offset = gimli::UnitOffset(units.tree(id.unit).map_err(damage)?.entry(id.index).offset);
    let mut raw = loaded.unit.entries_raw(Some(offset))?;
    if let Some(abbreviation) = raw.read_abbreviation()? {
        for specification in abbreviation.attributes() {
            let before = raw.next_offset();
            raw.read_attribute(*specification)?;
            if specification.name() == dw::DW_AT_const_value {
                return Ok(loaded.unit.header.range(before..raw.next_offset())?.slice());
            }
        }
    }
    Ok(&[])
}

/// The addresses of the innermost scope of an entry; all of them for an abstract instance.
fn around(units: &Units, id: EntryId) -> Result<Range<Svma>, Error> {
    let tree = units.tree(id.unit)?;
    let mut index = id.index;
    while tree.entry(index).parent != index {
        index = tree.entry(index).parent;
        if let Ok(Some(ranges)) = units.ranges(EntryId {
            unit: id.unit,
            index,
        }) {
            let start = ranges.iter().map(|(start, _)| *start).min();
            let end = ranges.iter().map(|(_, end)| *end).max();
            if let (Some(start), Some(end)) = (start, end) {
                return Ok(Svma(start)..Svma(end));
            }
        }
    }
    Ok(Svma(0)..Svma(u64::MAX))
}
