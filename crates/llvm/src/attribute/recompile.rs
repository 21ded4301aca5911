//! Lines for a stock library: one pass source, compiled again by the same compiler with `-g`, gives
//! the same code, and its line table is the library's.
//!
//! A function's lines are used only if its code in the new object equals the library's (relocated
//! fields aside); elsewhere an address keeps its function and offset.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_toolchain::{Confinement, Ending, Job, Limits, Sandbox, Scratch};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use super::archive::place_object;
use super::{Frame, Names};
use crate::{Error, Library, Svma};

/// A place in LLVM's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct SourceLine {
    /// File name without its directory.
    pub file: String,
    /// Line; 0 when the compiler merged several.
    pub line: u32,
    /// The function, inlined ones included.
    pub function: String,
}

/// Lines of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located {
    /// The inline stack at each address, innermost first.
    pub lines: BTreeMap<Svma, Vec<SourceLine>>,
    /// Why some have none.
    pub problems: Vec<String>,
}

/// What is needed to recompile.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// Starts compiler, linker, symbolizer.
    pub sandbox: &'a Sandbox,
    /// For their files.
    pub scratch: &'a Scratch,
    /// LLVM's source tree, or a part of it with the passes in question.
    pub sources: Option<&'a Path>,
    /// Where compiled objects are kept, by build-id.
    pub cache: &'a Path,
}

/// Debian's flags, as far as they change code.
const FLAGS: [&str; 18] = [
    "-std=c++17",
    "-O2",
    "-g",
    "-DNDEBUG",
    "-fPIC",
    "-fno-semantic-interposition",
    "-fvisibility-inlines-hidden",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-exceptions",
    "-funwind-tables",
    "-fstack-protector-strong",
    "-D_FORTIFY_SOURCE=2",
    "-D_GNU_SOURCE",
    "-D__STDC_CONSTANT_MACROS",
    "-D__STDC_FORMAT_MACROS",
    "-D__STDC_LIMIT_MACROS",
    "-w",
];

