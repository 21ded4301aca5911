//! Local functions' names from the `-dev` package's static archives.
//!
//! The library was linked from the same objects: a function of an object is in the library where an
//! unwind entry has its length and the bytes are equal but for relocated fields. (Relaxation by the
//! linker changes up to three bytes before a GOT-relative field, so those are not compared either.)

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use crate::elf::{Elf, relocations};
use crate::{Error, Library, Svma};

/// Where passes and the IR itself live. Back ends are left out: their passes are not in the registry
/// that pipelines draw from.
const PARTS: [&str; 12] = [
    "Core",
    "TransformUtils",
    "ScalarOpts",
    "InstCombine",
    "AggressiveInstCombine",
    "Vectorize",
    "ipo",
    "Analysis",
    "Instrumentation",
    "Coroutines",
    "ObjCARCOpts",
    "CodeGen",
];

/// Shorter functions are alike too often.
const SHORTEST: u64 = 16;

/// A function of an archive, placed in the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub start: Svma,
    pub mangled: String,
    pub file: String,
    pub part: String,
    pub weak: bool,
}

/// Places every function of the archives below `place`.
pub fn index(library: &Library, place: &Path) -> Result<Vec<Placed>, Error> {
    let mut by_length: FxHashMap<u64, Vec<Svma>> = FxHashMap::default();
    for &(start, length) in &library.elf.extents {
        if length >= SHORTEST {
            by_length.entry(length).or_default().push(start);
        }
    }
    let mut best: BTreeMap<Svma, Placed> = BTreeMap::new();
    for part in PARTS {
        let path = place.join(format!("libLLVM{part}.a"));
        // Older versions lack some of the parts.
        if path.is_file() {
            index_archive(&library.elf, &by_length, &path, part, &mut best)?;
        }
    }
    Ok(best.into_values().collect())
}

fn index_archive(
    elf: &Elf,
    by_length: &FxHashMap<u64, Vec<Svma>>,
    path: &Path,
    part: &str,
    best: &mut BTreeMap<Svma, Placed>,
) -> Result<(), Error> {
    let wrong = |reason: String| Error::Archive {
        path: path.to_owned(),
        reason,
    };
    let file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    // SAFETY: a package's file; see `Elf::read`.
    let data = unsafe { memmap2::Mmap::map(&file) }.map_err(|error| wrong(error.to_string()))?;
    let archive = ArchiveFile::parse(&*data).map_err(|error| wrong(error.to_string()))?;
    for member in archive.members() {
        let member = member.map_err(|error| wrong(error.to_string()))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let bytes = member
            .data(&*data)
            .map_err(|error| wrong(error.to_string()))?;
        let Ok(object) = ElfFile64::parse(bytes) else {
            continue;
        };
        let source = name.strip_suffix(".o").unwrap_or(&name);
        place_object(elf, by_length, &object, |start, symbol, weak| {
            let new = Placed {
                start,
                mangled: symbol.to_owned(),
                file: source.to_owned(),
                part: part.to_owned(),
                weak,
            };
            // A function that only this file has beats one that every file may have.
            match best.get(&start) {
                Some(known) if !known.weak || weak => {}
                _ => {
                    best.insert(start, new);
                }
            }
        });
    }
    Ok(())
}

/// Calls `found` for each function of `object` that is in the library.
pub fn place_object(
    elf: &Elf,
    by_length: &FxHashMap<u64, Vec<Svma>>,
    object: &ElfFile64<'_>,
    mut found: impl FnMut(Svma, &str, bool),
) {
    let mut fields: FxHashMap<usize, Vec<(u64, u32)>> = FxHashMap::default();
    for symbol in object.symbols() {
        let Some(index) = symbol.section_index() else {
            continue;
        };
        if symbol.kind() != SymbolKind::Text {
            continue;
        }
        let Some(candidates) = by_length.get(&symbol.size()) else {
            continue;
        };
        let Ok(name) = symbol.name() else { continue };
        let Ok(section) = object.section_by_index(index) else {
            continue;
        };
        let Ok(code) = section.data() else { continue };
        let first = usize::try_from(symbol.address()).unwrap_or(usize::MAX);
        let length = usize::try_from(symbol.size()).unwrap_or(usize::MAX);
        let Some(code) = first
            .checked_add(length)
            .and_then(|last| code.get(first..last))
        else {
            continue;
        };
        let relocated = fields
            .entry(index.0)
            .or_insert_with(|| relocations(object, index));
        let compared = compared_bytes(code.len(), first as u64, relocated);
        for &start in candidates {
            if let Some(bytes) = elf.bytes(start, symbol.size())
                && code
                    .iter()
                    .zip(bytes)
                    .zip(&compared)
                    .all(|((ours, theirs), compare)| !compare || ours == theirs)
            {
                found(start, name, symbol.is_weak());
            }
        }
    }
}

/// Which bytes of a function do not depend on where it was linked.
fn compared_bytes(length: usize, first: u64, relocated: &[(u64, u32)]) -> Vec<bool> {
    /// R_X86_64_GOTPCREL, GOTPCRELX, REX_GOTPCRELX.
    const RELAXABLE: [u32; 3] = [9, 41, 42];
    let mut compared = vec![true; length];
    for &(offset, kind) in relocated {
        let Some(at) = offset.checked_sub(first).map(|at| at as usize) else {
            continue;
        };
        let from = match RELAXABLE.contains(&kind) {
            true => at.saturating_sub(3),
            false => at,
        };
        for byte in compared.iter_mut().take(at.saturating_add(4)).skip(from) {
            *byte = false;
        }
    }
    compared
}

/// What `save` wrote; none when it is not there or not readable.
pub fn load(path: &Path) -> Option<Vec<Placed>> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines()
        .map(|line| {
            let mut fields = line.split('\t');
            Some(Placed {
                start: Svma(u64::from_str_radix(fields.next()?, 16).ok()?),
                weak: fields.next()? == "w",
                part: fields.next()?.to_owned(),
                file: fields.next()?.to_owned(),
                mangled: fields.next()?.to_owned(),
            })
        })
        .collect()
}

/// Keeps an index; written under another name first.
pub fn save(path: &Path, all: &[Placed]) -> Result<(), Error> {
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Read { path, source }
    };
    let mut text = String::new();
    for one in all {
        let weak = if one.weak { 'w' } else { '-' };
        text.push_str(&format!(
            "{:x}\t{weak}\t{}\t{}\t{}\n",
            one.start, one.part, one.file, one.mangled
        ));
    }
    let parent: PathBuf = path.parent().map(Path::to_owned).unwrap_or_default();
    std::fs::create_dir_all(&parent).map_err(wrong(&parent))?;
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&temporary, text).map_err(wrong(&temporary))?;
    std::fs::rename(&temporary, path).map_err(wrong(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relocated_fields_are_not_compared() {
        // A call's field at 4 and a relaxable one at 12 of a function that starts at 100.
        let compared = compared_bytes(16, 100, &[(104, 4), (112, 42), (20, 4)]);
        let expected: Vec<bool> = (0..16)
            .map(|n| !((4..8).contains(&n) || (9..16).contains(&n)))
            .collect();
        assert_eq!(compared, expected);
    }

    #[test]
    fn an_index_survives_saving() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b.names");
        let all = vec![Placed {
            start: Svma(0x1234),
            mangled: "_ZN1aEv".into(),
            file: "A.cpp".into(),
            part: "ScalarOpts".into(),
            weak: true,
        }];
        assert_eq!(load(&path), None);
        save(&path, &all).unwrap();
        assert_eq!(load(&path), Some(all));
    }
}
