//! The machine program: an ELF object or executable, its symbols, and the code of one function.
//!
//! Addresses are places: a *unit* that moves as a whole, and an offset in it. The image of a position-independent
//! executable is one unit, each section of a relocatable object is one, and so is each symbol it lacks; in
//! an executable that is not relocated, addresses are numbers. So a proof holds wherever the units are put.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use iced_x86::{Decoder, DecoderOptions, FastFormatter, Instruction};
use object::{
    Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SymbolKind,
};

use crate::Error;
use crate::x86::{Op, Place};

/// An instruction as text.
pub fn listing(instruction: &Instruction) -> String {
    let mut text = String::new();
    let mut formatter = FastFormatter::new();
    formatter
        .options_mut()
        .set_space_after_operand_separator(true);
    formatter.format(instruction, &mut text);
    text
}

/// A part of the program that moves as a whole.
#[derive(Clone, Debug)]
pub struct Unit {
    /// For people.
    pub name: String,
    /// Its alignment.
    pub align: u64,
    /// Its size, where known.
    pub size: u64,
}

/// A named place.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Its size in bytes.
    pub size: u64,
    /// A function, or data.
    pub function: bool,
}

/// Bytes that never change while the program runs.
#[derive(Clone, Debug)]
struct Constant {
    place: Place,
    bytes: Vec<u8>,
}

/// Executable bytes.
#[derive(Clone, Debug)]
struct Text {
    place: Place,
    bytes: Vec<u8>,
    relocations: BTreeMap<u64, Relocation>,
}

#[derive(Clone, Copy, Debug)]
struct Relocation {
    symbol: usize,
    addend: i64,
    kind: u32,
}

/// An object or executable.
#[derive(Clone, Debug)]
pub struct Image {
    /// The file.
    pub path: PathBuf,
    /// Units, by index.
    pub units: Vec<Unit>,
    /// Functions and data, by name.
    pub symbols: BTreeMap<String, Symbol>,
    constants: Vec<Constant>,
    texts: Vec<Text>,
    /// Targets of relocations.
    targets: Vec<(Option<String>, Place)>,
    /// Slots of the procedure linkage table's addresses, by place.
    imports: BTreeMap<u64, String>,
    /// Whether addresses are numbers.
    pub fixed: bool,
    /// Whether it is an object that is not linked yet.
    pub relocatable: bool,
}

const PC32: u32 = 2;
const PLT32: u32 = 4;
const GOTPCREL: [u32; 3] = [9, 41, 42];
const ABSOLUTE: [u32; 3] = [1, 10, 11];
/// A file above this is not read.
const LARGEST: u64 = 2 << 30;

