//! The sanitizer gate: is this program free of undefined behaviour on this input?
//!
//! Findings on programs with undefined behaviour are false alarms, so every oracle asks here first.
//! UBSan and ASan share one build; MSan needs its own. The verdict is three-valued: a program that
//! cannot be judged (no MSan on this machine, a build that fails) is *undecided*, never clean.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::build::{Build, Built, Stage};
use crate::sandbox::{Ending, Finished, Job, Limits, Sandbox};
use crate::{Compiler, Error, Family, Program, Scratch, known};

/// Which sanitizer spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sanitizer {
    /// UBSan and ASan.
    UndefinedAndAddress,
    /// MSan.
    Memory,
}

impl Sanitizer {
    /// Both, in the order they are asked: the cheaper and likelier one first.
    pub const ALL: [Sanitizer; 2] = [Sanitizer::UndefinedAndAddress, Sanitizer::Memory];

    /// The compiler flags of its build.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Sanitizer::UndefinedAndAddress => &[
                "-fsanitize=undefined,address",
                "-fno-sanitize-recover=all",
                "-fsanitize-address-use-after-scope",
            ],
            Sanitizer::Memory => &["-fsanitize=memory", "-fno-sanitize-recover=all"],
        }
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Sanitizer::UndefinedAndAddress => "UBSan+ASan",
            Sanitizer::Memory => "MSan",
        }
    }
}

/// What the gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateVerdict {
    /// No sanitizer objects; this is what the program printed and how it ended.
    Clean {
        /// Standard output of the UBSan+ASan run.
        stdout: Vec<u8>,
        /// Its ending.
        ending: Ending,
        /// CPU time of the slower run.
        cpu: Duration,
    },
    /// A sanitizer objects.
    Undefined {
        /// Which one.
        sanitizer: Sanitizer,
        /// Its own message.
        message: String,
    },
    /// The program is no use as a test for another reason (it did not end in time, say).
    Unfit {
        /// In words.
        reason: String,
    },
    /// Could not be judged.
    Undecided {
        /// In words.
        reason: String,
    },
}

/// A compiler with working sanitizers.
#[derive(Clone, Copy, Debug)]
pub struct Gate<'a> {
    compiler: &'a Compiler,
    sandbox: &'a Sandbox,
    scratch: &'a Scratch,
    sanitizers: &'static [Sanitizer],
}

/// Exit status our sanitizer builds use, so that a program's own cannot be mistaken for it.
const OBJECTION: i32 = 93;
/// Resident memory of a sanitized program, in MiB.
const RESIDENT_LIMIT_MB: u32 = 2048;

impl<'a> Gate<'a> {
    /// The newest clang of `compilers` whose sanitizers build and run here.
    pub fn find(
        compilers: &'a [Compiler],
        sandbox: &'a Sandbox,
        scratch: &'a Scratch,
    ) -> Result<Option<Self>, Error> {
        let clangs = compilers
            .iter()
            .rev()
            .filter(|compiler| compiler.family == Family::Clang);
        for compiler in clangs {
            if supports(compiler, sandbox, scratch, Sanitizer::UndefinedAndAddress)?
                && supports(compiler, sandbox, scratch, Sanitizer::Memory)?
            {
                return Ok(Some(Gate {
                    compiler,
                    sandbox,
                    scratch,
                    sanitizers: &Sanitizer::ALL,
                }));
            }
        }
        Ok(None)
    }

    /// The sanitizers of this compiler, as far as they work here: gcc has none for memory that was never written. `None`
    /// when there is none. For programs that the compiler of [`Gate::find`] does not take.
    pub fn of(
        compiler: &'a Compiler,
        sandbox: &'a Sandbox,
        scratch: &'a Scratch,
    ) -> Result<Option<Self>, Error> {
        let can = |sanitizer| supports(compiler, sandbox, scratch, sanitizer);
        if !can(Sanitizer::UndefinedAndAddress)? {
            return Ok(None);
        }
        let all = compiler.family == Family::Clang && can(Sanitizer::Memory)?;
        Ok(Some(Gate {
            compiler,
            sandbox,
            scratch,
            sanitizers: if all {
                &Sanitizer::ALL
            } else {
                &[Sanitizer::UndefinedAndAddress]
            },
        }))
    }

