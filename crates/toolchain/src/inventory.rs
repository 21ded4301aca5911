//! What is installed, what each missing piece would enable, and how to get it: `candor doctor`'s facts.

use std::path::{Path, PathBuf};

use crate::compiler::{Compiler, Version, discover};
use crate::gate::{Sanitizer, supports};
use crate::program::csmith_include;
use crate::sandbox::{Capabilities, Confinement, Job, Limits, Sandbox, find_on_path};
use crate::{Error, Family, Miri, Scratch};

/// What a tool is to candor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Compiles programs.
    Compiler,
    /// Confirms values.
    Debugger,
    /// Loaded by `conform`.
    Libllvm,
    /// Loaded to read C.
    Libclang,
    /// Used by `prove`.
    Solver,
    /// Makes programs.
    Generator,
    /// Shrinks programs.
    Reducer,
    /// Judges programs.
    Sanitizer,
    /// Connects the workers of a fleet.
    Broker,
    /// For benchmarks.
    Benchmark,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Compiler => "compiler",
            Kind::Debugger => "debugger",
            Kind::Libllvm => "libLLVM",
            Kind::Libclang => "libclang",
            Kind::Solver => "solver",
            Kind::Generator => "generator",
            Kind::Reducer => "reducer",
            Kind::Sanitizer => "sanitizer",
            Kind::Broker => "broker",
            Kind::Benchmark => "benchmark",
        })
    }
}

/// A tool that is there.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Tool {
    /// What it is for.
    pub kind: Kind,
    /// `gcc-12`, `libLLVM-19`, `UBSan+ASan (clang-19)`.
    pub name: String,
    /// As it says itself; empty when it does not.
    pub version: String,
    /// Where.
    pub path: PathBuf,
    /// What a user should know about it; empty otherwise.
    pub note: String,
}

/// A tool that is not.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Missing {
    /// What it is for.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The commands it would enable or improve.
    pub enables: String,
    /// The command that installs it.
    pub install: String,
}

/// Everything `candor doctor` knows.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Inventory {
    /// What is there.
    pub tools: Vec<Tool>,
    /// What is not.
    pub missing: Vec<Missing>,
    /// Commands that answer to a compiler's name but do not work, with the reason.
    pub broken: Vec<String>,
    /// What the kernel allows.
    pub sandbox: Capabilities,
    /// Which of the main commands can run: each with the reason if not.
    pub ready: Vec<Readiness>,
}

/// Whether a command can run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Readiness {
    /// `check`.
    pub command: &'static str,
    /// What it lacks; empty when it can run.
    pub lacks: Vec<String>,
}

/// A program found by name, with the package that brings it.
struct Wanted {
    kind: Kind,
    /// The command, or a prefix when it ends in `-` (then every `prefixN` counts).
    name: &'static str,
    enables: &'static str,
    package: &'static str,
}

const WANTED: [Wanted; 10] = [
    Wanted {
        kind: Kind::Debugger,
        name: "gdb",
        enables: "check, hunt: confirming findings with gdb",
        package: "gdb",
    },
    Wanted {
        kind: Kind::Debugger,
        name: "lldb-",
        enables: "check, hunt: confirming findings with lldb",
        package: "lldb-19",
    },
    Wanted {
        kind: Kind::Solver,
        name: "z3",
        enables: "prove, repair",
        package: "z3",
    },
    Wanted {
        kind: Kind::Solver,
        name: "cvc5",
        enables: "prove: a second solver's opinion",
        package: "cvc5",
    },
    Wanted {
        kind: Kind::Generator,
        name: "csmith",
        enables: "hunt: random programs",
        package: "csmith libcsmith-dev",
    },
    Wanted {
        kind: Kind::Reducer,
        name: "cvise",
        enables: "reduce --with cvise",
        package: "cvise",
    },
    Wanted {
        kind: Kind::Reducer,
        name: "creduce",
        enables: "reduce: comparison in benchmarks",
        package: "creduce",
    },
    Wanted {
        kind: Kind::Broker,
        name: "nats-server",
        enables: "hunt --fleet: a broker of one's own (clients need none)",
        package: "nats-server",
    },
    Wanted {
        kind: Kind::Benchmark,
        name: "hyperfine",
        enables: "benchmarks of whole commands",
        package: "hyperfine",
    },
    Wanted {
        kind: Kind::Benchmark,
        name: "valgrind",
        enables: "benchmarks that count instructions",
        package: "valgrind",
    },
];