impl Image {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let file_error = |source| Error::File {
            doing: "read",
            path: path.to_owned(),
            source,
        };
        let size = std::fs::metadata(path).map_err(file_error)?.len();
        let refuse = |reason: String| Error::NotAnImage {
            path: path.to_owned(),
            reason,
        };
        if size > LARGEST {
            return Err(refuse(format!("it has {size} bytes, more than {LARGEST}")));
        }
        let bytes = std::fs::read(path).map_err(file_error)?;
        let file = object::File::parse(&*bytes).map_err(|error| refuse(error.to_string()))?;
        if file.format() != object::BinaryFormat::Elf {
            return Err(refuse(format!("it is a {:?} file", file.format())));
        }
        if file.architecture() != object::Architecture::X86_64 {
            return Err(refuse(format!("it is for {:?}", file.architecture())));
        }
        let mut image = Image {
            path: path.to_owned(),
            units: Vec::new(),
            symbols: BTreeMap::new(),
            constants: Vec::new(),
            texts: Vec::new(),
            targets: Vec::new(),
            imports: BTreeMap::new(),
            fixed: false,
            relocatable: file.kind() == ObjectKind::Relocatable,
        };
        let relocatable = match file.kind() {
            ObjectKind::Relocatable => true,
            ObjectKind::Executable => {
                image.fixed = true;
                false
            }
            ObjectKind::Dynamic => {
                image.units.push(Unit {
                    name: "image".to_owned(),
                    align: 4096,
                    size: 0,
                });
                false
            }
            kind => return Err(refuse(format!("it is a {kind:?} file"))),
        };
        image.read_sections(&file, relocatable).map_err(refuse)?;
        Ok(image)
    }

    fn read_sections(&mut self, file: &object::File<'_>, relocatable: bool) -> Result<(), String> {
        let image_unit = (!self.fixed && !relocatable).then_some(0);
        let mut unit_of: BTreeMap<usize, u32> = BTreeMap::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                continue;
            };
            if !sh_flags.contains(object::elf::SHF_ALLOC) {
                continue;
            }
            let place = if relocatable {
                let unit = self.units.len() as u32;
                unit_of.insert(section.index().0, unit);
                self.units.push(Unit {
                    name: section.name().unwrap_or("section").to_owned(),
                    align: section.align().max(1),
                    size: section.size(),
                });
                Place {
                    unit: Some(unit),
                    offset: 0,
                }
            } else {
                Place {
                    unit: image_unit,
                    offset: section.address() as i64,
                }
            };
            let writable = sh_flags.contains(object::elf::SHF_WRITE);
            let executable = sh_flags.contains(object::elf::SHF_EXECINSTR);
            if writable {
                continue;
            }
            let bytes = section
                .data()
                .map_err(|error| {
                    let name = section.name().unwrap_or("?");
                    format!("section {name} cannot be read: {error}")
                })?
                .to_vec();
            if executable {
                self.texts.push(Text {
                    place,
                    bytes,
                    relocations: BTreeMap::new(),
                });
            } else if !bytes.is_empty() && section.relocations().next().is_none() {
                self.constants.push(Constant { place, bytes });
            }
        }
        let mut target_of: BTreeMap<usize, usize> = BTreeMap::new();
        for symbol in file.symbols() {
            self.read_symbol(&symbol, relocatable, image_unit, &unit_of, &mut target_of);
        }
        if relocatable {
            for section in file.sections() {
                let Some(unit) = unit_of.get(&section.index().0) else {
                    continue;
                };
                for (offset, relocation) in section.relocations() {
                    let RelocationTarget::Symbol(symbol) = relocation.target() else {
                        continue;
                    };
                    let RelocationFlags::Elf { r_type } = relocation.flags() else {
                        continue;
                    };
                    let Some(target) = target_of.get(&symbol.0) else {
                        continue;
                    };
                    let entry = Relocation {
                        symbol: *target,
                        addend: relocation.addend(),
                        kind: r_type.0,
                    };
                    if let Some(text) = self
                        .texts
                        .iter_mut()
                        .find(|text| text.place.unit == Some(*unit))
                    {
                        text.relocations.insert(offset, entry);
                    }
                }
            }
        } else if let Some(relocations) = file.dynamic_relocations() {
            use object::ObjectSymbolTable as _;
            for (at, relocation) in relocations {
                if let RelocationTarget::Symbol(index) = relocation.target()
                    && let Some(table) = file.dynamic_symbol_table()
                    && let Ok(symbol) = table.symbol_by_index(index)
                    && let Ok(name) = symbol.name()
                {
                    self.imports.insert(at, name.to_owned());
                }
            }
        }
        Ok(())
    }

    fn read_symbol(
        &mut self,
        symbol: &object::Symbol<'_, '_>,
        relocatable: bool,
        image_unit: Option<u32>,
        unit_of: &BTreeMap<usize, u32>,
        target_of: &mut BTreeMap<usize, usize>,
    ) {
        let name = symbol.name().unwrap_or_default().to_owned();
        let place = if !relocatable {
            if symbol.is_undefined() {
                return;
            }
            Place {
                unit: image_unit,
                offset: symbol.address() as i64,
            }
        } else if let Some(section) = symbol.section_index() {
            let Some(unit) = unit_of.get(&section.0) else {
                return;
            };
            Place {
                unit: Some(*unit),
                offset: symbol.address() as i64,
            }
        } else if symbol.is_undefined() || symbol.is_common() {
            if name.is_empty() {
                return;
            }
            let unit = self.units.len() as u32;
            self.units.push(Unit {
                name: name.clone(),
                align: 1,
                size: symbol.size(),
            });
            Place {
                unit: Some(unit),
                offset: 0,
            }
        } else {
            return;
        };
        target_of.insert(symbol.index().0, self.targets.len());
        let named =
            (!name.is_empty() && symbol.kind() != SymbolKind::Section).then(|| name.clone());
        self.targets.push((named, place));
        let kind = symbol.kind();
        let function = kind == SymbolKind::Text;
        if name.is_empty()
            || !(function
                || kind == SymbolKind::Data
                || symbol.is_undefined()
                || symbol.is_common())
        {
            return;
        }
        let entry = Symbol {
            name: name.clone(),
            place,
            size: symbol.size(),
            function,
        };
        self.symbols.entry(name).or_insert(entry);
    }

    /// Names of the functions with code in the file.
    pub fn functions(&self) -> Vec<&str> {
        self.symbols
            .values()
            .filter(|symbol| symbol.function && symbol.size > 0)
            .map(|symbol| symbol.name.as_str())
            .collect()
    }

    /// Whether there are no function symbols at all.
    pub fn is_stripped(&self) -> bool {
        !self.symbols.values().any(|symbol| symbol.function)
    }

    /// Constant bytes at a place.
    pub fn constant(&self, place: Place, length: u8) -> Option<&[u8]> {
        self.constants.iter().find_map(|constant| {
            if constant.place.unit != place.unit {
                return None;
            }
            let from = place.offset.checked_sub(constant.place.offset)?;
            let from = usize::try_from(from).ok()?;
            constant
                .bytes
                .get(from..from.checked_add(usize::from(length))?)
        })
    }

    fn symbol_at(&self, place: Place) -> Option<&Symbol> {
        self.symbols
            .values()
            .find(|symbol| symbol.function && symbol.place == place)
    }

    /// Name of the function behind a stub of the procedure linkage table.
    fn import_at(&self, place: Place) -> Option<String> {
        let text = self.texts.iter().find(|text| text.contains(place))?;
        let from = (place.offset - text.place.offset) as usize;
        let bytes = &text.bytes[from..];
        let mut decoder = Decoder::with_ip(64, bytes, place.offset as u64, DecoderOptions::NONE);
        for _ in 0..3 {
            let instruction = decoder.decode();
            if instruction.is_jmp_near_indirect() && instruction.is_ip_rel_memory_operand() {
                return self
                    .imports
                    .get(&instruction.ip_rel_memory_address())
                    .cloned();
            }
        }
        None
    }

    /// The code of a function.
    pub fn code(&self, name: &str) -> Result<Code, String> {
        let symbol = self
            .symbols
            .get(name)
            .filter(|symbol| symbol.function && symbol.place_is_defined(self))
            .ok_or_else(|| {
                format!(
                    "the object holds no function `{name}`: it was inlined everywhere and dropped, or renamed (static, .isra, .constprop)"
                )
            })?;
        let text = self
            .texts
            .iter()
            .find(|text| text.contains(symbol.place))
            .ok_or_else(|| format!("the symbol `{name}` does not lie in executable code"))?;
        let from = (symbol.place.offset - text.place.offset) as usize;
        let bytes = usize::try_from(symbol.size)
            .ok()
            .and_then(|size| from.checked_add(size))
            .and_then(|end| text.bytes.get(from..end))
            .ok_or_else(|| format!("the symbol `{name}` reaches beyond its section"))?;
        if bytes.is_empty() {
            return Err(format!("the symbol `{name}` has no size"));
        }
        if bytes.len() > 1 << 16 {
            return Err(format!(
                "`{name}` has {} bytes of code, more than 65536",
                bytes.len()
            ));
        }
        let start = symbol.place.offset as u64;
        let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
        let mut ops = BTreeMap::new();
        while decoder.can_decode() {
            let raw = decoder.decode();
            let offsets = decoder.get_constant_offsets(&raw);
            let mut op = Op {
                raw,
                displacement: None,
                immediate: None,
                table_slot: None,
                callee: None,
            };
            if !raw.is_invalid() {
                self.resolve(text, &mut op, &offsets)?;
            }
            ops.insert(raw.ip(), op);
        }
        Code::new(name, start, ops)
    }

    /// Finds out what the fields of an instruction refer to.
    fn resolve(
        &self,
        text: &Text,
        op: &mut Op,
        offsets: &iced_x86::ConstantOffsets,
    ) -> Result<(), String> {
        let raw = op.raw;
        let in_section = |field: usize| raw.ip() + field as u64 - text.place.offset as u64;
        let relocation = |field: usize| text.relocations.get(&in_section(field)).copied();
        let refuse = |kind: u32| {
            Err(format!(
                "`{}` has a relocation of type {kind}, which is not supported",
                listing(&raw)
            ))
        };
        let target = |entry: Relocation, correction: i64| {
            let (name, place) = &self.targets[entry.symbol];
            let place = Place {
                unit: place.unit,
                offset: place
                    .offset
                    .wrapping_add(entry.addend)
                    .wrapping_add(correction),
            };
            (name.clone(), place)
        };
        if offsets.has_displacement() && raw.is_ip_rel_memory_operand() {
            let field = offsets.displacement_offset();
            op.displacement = Some(match relocation(field) {
                Some(entry) => {
                    let after = (raw.next_ip() - raw.ip()) as i64 - field as i64;
                    let (_, place) = target(entry, after);
                    if GOTPCREL.contains(&entry.kind) {
                        if entry.addend + after != 0 {
                            return refuse(entry.kind);
                        }
                        op.table_slot = Some(place);
                    } else if entry.kind != PC32 && entry.kind != PLT32 {
                        return refuse(entry.kind);
                    }
                    place
                }
                None => Place {
                    unit: text.place.unit,
                    offset: raw.ip_rel_memory_address() as i64,
                },
            });
        } else if offsets.has_displacement()
            && let Some(entry) = relocation(offsets.displacement_offset())
        {
            if !ABSOLUTE.contains(&entry.kind) {
                return refuse(entry.kind);
            }
            op.displacement = Some(target(entry, 0).1);
        }
        let near_call = raw.is_call_near();
        if near_call {
            // the field of a near call or jump is decoded as an immediate of 4 bytes at its end
            let field = raw.len() - 4;
            op.callee = match relocation(field) {
                Some(entry) => target(entry, 0).0,
                None => {
                    let place = Place {
                        unit: text.place.unit,
                        offset: raw.near_branch_target() as i64,
                    };
                    self.symbol_at(place)
                        .map(|symbol| symbol.name.clone())
                        .or_else(|| self.import_at(place))
                }
            };
        } else if offsets.has_immediate()
            && let Some(entry) = relocation(offsets.immediate_offset())
        {
            if raw.is_jmp_near() || raw.is_jcc_near() {
                return Err(format!(
                    "`{}` leaves the function: the compiler split a part off (as .cold or .part), or it is a tail call",
                    listing(&raw)
                ));
            }
            if !ABSOLUTE.contains(&entry.kind) {
                return refuse(entry.kind);
            }
            op.immediate = Some(target(entry, 0).1);
        }
        Ok(())
    }
}

