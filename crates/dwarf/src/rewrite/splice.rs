//! Encoding the unit of a changed function again: entries of changed variables get other attributes, everything behind them
//! moves, and what refers to what moved is mended.
//!
//! A unit that is not the last of `.debug_info` moves to the section's end and leaves a unit without content in its
//! place, so that no other unit moves and nothing that refers to other units has to be found.

use std::collections::HashMap;

use gimli::AttributeValue;
use gimli::constants::{self as dw, DwForm};

use super::elf::{Elf, RELA, Rela, rela_bytes, u16_at, u32_at};
use super::survey::{ABSOLUTE_32, Attr, Entry, Found, Sections, find, nature, own_variables};
use super::{Change, Refused, lists, sleb, uleb};

/// Attributes that a new location replaces.
fn is_replaced(attr: &Attr<'_>) -> bool {
    matches!(
        attr.name,
        dw::DW_AT_location
            | dw::DW_AT_const_value
            | dw::DW_AT_GNU_locviews
            | dw::DW_AT_GNU_entry_view
    )
}

/// An attribute of a vendor that nobody knows, for the bytes of a unit that moved away.
const NOTHING: u64 = 0x3f71;

/// A changed entry.
struct Edit<'f, 'a> {
    entry: &'f Entry<'a>,
    code: u64,
    list: Option<u32>,
    size: usize,
}

/// The unit as it is and as it will be.
struct Layout<'f, 'a> {
    edits: Vec<Edit<'f, 'a>>,
}

impl Layout<'_, '_> {
    /// Where an entry or a byte outside of changed entries will be.
    fn moved(&self, at: usize) -> usize {
        let mut new = at;
        for edit in &self.edits {
            if edit.entry.offset < at {
                new = new + edit.size - (edit.entry.end - edit.entry.offset);
            }
        }
        new
    }

    /// Where a byte will be; `None` if it goes.
    fn byte(&self, at: usize) -> Option<usize> {
        let Some(edit) = self
            .edits
            .iter()
            .find(|edit| (edit.entry.offset..edit.entry.end).contains(&at))
        else {
            return Some(self.moved(at));
        };
        let mut new = self.moved(edit.entry.offset) + uleb_size(edit.code);
        for attr in edit
            .entry
            .attributes
            .iter()
            .filter(|attr| !is_replaced(attr))
        {
            if (attr.start..attr.end).contains(&at) {
                return Some(new + at - attr.start);
            }
            new += attr.end - attr.start;
        }
        None
    }
}

fn uleb_size(number: u64) -> usize {
    let mut out = Vec::new();
    uleb(&mut out, number);
    out.len()
}

