//! One check, start to end: gate, references, optimised builds on all cores, confirmation.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_dwarf::Image;
use candor_source::Clang;
use candor_toolchain::{Compiler, Gate, Miri, MiriVerdict, Program};
use candor_tracer::{Debugger, Outcome};

use crate::confirm::{Compared, Court, Printer};
use crate::fallback::{self, Established};
use crate::finding::{Counts, Finding, Report, Row, Undecided};
use crate::native::compare_build;
use crate::not_compared::not_compared;
use crate::plan::{Plan, PointChoice};
use crate::rust_shadow::RustShadows;
use crate::shadow::Shadows;
use crate::truth::{Truth, references_of};
use crate::workshop::Workshop;
use crate::{Error, audit};

/// Bounds and breadth of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// For one run of the program.
    pub time: Duration,
    /// Whether globals are compared.
    pub globals: bool,
    /// Scalars looked at per variable.
    pub leaf_cap: usize,
    /// Barrier calls looked at per run.
    pub max_stops: u64,
    /// Builds at a time.
    pub jobs: usize,
    /// Also ask debuggers where the debug information is right.
    pub audit: bool,
    /// The sanitizers have judged the program already, and found nothing.
    pub judged: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            time: Duration::from_secs(5),
            globals: true,
            leaf_cap: 64,
            max_stops: 20_000,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            audit: false,
            judged: false,
        }
    }
}

impl Settings {
    /// For one debugger session: it starts slowly and stops slowly.
    pub fn debugger_time(&self) -> Duration {
        Duration::from_secs(60) + self.time * 4
    }
}

/// What a check works with.
pub struct Toolset<'a> {
    /// Where things are built and run.
    pub workshop: &'a Workshop<'a>,
    /// Reads C.
    pub clang: &'a Clang,
    /// Every compiler there is: references are chosen from these.
    pub compilers: &'a [Compiler],
    /// Judges programs.
    pub gate: Gate<'a>,
    /// Confirm findings.
    pub debuggers: &'a [Debugger],
}

/// What is to be checked.
pub struct Request<'a> {
    /// The program.
    pub program: &'a Program,
    /// Which of its points.
    pub points: PointChoice,
    /// The builds: compiler and level flags.
    pub builds: Vec<(&'a Compiler, String)>,
    /// Bounds.
    pub settings: Settings,
    /// The command that shows a finding again.
    pub replay: &'a (dyn Fn(&Compiler, &str) -> String + Sync),
}

/// Where a check stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Sanitizers are judging the program.
    Judging,
    /// Reference builds are made and run.
    References,
    /// So many of so many optimised builds are compared.
    Compared {
        /// Done.
        done: usize,
        /// In all.
        total: usize,
    },
    /// So many suspects are being confirmed.
    Confirming {
        /// Suspects.
        suspects: usize,
    },
}

