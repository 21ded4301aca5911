//! What the library's file says without loading it: exported functions, function extents, identity.
//!
//! Extents come from `.eh_frame_hdr` and the entries it points to: they cover the local functions that
//! `.dynsym` does not name (two thirds of a libLLVM).

use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use object::read::elf::{ElfFile64, FileHeader, Rela};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::{Error, Svma};

/// A part of the library's file. Nothing is copied: every run is a fork, which costs what the process
/// holds in memory of its own.
#[derive(Clone, Debug, Default)]
pub struct Part {
    file: Option<Arc<Mmap>>,
    range: std::ops::Range<usize>,
}

impl Part {
    fn new(file: &Arc<Mmap>, part: &[u8]) -> Self {
        let first = (part.as_ptr() as usize).wrapping_sub(file.as_ptr() as usize);
        Part {
            file: Some(Arc::clone(file)),
            range: first..first.saturating_add(part.len()),
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.file
            .as_ref()
            .and_then(|file| file.get(self.range.clone()))
            .unwrap_or_default()
    }
}

/// A function of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Mangled, without the symbol version.
    pub name: Name,
    /// Where it starts.
    pub start: Svma,
    /// Its length in bytes.
    pub size: u64,
    /// Whether the linker may have chosen it among copies.
    pub weak: bool,
}

/// A symbol's name, in the file or (in tests) of its own.
#[derive(Clone, Debug)]
pub enum Name {
    /// In the file.
    There(Part),
    /// Not in any file.
    Own(&'static str),
}

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Name::There(part) => std::str::from_utf8(part.bytes()).unwrap_or_default(),
            Name::Own(name) => name,
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Name {}

/// The facts of one ELF library.
#[derive(Clone, Debug)]
pub struct Elf {
    /// Exported functions, sorted by address then name.
    pub exported: Vec<Exported>,
    /// Extents of all functions with unwind entries: (start, length), sorted.
    pub extents: Vec<(Svma, u64)>,
    /// First and one past the last address of `.text`.
    pub text: (Svma, Svma),
    /// The bytes of `.text`.
    pub code: Part,
    /// Hexadecimal; the file's size when there is no note.
    pub build_id: String,
    /// What it calls itself.
    pub soname: String,
    /// Whether it has line tables.
    pub has_lines: bool,
}

impl Default for Elf {
    fn default() -> Self {
        Elf {
            exported: Vec::new(),
            extents: Vec::new(),
            text: (Svma(0), Svma(0)),
            code: Part::default(),
            build_id: String::new(),
            soname: String::new(),
            has_lines: false,
        }
    }
}

impl Elf {
    /// Reads `path`.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = std::fs::File::open(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        // SAFETY: a library under /usr/lib or the like; if it is truncated while we read it, so is
        // every program that uses it.
        let data = unsafe { Mmap::map(&file) }.map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&Arc::new(data)).map_err(|reason| Error::NotALibrary {
            path: path.to_owned(),
            reason,
        })
    }

    fn parse(data: &Arc<Mmap>) -> Result<Self, String> {
        let file: ElfFile64<'_> = ElfFile64::parse(&data[..]).map_err(|error| error.to_string())?;
        if file.architecture() != object::Architecture::X86_64 {
            return Err(format!("it is for {:?}", file.architecture()));
        }
        let mut elf = Elf {
            soname: soname(&file).unwrap_or_default(),
            has_lines: file.section_by_name(".debug_line").is_some(),
            ..Elf::default()
        };
        elf.build_id = match file.build_id() {
            Ok(Some(id)) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
            _ => format!("size-{}", data.len()),
        };
        for symbol in file.dynamic_symbols() {
            if symbol.kind() != SymbolKind::Text || symbol.is_undefined() || symbol.address() == 0 {
                continue;
            }
            let Ok(name) = symbol.name() else { continue };
            elf.exported.push(Exported {
                name: Name::There(Part::new(
                    data,
                    name.split('@').next().unwrap_or(name).as_bytes(),
                )),
                start: Svma(symbol.address()),
                size: symbol.size(),
                weak: symbol.is_weak(),
            });
        }
        elf.exported
            .sort_by(|a, b| (a.start, &*a.name).cmp(&(b.start, &*b.name)));
        elf.exported.shrink_to_fit();
        if let Some(text) = file.section_by_name(".text") {
            elf.text = (Svma(text.address()), Svma(text.address() + text.size()));
            elf.code = Part::new(data, text.data().map_err(|error| error.to_string())?);
        }
        elf.extents = extents(&file).unwrap_or_default();
        Ok(elf)
    }

    /// The exported function that contains `address`, with the offset in it.
    pub fn exported_at(&self, address: Svma) -> Option<(&Exported, u64)> {
        let after = self.exported.partition_point(|one| one.start <= address);
        let last = self.exported.get(after.checked_sub(1)?)?;
        let first = self.exported.partition_point(|one| one.start < last.start);
        let offset = address.0 - last.start.0;
        // Constructors have two names for one address; the first in order is as good as the other.
        let one = self.exported.get(first)?;
        (offset < one.size.max(1)).then_some((one, offset))
    }

    /// The extent that contains `address`.
    pub fn extent_at(&self, address: Svma) -> Option<(Svma, u64)> {
        let after = self.extents.partition_point(|one| one.0 <= address);
        let &(start, length) = self.extents.get(after.checked_sub(1)?)?;
        (address.0 < start.0 + length).then_some((start, length))
    }

    /// Whether `address` is code of the library.
    pub fn contains(&self, address: Svma) -> bool {
        address >= self.text.0 && address < self.text.1
    }

    /// The code at `start`, if all of it is in `.text`.
    pub fn bytes(&self, start: Svma, length: u64) -> Option<&[u8]> {
        let first = usize::try_from(start.0.checked_sub(self.text.0.0)?).ok()?;
        let last = first.checked_add(usize::try_from(length).ok()?)?;
        self.code.bytes().get(first..last)
    }
}