impl Lines<'_> {
    /// The inline stack at each address, innermost first; nothing for addresses without lines. A source
    /// that cannot be recompiled costs its lines only.
    pub fn of(
        &self,
        library: &Library,
        names: &Names,
        addresses: &BTreeSet<Svma>,
    ) -> Result<Located, Error> {
        if library.elf.has_lines {
            let queries: Vec<(Svma, u64)> = addresses
                .iter()
                .map(|address| (*address, address.0.saturating_sub(1)))
                .collect();
            return Ok(Located {
                lines: self.symbolize(&library.path, &queries)?,
                problems: Vec::new(),
            });
        }
        let Some(sources) = self.sources else {
            return Ok(Located::default());
        };
        let mut by_file: BTreeMap<String, Vec<Frame>> = BTreeMap::new();
        for &address in addresses {
            let frame = names.frame(library, address);
            if let Some(file) = frame.name.as_ref().and_then(|name| name.file.clone()) {
                by_file.entry(file).or_default().push(frame);
            }
        }
        let mut problems = Vec::new();
        let mut wanted = Vec::new();
        for (file, frames) in by_file {
            match find_source(sources, &file) {
                Some(source) => wanted.push((source, frames)),
                None => problems.push(format!("{file} is not below {}", sources.display())),
            }
        }
        let mut lines = BTreeMap::new();
        for ((source, frames), built) in wanted.iter().zip(self.all_recompiled(library, &wanted)) {
            let found = built.and_then(|built| self.lines_of(library, &built, frames));
            match found {
                Ok(found) if found.is_empty() => problems.push(format!(
                    "{} compiles to other code than the library's: is it the source of LLVM {}?",
                    source.display(),
                    library.version
                )),
                Ok(found) => lines.extend(found),
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => problems.push(error.to_string()),
            }
        }
        Ok(Located { lines, problems })
    }

    /// Recompiles, on all cores. One result per source, in order.
    fn all_recompiled(
        &self,
        library: &Library,
        wanted: &[(PathBuf, Vec<Frame>)],
    ) -> Vec<Result<PathBuf, Error>> {
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        let next = std::sync::atomic::AtomicUsize::new(0);
        let results = std::sync::Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..cores.min(wanted.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        let Some((source, _)) = wanted.get(index) else {
                            break;
                        };
                        let built = match self.sandbox.interrupted() {
                            true => Err(Error::Interrupted),
                            false => self.recompiled(library, source),
                        };
                        results
                            .lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner)
                            .insert(index, built);
                    }
                });
            }
        });
        results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .into_values()
            .collect()
    }

    /// The shared object of one source file, from the cache or made now.
    fn recompiled(&self, library: &Library, source: &Path) -> Result<PathBuf, Error> {
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let place = self.cache.join(&library.elf.build_id);
        let target = place.join(format!("{stem}.so"));
        if target.is_file() {
            return Ok(target);
        }
        let wrong = |reason: String| Error::Recompile {
            path: source.to_owned(),
            reason,
        };
        std::fs::create_dir_all(&place).map_err(|error| wrong(error.to_string()))?;
        let directory = self.scratch.job()?;
        let compiler = format!("clang++-{}", library.version);
        let include = format!("/usr/lib/llvm-{}/include", library.version);
        let mut job = Job::new(compiler, directory.path())
            .args(FLAGS)
            .arg("-I")
            .arg(include)
            .confinement(Confinement::Open);
        // Private headers are beside the source, or one level up.
        for above in source.ancestors().skip(1).take(2) {
            job = job.arg("-I").arg(above);
        }
        let job = job.arg("-c").arg(source).args(["-o", "pass.o"]);
        self.run(&job, &wrong)?;
        let link = Job::new("ld", directory.path())
            .args([
                "-shared",
                "--defsym=__dso_handle=0",
                "--unresolved-symbols=ignore-all",
            ])
            .args(["pass.o", "-o", "pass.so"])
            .confinement(Confinement::Open);
        self.run(&link, &wrong)?;
        for (from, to) in [("pass.o", "o"), ("pass.so", "so")] {
            let temporary = place.join(format!("{stem}.{to}.{}", std::process::id()));
            std::fs::copy(directory.path().join(from), &temporary)
                .and_then(|_| std::fs::rename(&temporary, place.join(format!("{stem}.{to}"))))
                .map_err(|error| wrong(error.to_string()))?;
        }
        Ok(target)
    }

    fn run(&self, job: &Job, wrong: &dyn Fn(String) -> Error) -> Result<Vec<u8>, Error> {
        // The largest passes take half a minute on an idle core, minutes on a busy one.
        let limits = Limits {
            wall: Duration::from_secs(1800),
            cpu: Duration::from_secs(600),
            ..Limits::compiler()
        };
        let finished = self.sandbox.run(job, &limits)?;
        match finished.ending {
            Ending::Exited(0) => Ok(finished.stdout),
            other => Err(wrong(format!(
                "{other:?}: {}",
                String::from_utf8_lossy(&finished.stderr)
                    .lines()
                    .take(5)
                    .collect::<Vec<_>>()
                    .join("; ")
            ))),
        }
    }

    /// Lines of frames that are all in one recompiled file.
    fn lines_of(
        &self,
        library: &Library,
        built: &Path,
        frames: &[Frame],
    ) -> Result<BTreeMap<Svma, Vec<SourceLine>>, Error> {
        let wrong = |reason: String| Error::Recompile {
            path: built.to_owned(),
            reason,
        };
        let read = |path: &Path| std::fs::read(path).map_err(|error| wrong(error.to_string()));
        let object_bytes = read(&built.with_extension("o"))?;
        let object = ElfFile64::parse(&*object_bytes).map_err(|error| wrong(error.to_string()))?;
        let shared_bytes = read(built)?;
        let shared: ElfFile64<'_> =
            ElfFile64::parse(&*shared_bytes).map_err(|error| wrong(error.to_string()))?;
        let mut by_length: FxHashMap<u64, Vec<Svma>> = FxHashMap::default();
        for start in frames.iter().filter_map(|frame| frame.start) {
            if let Some((_, length)) = library.elf.extent_at(start) {
                let known = by_length.entry(length).or_default();
                if !known.contains(&start) {
                    known.push(start);
                }
            }
        }
        let mut equal: BTreeMap<Svma, String> = BTreeMap::new();
        place_object(&library.elf, &by_length, &object, |start, name, _| {
            equal.entry(start).or_insert_with(|| name.to_owned());
        });
        let placed: FxHashMap<&str, u64> = shared
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text)
            .filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())))
            .collect();
        let queries: Vec<(Svma, u64)> = frames
            .iter()
            .filter_map(|frame| {
                let name = equal.get(&frame.start?)?;
                let start = placed.get(name.as_str())?;
                Some((frame.address, start + frame.offset - 1))
            })
            .collect();
        self.symbolize(built, &queries)
    }

    /// Asks llvm-symbolizer about addresses in `file`.
    fn symbolize(
        &self,
        file: &Path,
        queries: &[(Svma, u64)],
    ) -> Result<BTreeMap<Svma, Vec<SourceLine>>, Error> {
        if queries.is_empty() {
            return Ok(BTreeMap::new());
        }
        let wrong = |reason: String| Error::Recompile {
            path: file.to_owned(),
            reason,
        };
        let directory = self.scratch.job()?;
        let input: String = queries
            .iter()
            .map(|(_, address)| format!("{address:#x}\n"))
            .collect();
        let job = Job::new("llvm-symbolizer-19", directory.path())
            .arg("-e")
            .arg(file)
            .args(["--output-style=JSON", "-i"])
            .stdin(input)
            .confinement(Confinement::Open);
        let output = self.run(&job, &wrong)?;
        let mut lines = BTreeMap::new();
        for ((address, _), answer) in queries.iter().zip(output.split(|byte| *byte == b'\n')) {
            let answer: serde_json::Value =
                serde_json::from_slice(answer).map_err(|error| wrong(error.to_string()))?;
            let stack: Vec<SourceLine> = answer["Symbol"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|one| {
                    let file = Path::new(one["FileName"].as_str()?).file_name()?;
                    Some(SourceLine {
                        file: file.to_string_lossy().into_owned(),
                        line: u32::try_from(one["Line"].as_u64()?).ok()?,
                        function: one["FunctionName"]
                            .as_str()?
                            .split('(')
                            .next()
                            .unwrap_or_default()
                            .replace("llvm::", ""),
                    })
                })
                .collect();
            lines.insert(*address, stack);
        }
        Ok(lines)
    }
}

/// The file called `name` below `place`.
pub fn find_source(place: &Path, name: &str) -> Option<PathBuf> {
    find(place, name, 0)
}

fn find(place: &Path, name: &str, depth: usize) -> Option<PathBuf> {
    /// llvm/lib/Transforms/Scalar, with something to spare.
    const DEEPEST: usize = 8;
    let candidate = place.join(name);
    if candidate.is_file() {
        return Some(candidate);
    }
    if depth == DEEPEST {
        return None;
    }
    let mut below: Vec<PathBuf> = std::fs::read_dir(place)
        .ok()?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    below.sort();
    below
        .iter()
        .find_map(|directory| find(directory, name, depth + 1))
}