/// Checks a program.
pub fn check(
    tools: &Toolset<'_>,
    request: &Request<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, Error> {
    let program = request.program;
    let settings = &request.settings;
    let plan = Plan::new(tools.clang, program, &request.points)
        .map_err(|error| fallback::explain(tools, program, error))?;
    let mut choices = Vec::new();
    let mut gate = tools.gate;
    // rustc judges safe Rust itself
    if !settings.judged && !program.is_rust() {
        progress(Progress::Judging);
        (gate, choices) = fallback::judge(tools, program, settings)?;
    }
    let under_test = request.builds.first().map(|(compiler, _)| *compiler);
    let reservation = if plan.unit.has_unsafe() {
        progress(Progress::Judging);
        let usual = references_of(tools.workshop, tools.compilers, program, under_test)?;
        let rustc = usual.first().map(|reference| reference.compiler);
        let judge = |rustc| judge_unsafe(tools.workshop, rustc, program, settings);
        rustc.map(judge).transpose()?
    } else {
        None
    };
    progress(Progress::References);
    let Established {
        references,
        truth,
        notes,
    } = fallback::establish(tools, program, &plan, under_test, settings)?;
    choices.extend(notes);
    let mut report = Report {
        program: program.path.display().to_string(),
        points: plan.chosen.len(),
        skipped: plan
            .skipped()
            .iter()
            .map(|(reason, count)| (format!("{reason:?}"), *count))
            .collect(),
        stops: truth.recording.len(),
        references: fallback::words(&references),
        notes: choices,
        ..Report::default()
    };
    match truth.outcome {
        Outcome::StopLimit => report.notes.push(format!(
            "only the first {} barrier calls were looked at (--max-stops)",
            truth.recording.len()
        )),
        Outcome::Enough => report.notes.push(format!(
            "the program's state is large: only the first {} barrier calls were looked at",
            truth.recording.len()
        )),
        _ => {}
    }
    report.not_compared = not_compared(&plan, &truth);
    report.notes.extend(reservation.clone());
    if truth.recording.len() == 0 {
        report
            .notes
            .push("no chosen point is ever reached: nothing was compared".into());
    }

    give_back(&plan);
    let (compared, interrupted) = compare_all(tools, request, &plan, &truth, progress)?;
    let suspects: usize = compared.iter().map(|c| c.suspects.len()).sum();
    let court = Court {
        workshop: tools.workshop,
        program,
        plan: &plan,
        truth: &truth,
        settings,
        debuggers: tools.debuggers,
        replay: request.replay,
    };
    if suspects > 0 {
        progress(Progress::Confirming { suspects });
    }
    let mut shadows = None;
    for build in &compared {
        report.summary.push(build.row.clone());
        if build.suspects.is_empty() {
            continue;
        }
        let mut decide = || -> Result<(Vec<Finding>, Vec<Undecided>), Error> {
            let shadows = match &mut shadows {
                Some(shadows) => shadows,
                none => none.insert(match references.first() {
                    Some(reference) if program.is_rust() => Printer::Rust(RustShadows::new(
                        tools.workshop,
                        reference.compiler,
                        program,
                        &plan,
                        settings,
                    )),
                    _ => Printer::C(Shadows::new(
                        tools.workshop,
                        gate,
                        program,
                        &plan,
                        settings,
                    )?),
                }),
            };
            court.decide(build, shadows)
        };
        match decide() {
            Ok((findings, undecided)) => {
                report.findings.extend(findings);
                report.undecided.extend(undecided);
            }
            Err(error) if error.is_interrupt() => {
                report.undecided.extend(unconfirmed(build, &truth));
            }
            Err(error) => return Err(error),
        }
    }
    if settings.audit && !interrupted {
        let found = audit::audit(tools, request, &plan, &truth);
        match found {
            Ok(findings) => report.findings.extend(findings),
            Err(error) if error.is_interrupt() => {}
            Err(error) => return Err(error),
        }
    }
    if interrupted || tools.workshop.sandbox.interrupted() {
        report
            .notes
            .push("interrupted: what was found until then is below".into());
    }
    complete_signatures(&mut report.findings);
    for finding in &mut report.findings {
        finding.notes.extend(reservation.clone());
    }
    Ok(report)
}

/// What is to be said of a Rust program with `unsafe` code; an error where Miri objects to it.
fn judge_unsafe(
    workshop: &Workshop<'_>,
    rustc: &Compiler,
    program: &Program,
    settings: &Settings,
) -> Result<String, Error> {
    let (sandbox, scratch) = (workshop.sandbox, workshop.scratch);
    let holds_only_if =
        "the program has `unsafe` code: findings hold only if it has no undefined behaviour";
    if settings.judged {
        return Ok(holds_only_if.into());
    }
    let Some(miri) = Miri::find(sandbox, scratch, rustc)? else {
        return Ok(format!(
            "{holds_only_if}, which nobody judged: Miri is not installed (rustup +nightly component add miri rust-src)"
        ));
    };
    match miri.judge(sandbox, scratch, program, settings.time)? {
        MiriVerdict::NoObjection => Ok(
            "the program has `unsafe` code; Miri finds no undefined behaviour on this input".into(),
        ),
        MiriVerdict::Objects { message } => Err(Error::unfit(format!(
            "it has undefined behaviour (Miri): {message}"
        ))),
        MiriVerdict::Undecided { reason } => Ok(format!(
            "{holds_only_if}, which Miri could not judge: {reason}"
        )),
    }
}

/// Builds and compares everything, `jobs` at a time (a large program's one by one), results in the order of the request.
fn compare_all<'a>(
    tools: &Toolset<'_>,
    request: &Request<'a>,
    plan: &Plan,
    truth: &Truth,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(Vec<Compared<'a>>, bool), Error> {
    let total = request.builds.len();
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<Compared<'a>, Error>>> = Mutex::default();
    progress(Progress::Compared { done: 0, total });
    std::thread::scope(|scope| {
        let jobs = if is_large(plan) {
            1
        } else {
            request.settings.jobs.clamp(1, total.max(1))
        };
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((number, (compiler, level))) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    request.builds.get(number).map(|build| (number, build))
                } {
                    let result = compare_one(tools, request, plan, truth, compiler, level);
                    give_back(plan);
                    results
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .insert(number, result);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    progress(Progress::Compared { done, total });
                }
            });
        }
    });
    let mut compared = Vec::new();
    let mut interrupted = false;
    let results = results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    for result in results.into_values() {
        match result {
            Ok(one) => compared.push(one),
            Err(error) if error.is_interrupt() => interrupted = true,
            Err(error) => return Err(error),
        }
    }
    Ok((compared, interrupted))
}