impl Symbol {
    fn place_is_defined(&self, image: &Image) -> bool {
        image.texts.iter().any(|text| text.contains(self.place))
    }
}

impl Text {
    fn contains(&self, place: Place) -> bool {
        self.place.unit == place.unit
            && place.offset >= self.place.offset
            && ((place.offset - self.place.offset) as usize) < self.bytes.len()
    }
}

/// The code of one function with its control flow.
#[derive(Clone, Debug)]
pub struct Code {
    /// The function.
    pub name: String,
    /// Address of the first instruction (offset in its unit).
    pub start: u64,
    /// Instructions by address.
    pub ops: BTreeMap<u64, Op>,
    /// Addresses that can be reached.
    pub reached: BTreeSet<u64>,
    /// Targets of back edges: the loop heads.
    pub heads: BTreeSet<u64>,
    /// Addresses where a block begins.
    pub leaders: BTreeSet<u64>,
    /// Position in reverse post-order.
    pub order: BTreeMap<u64, usize>,
    /// Registers that may be read later: bit n for general register n, bit 16 + n for vector register n.
    pub live: BTreeMap<u64, u32>,
}

impl Code {
    fn new(name: &str, start: u64, ops: BTreeMap<u64, Op>) -> Result<Self, String> {
        let mut code = Code {
            name: name.to_owned(),
            start,
            ops,
            reached: BTreeSet::new(),
            heads: BTreeSet::new(),
            leaders: BTreeSet::from([start]),
            order: BTreeMap::new(),
            live: BTreeMap::new(),
        };
        code.walk()?;
        code.find_live();
        Ok(code)
    }

