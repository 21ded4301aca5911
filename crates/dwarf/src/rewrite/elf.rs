//! An ELF file as sections that can be replaced. What is loaded stays where it is, byte by byte; the rest is laid out anew,
//! in its old order, so that a changed section leaves no hole.
//!
//! *Why by hand:* the writers of the `object` crate build a file from what they understand of it; here everything that is not
//! touched has to come out as it came in, understood or not.

use super::Refused;

/// Size of a section header.
const HEADER: usize = 64;
/// Section types.
pub(super) const NOBITS: u32 = 8;
pub(super) const RELA: u32 = 4;
pub(super) const SYMTAB: u32 = 2;
const PROGBITS: u32 = 1;
const GROUP: u32 = 17;
const SYMTAB_SHNDX: u32 = 18;
const ADDRSIG: u32 = 0x6fff_4c03;
/// Section flags.
const ALLOC: u64 = 2;
const COMPRESSED: u64 = 0x800;
const INFO_LINK: u64 = 0x40;

/// A section.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) name: String,
    name_offset: u32,
    pub(super) kind: u32,
    pub(super) flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    align: u64,
    entry: u64,
    /// Its new content, if it has one.
    new: Option<Vec<u8>>,
}

/// A file in sections.
#[derive(Debug, Clone)]
pub(super) struct Elf {
    bytes: Vec<u8>,
    pub(super) sections: Vec<Section>,
    names: usize,
    /// Bytes before this stay where they are.
    kept: u64,
    /// A relocatable object.
    pub(super) relocatable: bool,
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(two.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// A relocation with an addend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rela {
    pub(super) offset: u64,
    pub(super) kind: u32,
    pub(super) symbol: u32,
    pub(super) addend: i64,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) info: u8,
    pub(super) section: u16,
    pub(super) value: u64,
    pub(super) size: u64,
}

impl Symbol {
    pub(super) fn is_section(&self) -> bool {
        self.info & 15 == 3
    }
    pub(super) fn is_function(&self) -> bool {
        self.info & 15 == 2
    }
}