impl Inventory {
    /// Looks at this machine. `compilers` are those already discovered, `libclangs` what the source
    /// crate would load (only it knows where to look).
    pub fn take(
        sandbox: &Sandbox,
        scratch: &Scratch,
        libclangs: &[PathBuf],
    ) -> Result<Self, Error> {
        let (compilers, failures) = discover(sandbox, scratch)?;
        let mut inventory = Inventory {
            tools: Vec::new(),
            missing: Vec::new(),
            broken: failures.iter().map(ToString::to_string).collect(),
            sandbox: sandbox.capabilities().clone(),
            ready: Vec::new(),
        };
        inventory.compilers(&compilers);
        inventory.commands(sandbox, scratch)?;
        inventory.libraries(libclangs);
        inventory.sanitizers(&compilers, sandbox, scratch)?;
        inventory.miri(&compilers, sandbox, scratch)?;
        inventory.headers();
        inventory.readiness();
        inventory.tools.sort_by_key(|a| a.kind);
        inventory.missing.sort_by_key(|a| a.kind);
        Ok(inventory)
    }

    /// Whether `check`, `mutate` and `hunt` can run.
    pub fn main_commands_ready(&self) -> bool {
        self.ready
            .iter()
            .filter(|ready| MAIN.contains(&ready.command))
            .all(|ready| ready.lacks.is_empty())
    }

    fn has(&self, kind: Kind) -> bool {
        self.tools.iter().any(|tool| tool.kind == kind)
    }

    fn miss(&mut self, kind: Kind, name: &str, enables: &str, package: &str) {
        self.missing.push(Missing {
            kind,
            name: name.to_owned(),
            enables: enables.to_owned(),
            install: format!("apt-get install {package}"),
        });
    }

    fn compilers(&mut self, compilers: &[Compiler]) {
        for compiler in compilers {
            let mut note = compiler.target.clone();
            if compiler.confinement == Confinement::Open {
                note += "; runs unconfined (it does not work walled in)";
            }
            self.tools.push(Tool {
                kind: Kind::Compiler,
                name: compiler.name.clone(),
                version: compiler.version.to_string(),
                path: compiler.path.clone(),
                note,
            });
        }
        for (family, enables, package) in [
            (
                Family::Gcc,
                "check, mutate, hunt: references and a second opinion",
                "gcc",
            ),
            (
                Family::Clang,
                "check, mutate, hunt: references and the sanitizer gate",
                "clang-19 libclang-rt-19-dev",
            ),
            (
                Family::Tcc,
                "mutate: a 25 times faster liveness pass",
                "tcc",
            ),
        ] {
            if !compilers.iter().any(|compiler| compiler.family == family) {
                self.miss(Kind::Compiler, &family.to_string(), enables, package);
            }
        }
        if !compilers
            .iter()
            .any(|compiler| compiler.family == Family::Rustc)
        {
            self.missing.push(Missing {
                kind: Kind::Compiler,
                name: "rustc".into(),
                enables: "check and conform on Rust programs".into(),
                install: "rustup toolchain install stable".into(),
            });
        }
    }

    fn miri(
        &mut self,
        compilers: &[Compiler],
        sandbox: &Sandbox,
        scratch: &Scratch,
    ) -> Result<(), Error> {
        let is_rustc = |compiler: &&Compiler| compiler.family == Family::Rustc;
        let Some(rustc) = compilers.iter().find(is_rustc) else {
            return Ok(());
        };
        match Miri::find(sandbox, scratch, rustc)? {
            Some(miri) => self.tools.push(Tool {
                kind: Kind::Sanitizer,
                name: "Miri".into(),
                version: miri.version(sandbox, scratch)?,
                path: miri.path,
                note: "check: judges Rust programs with `unsafe`".into(),
            }),
            None => self.missing.push(Missing {
                kind: Kind::Sanitizer,
                name: "Miri".into(),
                enables: "check: judging Rust programs with `unsafe`".into(),
                install: "rustup +nightly component add miri rust-src".into(),
            }),
        }
        Ok(())
    }

    fn commands(&mut self, sandbox: &Sandbox, scratch: &Scratch) -> Result<(), Error> {
        self.tools.push(Tool {
            kind: Kind::Debugger,
            name: "native".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            path: PathBuf::from("(built in)"),
            note: "finds; gdb and lldb confirm".into(),
        });
        for wanted in &WANTED {
            let found = executables(wanted.name);
            if found.is_empty() {
                self.miss(
                    wanted.kind,
                    wanted.name.trim_end_matches('-'),
                    wanted.enables,
                    wanted.package,
                );
            }
            for path in found {
                let version = ask_version(sandbox, scratch, &path)?;
                self.tools.push(Tool {
                    kind: wanted.kind,
                    name: file_name(&path),
                    version,
                    path,
                    note: String::new(),
                });
            }
        }
        Ok(())
    }