    /// Where an instruction may go.
    pub fn successors(&self, at: u64) -> Vec<u64> {
        let Some(op) = self.ops.get(&at) else {
            return Vec::new();
        };
        let raw = &op.raw;
        use iced_x86::FlowControl;
        match raw.flow_control() {
            FlowControl::Return => Vec::new(),
            FlowControl::UnconditionalBranch => vec![raw.near_branch_target()],
            FlowControl::ConditionalBranch => vec![raw.near_branch_target(), raw.next_ip()],
            _ => vec![raw.next_ip()],
        }
    }

    /// Depth-first search: reachability, back edges, reverse post-order.
    fn walk(&mut self) -> Result<(), String> {
        let mut state: BTreeMap<u64, bool> = BTreeMap::new(); // false: on the path, true: done
        let mut stack = vec![(self.start, 0)];
        let mut post = Vec::new();
        state.insert(self.start, false);
        while let Some((at, next)) = stack.pop() {
            let Some(op) = self.ops.get(&at) else {
                return Err(format!(
                    "the code jumps to {at:#x}, outside of `{0}` (split off by the compiler as `{0}.cold` or `{0}.part`, or a tail call)",
                    self.name
                ));
            };
            if op.raw.is_invalid() {
                return Err(format!("there is no valid instruction at {at:#x}"));
            }
            let successors = self.successors(at);
            if successors.len() > 1
                || op.raw.flow_control() == iced_x86::FlowControl::UnconditionalBranch
            {
                self.leaders.extend(successors.iter().copied());
            }
            match successors.get(next) {
                Some(to) => {
                    stack.push((at, next + 1));
                    match state.get(to) {
                        Some(false) => {
                            self.heads.insert(*to);
                        }
                        Some(true) => {}
                        None => {
                            state.insert(*to, false);
                            stack.push((*to, 0));
                        }
                    }
                }
                None => {
                    state.insert(at, true);
                    post.push(at);
                }
            }
        }
        self.reached = state.into_keys().collect();
        self.leaders.extend(self.heads.iter().copied());
        let count = post.len();
        self.order = post
            .into_iter()
            .enumerate()
            .map(|(index, at)| (at, count - index))
            .collect();
        Ok(())
    }

