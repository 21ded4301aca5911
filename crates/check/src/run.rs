//! One check, start to end: gate, references, optimised builds on all cores, confirmation.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use candor_dwarf::Image;
use candor_source::Clang;
use candor_source::instrument::{BARRIER, without_barriers};
use candor_toolchain::{Compiler, Gate, Miri, MiriVerdict, Program};
use candor_tracer::{Debugger, Outcome};

use crate::compare::{Suspect, VariableName};
use crate::confirm::{Compared, Court, Printer};
use crate::fallback::{self, Established};
use crate::finding::{Counts, Finding, Kind, Report, RoundRow, Row, Undecided};
use crate::frames::FrameCounts;
use crate::native::compare_build;
use crate::not_compared::not_compared;
use crate::plan::{Plan, PointChoice};
use crate::quiet::Held;
use crate::rounds::{Effort, Round, sparse};
use crate::rust_shadow::RustShadows;
use crate::shadow::Shadows;
use crate::truth::{Reference, Truth, references_of};
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
    /// Sparse builds per compiler and level at most, where it is not what the effort says.
    pub sparse: Option<usize>,
    /// Time for building and comparing; what has no turn by then is counted.
    pub budget: Option<Duration>,
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
            sparse: None,
            budget: None,
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

/// The command that shows again what a build with these barriers shows.
pub type Replay<'a> = dyn Fn(&Compiler, &str, &PointChoice) -> String + Sync + 'a;

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
    pub replay: &'a Replay<'a>,
}

/// Where a check stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// What judges `unsafe` code is asked.
    Judging,
    /// Sanitizers judge the program, and reference builds are made and run.
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
    let Prepared {
        gate,
        references,
        truth,
        held,
        choices,
    } = prepare(tools, request, &plan, under_test, progress)?;
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
    if truth.recording.len() == 0 && request.points != PointChoice::None {
        report.notes.push("no chosen point is ever reached".into());
    }

    give_back(&plan);
    let reached = truth.reached();
    report.reached = reached.len();
    let schedule = schedule(request, &plan, &truth, &reached, held)?;
    let (compared, interrupted) = compare_all(tools, request, &schedule, &truth, progress)?;
    let mut shadows = None;
    let mut printer = |questions: &mut dyn FnMut(&mut Printer<'_>) -> Result<(), Error>| {
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
        questions(shadows)
    };
    let court = Court {
        workshop: tools.workshop,
        program,
        plan: &plan,
        settings,
        debuggers: tools.debuggers,
        replay: request.replay,
    };
    summarise(&mut report, request, &schedule, &compared);
    confirm_all(&court, &mut report, &compared, &mut printer, progress)?;
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
    count_findings(&mut report);
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

/// The program without barriers of its own, for who does not link the barrier.
pub(crate) fn silenced(program: &Program) -> Cow<'_, Program> {
    if !program.text.contains(BARRIER) {
        return Cow::Borrowed(program);
    }
    let mut silent = program.clone();
    silent.text = without_barriers(&program.text);
    Cow::Owned(silent)
}

/// What a check needs to know before anything optimised is built.
struct Prepared<'a> {
    gate: Gate<'a>,
    references: Vec<Reference<'a>>,
    truth: Truth,
    held: Option<Result<Held, String>>,
    /// Which tools were chosen, where they are not the usual ones.
    choices: Vec<String>,
}

