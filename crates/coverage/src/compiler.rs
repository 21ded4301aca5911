//! A prepared coverage compiler: compiles a program and says what of itself it executed.

use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use candor_toolchain::{
    Compiler, Ending, Family, Finished, Job, Limits, Program, Sandbox, Scratch,
};
use serde::{Deserialize, Serialize};

use crate::files::{read, read_text, write};
use crate::import::gcov_json;
use crate::map::Roots;
use crate::prepare::LLVM_PROGRAM;
use crate::{Cover, Error, Map};

/// The present schema of [`Manifest`].
pub const SCHEMA: u32 = 1;

/// Files of a prepared directory.
pub(crate) const MANIFEST: &str = "coverage.json";
pub(crate) const BLOCKS: &str = "blocks.bin";
pub(crate) const MAP: &str = "map.txt";
pub(crate) const SUITE: &str = "suite";

/// How a compiler records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "records")]
pub enum Kind {
    /// candor's run-time: one bitmap per compilation.
    TracePc,
    /// gcov's counters, one file per object; slow, for compilers that exist already.
    Gcov {
        /// The compiler's command.
        command: String,
        /// The gcov that fits the compiler it was built with.
        gcov: String,
    },
}

/// What a prepared directory says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`] when it was written.
    pub schema: u32,
    /// How it records.
    #[serde(flatten)]
    pub kind: Kind,
    /// Whose compiler: `gcc`, `clang`, `tcc`.
    pub family: String,
    /// Its release.
    pub version: String,
    /// Where its source files are.
    pub roots: Roots,
    /// Blocks that are recorded; 0 for gcov, where they are not known beforehand.
    pub blocks: usize,
}

/// How a compilation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compiled {
    /// Without complaint.
    Well,
    /// With an error, or not in time.
    Not(String),
    /// The compiler crashed.
    Crashed(String),
}

/// A compilation and what it reached.
#[derive(Clone, Debug)]
pub struct Covered {
    /// How it ended.
    pub compiled: Compiled,
    /// What it reached.
    pub cover: Cover,
    /// Files of the compiler's own backtrace, the innermost first, where it crashed and printed one.
    pub trace: Vec<String>,
    /// CPU time it took, recording included.
    pub cpu: Duration,
}

/// A prepared coverage compiler.
#[derive(Debug)]
pub struct CoverageCompiler {
    directory: PathBuf,
    manifest: Manifest,
    /// gcov's map grows with every compilation.
    map: RwLock<Map>,
    /// Where the stock compiler has the headers that come with it.
    headers: OnceLock<Option<String>>,
}

