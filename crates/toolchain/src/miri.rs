//! Miri, the interpreter that finds undefined behaviour in Rust, where it is installed. What the sanitizers are for C:
//! only for programs with `unsafe` code, since rustc judges the others itself.
//!
//! Miri runs one input, and by its own model of aliasing; what it does not object to is not proved. What it cannot run
//! (foreign functions, a nightly that does not compile the program, too long) is *undecided*.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::rustc::build_flags;
use crate::sandbox::{Confinement, Ending, Job, Limits, Sandbox};
use crate::{Compiler, Error, Program, Scratch, Version};

/// How much slower than the program Miri may be.
const SLOWNESS: u32 = 24;

/// What Miri's own messages begin with.
const OBJECTION: &str = "error: Undefined Behavior";

/// A Miri on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miri {
    /// The executable.
    pub path: PathBuf,
}

/// What Miri says of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MiriVerdict {
    /// It ran the program to its end and found nothing.
    NoObjection,
    /// Undefined behaviour.
    Objects {
        /// Miri's first line about it.
        message: String,
    },
    /// It could not judge.
    Undecided {
        /// In words.
        reason: String,
    },
}

impl Miri {
    /// The Miri beside a rustc, in its toolchain, or in the toolchains next to that (a nightly's, when the rustc is
    /// stable).
    pub fn find(
        sandbox: &Sandbox,
        scratch: &Scratch,
        rustc: &Compiler,
    ) -> Result<Option<Self>, Error> {
        let directory = scratch.job()?;
        let job = rustc.job(directory.path()).args(["--print", "sysroot"]);
        let answer = sandbox.run(&job, &Limits::compiler())?;
        let sysroot = PathBuf::from(answer.stdout_text().trim());
        let mut places: Vec<PathBuf> = rustc
            .path
            .parent()
            .map(Path::to_owned)
            .into_iter()
            .collect();
        places.push(sysroot.join("bin"));
        let mut others: Vec<PathBuf> = sysroot
            .parent()
            .and_then(|all| std::fs::read_dir(all).ok())
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path().join("bin"))
            .filter(|place| place.join("rustc").is_file())
            .collect();
        others.sort();
        places.extend(others.into_iter().rev());
        let real = |path: &PathBuf| {
            let target = std::fs::canonicalize(path).ok();
            // rustup's stand-ins are there whether or not the component is
            let name = target.as_deref().and_then(Path::file_name);
            name.is_some_and(|name| name != "rustup")
        };
        let found = places.iter().map(|place| place.join("miri"));
        Ok(found
            .into_iter()
            .find(|path| path.is_file() && real(path))
            .map(|path| Miri { path }))
    }

    /// Its release, in its own words; empty when it does not say.
    pub fn version(&self, sandbox: &Sandbox, scratch: &Scratch) -> Result<String, Error> {
        let directory = scratch.job()?;
        let job = Job::new(&self.path, directory.path()).arg("--version");
        let answer = sandbox.run(&job, &Limits::compiler())?;
        let found = answer.stdout_text().lines().find_map(Version::find);
        Ok(found.map(|version| version.to_string()).unwrap_or_default())
    }

    /// Runs `program`, which takes at most `time` when compiled.
    pub fn judge(
        &self,
        sandbox: &Sandbox,
        scratch: &Scratch,
        program: &Program,
        time: Duration,
    ) -> Result<MiriVerdict, Error> {
        let library = match self.library(sandbox, scratch)? {
            Ok(library) => library,
            Err(reason) => return Ok(MiriVerdict::Undecided { reason }),
        };
        let directory = scratch.job()?;
        let source = directory.write(&program.file_name(), &program.text)?;
        let mut job = Job::new(&self.path, directory.path())
            // leaks are not undefined behaviour
            .arg("-Zmiri-ignore-leaks")
            .args(build_flags(&[], &program.flags));
        if let Some(library) = library {
            job = job.arg("--sysroot").arg(library);
        }
        let job = job
            .arg(source)
            .arg("--")
            .args(program.arguments.iter().cloned())
            .stdin(program.stdin.clone());
        let time = time * SLOWNESS;
        let limits = Limits {
            cpu: time,
            ..Limits::compiler().with_time(time)
        };
        let run = sandbox.run(&job, &limits)?;
        Ok(verdict(&run.ending, &run.stderr_text(), time))
    }

    /// The standard library that Miri interprets, made by the `cargo miri` beside it; none where that is not there.
    fn library(
        &self,
        sandbox: &Sandbox,
        scratch: &Scratch,
    ) -> Result<Result<Option<PathBuf>, String>, Error> {
        let place = self.path.parent().unwrap_or(Path::new("/"));
        let maker = place.join("cargo-miri");
        if !maker.is_file() {
            return Ok(Ok(None));
        }
        let directory = scratch.job()?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::iter::once(place.to_owned()).chain(std::env::split_paths(&path));
        let path = std::env::join_paths(places).unwrap_or(path);
        let job = Job::new(&maker, directory.path())
            .args(["miri", "setup", "--print-sysroot"])
            .env("PATH", path)
            // it is kept in the user's own cache, made once
            .confinement(Confinement::Open);
        let limits = Limits {
            wall: Duration::from_secs(900),
            cpu: Duration::from_secs(600),
            ..Limits::compiler()
        };
        let made = sandbox.run(&job, &limits)?;
        let words = made.stdout_text();
        Ok(match (made.ending, words.trim()) {
            (Ending::Exited(0), path) if !path.is_empty() => Ok(Some(PathBuf::from(path))),
            _ => Err(format!(
                "`cargo miri setup` failed: {}",
                last_line(&made.stderr_text())
            )),
        })
    }
}

