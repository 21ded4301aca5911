//! The units of a file: found by their headers at opening, read one by one when something in them is asked for. Entries
//! refer to each other within and across units (LTO) and by type signature; this is where references are followed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use gimli::constants::{self as dw, DwAt, DwTag};
use gimli::{AttributeValue, Dwarf, Unit, UnitHeader, UnitOffset, UnitType};

use crate::elf::{File, Slice};
use crate::lines::LineTable;
use crate::tree::{Damage, Tree, Value};
use crate::{Error, Line};

/// How many abstract origins and specifications are followed from one entry.
const MAX_ORIGINS: usize = 16;
/// Units in one file.
const MAX_UNITS: usize = 10_000_000;

/// An entry of some unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryId {
    pub(crate) unit: u32,
    pub(crate) index: u32,
}

/// A unit whose root was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) unit: Unit<Slice>,
    /// For split DWARF: the skeleton in the program, and the `.dwo` file with the rest.
    split: Option<Box<Split>>,
}

#[derive(Debug)]
struct Split {
    skeleton: Unit<Slice>,
    dwarf: Dwarf<Slice>,
    /// Owns what `dwarf` and the unit point to.
    _file: File,
}

#[derive(Debug)]
struct Slot {
    header: UnitHeader<Slice>,
    loaded: OnceLock<Result<Loaded, Error>>,
    tree: OnceLock<Result<Tree, Error>>,
    lines: OnceLock<Result<LineTable, Error>>,
}

/// All units of a file.
#[derive(Debug)]
pub(crate) struct Units {
    dwarf: Dwarf<Slice>,
    /// Those of `.debug_info` first, by offset.
    slots: Vec<Slot>,
    in_debug_info: usize,
    signatures: HashMap<u64, (u32, usize)>,
    /// Why the list of headers ends early, if it does.
    cut_short: Option<Damage>,
    /// Start, end, unit.
    by_address: OnceLock<Vec<(u64, u64, u32)>>,
    /// Where `.dwo` files may be.
    directory: Option<PathBuf>,
}