pub(super) fn apply(elf: &mut Elf, function: &str, changes: &[Change]) -> Result<(), Refused> {
    for name in [
        ".debug_names",
        ".gdb_index",
        ".debug_cu_index",
        ".debug_types",
    ] {
        if elf.find(name)?.is_some() {
            return Err(Refused::Unsupported(format!(
                "`{name}`, whose entries would have to move"
            )));
        }
    }
    let sections = Sections::load(elf)?;
    let found = find(elf, &sections, function)?;
    if elf.relocatable && !(found.last && found.offset == 0) {
        return Err(Refused::Unsupported(
            "a relocatable object with several units (type units, ld -r)".to_owned(),
        ));
    }
    let own = own_variables(&found, function)?;
    let mut changes = changes.to_vec();
    changes.sort_by_key(|change| change.entry);
    let mut changed: Vec<&Entry<'_>> = Vec::new();
    for change in &changes {
        let index = own
            .iter()
            .find(|index| found.entries[**index].offset == change.entry)
            .ok_or_else(|| Refused::Unsupported("a change of an unknown variable".to_owned()))?;
        changed.push(&found.entries[*index]);
    }
    let lists = lists::append(elf, &sections, &found, function, &changes)?;
    let mut table = Table::read(&sections, &found)?;
    let edits = changed
        .iter()
        .zip(&lists.offsets)
        .map(|(entry, list)| {
            let code = table.code(entry, list.is_some());
            let kept: usize = entry
                .attributes
                .iter()
                .filter(|attr| !is_replaced(attr))
                .map(|attr| attr.end - attr.start)
                .sum();
            Edit {
                entry,
                code,
                list: *list,
                size: uleb_size(code) + kept + if list.is_some() { 4 } else { 0 },
            }
        })
        .collect();
    let layout = Layout { edits };
    let mut info = sections.own_bytes(elf, ".debug_info")?;
    let unit_end = found.offset + found.unit.header.length_including_self();
    let new_offset = if found.last { found.offset } else { info.len() };
    let hole = (!found.last).then(|| table.hole(found.unit.header.version()));
    let abbreviations = table.place(elf, &sections)?;
    let mut unit = encode(
        &info[found.offset..unit_end],
        &found,
        &layout,
        elf.relocatable,
    )?;
    let length = (unit.len() - 4) as u32;
    unit[..4].copy_from_slice(&length.to_le_bytes());
    let abbreviation_field = if found.unit.header.version() == 5 {
        8
    } else {
        6
    };
    if !elf.relocatable {
        unit[abbreviation_field..abbreviation_field + 4]
            .copy_from_slice(&abbreviations.to_le_bytes());
    }
    mend_expressions(elf, &sections, &found, &layout, new_offset, &mut unit)?;
    match hole {
        None => {
            info.truncate(found.offset);
        }
        Some(code) => leave_hole(
            &mut info[found.offset..unit_end],
            found.unit.header.version(),
            abbreviations,
            code,
        )?,
    }
    info.extend(unit);
    let index = elf
        .find(".debug_info")?
        .ok_or_else(|| Refused::Damaged("`.debug_info` is gone".to_owned()))?;
    elf.replace(index, info)?;
    mend_tables(elf, &sections, &found, &layout, new_offset)?;
    if elf.relocatable {
        mend_relocations(
            elf,
            index,
            &layout,
            &lists,
            abbreviation_field,
            abbreviations,
        )?;
    }
    Ok(())
}

/// The unit's bytes with changed entries and references.
fn encode(
    old: &[u8],
    found: &Found<'_>,
    layout: &Layout<'_, '_>,
    relocatable: bool,
) -> Result<Vec<u8>, Refused> {
    let mut patched = old.to_vec();
    for entry in &found.entries {
        for attr in &entry.attributes {
            match attr.value {
                AttributeValue::UnitRef(at) => {
                    let new = layout.moved(at.0) as u64;
                    patch(&mut patched, attr, new)?;
                }
                AttributeValue::DebugInfoRef(_) if !relocatable => {
                    return Err(Refused::Unsupported(
                        "references between units (link-time optimisation)".to_owned(),
                    ));
                }
                _ => {}
            }
        }
    }
    let mut out = Vec::with_capacity(old.len() + 64);
    let mut done = 0;
    for edit in &layout.edits {
        out.extend(&patched[done..edit.entry.offset]);
        uleb(&mut out, edit.code);
        for attr in edit
            .entry
            .attributes
            .iter()
            .filter(|attr| !is_replaced(attr))
        {
            out.extend(&patched[attr.start..attr.end]);
        }
        if let Some(list) = edit.list {
            out.extend(if relocatable { 0 } else { list }.to_le_bytes());
        }
        done = edit.entry.end;
    }
    out.extend(&patched[done..]);
    Ok(out)
}

/// Writes a reference in its form, at its place.
fn patch(bytes: &mut [u8], attr: &Attr<'_>, value: u64) -> Result<(), Refused> {
    let room = attr.end - attr.start;
    let wide = || {
        Refused::Unsupported(
            "a reference in a form too narrow for where its entry moves".to_owned(),
        )
    };
    let new: Vec<u8> = match attr.form {
        dw::DW_FORM_ref1 | dw::DW_FORM_ref2 | dw::DW_FORM_ref4 | dw::DW_FORM_ref8 => {
            if room < 8 && value >> (8 * room) != 0 {
                return Err(wide());
            }
            value.to_le_bytes()[..room].to_vec()
        }
        dw::DW_FORM_ref_udata => {
            let mut out = Vec::new();
            uleb(&mut out, value);
            if out.len() > room {
                return Err(wide());
            }
            // the same number with bytes to spare
            while out.len() < room {
                let last = out.len() - 1;
                out[last] |= 0x80;
                out.push(0);
            }
            out
        }
        _ => {
            return Err(Refused::Unsupported(
                "an unusual form of reference".to_owned(),
            ));
        }
    };
    bytes[attr.start..attr.end].copy_from_slice(&new);
    Ok(())
}

