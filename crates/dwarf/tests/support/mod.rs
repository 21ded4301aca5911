//! What the integration tests share: real compilers, and a machine that is made up.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use candor_dwarf::{Avma, Image, Leaf, Machine, Observation, Site, SiteOptions, Svma};
use tempfile::TempDir;

/// A program built for one test; the directory goes with it.
pub struct Built {
    pub directory: TempDir,
    pub path: PathBuf,
}

impl Built {
    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    pub fn image(&self) -> Image {
        Image::open(&self.path).unwrap()
    }
}

/// Compiles C; panics with the compiler's words if that fails.
pub fn build(compiler: &str, flags: &[&str], source: &str) -> Built {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("program");
    std::fs::write(directory.path().join("program.c"), source).unwrap();
    let output = Command::new(compiler)
        .current_dir(directory.path())
        .args(flags)
        .args(["-w", "-o", "program", "program.c"])
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(
        output.status.success(),
        "{compiler} {flags:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Built { directory, path }
}

/// Compiles C with -g and -no-pie.
pub fn debug_build(compiler: &str, level: &str, dwarf: u8, source: &str) -> Built {
    build(
        compiler,
        &["-g", &format!("-gdwarf-{dwarf}"), level, "-no-pie"],
        source,
    )
}

/// The line (from 1) that has a marker.
pub fn line_of(source: &str, marker: &str) -> u32 {
    source
        .lines()
        .position(|line| line.contains(marker))
        .unwrap() as u32
        + 1
}

/// A machine with only what a test gives it.
#[derive(Default)]
pub struct Fake {
    pub registers: BTreeMap<u16, u128>,
    pub memory: Vec<(u64, Vec<u8>)>,
    pub bias: u64,
    pub fs_base: Option<u64>,
}

impl Machine for Fake {
    fn register(&self, register: u16) -> Option<u128> {
        self.registers.get(&register).copied()
    }

    fn read(&self, at: Avma, buf: &mut [u8]) -> bool {
        self.memory.iter().any(|(start, bytes)| {
            let Some(offset) = at.0.checked_sub(*start) else {
                return false;
            };
            let Some(found) = bytes
                .get(offset as usize..)
                .and_then(|rest| rest.get(..buf.len()))
            else {
                return false;
            };
            buf.copy_from_slice(found);
            true
        })
    }

    fn bias(&self) -> u64 {
        self.bias
    }

    fn fs_base(&self) -> Option<u64> {
        self.fs_base
    }
}

/// A machine that has something everywhere.
pub struct Anything;

impl Machine for Anything {
    fn register(&self, register: u16) -> Option<u128> {
        (register < 41).then_some(0x7fff_0000 + u128::from(register) * 0x1000)
    }

    fn read(&self, at: Avma, buf: &mut [u8]) -> bool {
        for (index, byte) in (0..).zip(buf.iter_mut()) {
            let address = at.0.wrapping_add(index);
            *byte = (address ^ address >> 8) as u8;
        }
        true
    }

    fn bias(&self) -> u64 {
        0
    }

    fn fs_base(&self) -> Option<u64> {
        Some(0x7f00_0000)
    }
}

/// Where a function's body starts: the second statement stop in it (the first is its opening brace).
pub fn body_of(image: &Image, function: &str) -> Svma {
    let symbol = image.symbol(function).unwrap();
    let range = symbol.address..Svma(symbol.address.0 + symbol.size);
    let stops = image.statement_stops().unwrap();
    let inside: Vec<_> = stops
        .iter()
        .filter(|stop| range.contains(&stop.pc))
        .collect();
    inside
        .get(1)
        .unwrap_or_else(|| panic!("no body in {function}"))
        .pc
}

/// The address of the statement on a line.
pub fn stop_on(image: &Image, line: u32) -> Svma {
    let stops = image.statement_stops().unwrap();
    stops
        .iter()
        .find(|stop| stop.line.0 == line)
        .unwrap_or_else(|| panic!("no stop on line {line}: {stops:?}"))
        .pc
}

pub fn site(image: &Image, pc: Svma) -> Site {
    image.site(pc, &SiteOptions::default()).unwrap()
}

/// What a leaf is observed to be, by its C expression.
pub fn observe(image: &Image, site: &Site, machine: &dyn Machine, expression: &str) -> Observation {
    let mut out = Vec::new();
    image.observe(site, machine, &mut out);
    assert_eq!(out.len(), site.leaves().len());
    out[index(site, expression)].clone()
}

pub fn index(site: &Site, expression: &str) -> usize {
    let names: Vec<String> = site
        .leaves()
        .iter()
        .map(|leaf| leaf.key.to_string())
        .collect();
    names
        .iter()
        .position(|name| name == expression)
        .unwrap_or_else(|| panic!("no {expression} among {names:?}"))
}

pub fn leaf<'a>(site: &'a Site, expression: &str) -> &'a Leaf {
    site.leaves().get(index(site, expression)).unwrap()
}
