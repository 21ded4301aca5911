//! Which pass did it, and in which of the compiler's files? (paper 003, and "bisect first")
//!
//! In: a case (a program, one build of it, what is wrong with it) and the compiler it was found
//! with. Out: an [`Isolation`]: the culprit pass with its source files, what cures, what the pass
//! changed, and the releases that show it; or, in words, why no pass can be named.
//!
//! The steps, in the order of the files:
//! 1. `probe`: asking the case's predicate about flags added to its build, on all cores.
//! 2. `baseline`: the claim reproduces, every time, and not without optimisation.
//! 3. `culprit/`: stage 1, on the stock compiler. `clang` bisects the pass limit; `gcc/` switches
//!    options, passes and debug counters off; `search` and `grouping` are the two ways of asking;
//!    `ranking` orders what cures.
//! 4. `files`: from a pass to its source files, by tables made from the compilers' own.
//! 5. `releases`: first bad, last good of those installed.
//! 6. `change/`: what the pass did, from dumps.
//! 7. `answer`: what comes out; `complete` puts it into the case and its signature.
//!
//! Stage 2 (witnesses and spectra on a coverage-built compiler) takes its curing passes and one-change
//! witnesses from [`Isolation::cures`] and its names from `files`.
//!
//! Nothing but `witness` changes a program.

mod answer;
mod baseline;
pub mod change;
pub mod culprit;
mod error;
pub mod files;
pub mod probe;
mod releases;
pub mod witness;

use std::time::{Duration, Instant};

pub use answer::{
    Change, Cure, CureKind, Diagnosis, Effort, Instance, Isolation, Outcome, Rate, Release,
    Releases, Run, Suspect,
};
use candor_check::Toolset;
use candor_predicate::{Case, Claim, Options, Pass, Setup, Verdict, predicate_for};
use candor_toolchain::{Compiler, Family};
pub use error::Error;

use change::Focus;
use probe::{Bench, Parts, Seen};

/// How an isolation is done.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Builds at a time.
    pub jobs: usize,
    /// Bounds of every single question.
    pub options: Options,
    /// Time for all of it; what is known then is the answer.
    pub budget: Option<Duration>,
    /// Whether the other installed releases are asked.
    pub releases: bool,
    /// Whether the pass's change is looked at.
    pub change: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            options: Options::default(),
            budget: None,
            releases: true,
            change: true,
        }
    }
}

/// What is going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// In words.
    pub step: String,
    /// Builds asked about so far.
    pub asked: usize,
}