/// Expressions of the unit that name entries which move.
fn mend_expressions(
    elf: &mut Elf,
    sections: &Sections,
    found: &Found<'_>,
    layout: &Layout<'_, '_>,
    new_offset: usize,
    unit: &mut [u8],
) -> Result<(), Refused> {
    let (name, list_base) = if found.unit.header.version() == 5 {
        (".debug_loclists", sections.get(".debug_loclists"))
    } else {
        (".debug_loc", sections.get(".debug_loc"))
    };
    let end = found.offset + found.unit.header.length_including_self();
    let moved = |target: usize| {
        (found.offset..end)
            .contains(&target)
            .then(|| new_offset + layout.moved(target - found.offset))
    };
    let mut in_lists: Vec<(usize, usize)> = Vec::new();
    for entry in &found.entries {
        for attr in &entry.attributes {
            let look = |expression: &[u8]| -> Result<Vec<(usize, usize)>, Refused> {
                let nature = nature(found, expression)?;
                if nature.types.iter().any(|at| layout.moved(*at) != *at) {
                    return Err(Refused::Unsupported(
                        "expressions over types that would move".to_owned(),
                    ));
                }
                Ok(nature
                    .entries
                    .into_iter()
                    .filter_map(|(at, target)| Some((at, moved(target)?)))
                    .collect())
            };
            if let AttributeValue::Exprloc(expression) = &attr.value {
                let bytes = expression.0.slice();
                for (at, target) in look(bytes)? {
                    let start = attr.end - bytes.len() + at;
                    if let Some(place) = layout.byte(start)
                        && !elf.relocatable
                    {
                        unit[place..place + 4].copy_from_slice(&(target as u32).to_le_bytes());
                    }
                }
                continue;
            }
            if !matches!(
                attr.value,
                AttributeValue::LocationListsRef(_) | AttributeValue::DebugLocListsIndex(_)
            ) {
                continue;
            }
            let Some(mut list) = found.dwarf.attr_locations(&found.unit, attr.value)? else {
                continue;
            };
            while let Some(one) = list.next()? {
                let bytes = one.data.0.slice();
                let start = bytes.as_ptr() as usize - list_base.as_ptr() as usize;
                for (at, target) in look(bytes)? {
                    in_lists.push((start + at, target));
                }
            }
        }
    }
    if in_lists.is_empty() || elf.relocatable {
        return Ok(());
    }
    let index = elf
        .find(name)?
        .ok_or_else(|| Refused::Damaged(format!("`{name}` is gone")))?;
    let mut content = elf.content(index).to_vec();
    for (at, target) in in_lists {
        content
            .get_mut(at..at + 4)
            .ok_or_else(|| Refused::Damaged("an expression outside its section".to_owned()))?
            .copy_from_slice(&(target as u32).to_le_bytes());
    }
    elf.replace(index, content)
}

