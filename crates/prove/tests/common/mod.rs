//! What the integration tests and examples share: building objects, and mutants of machine code.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use candor_prove::image::{Image, listing};
use candor_prove::ir::Module;
use candor_prove::{Settings, SolverSettings, source_ir};
use candor_toolchain::{Job, Limits, Sandbox, Scratch};
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::{Object, ObjectSection, ObjectSymbol};

/// A directory for objects, and the means to make them.
pub struct Bench {
    pub sandbox: Sandbox,
    pub scratch: Scratch,
}

impl Bench {
    pub fn new() -> Self {
        Bench {
            sandbox: Sandbox::detect(),
            scratch: Scratch::new().unwrap(),
        }
    }

    /// A file of the test programs.
    pub fn program(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/prove")
            .join(name)
    }

    /// Writes a source.
    pub fn source(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs a compiler; the output's path.
    pub fn build(&self, compiler: &str, flags: &[&str], source: &Path, output: &str) -> PathBuf {
        let path = self.scratch.path().join(output);
        let job = Job::new(compiler, self.scratch.path())
            .args(flags.iter().copied())
            .arg(source)
            .arg("-o")
            .arg(&path);
        let finished = self.sandbox.run(&job, &Limits::compiler()).unwrap();
        assert!(
            finished.ending.success(),
            "{compiler}: {}",
            finished.stderr_text()
        );
        path
    }

    /// An object.
    pub fn object(&self, compiler: &str, flags: &[&str], source: &Path, output: &str) -> Image {
        let mut all = vec!["-c"];
        all.extend(flags);
        Image::load(&self.build(compiler, &all, source, output)).unwrap()
    }

    /// The IR of a source.
    pub fn ir(&self, source: &Path, flags: &[&str]) -> Module {
        let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
        source_ir(&self.sandbox, &self.scratch, source, &flags).unwrap()
    }
}

/// Limits that a loaded machine does not reach.
pub fn patient() -> Settings {
    Settings {
        time: std::time::Duration::from_secs(900),
        solver: SolverSettings {
            timeout: std::time::Duration::from_secs(120),
            ..SolverSettings::default()
        },
        ..Settings::default()
    }
}

/// A change of one instruction of a function in an object.
pub struct Mutant {
    /// Old and new instruction.
    pub what: String,
    /// The file with the change.
    pub bytes: Vec<u8>,
}

/// Objects that differ from the given one in one bit of one instruction of `function`; the instruction keeps its length.
pub fn mutants(path: &Path, function: &str, count: usize, seed: u64) -> Vec<Mutant> {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbol = file
        .symbols()
        .find(|symbol| symbol.name() == Ok(function))
        .unwrap();
    let section = file
        .section_by_index(symbol.section_index().unwrap())
        .unwrap();
    let (offset, _) = section.file_range().unwrap();
    let start = symbol.address() - section.address();
    let code = &section.data().unwrap()[start as usize..(start + symbol.size()) as usize];
    let relocated: Vec<u64> = section.relocations().map(|(at, _)| at).collect();
    let instructions: Vec<_> = Decoder::with_ip(64, code, symbol.address(), DecoderOptions::NONE)
        .into_iter()
        .filter(|raw| {
            !matches!(
                raw.mnemonic(),
                Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Ret | Mnemonic::Vzeroupper
            )
        })
        .collect();
    let starts: Vec<u64> = Decoder::with_ip(64, code, symbol.address(), DecoderOptions::NONE)
        .into_iter()
        .map(|raw| raw.ip())
        .collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut found: Vec<Mutant> = Vec::new();
    for _ in 0..count * 80 {
        if found.len() == count {
            break;
        }
        let raw = instructions[random.usize(0..instructions.len())];
        let at = (raw.ip() - symbol.address()) as usize;
        let byte = random.usize(0..raw.len());
        let place = start + at as u64 + byte as u64;
        if relocated
            .iter()
            .any(|field| (*field..field + 4).contains(&place))
        {
            continue;
        }
        let mut changed = code[at..at + raw.len()].to_vec();
        changed[byte] ^= 1 << random.u8(0..8);
        let mut decoder = Decoder::with_ip(64, &changed, raw.ip(), DecoderOptions::NONE);
        let new = decoder.decode();
        if new.is_invalid() || new.len() != raw.len() || listing(&new) == listing(&raw) {
            continue;
        }
        let jumps = new.is_jcc_short_or_near() || new.is_jmp_short_or_near();
        if jumps && !starts.contains(&new.near_branch_target()) {
            continue;
        }
        let what = format!("{:#x}: {}  ->  {}", raw.ip(), listing(&raw), listing(&new));
        if found.iter().any(|other| other.what == what) {
            continue;
        }
        let mut all = bytes.clone();
        let from = (offset + start) as usize + at;
        all[from..from + raw.len()].copy_from_slice(&changed);
        found.push(Mutant { what, bytes: all });
    }
    found
}

/// Sources that differ from the given one in one operator or number of `function`: what was changed, and the whole text.
pub fn source_mutants(
    text: &str,
    function: &str,
    count: usize,
    seed: u64,
) -> Vec<(String, String)> {
    const CHANGES: &[(&str, &str)] = &[
        (" + ", " - "),
        (" - ", " + "),
        (" * ", " + "),
        (" += ", " -= "),
        (" -= ", " += "),
        (" < ", " <= "),
        (" <= ", " < "),
        (" > ", " >= "),
        (" >= ", " > "),
        (" == ", " != "),
        (" && ", " || "),
    ];
    let head = [format!(" {function}(void) {{"), format!(" {function}(")];
    let start = head
        .iter()
        .find_map(|head| text.find(head.as_str()))
        .unwrap();
    let start = start + text[start..].find('{').unwrap();
    let mut depth = 0;
    let end = text[start..]
        .char_indices()
        .find_map(|(at, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(start + at)
        })
        .unwrap();
    // where, how long, and by what
    let mut places: Vec<(usize, usize, String)> = Vec::new();
    for (old, new) in CHANGES {
        for (at, _) in text[start..end].match_indices(old) {
            places.push((start + at, old.len(), (*new).to_owned()));
        }
    }
    let bytes = text.as_bytes();
    let mut at = start;
    while at < end {
        let length = bytes[at..end]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let inside_a_name =
            bytes[at - 1].is_ascii_alphanumeric() || matches!(bytes[at - 1], b'_' | b'.');
        if length > 0
            && !inside_a_name
            && let Ok(number) = text[at..at + length].parse::<u64>()
        {
            places.push((at, length, (number + 1).to_string()));
        }
        at += length.max(1);
    }
    let mut random = fastrand::Rng::with_seed(seed);
    random.shuffle(&mut places);
    places
        .into_iter()
        .take(count)
        .map(|(at, length, new)| {
            let line = text[..at].matches('\n').count() + 1;
            let around = text[at..].lines().next().unwrap_or_default();
            let what = format!(
                "line {line}: {:?}  ->  {new:?} before {:?}",
                &text[at..at + length],
                around.get(length..).unwrap_or_default()
            );
            (
                what,
                format!("{}{new}{}", &text[..at], &text[at + length..]),
            )
        })
        .collect()
}
