//! The file: its bytes (mapped or in memory), sections (decompressed when needed), symbols and thread-local block.
//!
//! gimli's readers borrow the bytes. To keep an [`Image`](crate::Image) one movable value, the borrows are stretched to
//! `'static` here, in one place, and never leave the crate; [`File`] owns what they point to.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{CompressionFormat, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable};

use crate::{Error, Literal, Svma};

/// How gimli reads the sections.
pub(crate) type Slice = gimli::EndianSlice<'static, gimli::LittleEndian>;

type Elf = ElfFile64<'static, object::LittleEndian>;

/// No section may unpack to more than this many times its packed size (zlib reaches about 1,000).
const MAX_EXPANSION: u64 = 4096;

/// A symbol of the file's symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its address.
    pub address: Svma,
    /// Its size in bytes; 0 when the file does not say.
    pub size: u64,
    /// Its sort.
    pub kind: SymbolKind,
}

/// What sort of thing a symbol names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable.
    Object,
    /// A thread-local variable; its address is an offset into the thread's block.
    ThreadLocal,
    /// Anything else.
    Other,
}

/// A symbol with an extent, for looking addresses up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) name: &'static str,
    pub(crate) kind: SymbolKind,
    /// Its place in the list of source names.
    index: u32,
}

#[derive(Debug)]
enum Storage {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Storage::Mapped(map) => map,
            Storage::Owned(bytes) => bytes,
        }
    }
}

#[derive(Debug, Default)]
struct SymbolTable {
    by_name: HashMap<&'static str, Symbol>,
    by_address: Vec<Extent>,
    /// For each of them the name in the source, and whether it differs from the symbol's.
    source_names: Vec<(Arc<str>, bool)>,
}

/// An opened ELF file.
#[derive(Debug)]
pub(crate) struct File {
    elf: Elf,
    symbols: OnceLock<SymbolTable>,
    /// Sections of constants, each with its address.
    read_only: OnceLock<Vec<(u64, &'static [u8])>>,
    /// Sections that had to be unpacked; the readers point into them.
    unpacked: Vec<Box<[u8]>>,
    storage: Storage,
}

/// Stretches a borrow of bytes that a [`File`] owns.
///
/// # Safety
/// The bytes must be on the heap or in a mapping, never be changed or moved, and live in the same [`File`] as everything that
/// is derived from the result.
unsafe fn stretch(bytes: &[u8]) -> &'static [u8] {
    // SAFETY: the caller keeps the bytes alive and in place; the length is that of the slice.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

impl File {
    pub(crate) fn open(path: &Path) -> Result<File, Error> {
        let io = |source| Error::Io {
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.is_dir() {
            return Err(Error::NotElf {
                met: "a directory".into(),
            });
        }
        // SAFETY: a private mapping of a build that nobody rewrites while candor looks at it; the same assumption that
        // debuggers make of the programs they map.
        let map = unsafe { memmap2::Mmap::map(&file) };
        match map {
            Ok(map) => File::new(Storage::Mapped(map)),
            // Empty and special files cannot be mapped; reading them gives the better message.
            Err(_) => File::from_bytes(std::fs::read(path).map_err(io)?),
        }
    }

    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Result<File, Error> {
        File::new(Storage::Owned(bytes))
    }

    /// A `.dwo` file: an object file whose debug sections need no relocation.
    pub(crate) fn open_object(path: &Path) -> Result<File, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::Io {
            path: path.to_owned(),
            source,
        })?;
        File::parse(Storage::Owned(bytes))
    }

    fn new(storage: Storage) -> Result<File, Error> {
        if check_header(storage.bytes())? == object::elf::ET_REL.0 {
            return Err(Error::NotElf {
                met: "an object file that is not linked yet".into(),
            });
        }
        File::parse(storage)
    }