/// Tables that name units and entries by their place: `.debug_aranges` and the lists of public names.
fn mend_tables(
    elf: &mut Elf,
    sections: &Sections,
    found: &Found<'_>,
    layout: &Layout<'_, '_>,
    new_offset: usize,
) -> Result<(), Refused> {
    for (name, entries, flag) in [
        (".debug_aranges", false, 0),
        (".debug_pubnames", true, 0),
        (".debug_pubtypes", true, 0),
        (".debug_gnu_pubnames", true, 1),
        (".debug_gnu_pubtypes", true, 1),
    ] {
        let Some(index) = elf.find(name)? else {
            continue;
        };
        let mut content = sections.own_bytes(elf, name)?;
        let cut = || Refused::Damaged(format!("`{name}` is cut off"));
        let mut at = 0;
        while at < content.len() {
            let length = u32_at(&content, at).ok_or_else(cut)? as usize;
            let end = at + 4 + length;
            let unit = u32_at(&content, at + 6).ok_or_else(cut)?;
            if length >= 0xffff_fff0 || end > content.len() || u16_at(&content, at + 4) != Some(2) {
                return Err(cut());
            }
            if unit as usize == found.offset || elf.relocatable {
                if !elf.relocatable {
                    content[at + 6..at + 10].copy_from_slice(&(new_offset as u32).to_le_bytes());
                }
                let mut one = at + 14;
                while entries && one + 4 <= end {
                    let entry = u32_at(&content, one).ok_or_else(cut)? as usize;
                    if entry == 0 {
                        break;
                    }
                    let new = layout.moved(entry) as u32;
                    content[one..one + 4].copy_from_slice(&new.to_le_bytes());
                    let text = content[one + 4 + flag..end]
                        .iter()
                        .position(|byte| *byte == 0)
                        .ok_or_else(cut)?;
                    one += 4 + flag + text + 1;
                }
            }
            at = end;
        }
        elf.replace(index, content)?;
    }
    Ok(())
}

/// Relocations of `.debug_info`, and of whatever names a place in it.
fn mend_relocations(
    elf: &mut Elf,
    info: usize,
    layout: &Layout<'_, '_>,
    lists: &lists::Lists,
    abbreviation_field: usize,
    abbreviations: u32,
) -> Result<(), Refused> {
    let list_symbol = if layout.edits.iter().any(|edit| edit.list.is_some()) {
        Some(elf.section_symbol(lists.section)?)
    } else {
        None
    };
    let (_, symbols) = elf
        .symbols()
        .ok_or_else(|| Refused::Unsupported("it has no symbols".to_owned()))?;
    let names_info = |one: &Rela| {
        symbols
            .get(one.symbol as usize)
            .is_some_and(|symbol| symbol.is_section() && usize::from(symbol.section) == info)
    };
    for index in 0..elf.sections.len() {
        if elf.sections[index].kind != RELA {
            continue;
        }
        let of = elf.sections[index].info as usize;
        let mut all = elf.relocations(of)?.1;
        let mut touched = of == info;
        for one in &mut all {
            if names_info(one) {
                let new = layout.moved(one.addend.max(0) as usize) as i64;
                touched |= new != one.addend;
                one.addend = new;
            }
        }
        if of == info {
            all = all
                .into_iter()
                .filter_map(|one| {
                    let offset = layout.byte(one.offset as usize)? as u64;
                    Some(Rela { offset, ..one })
                })
                .collect();
            for one in &mut all {
                if one.offset as usize == abbreviation_field {
                    one.addend = i64::from(abbreviations);
                }
            }
            for edit in &layout.edits {
                if let (Some(list), Some(symbol)) = (edit.list, list_symbol) {
                    let end = layout.moved(edit.entry.offset) + edit.size;
                    all.push(Rela {
                        offset: (end - 4) as u64,
                        kind: ABSOLUTE_32,
                        symbol,
                        addend: i64::from(list),
                    });
                }
            }
        }
        if touched {
            elf.replace(index, rela_bytes(all))?;
        }
    }
    Ok(())
}

/// Turns the unit that moved away into one without content.
fn leave_hole(unit: &mut [u8], version: u16, abbreviations: u32, code: u64) -> Result<(), Refused> {
    let (header, field) = if version == 5 {
        unit[6] = 3; // a partial unit
        (12, 8)
    } else {
        (11, 6)
    };
    unit[field..field + 4].copy_from_slice(&abbreviations.to_le_bytes());
    let mut root = Vec::new();
    uleb(&mut root, code);
    let rest = unit
        .len()
        .checked_sub(header + root.len() + 4)
        .ok_or_else(|| Refused::Unsupported("a unit of a few bytes".to_owned()))?;
    root.extend((rest as u32).to_le_bytes());
    unit[header..].fill(0);
    unit[header..header + root.len()].copy_from_slice(&root);
    Ok(())
}

/// The unit's abbreviations, with new ones.
struct Table {
    start: usize,
    /// Where the terminating zero is.
    end: usize,
    last: bool,
    next: u64,
    new: Vec<u8>,
    /// Codes by what they stand for, old ones and new ones.
    known: HashMap<Vec<u8>, u64>,
}