/// Programs from so many bytes on have debug information of tens of megabytes in each build: one build is looked at
/// at a time, and its memory returned.
fn is_large(plan: &Plan) -> bool {
    plan.text.len() >= 1024 * 1024
}

/// After builds were looked at.
fn give_back(plan: &Plan) {
    if is_large(plan) {
        candor_toolchain::memory::give_back();
    }
}

fn compare_one<'a>(
    tools: &Toolset<'_>,
    request: &Request<'a>,
    plan: &Plan,
    truth: &Truth,
    compiler: &'a Compiler,
    level: &str,
) -> Result<Compared<'a>, Error> {
    let flags: Vec<String> = level.split_whitespace().map(str::to_owned).collect();
    let row = |counts, note| Row {
        compiler: compiler.name.clone(),
        level: level.to_owned(),
        counts,
        note,
    };
    let without = |note: String| Compared {
        compiler,
        level: level.to_owned(),
        row: row(Counts::default(), Some(note)),
        suspects: Vec::new(),
        build: None,
    };
    let workshop = tools.workshop;
    let executable = match workshop.build(compiler, request.program, &plan.text, &flags)? {
        Ok(executable) => executable,
        Err(reason) => return Ok(without(reason)),
    };
    let image = match Image::open(&executable.path) {
        Ok(image) => image,
        Err(error) => return Ok(without(error.to_string())),
    };
    let seen = compare_build(
        workshop,
        request.program,
        plan,
        truth,
        (&executable, &image),
        &request.settings,
        None,
    )?;
    let (counts, suspects) = match seen {
        Ok(comparison) => (comparison.counts, comparison.suspects),
        Err(reason) => return Ok(without(reason)),
    };
    let suspects: Vec<_> = suspects.into_values().collect();
    let build = (!suspects.is_empty()).then_some(executable);
    Ok(Compared {
        compiler,
        level: level.to_owned(),
        row: row(counts, None),
        suspects,
        build,
    })
}

fn unconfirmed(build: &Compared<'_>, truth: &Truth) -> Vec<Undecided> {
    build
        .suspects
        .iter()
        .filter_map(|suspect| suspect.candidates.first())
        .map(|candidate| Undecided {
            variable: candidate.key.to_string(),
            line: truth
                .recording
                .site(candidate.stop)
                .map_or(0, |(site, _)| site.line.0),
            compiler: build.compiler.name.clone(),
            level: build.level.clone(),
            reason: "interrupted before it was confirmed".into(),
        })
        .collect()
}

/// Fills in which levels of a family show the same thing.
fn complete_signatures(findings: &mut [Finding]) {
    let mut levels: BTreeMap<(String, String, Option<String>, String), Vec<String>> =
        BTreeMap::new();
    let key = |finding: &Finding| {
        let name = finding.root();
        (
            format!("{} {}", finding.kind, finding.signature.family),
            format!("{name}@{}", finding.declared),
            finding.function.clone(),
            String::new(),
        )
    };
    for finding in findings.iter() {
        let known = levels.entry(key(finding)).or_default();
        known.push(finding.level.clone());
        known.sort();
        known.dedup();
    }
    for finding in findings.iter_mut() {
        if let Some(known) = levels.get(&key(finding)) {
            finding.signature.levels = known.clone();
        }
    }
}