impl CoverageCompiler {
    /// Opens what `--prepare` left in `directory`.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let directory = crate::files::absolute(directory)?;
        let refuse = |reason: String| Error::NotPrepared {
            directory: directory.clone(),
            reason,
        };
        let path = directory.join(MANIFEST);
        if !path.exists() {
            return Err(refuse(
                match directory.join(crate::prepare::BEGUN).exists() {
                    true => {
                        "its preparation was not finished; the same command goes on with it".into()
                    }
                    false => format!("there is no {MANIFEST}"),
                },
            ));
        }
        let manifest: Manifest = serde_json::from_str(&read_text(&path)?)
            .map_err(|error| refuse(format!("{MANIFEST} cannot be read ({error})")))?;
        if manifest.schema > SCHEMA {
            return Err(refuse(format!("{MANIFEST} is of a newer candor")));
        }
        let map = match manifest.kind {
            Kind::TracePc => Map::load(&directory.join(MAP))?,
            Kind::Gcov { .. } => Map::default(),
        };
        Ok(CoverageCompiler {
            directory,
            manifest,
            map: RwLock::new(map),
            headers: OnceLock::new(),
        })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What it is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its statements.
    pub fn map(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Programs of the developers' test suite that `--prepare` chose, by name.
    pub fn suite(&self) -> Result<Vec<Program>, Error> {
        let folder = self.directory.join(SUITE);
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
            .collect();
        paths.sort();
        let program = |path: PathBuf| {
            Ok(Program {
                text: read_text(&path)?,
                flags: vec!["-w".into()],
                path,
                arguments: Vec::new(),
                stdin: Vec::new(),
            })
        };
        paths.into_iter().map(program).collect()
    }

    /// Refuses to speak for another compiler than `compiler`.
    pub fn check(&self, compiler: &Compiler) -> Result<(), Error> {
        let family = compiler.family.to_string();
        let version = compiler.version.to_string();
        if (family.as_str(), version.as_str()) == (&self.manifest.family, &self.manifest.version) {
            return Ok(());
        }
        Err(Error::OtherCompiler {
            directory: self.directory.clone(),
            have: format!("{} {}", self.manifest.family, self.manifest.version),
            wanted: format!("{family} {version}"),
        })
    }

    /// Compiles `program` with `flags` added to its own. `stock` is the compiler under test: gcc's
    /// driver finds the recording cc1 by `-B`; clang makes the bitcode for the recording LLVM; others
    /// are called themselves.
    pub fn compile(
        &self,
        sandbox: &Sandbox,
        scratch: &Scratch,
        stock: &Compiler,
        program: &Program,
        flags: &[String],
        time: Duration,
    ) -> Result<Covered, Error> {
        let directory = scratch.job()?;
        let name = program.file_name();
        directory.write(&name, &program.text)?;
        let bitmap = directory.path().join("coverage.bin");
        let own = program.flags.iter().filter(|flag| !flag.starts_with("-l"));
        let flags: Vec<String> = flags.iter().chain(own).cloned().collect();
        let limits = Limits {
            cpu: time,
            ..Limits::compiler()
        };
        let libraries = self.manifest.kind == Kind::TracePc && stock.family == Family::Clang;
        let mut cpu = Duration::ZERO;
        if libraries {
            let front = stock
                .job(directory.path())
                .args(flags.iter().cloned())
                .args(["-Xclang", "-disable-llvm-passes", "-emit-llvm"])
                .args(["-c", "-o", "program.bc", name.as_str()]);
            let front = sandbox.run(&front, &limits)?;
            cpu += front.cpu;
            if !front.ending.success() {
                return Ok(Covered {
                    compiled: outcome(&front),
                    cover: Cover::default(),
                    trace: Vec::new(),
                    cpu,
                });
            }
        }
        let job = match libraries {
            true => Job::new(self.directory.join(LLVM_PROGRAM), directory.path())
                .args([level(&flags), "program.bc", "program.o"])
                .args(llvm_options(&flags)),
            false => self
                .job(sandbox, stock, directory.path())
                .args(flags)
                .args(["-c", "-o", "program.o", name.as_str()]),
        };
        let job = job
            .env("CANDOR_COVERAGE_OUT", &bitmap)
            .env("CANDOR_COVERAGE_BLOCKS", self.directory.join(BLOCKS))
            .env("GCOV_PREFIX", directory.path().join("gcov"));
        let finished = sandbox.run(&job, &limits)?;
        let cover = match &self.manifest.kind {
            Kind::TracePc if bitmap.exists() => self.map().cover(&read(&bitmap)?)?,
            Kind::TracePc => Cover::default(),
            Kind::Gcov { gcov, .. } => self.counters(sandbox, gcov, directory.path())?,
        };
        let compiled = outcome(&finished);
        let trace = match &compiled {
            Compiled::Crashed(_) => trace(&finished.stderr_text(), &self.manifest.roots),
            _ => Vec::new(),
        };
        Ok(Covered {
            compiled,
            cover,
            trace,
            cpu: cpu + finished.cpu,
        })
    }

    fn job(&self, sandbox: &Sandbox, stock: &Compiler, directory: &Path) -> Job {
        let here = format!("{}/", self.directory.display());
        match (&self.manifest.kind, stock.family) {
            (Kind::TracePc, Family::Tcc) => {
                Job::new(self.directory.join("tcc"), directory).args(["-B".to_owned() + &here])
            }
            // -pipe is left out: with it the driver starts the assembler whatever becomes of cc1.
            (Kind::TracePc, _) => {
                let headers = self
                    .headers
                    .get_or_init(|| headers(sandbox, stock, directory));
                let system = headers
                    .iter()
                    .flat_map(|found| ["-isystem", found.as_str()]);
                stock.job(directory).arg("-B").arg(here).args(system)
            }
            (Kind::Gcov { command, .. }, _) => {
                let mut words = command.split_whitespace();
                Job::new(words.next().unwrap_or_default(), directory).args(words)
            }
        }
    }

    /// Lets gcov read the counters of one compilation.
    fn counters(&self, sandbox: &Sandbox, gcov: &str, directory: &Path) -> Result<Cover, Error> {
        let folder = directory.join("gcov");
        let mut data = Vec::new();
        collect(&folder, &mut data);
        data.sort();
        for counters in &data {
            // gcov looks for the notes beside the counters; the build has them at the path below.
            let Ok(below) = counters.strip_prefix(&folder) else {
                continue;
            };
            let notes = Path::new("/").join(below).with_extension("gcno");
            let beside = counters.with_extension("gcno");
            std::fs::copy(&notes, &beside)
                .map_err(|source| candor_toolchain::Error::file("copy", &notes, source))?;
        }
        if data.is_empty() {
            return Ok(Cover::default());
        }
        let job = Job::new(gcov, directory)
            .args(["--json-format", "--stdout"])
            .args(data.iter().map(|path| path.as_os_str()));
        let limits = Limits {
            output: 256 << 20,
            ..Limits::compiler()
        };
        let printed = sandbox.run(&job, &limits)?;
        let executed = gcov_json(Path::new("gcov's output"), &printed.stdout_text())?;
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let numbers = executed.iter().filter_map(|one| {
            let file = self.manifest.roots.name(&one.file)?;
            Some(map.number(&file, one.line, &one.function))
        });
        Ok(numbers.collect())
    }

    /// Writes the manifest: the last step of a preparation.
    pub(crate) fn announce(directory: &Path, manifest: &Manifest) -> Result<(), Error> {
        // Plain data with string keys: this cannot fail.
        let text = serde_json::to_string_pretty(manifest).unwrap_or_default() + "\n";
        write(&directory.join(MANIFEST), text.as_bytes())
    }
}

/// The level of LLVM's pipeline that clang's flags ask for; the last one counts.
fn level(flags: &[String]) -> &'static str {
    let asked = flags
        .iter()
        .rev()
        .find_map(|flag| flag.strip_prefix("-O"))
        .unwrap_or("0");
    match asked {
        "0" => "O0",
        "1" | "g" => "O1",
        "s" => "Os",
        "z" => "Oz",
        "3" | "4" | "fast" => "O3",
        _ => "O2",
    }
}

