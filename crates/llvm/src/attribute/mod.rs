//! Names for addresses in the library: which function, of which object file, on which line.
//!
//! Exported symbols name a third of a libLLVM's functions. The rest are in the static archives of the
//! `-dev` package, which hold the very objects the library was linked from (`archive`). Lines come
//! from the library's own debug information if it has any, else from recompiling one source file with
//! the same compiler, which gives the same code (`recompile`). Both are optional: without them an
//! address is a function and an offset, or an offset alone.

mod archive;
mod recompile;

use std::collections::BTreeMap;
use std::path::Path;

pub use recompile::{Lines, Located, SourceLine, find_source};

use crate::{Error, Library, Svma};

/// A function's name and where it was compiled.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Name {
    /// As the linker knows it.
    pub mangled: String,
    /// As a reader knows it, without parameters.
    pub plain: String,
    /// `TailRecursionElimination.cpp`; none for inline functions, which are compiled everywhere.
    pub file: Option<String>,
    /// `ScalarOpts`, of the archive; empty when only `.dynsym` is known.
    pub part: String,
}

/// A return address, named as far as possible.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Frame {
    /// The address.
    pub address: Svma,
    /// The function's start.
    pub start: Option<Svma>,
    /// The function.
    pub name: Option<Name>,
    /// How far into it.
    pub offset: u64,
}

impl Frame {
    /// `TailRecursionEliminator::cleanupAndFinalize+0x1f2`.
    pub fn describe(&self) -> String {
        match (&self.name, self.start) {
            (Some(name), _) => format!("{}+{:#x}", name.plain, self.offset),
            (None, Some(start)) => format!("unnamed function {start}+{:#x}", self.offset),
            (None, None) => format!("address {}", self.address),
        }
    }
}

/// Names of one library.
#[derive(Clone, Debug)]
pub struct Names {
    by_start: BTreeMap<Svma, Name>,
    /// Whether archives were used.
    pub complete: bool,
}

impl Names {
    /// All names that can be had without compiling anything. What the archives say is kept in `cache`
    /// by the library's build-id.
    pub fn of(library: &Library, cache: Option<&Path>) -> Result<Self, Error> {
        let mut by_start = BTreeMap::new();
        for one in &library.elf.exported {
            by_start.entry(one.start).or_insert_with(|| Name {
                mangled: one.name.to_string(),
                plain: String::new(),
                file: None,
                part: String::new(),
            });
        }
        let file = cache.map(|place| place.join(format!("{}.names", library.elf.build_id)));
        let known = file.as_deref().and_then(archive::load);
        let fresh = known.is_none();
        let found = match (known, library.archives()) {
            (Some(known), _) => Some(known),
            (None, Some(place)) => Some(archive::index(library, &place)?),
            (None, None) => None,
        };
        let complete = found.is_some();
        if let Some(found) = found {
            if let (true, Some(file)) = (fresh, &file) {
                archive::save(file, &found)?;
            }
            for one in found {
                let entry = by_start.entry(one.start);
                let exported = matches!(entry, std::collections::btree_map::Entry::Occupied(_));
                let name = entry.or_insert_with(|| Name {
                    mangled: one.mangled.clone(),
                    plain: String::new(),
                    file: None,
                    part: String::new(),
                });
                // An exported name stands; the archive only adds where it was compiled.
                if !exported || name.mangled == one.mangled {
                    name.part = one.part;
                    name.file = (!one.weak).then_some(one.file);
                }
            }
        }
        Ok(Names { by_start, complete })
    }

    /// Names a return address.
    pub fn frame(&self, library: &Library, address: Svma) -> Frame {
        // A call may be the last instruction of its function.
        let call = Svma(address.0.saturating_sub(1));
        let start = library
            .elf
            .extent_at(call)
            .map(|(start, _)| start)
            .or_else(|| library.elf.exported_at(call).map(|(one, _)| one.start));
        let name = start.and_then(|start| self.by_start.get(&start)).cloned();
        Frame {
            address,
            start,
            offset: start.map_or(0, |start| address.0 - start.0),
            name: name.map(|name| Name {
                plain: demangle(&name.mangled),
                ..name
            }),
        }
    }
}

/// The function's name without parameters and without the `llvm::` everything has.
fn demangle(mangled: &str) -> String {
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    cpp_demangle::Symbol::new(mangled)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| mangled.to_owned())
        .replace("llvm::", "")
        .replace("(anonymous namespace)::", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable() {
        assert_eq!(
            demangle("_ZNK4llvm11Instruction5cloneEv"),
            "Instruction::clone"
        );
        assert_eq!(demangle("LLVMContextCreate"), "LLVMContextCreate");
        assert_eq!(
            demangle("_ZN12_GLOBAL__N_123TailRecursionEliminator18cleanupAndFinalizeEv"),
            "TailRecursionEliminator::cleanupAndFinalize"
        );
    }
}