fn last_line(text: &str) -> &str {
    let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    lines.next().unwrap_or("it said nothing")
}

/// What Miri's end means. A program may fail by itself (a panic is 101) without undefined behaviour.
fn verdict(ending: &Ending, said: &str, time: Duration) -> MiriVerdict {
    if let Some(message) = said.lines().find(|line| line.starts_with(OBJECTION)) {
        return MiriVerdict::Objects {
            message: message.trim_start_matches("error: ").to_owned(),
        };
    }
    // rustc's and Miri's own errors; what the program says itself does not begin so
    let refusal = said.lines().find(|line| {
        line.starts_with("error: ") || line.starts_with("error[") || line.starts_with("fatal error")
    });
    let reason = match (ending, refusal) {
        (Ending::Exited(_), None) => return MiriVerdict::NoObjection,
        (Ending::Exited(_), Some(line)) => line.to_owned(),
        (ending, _) if ending.timed_out() => {
            format!("it does not end within {:.0} s there", time.as_secs_f64())
        }
        (other, _) => format!("it ended there by {other:?}"),
    };
    MiriVerdict::Undecided { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_s_words_are_understood() {
        let time = Duration::from_secs(1);
        let of = |code, text| verdict(&Ending::Exited(code), text, time);
        assert_eq!(of(0, "hello\n"), MiriVerdict::NoObjection);
        // a panic of the program's own
        let panic = "thread 'main' panicked at p.rs:2:5:\nboom\n";
        assert_eq!(of(101, panic), MiriVerdict::NoObjection);
        let bad = "error: Undefined Behavior: memory access failed: dangling\n --> p.rs:3:1\n";
        assert_eq!(
            of(1, bad),
            MiriVerdict::Objects {
                message: "Undefined Behavior: memory access failed: dangling".into()
            }
        );
        let foreign = "error: unsupported operation: can't call foreign function `f`\n";
        assert!(matches!(of(1, foreign), MiriVerdict::Undecided { .. }));
        assert!(matches!(
            of(1, "error[E0432]: unresolved import\n"),
            MiriVerdict::Undecided { .. }
        ));
    }
}
