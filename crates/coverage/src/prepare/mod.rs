//! Building a coverage compiler: said first, done step by step, resumed where it stopped.
//!
//! A [`Recipe`] knows how one compiler is built; [`plan`] looks at the source tree, the tools and the
//! disk and says what will be done; [`prepare`] does it. Each finished step leaves a stamp, and `make`
//! itself resumes within a step; all output goes to one log, whose last lines an error shows. The
//! manifest comes last: a directory without it is not a coverage compiler.

mod gcc;
mod gcov;
mod llvm;
mod tcc;

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use candor_toolchain::{Job, Limits, Sandbox};
use serde::{Deserialize, Serialize};

use crate::compiler::{BLOCKS, MAP, SCHEMA, SUITE};
use crate::files::{absolute, make_directory, read_text, write};
use crate::map::Roots;
use crate::{CoverageCompiler, Error, Kind, Manifest, Map};

pub(crate) use llvm::PROGRAM as LLVM_PROGRAM;

/// Written when a preparation begins.
pub(crate) const BEGUN: &str = "prepare.json";
const LOG: &str = "prepare.log";
const STAMPS: &str = "stamps";

/// Suite tests kept.
const SUITE_SIZE: usize = 30;

/// Which compiler is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// gcc's cc1.
    Gcc,
    /// LLVM's optimiser and code generation.
    Llvm,
    /// Tiny C.
    Tcc,
    /// A compiler that exists, built with `--coverage`.
    Gcov,
}

impl Recipe {
    /// Every recipe.
    pub const ALL: [Recipe; 4] = [Recipe::Gcc, Recipe::Llvm, Recipe::Tcc, Recipe::Gcov];

    /// The recipe of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|recipe| recipe.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Recipe::Gcc => "gcc",
            Recipe::Llvm => "llvm",
            Recipe::Tcc => "tcc",
            Recipe::Gcov => "gcov",
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which compiler.
    pub recipe: Recipe,
    /// Its source tree.
    pub source: PathBuf,
    /// Where to.
    pub output: PathBuf,
    /// Jobs of make.
    pub jobs: usize,
    /// The command of an existing compiler, for [`Recipe::Gcov`].
    pub command: Option<String>,
    /// The developers' test programs; the source tree's own when not given.
    pub suite: Option<PathBuf>,
}

/// One step of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name: also its stamp's.
    pub name: &'static str,
    /// What it does, in words.
    pub words: String,
    program: PathBuf,
    arguments: Vec<String>,
    directory: PathBuf,
}

/// A file that a build needs beside the source: the run-time, a wrapper around the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tool {
    name: &'static str,
    text: String,
    executable: bool,
}

impl Tool {
    fn new(name: &'static str, text: &str) -> Tool {
        Tool {
            name,
            text: text.to_owned(),
            executable: false,
        }
    }

    /// The run-time that records.
    fn runtime() -> Tool {
        Tool::new("trace_pc.c", include_str!("../../runtime/trace_pc.c"))
    }

    fn executable(mut self) -> Tool {
        self.executable = true;
        self
    }

    /// Unchanged files stay: make would build everything again for a newer one it depends on.
    fn write(&self, directory: &Path) -> Result<(), Error> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = directory.join(self.name);
        if read_text(&path).is_ok_and(|text| text == self.text) {
            return Ok(());
        }
        write(&path, self.text.as_bytes())?;
        if self.executable {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).map_err(|source| {
                candor_toolchain::Error::file("make executable", &path, source)
            })?;
        }
        Ok(())
    }
}

/// What will be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is built: `gcc 12.2.0`.
    pub what: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// CPU minutes it takes, about.
    pub minutes: u32,
    /// Megabytes it takes.
    pub megabytes: u64,
    /// How many of the steps are done already.
    pub done: usize,
    tools: Vec<Tool>,
    recipe: Recipe,
    source: PathBuf,
    output: PathBuf,
    version: String,
    roots: Roots,
    program: Option<PathBuf>,
    kind: Kind,
    family: String,
    suite: Option<PathBuf>,
}

/// What is going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step's words.
    pub step: String,
    /// Its number, from 1.
    pub number: usize,
    /// Of how many.
    pub of: usize,
    /// The last thing it did: an object file, most often.
    pub detail: String,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct Begun {
    recipe: Recipe,
    source: PathBuf,
    version: String,
}