fn soname(file: &ElfFile64<'_>) -> Option<String> {
    let endian = file.endian();
    let data = file.data();
    let sections = file.elf_header().sections(endian, data).ok()?;
    let (dynamic, link) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, link).ok()?;
    for entry in dynamic {
        use object::read::elf::Dyn;
        if entry.d_tag(endian) == object::elf::DT_SONAME {
            let offset = u32::try_from(entry.d_val(endian)).ok()?;
            return Some(String::from_utf8_lossy(strings.get(offset).ok()?).into_owned());
        }
    }
    None
}

/// Function extents through the binary search table of `.eh_frame_hdr` (pc-relative 4-byte pointers
/// in both, as every linker writes them; anything else gives `None`).
fn extents(file: &ElfFile64<'_>) -> Option<Vec<(Svma, u64)>> {
    let header = file.section_by_name(".eh_frame_hdr")?;
    let table = header.data().ok()?;
    let frames = file.section_by_name(".eh_frame")?;
    let entries = frames.data().ok()?;
    let word = |data: &[u8], at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?))
    };
    // version 1, pcrel sdata4 pointer, udata4 count, datarel sdata4 table.
    if table.get(..4)? != [1, 0x1b, 0x03, 0x3b] {
        return None;
    }
    let count = word(table, 8)? as usize;
    let mut all = Vec::with_capacity(count);
    for index in 0..count {
        let at = 12 + index * 8;
        let relative = |value: u32| {
            header
                .address()
                .wrapping_add_signed(i64::from(value as i32))
        };
        let start = relative(word(table, at)?);
        let entry = relative(word(table, at + 4)?);
        let at = usize::try_from(entry.checked_sub(frames.address())?).ok()?;
        // length, CIE pointer, start, range
        let range = word(entries, at + 12)?;
        all.push((Svma(start), u64::from(range)));
    }
    all.sort_unstable();
    Some(all)
}

/// Relocation offsets and types of an object's section, for [`crate::attribute`]. Here because only
/// this file knows the object crate's ELF types.
pub(crate) fn relocations(file: &ElfFile64<'_>, section: object::SectionIndex) -> Vec<(u64, u32)> {
    let endian = file.endian();
    let data = file.data();
    let mut all = Vec::new();
    let Ok(sections) = file.elf_header().sections(endian, data) else {
        return all;
    };
    for header in sections.iter() {
        use object::read::elf::SectionHeader;
        if header.sh_info(endian) as usize != section.0 {
            continue;
        }
        if let Ok(Some((entries, _))) = header.rela(endian, data) {
            for entry in entries {
                all.push((entry.r_offset(endian), entry.r_type(endian, false).0));
            }
        }
    }
    all
}