    /// Those that judge here, in the order they are asked.
    pub fn sanitizers(&self) -> &'static [Sanitizer] {
        self.sanitizers
    }

    /// The compiler behind it.
    pub fn compiler(&self) -> &'a Compiler {
        self.compiler
    }

    /// Judges `program`, each run bounded by `time`.
    pub fn judge(&self, program: &Program, time: Duration) -> Result<GateVerdict, Error> {
        self.judge_with(program, &[], time)
    }

    /// Judges `program` linked with `objects` (candor's run-time parts).
    pub fn judge_with(
        &self,
        program: &Program,
        objects: &[PathBuf],
        time: Duration,
    ) -> Result<GateVerdict, Error> {
        let mut clean = None;
        let mut slowest = Duration::ZERO;
        for sanitizer in self.sanitizers.iter().copied() {
            match self.run(program, objects, sanitizer, time)? {
                SanitizedRun::NotBuilt(reason) => return Ok(GateVerdict::Undecided { reason }),
                SanitizedRun::Objection(message) => {
                    return Ok(GateVerdict::Undefined { sanitizer, message });
                }
                SanitizedRun::Ended(run) => {
                    if let Ending::Exceeded(bound) = run.ending {
                        let reason = if run.ending.timed_out() {
                            format!(
                                "it does not end within {:.0} s (--timeout allows more)",
                                time.as_secs_f64()
                            )
                        } else {
                            format!("it was stopped: {bound} reached")
                        };
                        return Ok(GateVerdict::Unfit { reason });
                    }
                    slowest = slowest.max(run.cpu);
                    clean.get_or_insert(run);
                }
            }
        }
        Ok(match clean {
            Some(run) => GateVerdict::Clean {
                stdout: run.stdout,
                ending: run.ending,
                cpu: slowest,
            },
            None => GateVerdict::Undecided {
                reason: "no sanitizer ran".into(),
            },
        })
    }

    /// Builds and runs `program` under one sanitizer.
    pub fn run(
        &self,
        program: &Program,
        objects: &[PathBuf],
        sanitizer: Sanitizer,
        time: Duration,
    ) -> Result<SanitizedRun, Error> {
        let directory = self.scratch.job()?;
        let source = directory.write(&program.file_name(), &program.text)?;
        let mut flags: Vec<String> = ["-g1", "-O0", "-w"].map(String::from).to_vec();
        flags.extend(sanitizer.flags().iter().map(|flag| (*flag).to_owned()));
        flags.extend(program.flags.iter().cloned());
        let mut inputs = vec![source];
        inputs.extend(objects.iter().cloned());
        let build = Build {
            compiler: self.compiler,
            stage: Stage::Executable,
            inputs,
            flags,
            output: "sanitized".into(),
        };
        let built = build.run(self.sandbox, directory.path(), &Limits::compiler())?;
        let Built::Ok { artefact, .. } = built else {
            return Ok(SanitizedRun::NotBuilt(format!(
                "its {} build with {} failed: {}",
                sanitizer.name(),
                self.compiler,
                built.describe()
            )));
        };
        let run = run_sanitized(self.sandbox, directory.path(), &artefact, program, time)?;
        Ok(match objection(directory.path(), &run) {
            Some(message) => SanitizedRun::Objection(message),
            None => SanitizedRun::Ended(run),
        })
    }
}

/// How a run under one sanitizer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SanitizedRun {
    /// The build failed; the reason.
    NotBuilt(String),
    /// The sanitizer objects; its message.
    Objection(String),
    /// The program ended by itself or by a bound.
    Ended(Finished),
}

fn run_sanitized(
    sandbox: &Sandbox,
    directory: &Path,
    artefact: &Path,
    program: &Program,
    time: Duration,
) -> Result<Finished, Error> {
    // Leaks are not undefined behaviour, and a log file of its own keeps the sanitizer's words apart
    // from what the program prints.
    let options = format!(
        "exitcode={OBJECTION}:log_path={}/report:hard_rss_limit_mb={RESIDENT_LIMIT_MB}:\
         detect_leaks=0:detect_stack_use_after_return=1:print_stacktrace=0:allocator_may_return_null=1",
        directory.display()
    );
    let limits = Limits {
        memory: None,
        ..Limits::program().with_time(time)
    };
    let job = Job::new(artefact, directory)
        .args(program.arguments.iter().cloned())
        .stdin(program.stdin.clone())
        .env("ASAN_OPTIONS", &options)
        .env("UBSAN_OPTIONS", &options)
        .env("MSAN_OPTIONS", &options)
        // Symbolising costs more than the run; -g1 line numbers come from the next call when needed.
        .env("ASAN_SYMBOLIZER_PATH", "")
        .env("MSAN_SYMBOLIZER_PATH", "");
    sandbox.run(&job, &limits)
}

/// The sanitizer's message, if it wrote one and ended the program.
fn objection(directory: &Path, run: &Finished) -> Option<String> {
    if run.ending != Ending::Exited(OBJECTION) {
        return None;
    }
    let reports = std::fs::read_dir(directory).ok()?;
    let mut text = String::new();
    for entry in reports.flatten() {
        if entry.file_name().to_string_lossy().starts_with("report.") {
            text += &String::from_utf8_lossy(&std::fs::read(entry.path()).ok()?);
        }
    }
    let line = text.lines().find(|line| {
        line.contains("runtime error:")
            || line.contains("Sanitizer:")
            || line.contains("Sanitizer ")
    })?;
    Some(strip_place(line).to_owned())
}

/// Leaves out the scratch directory and process numbers: "prog.c:3:5: runtime error: ...".
fn strip_place(line: &str) -> &str {
    let line = line.trim();
    if let Some(at) = line.find("WARNING: ").or_else(|| line.find("ERROR: ")) {
        return &line[at..];
    }
    match line.find(": runtime error:") {
        Some(end) => {
            let start = line[..end].rfind('/').map_or(0, |slash| slash + 1);
            &line[start..]
        }
        None => line,
    }
}

/// Whether `compiler` can build and run a program with `sanitizer` here (the run-time library may be
/// missing, or the kernel's address layout unsuitable).
pub fn supports(
    compiler: &Compiler,
    sandbox: &Sandbox,
    scratch: &Scratch,
    sanitizer: Sanitizer,
) -> Result<bool, Error> {
    let gate = Gate {
        compiler,
        sandbox,
        scratch,
        sanitizers: &Sanitizer::ALL,
    };
    let probe = Program::from_text(
        Path::new("probe.c"),
        "int main(int argc, char **argv) { (void)argv; return argc - 1; }\n".into(),
    );
    let question = format!("runs under {}", sanitizer.name());
    let plain = !compiler.has_own_flags();
    if plain && known::remembered(&compiler.path, &question).is_some() {
        return Ok(true);
    }
    let run = gate.run(&probe, &[], sanitizer, Duration::from_secs(20))?;
    let works = matches!(run, SanitizedRun::Ended(run) if run.ending.success());
    // what does not work may be installed tomorrow, beside the compiler
    if plain && works {
        known::remember(&compiler.path, &question, "yes");
    }
    Ok(works)
}