/// Looks at everything and says what will be done; writes nothing.
pub fn plan(request: &Request) -> Result<Plan, Error> {
    let request = Request {
        source: absolute(&request.source)?,
        output: absolute(&request.output)?,
        ..request.clone()
    };
    let mut plan = match request.recipe {
        Recipe::Gcc => gcc::plan(&request)?,
        Recipe::Llvm => llvm::plan(&request)?,
        Recipe::Tcc => tcc::plan(&request)?,
        Recipe::Gcov => gcov::plan(&request)?,
    };
    let begun = request.output.join(BEGUN);
    if begun.exists() {
        let met: Option<Begun> = serde_json::from_str(&read_text(&begun)?).ok();
        let wanted = plan.begun();
        if met.as_ref() != Some(&wanted) {
            return Err(Error::Begun {
                directory: request.output,
                met: met.map_or_else(
                    || "something else".to_owned(),
                    |met| {
                        format!(
                            "{} {} from {}",
                            met.recipe.name(),
                            met.version,
                            met.source.display()
                        )
                    },
                ),
            });
        }
    } else if request.output.exists()
        && request
            .output
            .read_dir()
            .is_ok_and(|mut any| any.next().is_some())
    {
        return Err(Error::Begun {
            directory: request.output,
            met: "something else (it is not empty)".into(),
        });
    }
    plan.done = plan
        .steps
        .iter()
        .take_while(|step| plan.stamp(step).exists())
        .count();
    if plan.done == 0 {
        let free = free_megabytes(&plan.output);
        if free < plan.megabytes {
            return Err(Error::Disk {
                recipe: plan.what,
                directory: plan.output,
                free,
                needed: plan.megabytes,
            });
        }
    }
    Ok(plan)
}

/// Carries a plan out; a step that was done before is not done again.
pub fn prepare(
    sandbox: &Sandbox,
    plan: &Plan,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<CoverageCompiler, Error> {
    make_directory(&plan.output.join(STAMPS))?;
    make_directory(&plan.output.join("build"))?;
    // Plain data: this cannot fail.
    let begun = serde_json::to_string_pretty(&plan.begun()).unwrap_or_default();
    write(&plan.output.join(BEGUN), begun.as_bytes())?;
    let tools = plan.output.join("tools");
    make_directory(&tools)?;
    for tool in &plan.tools {
        tool.write(&tools)?;
    }
    let of = plan.steps.len() + 1;
    for (number, step) in (1..).zip(&plan.steps) {
        let stamp = plan.stamp(step);
        if stamp.exists() {
            continue;
        }
        let report = |detail: String| {
            progress(Progress {
                step: step.words.clone(),
                number,
                of,
                detail,
            });
        };
        run(sandbox, plan, step, &report)?;
        write(&stamp, b"")?;
    }
    progress(Progress {
        step: "reading its debug information".into(),
        number: of,
        of,
        detail: String::new(),
    });
    index(plan)
}

/// The last step: blocks, map, suite, manifest.
fn index(plan: &Plan) -> Result<CoverageCompiler, Error> {
    let mut blocks = 0;
    if let Some(built) = &plan.program {
        let name = built.file_name().unwrap_or(built.as_os_str());
        let program = plan.output.join(name);
        std::fs::copy(built, &program)
            .map_err(|source| candor_toolchain::Error::file("copy", built, source))?;
        let (offsets, map) = Map::of_program(&program, &plan.roots)?;
        let bytes: Vec<u8> = offsets
            .iter()
            .flat_map(|offset| offset.to_le_bytes())
            .collect();
        write(&plan.output.join(BLOCKS), &bytes)?;
        map.save(&plan.output.join(MAP))?;
        blocks = offsets.len();
    }
    if let Some(suite) = &plan.suite {
        copy_suite(suite, &plan.output.join(SUITE))?;
    }
    let manifest = Manifest {
        schema: SCHEMA,
        kind: plan.kind.clone(),
        family: plan.family.clone(),
        version: plan.version.clone(),
        roots: plan.roots.clone(),
        blocks,
    };
    CoverageCompiler::announce(&plan.output, &manifest)?;
    CoverageCompiler::open(&plan.output)
}

/// Programs spread evenly over the suite: neighbours test the same thing.
fn copy_suite(from: &Path, to: &Path) -> Result<(), Error> {
    let mut tests: Vec<PathBuf> = std::fs::read_dir(from)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| is_plain(&text)))
        .collect();
    tests.sort();
    make_directory(to)?;
    let step = (tests.len() / SUITE_SIZE).max(1);
    for test in tests.iter().step_by(step).take(SUITE_SIZE) {
        if let Some(name) = test.file_name() {
            std::fs::copy(test, to.join(name))
                .map_err(|source| candor_toolchain::Error::file("copy", test, source))?;
        }
    }
    Ok(())
}

/// A whole program that needs no options or files of its own, or one of clang's tests for any target.
fn is_plain(text: &str) -> bool {
    let needy = [
        "dg-options",
        "dg-additional",
        "dg-require",
        "dg-skip",
        "dg-xfail",
        "#include \"",
        "asm",
        "-triple",
    ];
    let whole = text.contains("main") || text.contains("RUN: %clang");
    whole && !needy.iter().any(|sign| text.contains(sign))
}

