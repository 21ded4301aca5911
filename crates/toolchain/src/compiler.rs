//! A compiler is a command that answers like one. What it is and what it supports is asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sandbox::{Confinement, Finished, Job, Limits, Sandbox, find_on_path};
use crate::{Error, Scratch, known};

/// Whose compiler it is; decides which flags and diagnostics to expect.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// GNU C.
    Gcc,
    /// Clang/LLVM.
    Clang,
    /// The Rust compiler.
    Rustc,
    /// Tiny C.
    Tcc,
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Family::Gcc => "gcc",
            Family::Clang => "clang",
            Family::Rustc => "rustc",
            Family::Tcc => "tcc",
        })
    }
}

/// A release number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 12 of 12.2.0.
    pub major: u32,
    /// 2 of 12.2.0.
    pub minor: u32,
    /// 0 of 12.2.0.
    pub patch: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl serde::Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Version {
    /// The first `N.N[.N]` in `text`.
    pub fn find(text: &str) -> Option<Self> {
        text.split(|c: char| c.is_whitespace() || "(),-+~".contains(c))
            .find_map(Self::parse)
    }

    fn parse(word: &str) -> Option<Self> {
        let mut parts = word.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        let patch = match parts.next() {
            Some(part) => part.parse().unwrap_or(0),
            None => 0,
        };
        Some(Version {
            major,
            minor,
            patch,
        })
    }
}

/// The question who a compiler is.
const IDENTITY: &str = "who";

/// A compiler found on PATH or given by the user.
#[derive(Debug)]
pub struct Compiler {
    /// How it is called in reports and on the command line: `gcc-12`, `wrapper gcc-16`.
    pub name: String,
    /// Whose it is.
    pub family: Family,
    /// Its release.
    pub version: Version,
    /// What it generates code for, in its own words (`x86_64-linux-gnu`).
    pub target: String,
    /// The executable behind the first word of the command.
    pub path: PathBuf,
    /// How far it can be walled in and still compile.
    pub confinement: Confinement,
    leading: Vec<String>,
    answers: Mutex<BTreeMap<String, bool>>,
}

impl Compiler {
    /// Asks the command `given` (words separated by blanks) who it is, and compiles an empty file
    /// with it: first walled in, then, if that fails, with the walls down.
    pub fn probe(sandbox: &Sandbox, scratch: &Scratch, given: &str) -> Result<Self, Error> {
        let mut words = given.split_whitespace().map(str::to_owned);
        let first = words.next().ok_or(Error::EmptyCommand)?;
        let path = if first.contains('/') {
            std::path::absolute(&first).map_err(|source| Error::file("resolve", &first, source))?
        } else {
            find_on_path(&first).ok_or(Error::NotOnPath { program: first })?
        };
        if !path.is_file() {
            return Err(Error::NotOnPath {
                program: given.to_owned(),
            });
        }
        let mut compiler = Compiler {
            name: given.split_whitespace().collect::<Vec<_>>().join(" "),
            family: Family::Gcc,
            version: Version::default(),
            target: String::new(),
            path,
            confinement: Confinement::Full,
            leading: words.collect(),
            answers: Mutex::default(),
        };
        if sandbox.interrupted() {
            return Err(Error::Interrupted);
        }
        if compiler.recall().is_some() {
            return Ok(compiler);
        }
        let refused = match compiler.identify(sandbox, scratch) {
            Ok(()) => {
                compiler.keep();
                return Ok(compiler);
            }
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => error,
        };
        compiler.confinement = Confinement::Open;
        match compiler.identify(sandbox, scratch) {
            Ok(()) => Ok(compiler),
            Err(_) => Err(refused),
        }
    }

    /// Takes over what the same file said of itself before.
    fn recall(&mut self) -> Option<()> {
        let known = known::remembered(&self.path, IDENTITY)?;
        let (family, version, target) = serde_json::from_str(&known).ok()?;
        let version: String = version;
        self.version = Version::find(&version)?;
        self.family = family;
        self.target = target;
        Some(())
    }

    fn keep(&self) {
        let version = self.version.to_string();
        if let Ok(identity) = serde_json::to_string(&(self.family, version, &self.target)) {
            known::remember(&self.path, IDENTITY, &identity);
        }
    }

