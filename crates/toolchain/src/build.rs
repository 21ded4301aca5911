//! Program × compiler × flags → artefact, and every way that can end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sandbox::{Bound, Ending, Finished, Limits, Sandbox};
use crate::{Compiler, Error, Family};

/// What one compiler call is to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// An object file (`-c`).
    Object,
    /// Assembly text (`-S`).
    Assembly,
    /// An executable, from sources and objects.
    Executable,
}

/// One compiler call.
#[derive(Clone, Debug)]
pub struct Build<'a> {
    /// With what.
    pub compiler: &'a Compiler,
    /// What to make.
    pub stage: Stage,
    /// Sources and objects, relative to the directory or absolute.
    pub inputs: Vec<PathBuf>,
    /// Flags, in order, before the inputs.
    pub flags: Vec<String>,
    /// The artefact's name in the directory.
    pub output: String,
}

/// How a build ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// The artefact is there.
    Ok {
        /// Its path.
        artefact: PathBuf,
        /// Warnings, if any.
        diagnostics: String,
        /// CPU time it took.
        cpu: Duration,
    },
    /// The compiler said no to the program.
    Rejected {
        /// In its own words.
        diagnostics: String,
    },
    /// The compiler failed: a signal, an assertion, an internal error.
    Crashed {
        /// What two crashes of the same cause have in common.
        site: String,
        /// All it printed.
        diagnostics: String,
    },
    /// The compiler ran into the time limit.
    TimedOut {
        /// CPU time until then; a hang burns CPU, a loaded machine does not.
        cpu: Duration,
    },
    /// The compiler ran into the memory limit.
    OutOfMemory {
        /// What it printed.
        diagnostics: String,
    },
    /// The compiler ran into another bound (it printed, forked or wrote without end).
    Exceeded {
        /// Which.
        bound: Bound,
    },
}

impl Built {
    /// The artefact, if there is one.
    pub fn artefact(&self) -> Option<&Path> {
        match self {
            Built::Ok { artefact, .. } => Some(artefact),
            _ => None,
        }
    }

    /// One sentence for a person.
    pub fn describe(&self) -> String {
        match self {
            Built::Ok { .. } => "built".into(),
            Built::Rejected { diagnostics } => format!("rejected: {}", first_error(diagnostics)),
            Built::Crashed { site, .. } => format!("the compiler crashed: {site}"),
            Built::TimedOut { cpu } => {
                format!(
                    "the compiler did not finish ({:.1} s of CPU time used)",
                    cpu.as_secs_f64()
                )
            }
            Built::OutOfMemory { .. } => "the compiler ran out of memory".into(),
            Built::Exceeded { bound } => format!("the compiler was stopped: {bound} reached"),
        }
    }
}

impl Build<'_> {
    /// Runs it in `directory`.
    pub fn run(
        &self,
        sandbox: &Sandbox,
        directory: &Path,
        limits: &Limits,
    ) -> Result<Built, Error> {
        let job = self
            .compiler
            .job(directory)
            .args(self.stage_flag())
            .args(self.flags.iter().filter(|flag| !is_library(flag)).cloned())
            .args(["-o", self.output.as_str()])
            .args(self.input_words())
            .args(self.flags.iter().filter(|flag| is_library(flag)).cloned());
        let run = sandbox.run(&job, limits)?;
        let artefact = directory.join(&self.output);
        classify(run, artefact, directory)
    }

    fn stage_flag(&self) -> Option<&'static str> {
        match (self.compiler.family, self.stage) {
            (Family::Rustc, Stage::Object) => Some("--emit=obj"),
            (Family::Rustc, Stage::Assembly) => Some("--emit=asm"),
            (_, Stage::Object) => Some("-c"),
            (_, Stage::Assembly) => Some("-S"),
            (_, Stage::Executable) => None,
        }
    }

    /// The inputs; rustc takes one source, and objects as words for the linker.
    fn input_words(&self) -> Vec<OsString> {
        let word = |path: &PathBuf| {
            let object = path.extension().is_some_and(|extension| extension == "o");
            match self.compiler.family {
                Family::Rustc if object => {
                    let mut word = OsString::from("-Clink-arg=");
                    word.push(path);
                    word
                }
                _ => path.clone().into_os_string(),
            }
        };
        self.inputs.iter().map(word).collect()
    }

    /// The command line as a person would type it.
    pub fn command_line(&self) -> String {
        let stage = self
            .stage_flag()
            .map_or_else(String::new, |flag| format!("{flag} "));
        let (libraries, flags): (Vec<&String>, Vec<&String>) =
            self.flags.iter().partition(|flag| is_library(flag));
        let flags: Vec<String> = flags.into_iter().map(|flag| quote(flag)).collect();
        let inputs: Vec<String> = self
            .input_words()
            .iter()
            .map(|word| quote(&word.to_string_lossy()))
            .chain(libraries.into_iter().map(|flag| quote(flag)))
            .collect();
        format!(
            "{} {stage}{} {} -o {}",
            self.compiler.name,
            flags.join(" "),
            inputs.join(" "),
            quote(&self.output)
        )
    }
}

/// A linker looks into a library for what the inputs before it lack.
fn is_library(flag: &str) -> bool {
    flag.len() > 2 && flag.starts_with("-l")
}