/// What unoptimised builds say, with and without barriers, once the sanitizers have nothing against the program. All three
/// side by side: most programs are fit, and each waits for compilers.
fn prepare<'a>(
    tools: &Toolset<'a>,
    request: &Request<'a>,
    plan: &Plan,
    under_test: Option<&'a Compiler>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Prepared<'a>, Error> {
    let (program, settings, workshop) = (request.program, &request.settings, tools.workshop);
    // rustc judges safe Rust itself
    let judged = || match settings.judged || program.is_rust() {
        true => Ok((tools.gate, Vec::new())),
        false => fallback::judge(tools, &silenced(program), settings),
    };
    let asked =
        matches!(request.points, PointChoice::Rounds(_) | PointChoice::None) && !program.is_rust();
    let held = |references: &[Reference<'_>]| {
        Held::establish(workshop, references, program, plan, settings)
    };
    let usual = || match asked {
        true => held(&references_of(
            workshop,
            tools.compilers,
            program,
            under_test,
        )?)
        .map(Some),
        false => Ok(None),
    };
    let established = || fallback::establish(tools, program, plan, under_test, settings);
    progress(Progress::References);
    let (verdict, established, quiet) = if settings.jobs < 2 || is_large(plan) {
        (judged(), established(), usual())
    } else {
        std::thread::scope(|scope| {
            let (quiet, truth) = (scope.spawn(usual), scope.spawn(established));
            let died = |_| Err(Error::unfit("a thread of candor died on it"));
            let verdict = judged();
            (
                verdict,
                truth.join().unwrap_or_else(died),
                quiet
                    .join()
                    .unwrap_or_else(|_| Err(Error::unfit("a thread of candor died on it"))),
            )
        })
    };
    let (gate, mut choices) = verdict?;
    let Established {
        references,
        truth,
        notes,
    } = established?;
    // where the usual references are not those of this program, those that are have the word
    let quiet = match quiet? {
        Some(Err(_)) if !notes.is_empty() => Some(held(&references)?),
        other => other,
    };
    choices.extend(notes);
    Ok(Prepared {
        gate,
        references,
        truth,
        held: quiet,
        choices,
    })
}

/// One way of building the program, for every compiler and level.
struct Arm<'p> {
    round: Round,
    plan: Cow<'p, Plan>,
    /// Its calls among those of the recording.
    calls: Option<Vec<u32>>,
    points: PointChoice,
}

/// What is built, and what has no turn.
struct Schedule<'p> {
    /// In the order in which they are built.
    arms: Vec<Arm<'p>>,
    /// What the variables of the program without barriers may show.
    held: Option<Held>,
    /// Why there is no quiet round.
    not_quiet: Option<String>,
    /// Points that are reached and have no turn in a sparse build.
    left_out: usize,
    /// Why there are no sparse builds.
    not_sparse: Option<String>,
}

/// Decides what to build.
fn schedule<'p>(
    request: &Request<'_>,
    plan: &'p Plan,
    truth: &Truth,
    reached: &BTreeSet<usize>,
    held: Option<Result<Held, String>>,
) -> Result<Schedule<'p>, Error> {
    let mut schedule = Schedule {
        arms: Vec::new(),
        held: None,
        not_quiet: None,
        left_out: 0,
        not_sparse: None,
    };
    let arm = |round| Arm {
        round,
        plan: Cow::Borrowed(plan),
        calls: None,
        points: request.points.clone(),
    };
    let effort = match &request.points {
        PointChoice::Rounds(effort) => *effort,
        PointChoice::None => Effort::Quick,
        PointChoice::All => {
            schedule.arms.push(arm(Round::All));
            return Ok(schedule);
        }
        _ => {
            schedule.arms.push(arm(Round::Chosen));
            return Ok(schedule);
        }
    };
    match held {
        Some(Ok(held)) => {
            schedule.held = Some(held);
            schedule.arms.push(Arm {
                points: PointChoice::None,
                ..arm(Round::Quiet)
            });
        }
        Some(Err(reason)) => schedule.not_quiet = Some(reason),
        None => schedule.not_quiet = Some("it is for C programs only".into()),
    }
    if request.points == PointChoice::None {
        return Ok(schedule);
    }
    schedule.arms.push(Arm {
        points: PointChoice::All,
        ..arm(Round::All)
    });
    let most = match (request.settings.sparse, effort) {
        (Some(most), _) => most,
        // one more build of a Rust program costs as much as ten of C
        (None, Effort::Normal) if request.program.is_rust() => 0,
        (None, effort) => effort.sparse_builds(),
    };
    let sparse = sparse(plan, reached, most);
    schedule.left_out = sparse.left_out;
    for points in sparse.builds {
        let choice = PointChoice::Only(points);
        let plan = plan.with_points(request.program, &choice)?;
        let chosen = plan.chosen.iter().copied().collect();
        let Some(calls) = truth.calls_at(&chosen) else {
            schedule.not_sparse =
                Some("it is not known of every barrier call which point it belongs to".into());
            schedule.left_out = reached.len();
            schedule.arms.retain(|arm| arm.round != Round::Sparse);
            break;
        };
        // a barrier for each statement alone is what the full build is
        if calls.len() < truth.recording.len() {
            schedule.arms.push(Arm {
                round: Round::Sparse,
                plan: Cow::Owned(plan),
                calls: Some(calls),
                points: choice,
            });
        }
    }
    Ok(schedule)
}