/// What clang would hand on to LLVM.
fn llvm_options(flags: &[String]) -> impl Iterator<Item = String> + '_ {
    let pairs = flags.iter().zip(flags.iter().skip(1));
    pairs
        .filter(|(flag, _)| *flag == "-mllvm")
        .map(|(_, option)| option.clone())
}

/// Where gcc's own headers are (`stddef.h`): a cc1 that was never installed looks for them in vain.
fn headers(sandbox: &Sandbox, stock: &Compiler, directory: &Path) -> Option<String> {
    let job = stock.job(directory).arg("-print-file-name=include");
    let answer = sandbox.run(&job, &Limits::compiler()).ok()?;
    let path = answer.stdout_text().trim().to_owned();
    Path::new(&path).is_absolute().then_some(path)
}

fn outcome(finished: &Finished) -> Compiled {
    let text = finished.stderr_text();
    match finished.ending {
        Ending::Exited(0) => Compiled::Well,
        ending => match candor_toolchain::build::crash_site(&text, ending) {
            Some(site) if !ending.timed_out() => Compiled::Crashed(site),
            _ => Compiled::Not(match finished.ending {
                Ending::Exited(_) => candor_toolchain::build::first_error(&text).to_owned(),
                other => other.to_string(),
            }),
        },
    }
}

/// The files of gcc's backtrace: lines of an address and a function, each followed by a line with a tab, a path and a
/// line number. What reports crashes is left out, and every file but for its first place.
fn trace(text: &str, roots: &Roots) -> Vec<String> {
    const REPORTERS: [&str; 4] = [
        "crash_signal",
        "internal_error",
        "fancy_abort",
        "_fatal_insn",
    ];
    let mut files: Vec<String> = Vec::new();
    let mut function = "";
    for line in text.lines() {
        if line.starts_with("0x") {
            function = line.split_once(' ').map_or("", |(_, name)| name);
        } else if let Some(place) = line.strip_prefix('\t') {
            let path = place.rsplit_once(':').map_or(place, |(path, _)| path);
            let reports = REPORTERS.iter().any(|name| function.starts_with(name));
            if let Some(file) = roots.name(path).filter(|_| !reports)
                && !files.contains(&file)
            {
                files.push(file);
            }
        }
    }
    files
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "gcda")
        {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Root;

    #[test]
    fn clangs_flags_become_a_pipeline() {
        let flags = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(level(&flags("-g")), "O0");
        assert_eq!(level(&flags("-O -g -O3 -w")), "O3");
        assert_eq!(level(&flags("-O")), "O2");
        assert_eq!(level(&flags("-Og")), "O1");
        let found: Vec<String> = llvm_options(&flags("-O2 -mllvm -disable-lsr -g")).collect();
        assert_eq!(found, ["-disable-lsr"]);
    }

    #[test]
    fn the_files_of_a_backtrace_come_once_without_its_reporters() {
        let roots = Roots(vec![Root {
            directory: "/src/gcc".into(),
            name: String::new(),
        }]);
        let text = "x.c:1:1: internal compiler error: Segmentation fault\n\
            0x1 crash_signal\n\t/src/gcc/toplev.cc:322\n\
            0x2 f(int)\n\t/src/gcc/../gcc/c/c-typeck.cc:10\n0x3 g\n\t/src/gcc/tree.cc:4\n\
            0x4 f(int)\n\t/src/gcc/c/c-typeck.cc:99\n0x5 main\n\t../csu/libc-start.c:360\n";
        assert_eq!(trace(text, &roots), ["c/c-typeck.cc", "tree.cc"]);
        assert!(trace("no crash", &roots).is_empty());
    }
}