impl Elf {
    pub(super) fn read(bytes: Vec<u8>) -> Result<Elf, Refused> {
        let lies = |what: &str| Refused::Damaged(what.to_owned());
        if bytes.get(..4) != Some(b"\x7fELF") {
            return Err(Refused::Foreign("it is no ELF file".to_owned()));
        }
        if bytes.get(4) != Some(&2) || bytes.get(5) != Some(&1) || u16_at(&bytes, 18) != Some(62) {
            return Err(Refused::Foreign(
                "it is not for 64-bit x86, little-endian".to_owned(),
            ));
        }
        let relocatable = match u16_at(&bytes, 16) {
            Some(1) => true,
            Some(2 | 3) => false,
            _ => return Err(Refused::Foreign("it is no object or program".to_owned())),
        };
        let table = u64_at(&bytes, 40).ok_or_else(|| lies("the ELF header is cut off"))?;
        let field = |at| u16_at(&bytes, at).ok_or_else(|| lies("the ELF header is cut off"));
        let (entry, count, names) = (field(58)?, field(60)?, field(62)?);
        let (segment_size, segments) = (field(54)?, field(56)?);
        let segment_table = u64_at(&bytes, 32).ok_or_else(|| lies("the ELF header is cut off"))?;
        if count == 0 || usize::from(entry) != HEADER || names >= count {
            return Err(lies("it has no section table that can be read"));
        }
        let mut kept = 64u64;
        for number in 0..u64::from(segments) {
            let at = segment_table
                .checked_add(number * u64::from(segment_size))
                .and_then(|at| usize::try_from(at).ok())
                .ok_or_else(|| lies("a program header lies outside the file"))?;
            let (offset, size) = u64_at(&bytes, at + 8)
                .zip(u64_at(&bytes, at + 32))
                .ok_or_else(|| lies("a program header lies outside the file"))?;
            let end = offset
                .checked_add(size)
                .filter(|end| *end <= bytes.len() as u64)
                .ok_or_else(|| lies("a segment lies outside the file"))?;
            kept = kept.max(end).max(at as u64 + u64::from(segment_size));
        }
        let mut sections = Vec::new();
        for number in 0..u64::from(count) {
            let at = table
                .checked_add(number * HEADER as u64)
                .and_then(|at| usize::try_from(at).ok())
                .ok_or_else(|| lies("the section table lies outside the file"))?;
            let word = |o| u32_at(&bytes, at + o);
            let long = |o| u64_at(&bytes, at + o);
            let section = (|| {
                Some(Section {
                    name: String::new(),
                    name_offset: word(0)?,
                    kind: word(4)?,
                    flags: long(8)?,
                    address: long(16)?,
                    offset: long(24)?,
                    size: long(32)?,
                    link: word(40)?,
                    info: word(44)?,
                    align: long(48)?,
                    entry: long(56)?,
                    new: None,
                })
            })()
            .ok_or_else(|| lies("the section table lies outside the file"))?;
            if section.kind != NOBITS && section.kind != 0 {
                let end = section.offset.checked_add(section.size);
                if end.is_none_or(|end| end > bytes.len() as u64) {
                    return Err(lies("a section lies outside the file"));
                }
                if !relocatable && section.flags & ALLOC != 0 {
                    kept = kept.max(section.offset + section.size);
                }
            }
            sections.push(section);
        }
        let mut elf = Elf {
            bytes,
            sections,
            names: usize::from(names),
            kept,
            relocatable,
        };
        let strings = elf.content(elf.names).to_vec();
        for section in &mut elf.sections {
            section.name = string(&strings, section.name_offset as usize)
                .ok_or_else(|| lies("a section's name lies outside its table"))?;
        }
        elf.check_overlaps()?;
        let last = elf
            .sections
            .iter()
            .filter(|section| section.kind != NOBITS && section.kind != 0)
            .map(|section| section.offset + section.size)
            .chain([kept, table + u64::from(count) * HEADER as u64])
            .max()
            .unwrap_or(kept);
        if elf.bytes.len() as u64 > last + 16 {
            return Err(Refused::Unsupported(
                "data lies behind its last section".to_owned(),
            ));
        }
        Ok(elf)
    }