    fn find_live(&mut self) {
        use iced_x86::{InstructionInfoFactory, OpAccess, Register};
        let bit = |register: Register| -> u32 {
            if register.is_gpr() {
                1 << register.full_register().number()
            } else if (register.is_xmm() || register.is_ymm()) && register.number() < 16 {
                1 << (16 + register.number())
            } else {
                0
            }
        };
        let mut factory = InstructionInfoFactory::new();
        let mut effects: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
        let saved = crate::x86::CALLEE_SAVED
            .iter()
            .fold(0, |all, n| all | 1 << n);
        for at in &self.reached {
            let raw = &self.ops[at].raw;
            let (mut read, mut written) = (0, 0);
            for used in factory.info(raw).used_registers() {
                let register = used.register();
                match used.access() {
                    OpAccess::Read | OpAccess::CondRead => read |= bit(register),
                    OpAccess::ReadWrite | OpAccess::ReadCondWrite | OpAccess::CondWrite => {
                        read |= bit(register);
                    }
                    OpAccess::Write if register.size() >= 4 => written |= bit(register),
                    _ => {}
                }
            }
            if raw.is_call_near() {
                // arguments are read, what a callee may clobber is written
                read |= crate::x86::ARGUMENTS.iter().fold(0, |all, n| all | 1 << n);
                written |= 0xffff_0000 | (0xffff & !saved & !(1 << crate::x86::RSP));
                written &= !read | 1;
            }
            if raw.flow_control() == iced_x86::FlowControl::Return {
                read |= saved | 1 << crate::x86::RAX | 1 << crate::x86::RSP;
            }
            effects.insert(*at, (read, written));
        }
        let mut live: BTreeMap<u64, u32> = self.reached.iter().map(|at| (*at, 0)).collect();
        loop {
            let mut changed = false;
            for at in self.reached.iter().rev() {
                let after = self
                    .successors(*at)
                    .iter()
                    .fold(0, |all, to| all | live.get(to).copied().unwrap_or(0));
                let (read, written) = effects[at];
                let before = after & !written | read;
                if live[at] != before {
                    live.insert(*at, before);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        self.live = live;
    }

    /// Whether any reachable instruction names a 256-bit register.
    pub fn uses_ymm(&self) -> bool {
        self.reached.iter().any(|at| {
            let raw = &self.ops[at].raw;
            (0..raw.op_count()).any(|index| {
                raw.op_kind(index) == iced_x86::OpKind::Register && raw.op_register(index).is_ymm()
            })
        })
    }
}