/// Builds and compares everything, `jobs` at a time (a large program's one by one), results in the order of the schedule:
/// the first way of building for every compiler and level, then the second.
fn compare_all<'a>(
    tools: &Toolset<'_>,
    request: &Request<'a>,
    schedule: &'a Schedule<'_>,
    truth: &Truth,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(Vec<Compared<'a>>, bool), Error> {
    let tasks: Vec<(&Arm<'_>, &(&'a Compiler, String))> = schedule
        .arms
        .iter()
        .flat_map(|arm| request.builds.iter().map(move |build| (arm, build)))
        .collect();
    let total = tasks.len();
    let start = Instant::now();
    let in_time = || {
        let budget = request.settings.budget;
        budget.is_none_or(|budget| start.elapsed() < budget)
    };
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<Compared<'a>, Error>>> = Mutex::default();
    progress(Progress::Compared { done: 0, total });
    let is_large = schedule.arms.first().is_some_and(|arm| is_large(&arm.plan));
    std::thread::scope(|scope| {
        let jobs = if is_large {
            1
        } else {
            request.settings.jobs.clamp(1, total.max(1))
        };
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((number, (arm, (compiler, level)))) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    tasks.get(number).map(|task| (number, *task))
                } {
                    // the first of them is made whatever the time
                    if number > 0 && !in_time() {
                        break;
                    }
                    let held = schedule.held.as_ref();
                    let started = Instant::now();
                    let mut result = compare_one(tools, request, arm, truth, held, compiler, level);
                    if let Ok(compared) = &mut result {
                        compared.time = started.elapsed();
                    }
                    give_back(&arm.plan);
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
    arm: &'a Arm<'_>,
    truth: &Truth,
    held: Option<&Held>,
    compiler: &'a Compiler,
    level: &str,
) -> Result<Compared<'a>, Error> {
    let flags: Vec<String> = level.split_whitespace().map(str::to_owned).collect();
    let mut compared = Compared {
        compiler,
        level: level.to_owned(),
        round: arm.round,
        plan: &arm.plan,
        points: arm.points.clone(),
        row: Row {
            compiler: compiler.name.clone(),
            level: level.to_owned(),
            counts: Counts::default(),
            frames: FrameCounts::default(),
            note: None,
        },
        suspects: Vec::new(),
        variables: BTreeSet::new(),
        lines: BTreeSet::new(),
        not_compared: BTreeMap::new(),
        time: Duration::ZERO,
        build: None,
    };
    let workshop = tools.workshop;
    let text = match arm.round {
        Round::Quiet => &request.program.text,
        _ => &arm.plan.text,
    };
    let executable = match workshop.build(compiler, request.program, text, &flags)? {
        Ok(executable) => executable,
        Err(reason) => {
            compared.row.note = Some(reason);
            return Ok(compared);
        }
    };
    let image = match Image::open(&executable.path) {
        Ok(image) => image,
        Err(error) => {
            compared.row.note = Some(error.to_string());
            return Ok(compared);
        }
    };
    let build = (&executable, &image);
    let (program, settings) = (request.program, &request.settings);
    let suspects: Vec<Suspect> = match (arm.round, held) {
        (Round::Quiet, Some(held)) => {
            match held.compare(workshop, program, &arm.plan, build, settings)? {
                Ok(quiet) => {
                    compared.row.counts = quiet.counts;
                    compared.not_compared = quiet.not_compared;
                    compared.variables = quiet.variables;
                    compared.lines = quiet.lines;
                    quiet.suspects
                }
                Err(reason) => {
                    compared.row.note = Some(reason);
                    return Ok(compared);
                }
            }
        }
        _ => {
            let calls = arm.calls.as_deref();
            match compare_build(
                workshop,
                program,
                (&arm.plan, calls),
                truth,
                build,
                settings,
                None,
            )? {
                Ok(mut comparison) => {
                    compared.row.counts = comparison.counts;
                    compared.row.frames = comparison.frames.counts;
                    compared.variables = comparison.variables();
                    compared.lines = comparison.lines.clone();
                    comparison.all_suspects().values().cloned().collect()
                }
                Err(reason) => {
                    compared.row.note = Some(reason);
                    return Ok(compared);
                }
            }
        }
    };
    compared.suspects = suspects;
    compared.build = (!compared.suspects.is_empty()).then_some(executable);
    Ok(compared)
}