/// Finds the pass behind `case`. Ctrl-C and the end of the time given are no errors: what is known
/// then comes back.
pub fn isolate(
    tools: &Toolset<'_>,
    case: &Case,
    compiler: &Compiler,
    settings: &Settings,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Isolation, Error> {
    let started = Instant::now();
    if !matches!(compiler.family, Family::Gcc | Family::Clang | Family::Rustc) {
        return Err(Error::Family {
            compiler: compiler.name.clone(),
            family: compiler.family,
        });
    }
    let mut answer = Isolation {
        program: case.program.name.clone(),
        compiler: compiler.name.clone(),
        version: compiler.version.to_string(),
        family: compiler.family.to_string(),
        flags: case.flags.clone(),
        claim: case.claim.to_string(),
        ..Isolation::default()
    };
    let result = steps(
        tools,
        case,
        compiler,
        settings,
        progress,
        started,
        &mut answer,
    );
    answer.effort.seconds = started.elapsed().as_secs_f64();
    match result {
        Ok(()) => Ok(answer),
        Err(error) if error.is_interrupt() => {
            answer.notes.push(match error {
                Error::OutOfTime => {
                    "the time was used up: what was known until then is above".into()
                }
                _ => "interrupted: what was known until then is above".into(),
            });
            if answer.outcome == Outcome::Unknown {
                answer.outcome = Outcome::Interrupted;
            }
            Ok(answer)
        }
        Err(error) => Err(error),
    }
}

#[allow(clippy::too_many_arguments)]
fn steps(
    tools: &Toolset<'_>,
    case: &Case,
    compiler: &Compiler,
    settings: &Settings,
    progress: &(dyn Fn(Progress) + Sync),
    started: Instant,
    answer: &mut Isolation,
) -> Result<(), Error> {
    progress(Progress {
        step: "reproducing".into(),
        asked: 0,
    });
    let case = &question(case, tools, compiler, settings)?;
    let program = case.program.program();
    let mut predicate = predicate_for(case, tools, settings.options.clone())?;
    predicate.accept_warnings_of(&program)?;
    let prepared = match predicate.prepare(&program)? {
        Ok(prepared) => prepared,
        Err(rejection) => {
            answer.outcome = Outcome::NotReproduced(Verdict::from(rejection).to_string());
            return Ok(());
        }
    };
    let first = prepared.test(&Setup {
        compiler,
        flags: case.flags.clone(),
    })?;
    let base = baseline::baseline(case, &program, compiler, tools, settings, &first)?;
    if let Some(end) = base.end {
        answer.outcome = end;
        return Ok(());
    }
    answer.claim = match case.claim.to_string() {
        claim if claim.contains(&base.seen) => claim,
        claim => format!("{claim} ({})", base.seen),
    };
    let built = candor_toolchain::Program {
        text: prepared.text().unwrap_or(&program.text).to_owned(),
        ..program.clone()
    };
    let bench = Bench::new(Parts {
        workshop: tools.workshop,
        compiler,
        program: &built,
        flags: &case.flags,
        claim: &case.claim,
        prepared: prepared.as_ref(),
        settings,
        started,
        progress,
    });
    let result = investigate(&bench, tools, settings, case, answer);
    answer.effort.builds = bench.asked();
    result?;
    if let Some(rate) = contradicted(case, &program, tools, &bench, settings, answer)? {
        answer.outcome = Outcome::Flaky(rate);
        answer.suspects.clear();
        answer.change = None;
    }
    answer.next = next(case, answer);
    Ok(())
}

/// The claim as isolation asks it: of a miscompilation in any manner; of a crash at the site it has
/// now, when the claim names none, because another crash is no cure. What an earlier isolation found
/// must not decide this one.
fn question(
    case: &Case,
    tools: &Toolset<'_>,
    compiler: &Compiler,
    settings: &Settings,
) -> Result<Case, Error> {
    let mut asked = case.clone();
    asked.pass = None;
    match &mut asked.claim {
        Claim::Miscompilation { manner, .. } => *manner = None,
        Claim::Crash { site } if site.is_empty() => {
            let program = case.program.program();
            let mut predicate = predicate_for(case, tools, settings.options.clone())?;
            predicate.accept_warnings_of(&program)?;
            let setup = Setup {
                compiler,
                flags: case.flags.clone(),
            };
            if let Verdict::Holds(evidence) = predicate.test(&program, &setup)? {
                *site = evidence.seen;
            }
        }
        _ => {}
    }
    Ok(asked)
}

fn investigate(
    bench: &Bench<'_>,
    tools: &Toolset<'_>,
    settings: &Settings,
    case: &Case,
    answer: &mut Isolation,
) -> Result<(), Error> {
    let subject = case.claim.subject();
    let focus = Focus {
        function: subject.and_then(|subject| subject.function.clone()),
        variable: subject.map(|subject| subject.root().to_owned()),
    };
    match bench.compiler.family {
        // its dumps are not asked for
        Family::Rustc => culprit::rustc::isolate(bench, answer)?,
        Family::Clang => {
            if let Some(run) = culprit::clang::isolate(bench, answer)?
                && settings.change
            {
                let edge = answer
                    .suspects
                    .first()
                    .and_then(|suspect| suspect.run)
                    .map(|run| (run.last_good, run.number));
                let runs = culprit::clang::list(bench)?;
                answer.change = change::clang::change(bench, &runs, &run, edge, &focus)?;
                locate(&run, &bench.program.file_name(), answer);
            }
        }
        _ => {
            if let Some(pass) = culprit::gcc::isolate(bench, answer)?
                && settings.change
            {
                answer.change = change::gcc::change(bench, &pass, &focus)?;
            }
        }
    }
    if settings.releases && answer.outcome == Outcome::Found {
        answer.releases = Some(releases::releases(bench, tools.compilers)?);
    }
    Ok(())
}

/// "loop at prog.c:7": LLVM names loops by blocks, or not at all; the changed code knows its lines.
fn locate(run: &culprit::clang::PassRun, file: &str, answer: &mut Isolation) {
    let Some(change) = &answer.change else { return };
    let Some(first) = change.source_lines.first() else {
        return;
    };
    let Some(suspect) = answer.suspects.first_mut() else {
        return;
    };
    let function = match suspect.run {
        Some(_) => run.function().map(str::to_owned),
        None => None,
    }
    .or_else(|| change.function.clone());
    let what = match run.unit.starts_with("loop") {
        true => "loop",
        false => "code",
    };
    suspect.place = Some(match function {
        Some(function) => format!("{what} at {file}:{first} in {function}"),
        None => format!("{what} at {file}:{first}"),
    });
}

/// Both sides of the answer, asked anew.
fn contradicted(
    case: &Case,
    program: &candor_toolchain::Program,
    tools: &Toolset<'_>,
    bench: &Bench<'_>,
    settings: &Settings,
    answer: &Isolation,
) -> Result<Option<Rate>, Error> {
    let Some(culprit) = answer.culprit() else {
        return Ok(None);
    };
    let sides = match (&culprit.run, culprit.disable.as_slice()) {
        (Some(run), _) => vec![
            (culprit::clang::limit(run.number), Seen::Bad),
            (culprit::clang::limit(run.last_good), Seen::Good),
        ],
        (None, []) => return Ok(None),
        (None, flags) => vec![(Vec::new(), Seen::Bad), (flags.to_vec(), Seen::Good)],
    };
    bench.report("asking both sides of the answer again");
    baseline::again(case, program, bench.compiler, tools, settings, &sides)
}

/// `candor conform` watches LLVM passes on debug information.
fn next(case: &Case, answer: &Isolation) -> Option<String> {
    let culprit = answer.culprit()?;
    let about_debug = matches!(case.claim, Claim::Debug { .. } | Claim::Lost { .. });
    if !about_debug || answer.family != "clang" {
        return None;
    }
    let argument = files::llvm_argument(&culprit.pass)?;
    let release = answer.version.split('.').next().unwrap_or_default();
    Some(format!(
        "candor conform --llvm {release} --pass {argument} {}",
        candor_toolchain::build::quote(&answer.program)
    ))
}

/// Puts the culprit into the case and its signature: what `hunt` tells duplicates apart by.
pub fn complete(case: &mut Case, isolation: &Isolation) {
    let Some(culprit) = isolation.culprit() else {
        return;
    };
    let name = files::family_of(&culprit.pass).to_owned();
    case.pass = Some(Pass {
        name: name.clone(),
        disable: culprit.disable.clone(),
    });
    if let Some(signature) = &mut case.signature {
        signature.pass = Some(name.clone());
    }
    if let Some(finding) = &mut case.finding {
        finding.signature.pass = Some(name);
    }
}