    fn identify(&mut self, sandbox: &Sandbox, scratch: &Scratch) -> Result<(), Error> {
        let not_one = |reason: String| Error::NotACompiler {
            command: self.name.clone(),
            reason,
        };
        let directory = scratch.job()?;
        let limits = Limits::compiler();
        let version = |flag: &str| -> Result<Finished, Error> {
            sandbox.run(&self.job(directory.path()).arg(flag), &limits)
        };
        let mut answer = version("--version")?;
        if !answer.ending.success() {
            answer = version("-v")?; // tcc
        }
        let text = answer.stdout_text();
        let (family, found) = classify(&text).ok_or_else(|| {
            not_one(format!(
                "`--version` gave {} and said: {}",
                answer.ending,
                first_line(&(text + &answer.stderr_text()))
            ))
        })?;
        let (source, flags): (&str, &[&str]) = match family {
            Family::Rustc => ("empty.rs", &["--crate-type=lib", "--emit=obj", "-o"]),
            _ => ("empty.c", &["-c", "-o"]),
        };
        directory.write(source, "")?;
        let job = self
            .job(directory.path())
            .args(flags.iter().copied())
            .args(["empty.o", source]);
        let built = sandbox.run(&job, &limits)?;
        if !built.ending.success() || !directory.path().join("empty.o").exists() {
            return Err(not_one(format!(
                "compiling an empty file gave {}: {}",
                built.ending,
                first_line(&built.stderr_text())
            )));
        }
        let machine = match family {
            Family::Rustc => sandbox.run(&self.job(directory.path()).arg("-vV"), &limits)?,
            _ => sandbox.run(&self.job(directory.path()).arg("-dumpmachine"), &limits)?,
        };
        let target = machine.stdout_text();
        self.target = target
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .or_else(|| target.lines().next())
            .filter(|_| machine.ending.success())
            .map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned());
        self.family = family;
        self.version = found;
        Ok(())
    }

    /// Whether the command has flags behind the compiler's name (or a compiler behind a wrapper's).
    pub fn has_own_flags(&self) -> bool {
        !self.leading.is_empty()
    }

    /// A job that calls this compiler in `directory`; arguments follow.
    pub fn job(&self, directory: &Path) -> Job {
        let mut job = Job::new(&self.path, directory)
            .args(self.leading.iter().cloned())
            .confinement(self.confinement);
        // rustup's proxy looks below HOME for the compiler proper, and HOME is not the user's.
        if let Some(home) = std::env::var_os("HOME").filter(|_| self.path.ends_with("rustc")) {
            for (name, below) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
                let value =
                    std::env::var_os(name).unwrap_or_else(|| Path::new(&home).join(below).into());
                job = job.env(name, value);
            }
        }
        job
    }

    /// Whether the compiler takes `flag` without complaint. Asked once by compiling a small file.
    pub fn supports(
        &self,
        sandbox: &Sandbox,
        scratch: &Scratch,
        flag: &str,
    ) -> Result<bool, Error> {
        if let Some(&known) = self.lock().get(flag) {
            return Ok(known);
        }
        let question = format!("takes {} {flag}", self.leading.join(" "));
        if let Some(known) = known::remembered(&self.path, &question) {
            return Ok(known == "yes");
        }
        let directory = scratch.job()?;
        directory.write("ask.c", "int main(void) { return 0; }\n")?;
        let job = self
            .job(directory.path())
            .args(flag.split_whitespace())
            .args(["-Werror", "-c", "ask.c", "-o", "ask.o"]);
        let run = sandbox.run(&job, &Limits::compiler())?;
        let supported = run.ending.success() && directory.path().join("ask.o").exists();
        self.lock().insert(flag.to_owned(), supported);
        known::remember(&self.path, &question, if supported { "yes" } else { "no" });
        Ok(supported)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, bool>> {
        // A poisoned cache is still a cache: every entry in it is whole.
        self.answers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl std::fmt::Display for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Family and version from the answer to `--version`.
fn classify(text: &str) -> Option<(Family, Version)> {
    let first = text.lines().next()?;
    let family = if first.starts_with("rustc ") {
        Family::Rustc
    } else if first.starts_with("tcc version") {
        Family::Tcc
    } else if first.contains("clang version") {
        Family::Clang
    } else if text.contains("Free Software Foundation") {
        Family::Gcc
    } else {
        return None;
    };
    // gcc prints "gcc-12 (Debian 12.2.0-14) 12.2.0": its own release is the last word.
    let version = match family {
        Family::Gcc => first.split_whitespace().rev().find_map(Version::find)?,
        _ => Version::find(first)?,
    };
    Some((family, version))
}

fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("nothing")
}

/// Names a compiler may have on PATH: `gcc`, `gcc-12`, `clang-19`, `rustc`, `tcc`.
fn is_compiler_name(name: &str) -> bool {
    match name {
        "gcc" | "clang" | "rustc" | "tcc" => true,
        _ => ["gcc-", "clang-"].iter().any(|prefix| {
            name.strip_prefix(prefix).is_some_and(|release| {
                !release.is_empty() && release.chars().all(|c| c.is_ascii_digit() || c == '.')
            })
        }),
    }
}

/// Every compiler on PATH, each once (`gcc` is dropped when it is `gcc-12`), families together and
/// releases ascending. Candidates that do not answer like compilers come back as errors.
pub fn discover(
    sandbox: &Sandbox,
    scratch: &Scratch,
) -> Result<(Vec<Compiler>, Vec<Error>), Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut names: BTreeMap<PathBuf, String> = BTreeMap::new();
    for directory in std::env::split_paths(&path) {
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_compiler_name(&name) || find_on_path(&name) != Some(entry.path()) {
                continue;
            }
            // rustup's proxies are one file under many names: do not merge those.
            let real = match name.as_str() {
                "rustc" => entry.path(),
                _ => entry.path().canonicalize().unwrap_or_else(|_| entry.path()),
            };
            let known = names.entry(real).or_insert_with(|| name.clone());
            if name.len() > known.len() {
                *known = name; // the versioned name says more
            }
        }
    }
    let mut compilers = Vec::new();
    let mut failures = Vec::new();
    let names: Vec<&String> = names.values().collect();
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    // Starting a compiler is mostly waiting for the disk: one after another would take a second.
    let probed: Vec<Result<Compiler, Error>> = std::thread::scope(|scope| {
        let worker = || {
            let mut mine = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(name) = names.get(index) else {
                    return mine;
                };
                mine.push(Compiler::probe(sandbox, scratch, name));
            }
        };
        let started: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let results = started.into_iter().map(|thread| thread.join());
        results.filter_map(Result::ok).flatten().collect()
    });
    for result in probed {
        match result {
            Ok(compiler) => compilers.push(compiler),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => failures.push(error),
        }
    }
    failures.sort_by_key(ToString::to_string);
    compilers.sort_by(|a, b| (a.family, a.version, &a.name).cmp(&(b.family, b.version, &b.name)));
    Ok((compilers, failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_compilers_print() {
        let gcc = "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.";
        let clang = "Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64-pc-linux-gnu";
        let rustc = "rustc 1.95.0 (59807616e 2026-04-14)";
        let tcc = "tcc version 0.9.27 (x86_64 Linux)";
        let show = |text| classify(text).map(|(family, version)| format!("{family} {version}"));
        assert_eq!(show(gcc).as_deref(), Some("gcc 12.2.0"));
        assert_eq!(show(clang).as_deref(), Some("clang 19.1.7"));
        assert_eq!(show(rustc).as_deref(), Some("rustc 1.95.0"));
        assert_eq!(show(tcc).as_deref(), Some("tcc 0.9.27"));
        assert_eq!(show("GNU bash, version 5.2.15"), None);
        assert_eq!(show(""), None);
    }

    #[test]
    fn compiler_names_are_told_from_their_neighbours() {
        for name in ["gcc", "gcc-12", "clang-19", "rustc", "tcc", "gcc-4.9"] {
            assert!(is_compiler_name(name), "{name}");
        }
        for name in [
            "gcc-ar",
            "gcc-ar-12",
            "clang-format",
            "clang-cpp-19",
            "clang-",
            "g++",
        ] {
            assert!(!is_compiler_name(name), "{name}");
        }
    }
}