    fn parse(storage: Storage) -> Result<File, Error> {
        check_header(storage.bytes())?;
        // SAFETY: the bytes are in a mapping or a vector that is never touched again and that moves into the result.
        let bytes = unsafe { stretch(storage.bytes()) };
        let elf = Elf::parse(bytes).map_err(|error| Error::NotElf {
            met: format!("a damaged ELF file ({error})"),
        })?;
        Ok(File {
            elf,
            symbols: OnceLock::new(),
            read_only: OnceLock::new(),
            unpacked: Vec::new(),
            storage,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.storage.bytes().len()
    }

    pub(crate) fn entry(&self) -> Svma {
        Svma(self.elf.entry())
    }

    pub(crate) fn is_pie(&self) -> bool {
        self.elf.elf_header().e_type(self.elf.endian()) == object::elf::ET_DYN
    }

    /// The bytes that are loaded from `address` on, to the end of what the file has of their segment.
    pub(crate) fn segment_bytes(&self, address: u64) -> Option<&[u8]> {
        use object::ObjectSegment;
        self.elf.segments().find_map(|segment| {
            let offset = address.checked_sub(segment.address())?;
            let bytes: &[u8] = segment.data().ok()?;
            bytes
                .get(usize::try_from(offset).ok()?..)
                .filter(|rest| !rest.is_empty())
        })
    }

    /// The sections with code, each with its address.
    pub(crate) fn code(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let is_code = |section: &object::read::elf::ElfSection64<'_, '_, object::LittleEndian>| {
            section.kind() == object::SectionKind::Text
        };
        self.elf
            .sections()
            .filter(is_code)
            .filter_map(|section| Some((section.address(), section.data().ok()?)))
    }

    /// The same with the sections' names.
    pub(crate) fn named_code(&self) -> impl Iterator<Item = (String, Svma, &[u8])> {
        let sections = self.elf.sections();
        sections
            .filter(|section| section.kind() == object::SectionKind::Text)
            .filter_map(|section| {
                let name = section.name().ok()?.to_owned();
                Some((name, Svma(section.address()), section.data().ok()?))
            })
    }

    /// The words that the dynamic linker fills with the addresses of functions.
    pub(crate) fn linkage(&self) -> BTreeMap<Svma, String> {
        let symbols = self.elf.dynamic_symbol_table();
        let relocations = self.elf.dynamic_relocations();
        let (Some(symbols), Some(relocations)) = (symbols, relocations) else {
            return BTreeMap::new();
        };
        relocations
            .filter_map(|(at, relocation)| {
                let object::RelocationTarget::Symbol(index) = relocation.target() else {
                    return None;
                };
                let name = symbols.symbol_by_index(index).ok()?.name().ok()?;
                Some((Svma(at), name.to_owned()))
            })
            .collect()
    }

    /// A section's bytes, unpacked; empty when there is none.
    pub(crate) fn section(&mut self, name: &str) -> Result<Slice, Error> {
        let bytes = match self.find(name)? {
            None => &[],
            Some(Cow::Borrowed(bytes)) => bytes,
            Some(Cow::Owned(bytes)) => {
                let bytes = bytes.into_boxed_slice();
                // SAFETY: boxed bytes keep their place when the box moves into `unpacked`, which only grows.
                let stretched = unsafe { stretch(&bytes) };
                self.unpacked.push(bytes);
                stretched
            }
        };
        Ok(Slice::new(bytes, gimli::LittleEndian))
    }

    fn find(&self, name: &str) -> Result<Option<Cow<'static, [u8]>>, Error> {
        let Some(section) = self.elf.section_by_name(name) else {
            return Ok(None);
        };
        let damaged = |error: object::Error| Error::malformed(format!("section {name}"), error);
        let range = section.compressed_file_range().map_err(damaged)?;
        if range.format != CompressionFormat::None {
            let limit = range
                .compressed_size
                .saturating_mul(MAX_EXPANSION)
                .saturating_add(4096);
            if range.uncompressed_size > limit {
                return Err(Error::TooLarge {
                    what: format!("compressed section {name}"),
                    limit,
                });
            }
        }
        section.uncompressed_data().map(Some).map_err(damaged)
    }

    /// Where a section is loaded.
    pub(crate) fn section_address(&self, name: &str) -> u64 {
        self.elf
            .section_by_name(name)
            .map_or(0, |section| section.address())
    }

    pub(crate) fn has_section(&self, name: &str) -> bool {
        self.elf.section_by_name(name).is_some()
    }

    /// Where bytes that a reader points to are in the file; `None` when they were unpacked.
    pub(crate) fn file_offset(&self, at: *const u8) -> Option<u64> {
        let base = self.storage.bytes().as_ptr() as usize;
        let offset = (at as usize).checked_sub(base)?;
        (offset <= self.len()).then_some(offset as u64)
    }

    pub(crate) fn debuglink(&self) -> Option<String> {
        let (name, _) = self.elf.gnu_debuglink().ok()??;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// How far below the thread pointer the program's own thread-local block starts (x86-64, variant II).
    pub(crate) fn tls_block(&self) -> Option<u64> {
        let endian = self.elf.endian();
        let header = self
            .elf
            .elf_program_headers()
            .iter()
            .find(|h| h.p_type(endian) == object::elf::PT_TLS)?;
        let align = header.p_align(endian).max(1);
        header.p_memsz(endian).checked_next_multiple_of(align)
    }

    fn table(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| {
            let mut table = SymbolTable::default();
            for symbol in self.elf.symbols().chain(self.elf.dynamic_symbols()) {
                let Ok(name) = symbol.name() else { continue };
                if symbol.is_undefined() || name.is_empty() {
                    continue;
                }
                let kind = match symbol.kind() {
                    object::SymbolKind::Text => SymbolKind::Function,
                    object::SymbolKind::Data => SymbolKind::Object,
                    object::SymbolKind::Tls => SymbolKind::ThreadLocal,
                    _ => SymbolKind::Other,
                };
                let found = Symbol {
                    address: Svma(symbol.address()),
                    size: symbol.size(),
                    kind,
                };
                if symbol.is_global() {
                    table.by_name.insert(name, found);
                } else {
                    table.by_name.entry(name).or_insert(found);
                }
                if matches!(kind, SymbolKind::Function | SymbolKind::Object) && symbol.size() > 0 {
                    table.by_address.push(Extent {
                        start: symbol.address(),
                        size: symbol.size(),
                        name,
                        kind,
                        index: 0,
                    });
                }
            }
            table
                .by_address
                .sort_by_key(|extent| (extent.start, std::cmp::Reverse(extent.size), extent.name));
            table.by_address.dedup_by_key(|extent| extent.start);
            for (index, extent) in (0..).zip(&mut table.by_address) {
                extent.index = index;
                let name = source_name(extent.name, extent.kind);
                table
                    .source_names
                    .push((Arc::from(name), name != extent.name));
            }
            table
        })
    }

    pub(crate) fn symbol(&self, name: &str) -> Option<Symbol> {
        self.table().by_name.get(name).cloned()
    }

    /// The name that a symbol has in the source, and whether the symbol's own differs.
    pub(crate) fn source_name(&self, extent: Extent) -> (Arc<str>, bool) {
        let names = &self.table().source_names;
        names
            .get(extent.index as usize)
            .cloned()
            .unwrap_or_else(|| (Arc::from(extent.name), false))
    }

    /// The read-only bytes at an address; `None` where something else is. `end_of` is what ends there.
    pub(crate) fn literal(&self, at: u64, end_of: Option<(Arc<str>, u64)>) -> Option<Literal> {
        let sections = self.read_only.get_or_init(|| {
            let kept = self.elf.sections().filter(|section| {
                section.kind() == object::SectionKind::ReadOnlyData
                    && section.address() > 0
                    && section
                        .name()
                        .is_ok_and(|name| name.starts_with(".rodata") || name == ".lrodata")
            });
            kept.filter_map(|section| Some((section.address(), section.data().ok()?)))
                .collect()
        });
        sections.iter().find_map(|(start, bytes)| {
            let offset = usize::try_from(at.checked_sub(*start)?).ok()?;
            if offset >= bytes.len() {
                return None;
            }
            // The C library's mark at the start of the constants; nothing of the program points past it.
            let marked = end_of
                .as_ref()
                .is_some_and(|(name, _)| **name == *"_IO_stdin_used");
            if marked {
                return Literal::at(bytes.get(offset..)?, 0, None);
            }
            Literal::at(bytes, offset, end_of.clone())
        })
    }

    /// Whether a compiler made the symbol up for something that has no name in the source.
    pub(crate) fn is_unnamed(&self, extent: Extent) -> bool {
        let made_up = [
            "__compound_literal",
            ".compoundliteral",
            "__func__",
            "__FUNCTION__",
            "__PRETTY_FUNCTION__",
            ".L",
            "switch.table",
            "CSWTCH",
        ];
        extent.kind == SymbolKind::Object
            && made_up.iter().any(|name| extent.name.starts_with(name))
    }

    /// The symbol that an address is in, and the one that ends there.
    pub(crate) fn extents_at(&self, at: u64) -> (Option<Extent>, Option<Extent>) {
        let extents = &self.table().by_address;
        let after = extents.partition_point(|extent| extent.start <= at);
        let inside = extents[..after]
            .last()
            .copied()
            .filter(|extent| at - extent.start < extent.size);
        let before = extents.partition_point(|extent| extent.start < at);
        let ending = extents[..before]
            .last()
            .copied()
            .filter(|extent| at - extent.start == extent.size);
        (inside, ending)
    }
}

/// Removes what compilers add: `x.0` (gcc) and `f.x` (clang) are the `x` inside a function, `f.isra.0` is `f`.
fn source_name(symbol: &str, kind: SymbolKind) -> &str {
    let is_added = |part: &&str| {
        part.bytes().all(|byte| byte.is_ascii_digit()) || ["lto_priv", "llvm"].contains(part)
    };
    let mut parts = symbol.split('.').filter(|part| !is_added(part));
    let name = if kind == SymbolKind::Function {
        parts.next()
    } else {
        parts.next_back()
    };
    name.unwrap_or(symbol)
}

/// Says precisely what is not a 64-bit x86-64 program, before the parser gives up in its own words.
/// Gives the type of the file.
fn check_header(bytes: &[u8]) -> Result<u16, Error> {
    use object::elf;
    let not_elf = |met: String| Err(Error::NotElf { met });
    if bytes.is_empty() {
        return not_elf("an empty file".into());
    }
    if !bytes.starts_with(&elf::ELFMAG) {
        return not_elf(match bytes {
            [b'#', b'!', ..] => "a script".into(),
            _ => format!(
                "a file that starts with {:02x?}",
                &bytes[..bytes.len().min(4)]
            ),
        });
    }
    let Some(header) = bytes.get(..64) else {
        return not_elf(format!("a damaged ELF file of {} bytes", bytes.len()));
    };
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if header[4] != elf::ELFCLASS64.0 {
        return Err(Error::WrongMachine {
            met: "a 32-bit ELF file".into(),
        });
    }
    if header[5] != elf::ELFDATA2LSB.0 {
        return Err(Error::WrongMachine {
            met: "a big-endian ELF file".into(),
        });
    }
    if half(18) != elf::EM_X86_64.0 {
        return Err(Error::WrongMachine {
            met: format!("an ELF file for machine number {}", half(18)),
        });
    }
    let kind = half(16);
    if [elf::ET_EXEC.0, elf::ET_DYN.0, elf::ET_REL.0].contains(&kind) {
        Ok(kind)
    } else {
        not_elf(format!("an ELF file of type {kind}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{SymbolKind, source_name};

    #[test]
    fn compilers_additions_are_removed_from_symbols() {
        let name = |symbol| source_name(symbol, SymbolKind::Object);
        assert_eq!(name("counter"), "counter");
        assert_eq!(name("counter.0"), "counter");
        assert_eq!(name("main.counter"), "counter");
        assert_eq!(name("main.counter.3"), "counter");
        assert_eq!(name("g.lto_priv.0"), "g");
        assert_eq!(name("main.local"), "local");
        assert_eq!(name(".12"), ".12");
        assert_eq!(
            source_name("f.constprop.0.isra.0", SymbolKind::Function),
            "f"
        );
    }
}