/// Writes down what was compared.
fn summarise(
    report: &mut Report,
    request: &Request<'_>,
    schedule: &Schedule<'_>,
    compared: &[Compared<'_>],
) {
    for (compiler, level) in &request.builds {
        let mut row = Row {
            compiler: compiler.name.clone(),
            level: level.clone(),
            counts: Counts::default(),
            frames: FrameCounts::default(),
            note: None,
        };
        let ours = |one: &&Compared<'_>| one.compiler.name == compiler.name && one.level == *level;
        for one in compared.iter().filter(ours) {
            row.counts.add_all(&one.row.counts);
            row.frames.add_all(&one.row.frames);
            row.note = row.note.or_else(|| one.row.note.clone());
        }
        report.summary.push(row);
    }
    let mut variables: BTreeSet<&VariableName> = BTreeSet::new();
    let mut lines: BTreeSet<u32> = BTreeSet::new();
    for one in compared {
        for (reason, count) in &one.not_compared {
            *report.not_compared.entry(reason.clone()).or_default() += count;
        }
        variables.extend(&one.variables);
        lines.extend(&one.lines);
    }
    report.variables = variables.len();
    let executed = schedule.held.as_ref().map_or(lines.len(), Held::lines);
    report.lines = (lines.len().min(executed), executed);
    if !matches!(request.points, PointChoice::Rounds(_) | PointChoice::None) {
        return;
    }
    for round in [Round::Quiet, Round::Sparse, Round::All] {
        let ours: Vec<&Compared<'_>> = compared.iter().filter(|one| one.round == round).collect();
        let mut row = RoundRow {
            round,
            builds: ours.len(),
            points: 0,
            counts: Counts::default(),
            seconds: 0.0,
            findings: 0,
            alone: 0,
            left_out: 0,
            note: None,
        };
        let mut points: BTreeSet<usize> = BTreeSet::new();
        for one in &ours {
            row.counts.add_all(&one.row.counts);
            row.seconds += one.time.as_secs_f64();
            if round != Round::Quiet {
                points.extend(&one.plan.chosen);
            }
        }
        row.points = points.len();
        let planned = schedule
            .arms
            .iter()
            .filter(|arm| arm.round == round)
            .count();
        let missing = (planned * request.builds.len()).saturating_sub(ours.len());
        match round {
            Round::Quiet => row.note.clone_from(&schedule.not_quiet),
            Round::Sparse => {
                row.note.clone_from(&schedule.not_sparse);
                row.left_out = schedule.left_out;
            }
            _ => {}
        }
        if missing > 0 {
            row.note = Some(format!("{missing} builds had no time (--budget)"));
        }
        let asked = request.points != PointChoice::None || round == Round::Quiet;
        if asked && (planned > 0 || row.note.is_some() || row.left_out > 0) {
            report.rounds.push(row);
        }
    }
}

/// A variable of one build that one kind of thing is wrong with.
type Matter = (String, String, Kind, Option<String>, String, u32);

fn matter(build: &Compared<'_>, suspect: &Suspect) -> Option<Matter> {
    let candidate = suspect.candidates.first()?;
    let key = &candidate.key;
    Some((
        build.compiler.name.clone(),
        build.level.clone(),
        candidate.kind,
        key.function.as_deref().map(str::to_owned),
        key.variable.to_string(),
        key.decl_line.0,
    ))
}

/// Confirms what seems wrong, each variable of a compiler and level once: in the build that shows most of what is still
/// open, of equal ones in the one with the fewest barriers.
fn confirm_all(
    court: &Court<'_>,
    report: &mut Report,
    compared: &[Compared<'_>],
    ask_printer: &mut AskPrinter<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(), Error> {
    let mut shows: BTreeMap<Matter, BTreeSet<Round>> = BTreeMap::new();
    for build in compared {
        for suspect in &build.suspects {
            if let Some(matter) = matter(build, suspect) {
                shows.entry(matter).or_default().insert(build.round);
            }
        }
    }
    if !shows.is_empty() {
        progress(Progress::Confirming {
            suspects: shows.len(),
        });
    }
    let mut settled: BTreeSet<Matter> = BTreeSet::new();
    let mut doubts: BTreeMap<Matter, Undecided> = BTreeMap::new();
    let mut left: Vec<&Compared<'_>> = compared
        .iter()
        .filter(|build| !build.suspects.is_empty())
        .collect();
    loop {
        let open = |build: &Compared<'_>, settled: &BTreeSet<Matter>| {
            let matters = build.suspects.iter().filter_map(|s| matter(build, s));
            matters.filter(|matter| !settled.contains(matter)).count()
        };
        left.retain(|build| open(build, &settled) > 0);
        let best = left
            .iter()
            .enumerate()
            .max_by_key(|(place, build)| {
                let few = std::cmp::Reverse((build.round, *place));
                (open(build, &settled), few)
            })
            .map(|(place, _)| place);
        let Some(best) = best else { break };
        let build = left.remove(best);
        let unsettled: Vec<&Suspect> = build
            .suspects
            .iter()
            .filter(|suspect| matter(build, suspect).is_some_and(|m| !settled.contains(&m)))
            .collect();
        let mut decided = None;
        let result = ask_printer(&mut |printer| {
            decided = Some(court.decide(build, &unsettled, printer)?);
            Ok(())
        });
        match (result, decided) {
            (Ok(()), Some(verdicts)) => {
                for (suspect, verdict) in unsettled.iter().zip(verdicts) {
                    let Some(matter) = matter(build, suspect) else {
                        continue;
                    };
                    match verdict {
                        Ok(mut found) => {
                            let rounds = shows.get(&matter);
                            for finding in &mut found {
                                finding.rounds = rounds.into_iter().flatten().copied().collect();
                            }
                            report.findings.extend(found);
                            settled.insert(matter);
                        }
                        // the first reason is the one to tell
                        Err(doubt) => {
                            doubts.entry(matter).or_insert(doubt);
                        }
                    }
                }
            }
            (Ok(()), None) => {}
            (Err(error), _) if error.is_interrupt() => {
                for build in std::iter::once(build).chain(left) {
                    for suspect in &build.suspects {
                        if let Some(matter) = matter(build, suspect)
                            && let Some(candidate) = suspect.candidates.first()
                        {
                            let reason = "interrupted before it was confirmed".to_owned();
                            let doubt = || court.undecided(build, candidate, reason);
                            doubts.entry(matter).or_insert_with(doubt);
                        }
                    }
                }
                break;
            }
            (Err(error), _) => return Err(error),
        }
    }
    let order = |compiler: &str, level: &str| {
        let rows = report.summary.iter();
        rows.clone()
            .position(|row| row.compiler == compiler && row.level == level)
    };
    let mut findings = std::mem::take(&mut report.findings);
    findings.sort_by_key(|finding| order(&finding.compiler, &finding.level));
    let open = doubts
        .into_iter()
        .filter(|(matter, _)| !settled.contains(matter));
    report.undecided.extend(open.map(|(_, doubt)| doubt));
    report.findings = findings;
    Ok(())
}

/// Hands the printer to somebody, who is made when first needed.
type AskPrinter<'a> =
    dyn FnMut(&mut dyn FnMut(&mut Printer<'_>) -> Result<(), Error>) -> Result<(), Error> + 'a;

/// How many findings each round shows, and shows alone.
fn count_findings(report: &mut Report) {
    for row in &mut report.rounds {
        let shown = |finding: &&Finding| finding.rounds.contains(&row.round);
        row.findings = report.findings.iter().filter(shown).count();
        row.alone = report
            .findings
            .iter()
            .filter(|finding| finding.rounds == [row.round])
            .count();
    }
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