    fn libraries(&mut self, libclangs: &[PathBuf]) {
        for path in libllvms() {
            self.tools.push(Tool {
                kind: Kind::Libllvm,
                name: "libLLVM".into(),
                version: version_in_name(&path),
                note: conform_note(&version_in_name(&path)),
                path,
            });
        }
        if !self.has(Kind::Libllvm) {
            self.miss(Kind::Libllvm, "libLLVM", "conform", "llvm-19");
        }
        for path in libclangs {
            self.tools.push(Tool {
                kind: Kind::Libclang,
                name: "libclang".into(),
                version: version_in_name(path),
                path: path.clone(),
                note: String::new(),
            });
        }
        if libclangs.is_empty() {
            self.miss(
                Kind::Libclang,
                "libclang",
                "check, mutate, hunt: reading C sources",
                "libclang1-19",
            );
        }
    }

    fn sanitizers(
        &mut self,
        compilers: &[Compiler],
        sandbox: &Sandbox,
        scratch: &Scratch,
    ) -> Result<(), Error> {
        for sanitizer in Sanitizer::ALL {
            let mut found = false;
            for compiler in compilers.iter().filter(|c| c.family == Family::Clang) {
                if supports(compiler, sandbox, scratch, sanitizer)? {
                    found = true;
                    self.tools.push(Tool {
                        kind: Kind::Sanitizer,
                        name: sanitizer.name().into(),
                        version: compiler.version.to_string(),
                        path: compiler.path.clone(),
                        note: format!("in {compiler}"),
                    });
                }
            }
            if !found {
                self.miss(
                    Kind::Sanitizer,
                    sanitizer.name(),
                    "check, mutate, hunt: the gate against undefined behaviour",
                    "clang-19 libclang-rt-19-dev",
                );
            }
        }
        Ok(())
    }

    fn headers(&mut self) {
        if csmith_include().is_none() {
            self.miss(
                Kind::Generator,
                "csmith.h",
                "check, mutate, hunt on Csmith programs",
                "libcsmith-dev",
            );
        }
    }

    fn readiness(&mut self) {
        let compiler_of = |family: &str| {
            self.tools
                .iter()
                .any(|tool| tool.kind == Kind::Compiler && tool.name.starts_with(family))
        };
        let mut common = Vec::new();
        if !compiler_of("gcc") {
            common.push("gcc".to_owned());
        }
        if !compiler_of("clang") {
            common.push("clang".to_owned());
        }
        if !self.has(Kind::Libclang) {
            common.push("libclang".to_owned());
        }
        for sanitizer in Sanitizer::ALL {
            let there = |tool: &Tool| tool.kind == Kind::Sanitizer && tool.name == sanitizer.name();
            if !self.tools.iter().any(there) {
                common.push(sanitizer.name().to_owned());
            }
        }
        let debugger = self
            .tools
            .iter()
            .any(|tool| tool.kind == Kind::Debugger && tool.name != "native");
        let csmith =
            self.tools.iter().any(|tool| tool.name == "csmith") && csmith_include().is_some();
        for command in MAIN {
            let mut lacks = common.clone();
            if command != "mutate" && !debugger {
                lacks.push("gdb or lldb".into());
            }
            if command == "hunt" && !csmith {
                lacks.push("csmith".into());
            }
            self.ready.push(Readiness { command, lacks });
        }
        let watchable = self
            .tools
            .iter()
            .any(|tool| tool.kind == Kind::Libllvm && major(&tool.version) >= OLDEST_LLVM);
        self.ready.push(Readiness {
            command: "conform",
            lacks: match watchable {
                true => Vec::new(),
                false => vec![format!("libLLVM {OLDEST_LLVM} or later")],
            },
        });
    }
}

/// Commands without which doctor's exit code is not 0.
const MAIN: [&str; 3] = ["check", "mutate", "hunt"];

/// 13 has no debugify in its pass manager.
const OLDEST_LLVM: u32 = 14;