impl Units {
    pub(crate) fn read(file: &mut File, directory: Option<PathBuf>) -> Result<Units, Error> {
        let dwarf = Dwarf::load(|id| file.section(id.name()))?;
        let mut units = Units {
            dwarf,
            slots: Vec::new(),
            in_debug_info: 0,
            signatures: HashMap::new(),
            cut_short: None,
            by_address: OnceLock::new(),
            directory,
        };
        let mut headers = units.dwarf.units();
        loop {
            match headers.next() {
                Ok(Some(header)) => units.push(header)?,
                Ok(None) => break,
                Err(error) => {
                    units.cut_short = Some(error.into());
                    break;
                }
            }
        }
        units.in_debug_info = units.slots.len();
        let mut headers = units.dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            units.push(header)?;
        }
        if let (true, Some(damage)) = (units.slots.is_empty(), &units.cut_short) {
            return Err(Error::malformed(".debug_info", damage));
        }
        Ok(units)
    }

    fn push(&mut self, header: UnitHeader<Slice>) -> Result<(), Error> {
        if self.slots.len() >= MAX_UNITS {
            return Err(Error::TooLarge {
                what: "the list of units".into(),
                limit: MAX_UNITS as u64,
            });
        }
        if let UnitType::Type {
            type_signature,
            type_offset,
        } = header.type_()
        {
            self.signatures
                .entry(type_signature.0)
                .or_insert((self.slots.len() as u32, type_offset.0));
        }
        self.slots.push(Slot {
            header,
            loaded: OnceLock::new(),
            tree: OnceLock::new(),
            lines: OnceLock::new(),
        });
        Ok(())
    }

    pub(crate) fn count(&self) -> u32 {
        self.slots.len() as u32
    }

    fn slot(&self, unit: u32) -> Result<&Slot, Error> {
        self.slots.get(unit as usize).ok_or_else(|| Error::Unknown {
            what: format!("unit {unit}"),
        })
    }

    /// A unit's root attributes and tables.
    pub(crate) fn loaded(&self, unit: u32) -> Result<&Loaded, Error> {
        let slot = self.slot(unit)?;
        slot.loaded
            .get_or_init(|| self.load(slot))
            .as_ref()
            .map_err(Error::again)
    }

    fn load(&self, slot: &Slot) -> Result<Loaded, Error> {
        let what = || format!("unit at {:#x} of .debug_info", slot.header.offset().0);
        if slot.header.address_size() != 8 {
            return Err(Error::malformed(
                what(),
                format!("addresses of {} bytes", slot.header.address_size()),
            ));
        }
        let unit = self
            .dwarf
            .unit(slot.header)
            .map_err(|error| Error::malformed(what(), error))?;
        match unit
            .dwo_name()
            .map_err(|error| Error::malformed(what(), error))?
        {
            Some(name) if unit.dwo_id.is_some() => {
                let name = self
                    .dwarf
                    .attr_string(&unit, name)
                    .map_err(|error| Error::malformed(what(), error))?;
                self.load_split(unit, &name.to_string_lossy())
            }
            _ => Ok(Loaded { unit, split: None }),
        }
    }

    fn load_split(&self, skeleton: Unit<Slice>, name: &str) -> Result<Loaded, Error> {
        let fail = |reason: String| Error::SplitDwarf {
            dwo: name.to_owned(),
            reason,
        };
        let given = skeleton
            .comp_dir
            .map(|dir| PathBuf::from(&*dir.to_string_lossy()))
            .unwrap_or_default()
            .join(name);
        let beside = self
            .directory
            .as_ref()
            .zip(given.file_name())
            .map(|(directory, file)| directory.join(file));
        let path = beside
            .into_iter()
            .chain([given])
            .find(|path| path.is_file());
        let Some(path) = path else {
            return Err(fail(
                "no such file, neither there nor beside the program".into(),
            ));
        };
        let mut file = File::open_object(&path).map_err(|error| fail(error.to_string()))?;
        let mut dwarf: Dwarf<Slice> = Dwarf::load(|id| {
            id.dwo_name()
                .map_or(Ok(Slice::new(&[], gimli::LittleEndian)), |name| {
                    file.section(name)
                })
        })
        .map_err(|error: Error| fail(error.to_string()))?;
        dwarf.make_dwo(&self.dwarf);
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().map_err(|error| fail(error.to_string()))? {
            let mut unit = dwarf
                .unit(header)
                .map_err(|error| fail(error.to_string()))?;
            if unit.dwo_id == skeleton.dwo_id {
                unit.copy_relocated_attributes(&skeleton);
                return Ok(Loaded {
                    unit,
                    split: Some(Box::new(Split {
                        skeleton,
                        dwarf,
                        _file: file,
                    })),
                });
            }
        }
        Err(fail("it belongs to another build".into()))
    }

    /// The sections that a unit's attributes point into.
    pub(crate) fn dwarf_of<'a>(&'a self, loaded: &'a Loaded) -> &'a Dwarf<Slice> {
        loaded
            .split
            .as_ref()
            .map_or(&self.dwarf, |split| &split.dwarf)
    }

    /// A unit's entries.
    pub(crate) fn tree(&self, unit: u32) -> Result<&Tree, Error> {
        let slot = self.slot(unit)?;
        let read = || {
            let loaded = self.loaded(unit)?;
            Tree::read(self.dwarf_of(loaded), &loaded.unit).map_err(|damage| {
                Error::malformed(
                    format!("unit at {:#x} of .debug_info", slot.header.offset().0),
                    damage,
                )
            })
        };
        slot.tree.get_or_init(read).as_ref().map_err(Error::again)
    }

    /// The unit that has the line table, and its sections: for split DWARF the skeleton.
    pub(crate) fn line_unit(&self, unit: u32) -> Result<(&Dwarf<Slice>, &Unit<Slice>), Error> {
        let loaded = self.loaded(unit)?;
        Ok((
            &self.dwarf,
            loaded
                .split
                .as_ref()
                .map_or(&loaded.unit, |split| &split.skeleton),
        ))
    }

    /// A unit's line table.
    pub(crate) fn lines(&self, unit: u32) -> Result<&LineTable, Error> {
        let slot = self.slot(unit)?;
        let read = || {
            let (dwarf, root) = self.line_unit(unit)?;
            LineTable::read(dwarf, root).map_err(|damage| {
                Error::malformed(
                    format!("line table of the unit at {:#x}", slot.header.offset().0),
                    damage,
                )
            })
        };
        slot.lines.get_or_init(read).as_ref().map_err(Error::again)
    }

    /// The unit whose code has the address.
    pub(crate) fn unit_at(&self, pc: u64) -> Result<Option<u32>, Error> {
        let ranges = self.by_address.get_or_init(|| {
            let mut ranges = Vec::new();
            for unit in 0..self.in_debug_info as u32 {
                // A damaged unit has no addresses here; the others go on.
                ranges.extend(
                    self.root_ranges(unit)
                        .unwrap_or_default()
                        .into_iter()
                        .map(|(start, end)| (start, end, unit)),
                );
            }
            ranges.sort_unstable();
            ranges
        });
        let after = ranges.partition_point(|(start, _, _)| *start <= pc);
        let found = ranges[..after]
            .iter()
            .rev()
            .take(64)
            .find(|(_, end, _)| pc < *end)
            .map(|(_, _, unit)| *unit);
        if found.is_some() {
            return Ok(found);
        }
        // Nothing covers it: say why, when a damaged or absent part may be the reason.
        for unit in 0..self.in_debug_info as u32 {
            self.root_ranges(unit)?;
        }
        match &self.cut_short {
            Some(damage) => Err(Error::malformed(".debug_info", damage)),
            None => Ok(None),
        }
    }

    fn root_ranges(&self, unit: u32) -> Result<Vec<(u64, u64)>, Error> {
        let (dwarf, root) = self.line_unit(unit)?;
        let damaged = |damage: Damage| {
            Error::malformed(
                format!("root of the unit at {:#x}", root.header.offset().0),
                damage,
            )
        };
        Tree::read_root(dwarf, root).map_err(damaged)
    }

    /// The function whose code has the address.
    pub(crate) fn function_at(&self, pc: u64) -> Result<Option<EntryId>, Error> {
        let Some(unit) = self.unit_at(pc)? else {
            return Ok(None);
        };
        Ok(self
            .tree(unit)?
            .function_at(pc)
            .map(|index| EntryId { unit, index }))
    }

    pub(crate) fn tag(&self, id: EntryId) -> Result<DwTag, Error> {
        Ok(self.tree(id.unit)?.entry(id.index).tag)
    }

    /// The entry that a reference of some entry in `unit` leads to.
    pub(crate) fn resolve(&self, unit: u32, reference: &Value) -> Result<EntryId, Damage> {
        let lost = |what: String| Damage(format!("reference to {what}, where no entry starts"));
        let (unit, offset) = match *reference {
            AttributeValue::UnitRef(offset) => (unit, offset.0),
            AttributeValue::DebugInfoRef(offset) => return self.in_debug_info(unit, offset.0),
            AttributeValue::DebugTypesRef(signature) => *self
                .signatures
                .get(&signature.0)
                .ok_or_else(|| lost(format!("type signature {:#x}", signature.0)))?,
            _ => return Err(Damage("a reference of a form that is no reference".into())),
        };
        let tree = self.tree(unit).map_err(|error| Damage(error.to_string()))?;
        let index = tree
            .at_offset(offset)
            .ok_or_else(|| lost(format!("offset {offset:#x} of the unit")))?;
        Ok(EntryId { unit, index })
    }

    /// The entry at an offset into `.debug_info`, as seen from an entry in `unit`.
    pub(crate) fn in_debug_info(&self, unit: u32, offset: usize) -> Result<EntryId, Damage> {
        let lost = || {
            Damage(format!(
                "reference to {offset:#x} of .debug_info, where no entry starts"
            ))
        };
        let from = self
            .loaded(unit)
            .map_err(|error| Damage(error.to_string()))?;
        if from.split.is_some() {
            // A .dwo file has a .debug_info of its own.
            let within = offset
                .checked_sub(from.unit.header.offset().0)
                .ok_or_else(lost)?;
            return self.resolve(unit, &AttributeValue::UnitRef(UnitOffset(within)));
        }
        let after = self.slots[..self.in_debug_info]
            .partition_point(|slot| slot.header.offset().0 <= offset);
        let unit = after.checked_sub(1).ok_or_else(lost)?;
        let within = offset - self.slots[unit].header.offset().0;
        let tree = self
            .tree(unit as u32)
            .map_err(|error| Damage(error.to_string()))?;
        Ok(EntryId {
            unit: unit as u32,
            index: tree.at_offset(within).ok_or_else(lost)?,
        })
    }

    /// An attribute of the entry itself.
    pub(crate) fn own(&self, id: EntryId, name: DwAt) -> Option<&Value> {
        self.tree(id.unit).ok()?.attribute(id.index, name)
    }

    /// The entry that this one completes: its abstract origin or specification.
    pub(crate) fn origin(&self, id: EntryId) -> Option<EntryId> {
        let reference = self
            .own(id, dw::DW_AT_abstract_origin)
            .or_else(|| self.own(id, dw::DW_AT_specification))?;
        self.resolve(id.unit, reference).ok()
    }

    /// The entry and all that it completes, outermost definition last.
    pub(crate) fn lineage(&self, id: EntryId) -> impl Iterator<Item = EntryId> + '_ {
        std::iter::successors(Some(id), |id| self.origin(*id)).take(MAX_ORIGINS)
    }

    /// An attribute of the entry or of what it completes, with the entry that has it.
    pub(crate) fn inherited(&self, id: EntryId, name: DwAt) -> Option<(EntryId, &Value)> {
        self.lineage(id)
            .find_map(|id| self.own(id, name).map(|value| (id, value)))
    }

    pub(crate) fn string(&self, unit: u32, value: &Value) -> Option<Arc<str>> {
        let loaded = self.loaded(unit).ok()?;
        let bytes = self
            .dwarf_of(loaded)
            .attr_string(&loaded.unit, *value)
            .ok()?;
        Some(Arc::from(&*bytes.to_string_lossy()))
    }

    /// The name in the source.
    pub(crate) fn name(&self, id: EntryId) -> Option<Arc<str>> {
        let (owner, value) = self.inherited(id, dw::DW_AT_name)?;
        self.string(owner.unit, value)
    }

    pub(crate) fn decl_line(&self, id: EntryId) -> Option<Line> {
        let (_, value) = self.inherited(id, dw::DW_AT_decl_line)?;
        value
            .udata_value()
            .and_then(|line| u32::try_from(line).ok())
            .filter(|line| *line != 0)
            .map(Line)
    }

    /// The addresses of an entry; `None` when it has none of its own.
    pub(crate) fn ranges(&self, id: EntryId) -> Result<Option<Vec<(u64, u64)>>, Damage> {
        let damage = |error: Error| Damage(error.to_string());
        let loaded = self.loaded(id.unit).map_err(damage)?;
        self.tree(id.unit)
            .map_err(damage)?
            .ranges(self.dwarf_of(loaded), &loaded.unit, id.index)
    }
}