/// Quotes a word for the shell where needed.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn classify(run: Finished, artefact: PathBuf, directory: &Path) -> Result<Built, Error> {
    let text = run.stderr_text();
    Ok(match run.ending {
        Ending::Exited(0) if artefact.exists() => Built::Ok {
            artefact,
            diagnostics: text,
            cpu: run.cpu,
        },
        Ending::Exited(0) => Built::Rejected {
            diagnostics: format!("the compiler reported success but wrote no file\n{text}"),
        },
        Ending::Exceeded(Bound::Wall | Bound::Cpu) => Built::TimedOut { cpu: run.cpu },
        Ending::Exceeded(bound) => Built::Exceeded { bound },
        Ending::Exited(_) | Ending::Signalled(_) => {
            if text.contains("No space left on device") {
                return Err(Error::NoSpace {
                    directory: directory.to_owned(),
                });
            }
            if ran_out_of_memory(&text) {
                Built::OutOfMemory { diagnostics: text }
            } else if child_was_timed_out(&text) {
                Built::TimedOut { cpu: run.cpu }
            } else if let Some(site) = crash_site(&text, run.ending) {
                Built::Crashed {
                    site,
                    diagnostics: text,
                }
            } else {
                Built::Rejected { diagnostics: text }
            }
        }
    })
}

fn ran_out_of_memory(text: &str) -> bool {
    [
        "out of memory",
        "virtual memory exhausted",
        "Cannot allocate memory",
        "cannot allocate memory",
        "std::bad_alloc",
        "memory allocation of",
    ]
    .iter()
    .any(|sign| text.contains(sign))
}

/// The driver survived, its child met RLIMIT_CPU: "CPU time limit exceeded", or "Killed".
fn child_was_timed_out(text: &str) -> bool {
    text.contains("CPU time limit exceeded") || text.contains("Killed signal terminated program")
}

/// The line that tells one crash from another, with paths and numbers of this run left out;
/// `None` when the text shows no crash.
pub fn crash_site(text: &str, ending: Ending) -> Option<String> {
    let line_with = |sign: &str| text.lines().find(|line| line.contains(sign));
    let marks = [
        "internal compiler error",
        "Assertion `",
        "UNREACHABLE executed",
        "LLVM ERROR:",
        "fatal error: error in backend",
        "the compiler unexpectedly panicked",
        "PLEASE submit a bug report",
        "PLEASE ATTACH THE FOLLOWING FILES",
        "Stack dump:",
    ];
    let signal = match ending {
        Ending::Signalled(signal) => Some(signal),
        _ => None,
    };
    let line = marks.iter().find_map(|mark| line_with(mark));
    if line.is_none() && signal.is_none() {
        return None;
    }
    let mut site = match line {
        Some(line) => strip_prefixes(line),
        None => ending.to_string(),
    };
    // gcc: "in FUNCTION, at FILE:LINE" is on the line itself. clang: the first frame inside it, or
    // what the pass manager says it was doing.
    if let Some(pass) = text
        .lines()
        .find(|line| line.contains("Running pass"))
        .and_then(|line| line.split("Running pass").nth(1))
    {
        let pass = pass.split(" on ").next().unwrap_or(pass).trim();
        site = format!("{site} [pass {pass}]");
    }
    Some(site)
}

/// "prog.c:3:5: internal compiler error: ..." without the place in the user's program.
fn strip_prefixes(line: &str) -> String {
    match line.find("internal compiler error") {
        Some(at) => line[at..].to_owned(),
        None => line.trim().to_owned(),
    }
}

/// The first line that says "error", or the first line.
pub fn first_error(diagnostics: &str) -> &str {
    diagnostics
        .lines()
        .find(|line| line.contains("error"))
        .or_else(|| diagnostics.lines().next())
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_sites_leave_out_what_changes_from_run_to_run() {
        let gcc = "during GIMPLE pass: vect\nprog.c: In function 'f':\nprog.c:3:6: internal compiler error: in vect_transform_stmt, at tree-vect-stmts.cc:11\n0x1 main";
        assert_eq!(
            crash_site(gcc, Ending::Exited(1)).as_deref(),
            Some("internal compiler error: in vect_transform_stmt, at tree-vect-stmts.cc:11")
        );
        let clang = "PLEASE submit a bug report to x\nStack dump:\n0.\tProgram arguments: clang\n3.\tRunning pass \"loop-vectorize\" on function \"f\"\n";
        assert_eq!(
            crash_site(clang, Ending::Exited(139)).as_deref(),
            Some("PLEASE submit a bug report to x [pass \"loop-vectorize\"]")
        );
        assert_eq!(
            crash_site("", Ending::Signalled(libc::SIGSEGV)).as_deref(),
            Some("SIGSEGV")
        );
        assert_eq!(
            crash_site("a.c:1: error: expected ';'", Ending::Exited(1)),
            None
        );
    }

    #[test]
    fn words_are_quoted_for_the_shell_when_needed() {
        assert_eq!(quote("-DN=10"), "-DN=10");
        assert_eq!(quote("-DS=\"a b\""), "'-DS=\"a b\"'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote(""), "''");
    }
}