/// The next number of `.debug_abbrev`.
fn number(bytes: &[u8], at: &mut usize) -> Result<u64, Refused> {
    let (mut value, mut shift) = (0u64, 0u32);
    loop {
        let byte = *bytes
            .get(*at)
            .ok_or_else(|| Refused::Damaged("`.debug_abbrev` is cut off".to_owned()))?;
        *at += 1;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
}

impl Table {
    fn read(sections: &Sections, found: &Found<'_>) -> Result<Table, Refused> {
        let bytes = sections.get(".debug_abbrev");
        let start = found.unit.header.debug_abbrev_offset().0;
        let mut at = start;
        let mut largest = 0;
        let mut known = HashMap::new();
        loop {
            let code = number(bytes, &mut at)?;
            if code == 0 {
                break;
            }
            largest = largest.max(code);
            let body = at;
            number(bytes, &mut at)?; // the tag
            number(bytes, &mut at)?; // one byte below 128: whether it has children
            loop {
                let (name, form) = (number(bytes, &mut at)?, number(bytes, &mut at)?);
                if form == u64::from(dw::DW_FORM_implicit_const.0) {
                    number(bytes, &mut at)?; // signed, of the same length
                }
                if name == 0 && form == 0 {
                    break;
                }
            }
            known.entry(bytes[body..at].to_vec()).or_insert(code);
        }
        Ok(Table {
            start,
            end: at - 1,
            last: at == bytes.len(),
            next: largest + 1,
            new: Vec::new(),
            known,
        })
    }

    /// The code for an entry without its old location, with or without a new one.
    fn code(&mut self, entry: &Entry<'_>, located: bool) -> u64 {
        let mut body = Vec::new();
        uleb(&mut body, u64::from(entry.tag.0));
        body.push(u8::from(entry.children));
        for attr in entry.attributes.iter().filter(|attr| !is_replaced(attr)) {
            uleb(&mut body, u64::from(attr.name.0));
            uleb(&mut body, u64::from(attr.form.0));
            if let Some(value) = attr.implicit {
                sleb(&mut body, value);
            }
        }
        if located {
            uleb(&mut body, u64::from(dw::DW_AT_location.0));
            uleb(&mut body, u64::from(dw::DW_FORM_sec_offset.0));
        }
        body.extend([0, 0]);
        self.declare(body)
    }

    /// The code for a unit without content. DWARF 4 has no mark for partial units in the header, and verifiers take all for whole.
    fn hole(&mut self, version: u16) -> u64 {
        let mut body = Vec::new();
        let tag = match version {
            5 => dw::DW_TAG_partial_unit,
            _ => dw::DW_TAG_compile_unit,
        };
        uleb(&mut body, u64::from(tag.0));
        body.push(0);
        uleb(&mut body, NOTHING);
        uleb(&mut body, u64::from(DwForm(0x04).0)); // a block whose length has four bytes
        body.extend([0, 0]);
        self.declare(body)
    }

    fn declare(&mut self, body: Vec<u8>) -> u64 {
        if let Some(code) = self.known.get(&body) {
            return *code;
        }
        let code = self.next;
        self.next += 1;
        uleb(&mut self.new, code);
        self.new.extend(&body);
        self.known.insert(body, code);
        code
    }

    /// Writes the table; where it is. The last table of the section grows, another one is copied to the end.
    fn place(&self, elf: &mut Elf, sections: &Sections) -> Result<u32, Refused> {
        let mut content = sections.get(".debug_abbrev").to_vec();
        let start = if self.last {
            content.splice(self.end..self.end, self.new.iter().copied());
            self.start
        } else {
            let start = content.len();
            let copy = content[self.start..self.end].to_vec();
            content.extend(copy);
            content.extend(&self.new);
            content.push(0);
            start
        };
        let index = elf
            .find(".debug_abbrev")?
            .ok_or_else(|| Refused::Damaged("`.debug_abbrev` is missing".to_owned()))?;
        elf.replace(index, content)?;
        u32::try_from(start).map_err(|_| Refused::Unsupported("4 GB of abbreviations".to_owned()))
    }
}
