//! One program file: the door to everything else in this crate.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::caller::{CallerMemory, Callers};
use crate::cfi::Frames;
use crate::describe::describe;
use crate::elf::{File, Symbol};
use crate::lines::{LineRow, StatementStop, has_own_files};
use crate::observe::{look, observe, pointer};
use crate::site::{SiteMemory, prepare, prepare_depths};
use crate::spans::{Function, LocationSpan};
use crate::units::Units;
use crate::{
    Avma, Error, Machine, Observation, PointerValue, Sight, Site, SiteOptions, Svma, spans,
};

/// One program file with its debug information, read lazily. Share it by `Arc`.
#[derive(Debug)]
pub struct Image {
    units: Units,
    frames: Frames,
    callers: CallerMemory,
    sites: SiteMemory,
    tls_block: Option<u64>,
    /// Last, for everything above points into it.
    file: File,
}

impl Image {
    /// Maps a file. Only headers are read; units are read when something in them is asked for.
    pub fn open(path: &Path) -> Result<Image, Error> {
        Image::new(File::open(path)?, path.parent().map(Path::to_owned))
    }

    /// The same for a file in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Image, Error> {
        Image::new(File::from_bytes(bytes)?, None)
    }

    fn new(mut file: File, directory: Option<PathBuf>) -> Result<Image, Error> {
        if !file.has_section(".debug_info") {
            return Err(Error::NoDebugInfo {
                debuglink: file.debuglink(),
            });
        }
        let frames = Frames::read(&mut file)?;
        let units = Units::read(&mut file, directory)?;
        // A file of which nothing can be read is told now rather than at the first address.
        if units.count() > 0 {
            units.loaded(0)?;
        } else {
            return Err(Error::NoDebugInfo {
                debuglink: file.debuglink(),
            });
        }
        let tls_block = file.tls_block();
        Ok(Image {
            units,
            frames,
            callers: CallerMemory::default(),
            sites: SiteMemory::default(),
            tls_block,
            file,
        })
    }

    /// The program's entry point.
    pub fn entry(&self) -> Svma {
        self.file.entry()
    }

    /// Whether the file may be loaded anywhere.
    pub fn is_pie(&self) -> bool {
        self.file.is_pie()
    }

    /// A symbol by its name.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.file.symbol(name)
    }

    /// The variable or function that an address is in, and how far in.
    pub fn symbolise(&self, at: Svma) -> Option<(&str, u64)> {
        let (inside, _) = self.file.extents_at(at.0);
        inside.map(|extent| (extent.name, at.0 - extent.start))
    }

    /// What a pointer of the running program points to, in terms that mean the same in two builds.
    pub fn pointer(&self, raw: Avma, bias: u64) -> PointerValue {
        pointer(&self.file, raw.0, bias)
    }

    /// The row of the line table that covers an address.
    pub fn line_at(&self, pc: Svma) -> Result<Option<LineRow>, Error> {
        match self.units.unit_at(pc.0)? {
            Some(unit) => Ok(self.units.lines(unit)?.at(pc.0)),
            None => Ok(None),
        }
    }

    /// The places to stop at in line mode, by address: inside functions, in the user's own files.
    pub fn statement_stops(&self) -> Result<Vec<StatementStop>, Error> {
        let mut stops = Vec::new();
        for unit in 0..self.units.count() {
            let (dwarf, root) = self.units.line_unit(unit)?;
            if !has_own_files(dwarf, root) {
                continue;
            }
            let first = stops.len();
            self.units.lines(unit)?.stops(&mut stops);
            let tree = self.units.tree(unit)?;
            let mut index = 0;
            stops.retain(|stop: &StatementStop| {
                index += 1;
                index <= first || tree.function_at(stop.pc.0).is_some()
            });
        }
        stops.sort_by_key(|stop| stop.pc);
        stops.dedup_by_key(|stop| stop.pc);
        Ok(stops)
    }

    /// Everything visible at one address.
    pub fn site(&self, pc: Svma, options: &SiteOptions) -> Result<Site, Error> {
        prepare(&self.units, &self.frames, &self.sites, pc, options)
    }

    /// The variables of the functions at some depths at one address, 0 being the innermost; no globals.
    pub fn site_of_depths(
        &self,
        pc: Svma,
        depths: Range<usize>,
        leaf_cap: usize,
    ) -> Result<Site, Error> {
        let options = SiteOptions {
            globals: false,
            leaf_cap,
            all_frames: true,
        };
        prepare_depths(&self.units, &self.frames, &self.sites, pc, &options, depths)
    }

    /// Replaces `out` by one observation per leaf of the site, in the same order.
    pub fn observe(&self, site: &Site, machine: &dyn Machine, out: &mut Vec<Observation>) {
        observe(&self.around(), site, machine, out);
    }

    /// The same at one stop of a run after the other, for less: see [`Sight`].
    pub fn look(&self, site: &Site, machine: &dyn Machine, sight: &mut Sight) {
        look(&self.around(), site, machine, sight);
    }

    pub(crate) fn around(&self) -> Callers<'_> {
        Callers {
            units: &self.units,
            frames: &self.frames,
            file: &self.file,
            tls_block: self.tls_block,
            memory: &self.callers,
            steps: Cell::new(0),
        }
    }

    pub(crate) fn units(&self) -> &Units {
        &self.units
    }

    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The functions that the debug information describes, by name. Reads every unit.
    pub fn functions(&self) -> Result<Vec<Function>, Error> {
        spans::functions(&self.units)
    }

    /// Where functions are entered, by address, each with its name in the source. Reads every unit.
    pub fn entries(&self) -> Result<Vec<(Svma, Arc<str>)>, Error> {
        spans::entries(&self.units)
    }

    /// The functions of other files that the program calls, by the address of the word that leads to each.
    pub fn linkage(&self) -> BTreeMap<Svma, String> {
        self.file.linkage()
    }

    /// The sections with code, each with its name and address.
    pub fn code(&self) -> impl Iterator<Item = (String, Svma, &[u8])> {
        self.file.named_code()
    }

    /// Where in the file the bytes of a variable's locations are; `function` is empty for a global. Reads every unit.
    pub fn location_spans(
        &self,
        function: &str,
        variable: &str,
    ) -> Result<Vec<LocationSpan>, Error> {
        spans::location_spans(&self.units, &self.file, function, variable)
    }

    /// The DWARF location of a leaf in words.
    pub fn describe_location(&self, site: &Site, leaf: usize) -> String {
        site.variable_of(leaf)
            .map_or_else(String::new, |variable| describe(&variable.text))
    }
}