    fn check_overlaps(&self) -> Result<(), Refused> {
        let mut ranges: Vec<(u64, u64, &str)> = self
            .sections
            .iter()
            .filter(|section| section.kind != NOBITS && section.kind != 0 && section.size > 0)
            .map(|section| {
                (
                    section.offset,
                    section.offset + section.size,
                    &*section.name,
                )
            })
            .collect();
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            if pair[1].0 < pair[0].1 {
                return Err(Refused::Damaged(format!(
                    "the sections `{}` and `{}` overlap",
                    pair[0].2, pair[1].2
                )));
            }
        }
        Ok(())
    }

    /// A section's bytes in the file, or its new ones.
    pub(super) fn content(&self, index: usize) -> &[u8] {
        let section = &self.sections[index];
        match &section.new {
            Some(new) => new,
            None if section.kind == NOBITS || section.kind == 0 => &[],
            None => {
                let start = section.offset as usize;
                &self.bytes[start..start + section.size as usize]
            }
        }
    }

    pub(super) fn file(&self) -> &[u8] {
        &self.bytes
    }

    /// The section of a name, if there is one; an error if there are several.
    pub(super) fn find(&self, name: &str) -> Result<Option<usize>, Refused> {
        let mut all = (0..self.sections.len()).filter(|index| self.sections[*index].name == name);
        let first = all.next();
        if all.next().is_some() {
            return Err(Refused::Unsupported(format!(
                "it has several sections `{name}` (type units or sections of groups)"
            )));
        }
        Ok(first)
    }

    /// Gives a section new content, uncompressed.
    pub(super) fn replace(&mut self, index: usize, content: Vec<u8>) -> Result<(), Refused> {
        let section = &mut self.sections[index];
        if section.flags & ALLOC != 0 || (section.offset < self.kept && section.size > 0) {
            return Err(Refused::Unsupported(format!(
                "`{}` lies among what is loaded",
                section.name
            )));
        }
        if section.flags & COMPRESSED != 0 {
            section.flags &= !COMPRESSED;
            section.align = 1;
        }
        section.new = Some(content);
        Ok(())
    }

    /// A new section that is not loaded; its number.
    pub(super) fn add(&mut self, like: Added<'_>, content: Vec<u8>) -> Result<usize, Refused> {
        if self.sections.len() >= 0xfe00 {
            return Err(Refused::Unsupported("it has too many sections".to_owned()));
        }
        let mut names = self.content(self.names).to_vec();
        let name_offset = names.len() as u32;
        names.extend(like.name.bytes());
        names.push(0);
        self.replace(self.names, names)?;
        self.sections.push(Section {
            name: like.name.to_owned(),
            name_offset,
            kind: if like.relocates.is_some() {
                RELA
            } else {
                PROGBITS
            },
            flags: if like.relocates.is_some() {
                INFO_LINK
            } else {
                0
            },
            address: 0,
            offset: u64::MAX,
            size: 0,
            link: like.link,
            info: like.relocates.unwrap_or(0),
            align: if like.relocates.is_some() { 8 } else { 1 },
            entry: if like.relocates.is_some() { 24 } else { 0 },
            new: Some(content),
        });
        Ok(self.sections.len() - 1)
    }

    /// The relocations of a section, and the number of the section that holds them.
    pub(super) fn relocations(&self, of: usize) -> Result<(Option<usize>, Vec<Rela>), Refused> {
        let mut found = (0..self.sections.len()).filter(|index| {
            let section = &self.sections[*index];
            section.kind == RELA && section.info as usize == of && self.relocatable
        });
        let Some(index) = found.next() else {
            return Ok((None, Vec::new()));
        };
        if found.next().is_some() {
            return Err(Refused::Unsupported(
                "a section with two lists of relocations".to_owned(),
            ));
        }
        let bytes = self.content(index);
        let all = bytes
            .chunks_exact(24)
            .filter_map(|one| {
                Some(Rela {
                    offset: u64_at(one, 0)?,
                    kind: u32_at(one, 8)?,
                    symbol: u32_at(one, 12)?,
                    addend: u64_at(one, 16)? as i64,
                })
            })
            .collect();
        Ok((Some(index), all))
    }

    /// The symbol table's number and its symbols.
    pub(super) fn symbols(&self) -> Option<(usize, Vec<Symbol>)> {
        let index = (0..self.sections.len()).find(|i| self.sections[*i].kind == SYMTAB)?;
        let strings = self.content(usize::try_from(self.sections[index].link).ok()?);
        let all = self
            .content(index)
            .chunks_exact(24)
            .map(|one| {
                Some(Symbol {
                    name: string(strings, u32_at(one, 0)? as usize)?,
                    info: one[4],
                    section: u16_at(one, 6)?,
                    value: u64_at(one, 8)?,
                    size: u64_at(one, 16)?,
                })
            })
            .collect::<Option<Vec<_>>>()?;
        Some((index, all))
    }

    /// The symbol of a section, made if there is none; its number.
    pub(super) fn section_symbol(&mut self, section: usize) -> Result<u32, Refused> {
        let (table, symbols) = self
            .symbols()
            .ok_or_else(|| Refused::Unsupported("it has no symbols".to_owned()))?;
        let known = symbols
            .iter()
            .position(|symbol| symbol.is_section() && usize::from(symbol.section) == section);
        if let Some(known) = known {
            return Ok(known as u32);
        }
        if self.sections.iter().any(|s| s.kind == SYMTAB_SHNDX) {
            return Err(Refused::Unsupported(
                "a table of large section numbers".to_owned(),
            ));
        }
        // local symbols come first: the new one is the last of them, and every number after it moves up
        let first_global = self.sections[table].info;
        let mut content = self.content(table).to_vec();
        let mut one = [0u8; 24];
        one[4] = 3;
        one[6..8].copy_from_slice(&(section as u16).to_le_bytes());
        let at = first_global as usize * 24;
        if at > content.len() {
            return Err(Refused::Damaged("the symbol table is cut off".to_owned()));
        }
        content.splice(at..at, one);
        self.replace(table, content)?;
        self.sections[table].info += 1;
        let moved = |number: u32| number + u32::from(number >= first_global);
        for index in 0..self.sections.len() {
            match self.sections[index].kind {
                RELA if self.sections[index].link as usize == table => {
                    let mut content = self.content(index).to_vec();
                    for one in content.chunks_exact_mut(24) {
                        let number = u32_at(one, 12).unwrap_or(0);
                        one[12..16].copy_from_slice(&moved(number).to_le_bytes());
                    }
                    self.sections[index].new = Some(content);
                }
                GROUP => self.sections[index].info = moved(self.sections[index].info),
                ADDRSIG => {
                    let content = renumbered(self.content(index), &moved)
                        .ok_or_else(|| Refused::Damaged("`.llvm_addrsig` is cut off".to_owned()))?;
                    self.sections[index].new = Some(content);
                }
                _ => {}
            }
        }
        Ok(first_global)
    }

    /// The file with its new sections.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = self.bytes[..self.kept as usize].to_vec();
        let mut order: Vec<usize> = (0..self.sections.len()).collect();
        order.sort_by_key(|index| (self.sections[*index].offset, *index));
        let mut places: Vec<(u64, u64)> = self
            .sections
            .iter()
            .map(|section| (section.offset, section.size))
            .collect();
        for index in order {
            let section = &self.sections[index];
            if section.kind == 0 || section.offset < self.kept {
                continue;
            }
            if section.kind == NOBITS {
                places[index].0 = out.len() as u64;
                continue;
            }
            let align = section.align.clamp(1, 4096) as usize;
            out.resize(out.len().next_multiple_of(align), 0);
            places[index] = (out.len() as u64, self.content(index).len() as u64);
            out.extend(self.content(index));
        }
        out.resize(out.len().next_multiple_of(8), 0);
        let table = out.len() as u64;
        for (section, (offset, size)) in self.sections.iter().zip(places) {
            out.extend(section.name_offset.to_le_bytes());
            out.extend(section.kind.to_le_bytes());
            out.extend(section.flags.to_le_bytes());
            out.extend(section.address.to_le_bytes());
            out.extend(offset.to_le_bytes());
            out.extend(size.to_le_bytes());
            out.extend(section.link.to_le_bytes());
            out.extend(section.info.to_le_bytes());
            out.extend(section.align.to_le_bytes());
            out.extend(section.entry.to_le_bytes());
        }
        out[40..48].copy_from_slice(&table.to_le_bytes());
        out[60..62].copy_from_slice(&(self.sections.len() as u16).to_le_bytes());
        out
    }
}

/// What a new section is.
pub(super) struct Added<'a> {
    pub(super) name: &'a str,
    /// The symbol table, for relocations.
    pub(super) link: u32,
    /// The section it relocates, for relocations.
    pub(super) relocates: Option<u32>,
}

fn string(table: &[u8], at: usize) -> Option<String> {
    let rest = table.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

/// A list of numbers in LEB128, each passed through a function.
fn renumbered(bytes: &[u8], moved: &dyn Fn(u32) -> u32) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut number, mut shift) = (0u32, 0);
    for byte in bytes {
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            super::uleb(&mut out, u64::from(moved(number)));
            (number, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(out)
}

/// Relocations as bytes, by offset.
pub(super) fn rela_bytes(mut all: Vec<Rela>) -> Vec<u8> {
    all.sort_by_key(|one| one.offset);
    let mut out = Vec::new();
    for one in all {
        out.extend(one.offset.to_le_bytes());
        out.extend(one.kind.to_le_bytes());
        out.extend(one.symbol.to_le_bytes());
        out.extend(one.addend.to_le_bytes());
    }
    out
}