fn run(
    sandbox: &Sandbox,
    plan: &Plan,
    step: &Step,
    report: &(dyn Fn(String) + Sync),
) -> Result<(), Error> {
    let log = plan.output.join(LOG);
    make_directory(&step.directory)?;
    // The shell's only task: a build prints megabytes, which belong into a file.
    let job = Job::new("sh", &step.directory)
        .args(["-c", "log=$1; shift; exec \"$@\" >>\"$log\" 2>&1", "sh"])
        .arg(log.as_os_str())
        .arg(step.program.as_os_str())
        .args(step.arguments.iter().cloned())
        .writable(&plan.output);
    let limits = Limits {
        wall: Duration::from_secs(6 * 3600),
        cpu: Duration::from_secs(3600), // of one process: no single object takes so long
        memory: None,
        processes: 1024,
        file_size: 4 << 30,
        output: 1 << 20,
    };
    let over = AtomicBool::new(false);
    let finished = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                report(last_object(&tail(&log, 4096)));
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let finished = sandbox.run(&job, &limits);
        over.store(true, Ordering::Relaxed);
        finished
    })?;
    if finished.ending.success() {
        return Ok(());
    }
    Err(Error::Step {
        step: step.words.clone(),
        ending: finished.ending.to_string(),
        tail: last_lines(&tail(&log, 16 << 10), 15),
        log,
    })
}

/// The end of a file.
fn tail(path: &Path, most: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.iter().skip(lines.len().saturating_sub(count));
    let shown: Vec<String> = shown
        .map(|line| format!("  {}", line.chars().take(300).collect::<String>()))
        .collect();
    shown.join("\n")
}

/// `tree-cfg.o` of the last compiler call in a log; of ninja's, its own last line.
fn last_object(text: &str) -> String {
    let counted = |line: &&str| line.starts_with('[') && line.contains("] ");
    if let Some(line) = text.lines().rev().find(counted) {
        return line.chars().take(100).collect();
    }
    let mut found = "";
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if word == "-o"
            && let Some(next) = words.peek()
        {
            found = next;
        }
    }
    found.to_owned()
}

impl Plan {
    fn begun(&self) -> Begun {
        Begun {
            recipe: self.recipe,
            source: self.source.clone(),
            version: self.version.clone(),
        }
    }

    fn stamp(&self, step: &Step) -> PathBuf {
        self.output.join(STAMPS).join(step.name)
    }

    /// Where it goes.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// Where the log is.
    pub fn log(&self) -> PathBuf {
        self.output.join(LOG)
    }
}

/// Refuses when `programs` or `headers` are not installed.
fn need(recipe: &str, programs: &[(&str, &str)], headers: &[(&str, &str)]) -> Result<(), Error> {
    let lacking_program =
        |(program, _): &&(&str, &str)| candor_toolchain::sandbox::find_on_path(program).is_none();
    let lacking_header = |(header, _): &&(&str, &str)| {
        let places = [
            "/usr/include",
            "/usr/include/x86_64-linux-gnu",
            "/usr/local/include",
        ];
        !places
            .iter()
            .any(|place| Path::new(place).join(header).exists())
    };
    let programs = programs.iter().filter(lacking_program);
    let missing: Vec<&(&str, &str)> = programs
        .chain(headers.iter().filter(lacking_header))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    Err(Error::Missing {
        recipe: recipe.to_owned(),
        missing: names.join(", "),
        packages: packages.join(" "),
    })
}

/// Room where `path` is, or will be.
fn free_megabytes(path: &Path) -> u64 {
    let there = path
        .ancestors()
        .find(|one| one.exists())
        .unwrap_or(Path::new("/"));
    nix::sys::statvfs::statvfs(there).map_or(u64::MAX, |stat| {
        (stat.blocks_available() * stat.fragment_size()) >> 20
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_what_is_being_made() {
        let log = "g++ -c -o tree.o tree.cc\ng++ -c -o config/i386/x.o x.cc\nx.cc:3: warning\n";
        assert_eq!(last_object(log), "config/i386/x.o");
        assert_eq!(last_object("checking for gcc... gcc"), "");
        assert_eq!(
            last_object("[7/9] Building CXX object lib/IR/Core.cpp.o\nx"),
            "[7/9] Building CXX object lib/IR/Core.cpp.o"
        );
        assert_eq!(last_lines("a\nb\nc", 2), "  b\n  c");
    }

    #[test]
    fn suite_tests_are_whole_programs_without_needs() {
        assert!(is_plain("int main(void) { return 0; }"));
        assert!(!is_plain(
            "/* { dg-options \"-O3\" } */ int main(void) { return 0; }"
        ));
        assert!(!is_plain("int f(void) { return 0; }"));
        assert!(is_plain(
            "// RUN: %clang_cc1 %s -emit-llvm -o -\nint f(void) { return 0; }"
        ));
        assert!(!is_plain("// RUN: %clang_cc1 -triple arm %s\nint f(void);"));
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let error = need(
            "x",
            &[("sh", "dash"), ("no-such-tool", "tool-package")],
            &[("no/such.h", "lib-dev")],
        );
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("no-such-tool, no/such.h")
                && text.contains("apt-get install tool-package lib-dev"),
            "{text}"
        );
        assert!(need("x", &[("sh", "dash")], &[("stdio.h", "libc6-dev")]).is_ok());
    }
}