fn major(version: &str) -> u32 {
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// What `conform` can do with a libLLVM.
fn conform_note(version: &str) -> String {
    let version = major(version);
    let named = Path::new(&format!("/usr/lib/llvm-{version}/lib/libLLVMCore.a")).is_file();
    match (version >= OLDEST_LLVM, named) {
        (false, _) => format!("conform needs {OLDEST_LLVM} or later"),
        (true, true) => "conform can watch it and name its functions".into(),
        (true, false) => {
            format!("conform can watch it; llvm-{version}-dev would name its functions")
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// `name` on PATH; for a prefix ending in `-`, the bare name and every numbered one, newest last.
fn executables(name: &str) -> Vec<PathBuf> {
    let Some(prefix) = name.strip_suffix('-') else {
        return find_on_path(name).into_iter().collect();
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for directory in std::env::split_paths(&path) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let release = match file.strip_prefix(prefix) {
                Some("") => Some(0),
                Some(rest) => rest
                    .strip_prefix('-')
                    .and_then(|digits| digits.parse().ok()),
                None => None,
            };
            if let Some(release) = release {
                let same = |(_, known): &(u32, PathBuf)| {
                    known.canonicalize().ok() == entry.path().canonicalize().ok()
                };
                if !found.iter().any(same) {
                    found.push((release, entry.path()));
                }
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn ask_version(sandbox: &Sandbox, scratch: &Scratch, path: &Path) -> Result<String, Error> {
    let directory = scratch.job()?;
    let job = Job::new(path, directory.path()).arg("--version");
    let limits = Limits {
        memory: None,
        ..Limits::compiler()
    };
    let run = match sandbox.run(&job, &limits) {
        Ok(run) => run,
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(_) => return Ok(String::new()),
    };
    let text = run.stdout_text() + &run.stderr_text();
    let found = text.lines().find_map(Version::find);
    Ok(found.map(|version| version.to_string()).unwrap_or_default())
}

/// libLLVM shared libraries in the usual places, each file once.
pub fn libllvms() -> Vec<PathBuf> {
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut look = |directory: &Path| {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with("libLLVM")
                || !name.contains(".so")
                || name.contains("libLLVMSPIRV")
            {
                continue;
            }
            let Ok(real) = entry.path().canonicalize() else {
                continue;
            };
            if !found.iter().any(|(known, _)| *known == real) {
                found.push((real, entry.path()));
            }
        }
    };
    for entry in std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten()
    {
        if entry.file_name().to_string_lossy().starts_with("llvm-") {
            look(&entry.path().join("lib"));
        }
    }
    look(Path::new("/usr/lib/x86_64-linux-gnu"));
    look(Path::new("/usr/local/lib"));
    let mut paths: Vec<PathBuf> = found.into_iter().map(|(real, _)| real).collect();
    paths.sort_by_key(|path| (version_number(path), path.clone()));
    paths
}

/// The release in a library's file name or directory: `libLLVM-16.so.1`, `libLLVM.so.19.1`,
/// `/usr/lib/llvm-14/lib/libclang.so`.
fn version_in_name(path: &Path) -> String {
    let numbers = |text: &str| -> Option<String> {
        text.split(['-', '_'])
            .flat_map(|part| part.split(".so"))
            .map(|part| part.trim_matches('.'))
            .find(|part| part.starts_with(|c: char| c.is_ascii_digit()))
            .map(|part| {
                part.chars()
                    .take_while(|c| c.is_ascii_digit() || *c == '.')
                    .collect::<String>()
                    .trim_matches('.')
                    .to_owned()
            })
    };
    let from_directory = || {
        path.components().find_map(|part| {
            let part = part.as_os_str().to_string_lossy();
            part.strip_prefix("llvm-").map(str::to_owned)
        })
    };
    let own = numbers(&file_name(path));
    match (own, from_directory()) {
        // "libclang.so.1" says only the interface number
        (Some(own), Some(directory)) if own == "1" => directory,
        (Some(own), _) => own,
        (None, directory) => directory.unwrap_or_default(),
    }
}

fn version_number(path: &Path) -> u32 {
    version_in_name(path)
        .split('.')
        .next()
        .and_then(|major| major.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_releases_are_read_from_names_and_directories() {
        for (path, version) in [
            ("/usr/lib/x86_64-linux-gnu/libLLVM-16.so.1", "16"),
            ("/usr/lib/llvm-19/lib/libLLVM.so.19.1", "19.1"),
            ("/usr/lib/llvm-14/lib/libLLVM-14.0.6.so", "14.0.6"),
            ("/usr/lib/llvm-19/lib/libclang.so.1", "19"),
            ("/usr/lib/x86_64-linux-gnu/libclang-19.so.19", "19"),
            ("/opt/lib/libclang.so", ""),
        ] {
            assert_eq!(version_in_name(Path::new(path)), version, "{path}");
        }
    }

    #[test]
    fn this_machine_has_what_the_install_script_brings() {
        assert!(!libllvms().is_empty());
        assert!(!executables("lldb-").is_empty());
        assert!(executables("no-such-tool").is_empty());
    }
}
