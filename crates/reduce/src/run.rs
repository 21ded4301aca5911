//! A reduction, start to end.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use candor_check::{PointChoice, Toolset};
use candor_predicate::{Case, Claim, Options, Setup, Verdict, predicate_for};
use candor_toolchain::{Built, Compiler, Family, Limits, Program};

use crate::jury::{Jury, Size, Stop, Tally};
use crate::keep::Keeper;
use crate::passes::rename::{self, Names};
use crate::passes::{rust, statements};
use crate::sweep::{Growth, Session};
use crate::verify::{Verified, verify};
use crate::{Error, coverage, cvise, edit, expand, snippets, syntax};

mod schedule;

/// How to reduce.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Candidates at a time.
    pub jobs: usize,
    /// 0 tries edits in the order of the source; others shuffle them.
    pub seed: u64,
    /// For one run of the program at most; what the first run needs decides within it.
    pub time: Duration,
    /// For the whole reduction; what is best by then is the result.
    pub budget: Option<Duration>,
    /// Where every candidate is kept with its verdict.
    pub keep_tried: Option<PathBuf>,
    /// Another reducer as second stage.
    pub cvise: Option<cvise::Stage>,
    /// The name of the reduced program.
    pub name: String,
    /// Short names at the end.
    pub rename: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            seed: 0,
            time: Duration::from_secs(5),
            budget: None,
            keep_tried: None,
            cvise: None,
            name: "reduced.c".into(),
            rename: true,
        }
    }
}

/// Where a reduction stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The best so far.
    pub size: Size,
    /// The pass at work.
    pub pass: &'static str,
    /// Candidates asked about.
    pub tried: usize,
    /// Per second.
    pub rate: f64,
    /// Since the last success.
    pub since_success: Duration,
    /// Since the beginning.
    pub elapsed: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Reduction {
    /// The case with the reduced program.
    pub case: Case,
    /// The original's size.
    pub before: Size,
    /// The result's.
    pub after: Size,
    /// Counts.
    pub tally: Tally,
    /// Time it took.
    pub elapsed: Duration,
    /// What the verification saw; `None` when it was interrupted before.
    pub verified: Option<Verified>,
    /// Why it ended before it was done.
    pub stopped: Option<Stopped>,
    /// Anything else a reader should know.
    pub notes: Vec<String>,
}

/// Why a reduction ended before it was done; what there is by then is the result.
#[derive(Debug)]
pub enum Stopped {
    /// Ctrl-C.
    Interrupted,
    /// The time for it is up.
    TimeUp,
    /// Something of ours broke: a full disk, most often.
    Broken(Error),
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stopped::Interrupted => write!(f, "interrupted: this is the best so far"),
            Stopped::TimeUp => write!(f, "the time is up: this is the best so far"),
            Stopped::Broken(error) => write!(f, "{error}: this is the best so far"),
        }
    }
}

/// How often the unchanged program is asked about before anything is changed.
const REPEATS: usize = 3;

/// Reduces the program of `case`, which `compiler` is the compiler of.
pub fn reduce(
    tools: &Toolset<'_>,
    case: &Case,
    compiler: &Compiler,
    settings: &Settings,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Reduction, Error> {
    let start = Instant::now();
    let original = case.program.program();
    let mut settings = settings.clone();
    if let Claim::Command { .. } = &case.claim {
        // the user's command knows the program by its own name
        settings.name.clone_from(&case.program.name);
    }
    if original.is_rust() && !settings.name.ends_with(".rs") {
        settings.name = "reduced.rs".into();
    }
    let settings = &settings;
    if !original.is_rust() {
        refuse_what_is_not_c(tools, case, &original, compiler)?;
    }
    let generous = Options {
        run: settings.time,
        ..Options::default()
    };
    let setup = Setup {
        compiler,
        flags: case.flags.clone(),
    };
    let (settled, bounds) = settle(tools, case, &original, &setup, &generous)?;
    let mut strict = predicate_for(&settled, tools, bounds.clone())?;
    strict.accept_warnings_of(&original)?;
    // Where two compilers' unoptimised builds are compared anyway, undefined behaviour seldom gets past
    // them, and sanitizers need not see every step.
    let unsanitized = Options {
        sanitize: false,
        ..bounds
    };
    let mut quick = match &settled.claim {
        Claim::Debug { .. } | Claim::Lost { .. } => {
            Some(predicate_for(&settled, tools, unsanitized)?)
        }
        _ => None,
    };
    if let Some(quick) = &mut quick {
        quick.accept_warnings_of(&original)?;
    }

    let mut jury = Jury::new(
        (&*strict, quick.as_deref()),
        setup.clone(),
        Program {
            path: PathBuf::from(&settings.name),
            ..original.clone()
        },
        settings.jobs,
        progress,
    );
    jury.deadline = settings.budget.map(|budget| start + budget);
    jury.keeper = match &settings.keep_tried {
        Some(directory) => Some(Keeper::new(directory)?),
        None => None,
    };
    let mut work = Work {
        tools,
        compiler,
        settings,
        generous: &generous,
        settled: &settled,
        confirmed: original.text.clone(),
        verified: None,
        notes: Vec::new(),
        relayout: true,
        names: Names::new(),
    };
    let outcome = work.run(&jury, &original.text);
    let stopped = match outcome {
        Ok(()) => None,
        Err(Stop::Interrupted) => Some(Stopped::Interrupted),
        Err(Stop::TimeUp) => Some(Stopped::TimeUp),
        // nothing was gained yet, so nothing is lost
        Err(Stop::Failed(error)) if work.confirmed == original.text => return Err(error),
        Err(Stop::Failed(error)) => Some(Stopped::Broken(error)),
    };
    let tally = jury.tally();
    work.finish(case, &original, start, tally, stopped)
}

/// A file that neither the grammar nor the front end nor the compiler itself can read is not C.
fn refuse_what_is_not_c(
    tools: &Toolset<'_>,
    case: &Case,
    program: &Program,
    compiler: &Compiler,
) -> Result<(), Error> {
    if !syntax::parse(&program.text)?.has_error {
        return Ok(());
    }
    // compilers accept more than the grammar knows; crashes on what is no C at all do not interest
    let parsed = tools
        .clang
        .parse(&program.path, Some(&program.text), &program.flags);
    match parsed {
        Ok(_) => Ok(()),
        // gcc's C has what libclang refuses, such as arrays of variable length in structures
        Err(_) if accepts(tools, case, program, compiler)? => Ok(()),
        Err(error) => Err(Error::NotC {
            path: PathBuf::from(&case.program.name),
            reason: error.to_string(),
        }),
    }
}

/// Whether the compiler under test finds no mistake in the program, crash or not.
fn accepts(
    tools: &Toolset<'_>,
    case: &Case,
    program: &Program,
    compiler: &Compiler,
) -> Result<bool, Error> {
    let workshop = tools.workshop;
    let limits = Limits::compiler();
    let (built, _) = candor_predicate::compile(
        workshop.sandbox,
        workshop.scratch,
        compiler,
        program,
        &case.flags,
        &limits,
    )?;
    let is_mistake =
        |line: &str| line.contains(" error: ") && !line.contains("internal compiler error");
    Ok(match built {
        Built::Rejected { .. } => false,
        Built::Crashed { diagnostics, .. } => !diagnostics.lines().any(is_mistake),
        _ => true,
    })
}

/// Asks about the unchanged program, more than once; what it shows settles what the claim left open
/// (crash site, manner), and how long it takes settles the limits for candidates.
fn settle(
    tools: &Toolset<'_>,
    case: &Case,
    program: &Program,
    setup: &Setup<'_>,
    generous: &Options,
) -> Result<(Case, Options), Error> {
    let mut predicate = predicate_for(case, tools, generous.clone())?;
    predicate.accept_warnings_of(program)?;
    let begin = Instant::now();
    let evidence = match predicate.test(program, setup)? {
        Verdict::Holds(evidence) => evidence,
        other => {
            // a flaky predicate is another matter than a false one
            let mut held = 0;
            for _ in 1..REPEATS {
                held += usize::from(predicate.test(program, setup)?.holds());
            }
            if held > 0 {
                return Err(Error::Flaky {
                    held,
                    asked: REPEATS,
                    last: other.to_string(),
                });
            }
            return Err(Error::NotThere {
                claim: case.claim.to_string(),
                build: format!("{} {}", setup.compiler, setup.flags.join(" ")),
                instead: other.to_string(),
            });
        }
    };
    let took = begin.elapsed();
    let mut settled = case.clone();
    match &mut settled.claim {
        Claim::Crash { site } if site.is_empty() => *site = evidence.seen.clone(),
        Claim::Miscompilation { manner, .. } => *manner = manner.or(evidence.manner),
        _ => {}
    }
    // Candidates that run in circles cost as much as they are given: try how little will do. CPU time
    // is what counts there, in whole seconds.
    let about_debug = matches!(case.claim, Claim::Debug { .. } | Claim::Lost { .. });
    let mut run = took.max(Duration::from_secs(1)).min(generous.run);
    let mut held = 1;
    let mut last = None;
    for _ in 1..REPEATS {
        // what sanitizers say does not change from run to run
        let ask = |run: Duration| -> Result<Verdict, Error> {
            let unsanitized = Options {
                sanitize: false,
                run,
                ..generous.clone()
            };
            let mut again = predicate_for(&settled, tools, unsanitized)?;
            again.accept_warnings_of(program)?;
            Ok(again.test(program, setup)?)
        };
        let short = Duration::from_secs(1);
        if about_debug && run > short && ask(short)?.holds() {
            run = short;
            held += 1;
            continue;
        }
        match ask(if about_debug { run } else { generous.run })? {
            Verdict::Holds(_) => held += 1,
            other => last = Some(other.to_string()),
        }
    }
    if let Some(last) = last {
        return Err(Error::Flaky {
            held,
            asked: REPEATS,
            last,
        });
    }
    let bounds = Options {
        run,
        compile: (evidence.compile * 20).clamp(Duration::from_secs(5), generous.compile),
        command: (took * 10).clamp(Duration::from_secs(10), generous.command),
        max_stops: evidence
            .stops
            .map_or(generous.max_stops, |stops| (2 * stops).max(200)),
        whole_runs: evidence
            .stops
            .is_some_and(|stops| stops < generous.max_stops),
        ..generous.clone()
    };
    Ok((settled, bounds))
}

/// A reduction under way.
struct Work<'w, 't> {
    tools: &'w Toolset<'t>,
    compiler: &'w Compiler,
    settings: &'w Settings,
    generous: &'w Options,
    settled: &'w Case,
    /// The smallest text that a whole verification bore out.
    confirmed: String,
    verified: Option<Verified>,
    notes: Vec<String>,
    relayout: bool,
    /// New names in `confirmed`.
    names: Names,
}

/// Looks at a tree and offers edits.
type RustPass = fn(&syntax::Tree) -> Vec<edit::Edit>;

impl Work<'_, '_> {
    fn run(&mut self, jury: &Jury<'_>, original: &str) -> Result<(), Stop> {
        let mut session = Session::new(jury, original, self.settings.seed);
        let result = self.stages(&mut session);
        // an early end keeps what was borne out last
        if result.is_err() && session.sound != self.confirmed {
            self.confirmed = session.sound.clone();
            self.verified = None;
        }
        result
    }

    fn stages(&mut self, session: &mut Session<'_, '_>) -> Result<(), Stop> {
        if session.jury.program.is_rust() {
            return self.rust_stages(session);
        }
        if let Some((seed, variant)) = snippets::of_case(self.settled)? {
            let kept = snippets::drop(session, &seed, &variant)?;
            self.notes.push(format!(
                "{} of {} inserted snippets stay",
                kept.len(),
                variant.snippets.len()
            ));
        }
        session.relayout = true;
        let laid_out = session.form(&session.best);
        if laid_out != session.best {
            if session.jury.holds_strictly(&laid_out)? {
                session.take(laid_out)?;
            } else {
                session.relayout = false;
                self.notes.push(
                    "the finding hangs on the lines of the original: its layout is kept".into(),
                );
            }
        }
        self.relayout = session.relayout;
        self.expand(session)?;
        self.drop_idle(session)?;
        schedule::coarse(session, self.settled)?;
        self.checkpoint(session)?;
        loop {
            let before = session.best.clone();
            self.expand(session)?;
            schedule::fine(session, self.settled)?;
            self.checkpoint(session)?;
            if session.best == before {
                break;
            }
        }
        if let Some(stage) = &self.settings.cvise {
            session.jury.announce("cvise");
            let text = cvise::run(self.tools, stage, self.settled, &session.best)?;
            session.try_texts(&[text], Growth::Never)?;
            self.checkpoint(session)?;
        }
        if self.settings.rename {
            self.rename(session)?;
        }
        Ok(())
    }

    /// A Rust program: whole things level by level, then what is in them, until nothing more goes.
    fn rust_stages(&mut self, session: &mut Session<'_, '_>) -> Result<(), Stop> {
        session.relayout = false;
        self.relayout = false;
        loop {
            let before = session.best.clone();
            let mut level = 0;
            session.jury.announce("items and statements");
            loop {
                let tree = syntax::parse_rust(&session.best)?;
                if level > rust::deepest(&tree) {
                    break;
                }
                session.sweep(rust::remove(&tree, level), Growth::Never)?;
                level += 1;
            }
            let passes: [(&'static str, RustPass); 7] = [
                ("control flow", rust::expressions::hoist),
                ("what is printed", rust::expressions::macros),
                ("parameters", rust::signatures::parameters),
                ("fields and variants", rust::signatures::fields),
                ("operands", rust::expressions::operands),
                ("types", rust::signatures::types),
                ("constants", rust::expressions::constants),
            ];
            for (name, pass) in passes {
                session.jury.announce(name);
                let tree = syntax::parse_rust(&session.best)?;
                session.sweep(pass(&tree), Growth::Never)?;
            }
            self.checkpoint(session)?;
            if session.best == before {
                return Ok(());
            }
        }
    }

    /// Headers become what is needed of them. Tried again between stages: the finding may not survive
    /// it until little of a header is needed.
    fn expand(&mut self, session: &mut Session<'_, '_>) -> Result<(), Stop> {
        if !expand::has_directives(&session.best) {
            return Ok(());
        }
        session.jury.announce("headers");
        let workshop = self.tools.workshop;
        let own = std::iter::once(self.compiler);
        let mut texts = Vec::new();
        for compiler in own.chain(self.tools.compilers.iter().rev()).take(3) {
            let program = Program {
                text: session.best.clone(),
                ..session.jury.program.clone()
            };
            let expanded = expand::expand(workshop.sandbox, workshop.scratch, compiler, &program)?;
            if let Some(expanded) = expanded {
                let tree = syntax::parse(&expanded.text)?;
                let needed = schedule::unreachable(&tree, self.settled);
                let silenced = expanded.silenced(&tree);
                let plain = expand::plain_names(&tree);
                texts.extend(edit::apply(&expanded.text, [&needed, &silenced, &plain]));
            }
        }
        texts.dedup();
        // a text without its headers may be longer
        session.try_texts(&texts, Growth::UpTo(usize::MAX / 2))?;
        Ok(())
    }

    /// What never runs goes first, where it has no part in the finding.
    fn drop_idle(&mut self, session: &mut Session<'_, '_>) -> Result<(), Stop> {
        // only claims about runs have one
        if matches!(
            self.settled.claim,
            Claim::Crash { .. } | Claim::Hang { .. } | Claim::Command { .. }
        ) {
            return Ok(());
        }
        session.jury.announce("idle code");
        let workshop = self.tools.workshop;
        let program = Program {
            text: session.best.clone(),
            ..session.jury.program.clone()
        };
        let idle = coverage::idle_lines(
            workshop.sandbox,
            workshop.scratch,
            self.tools.compilers,
            &program,
            self.generous.run,
        )
        .map_err(Stop::from)?;
        let edits = statements::on_lines(&syntax::parse(&session.best)?, &idle);
        session.sweep(edits, Growth::Never)?;
        Ok(())
    }

    /// The case with `text`, its names changed.
    fn case_of(&self, text: &str, names: &Names) -> Case {
        let mut case = self.settled.clone();
        case.program.text = text.to_owned();
        case.program.name = self.settings.name.clone();
        if let Some(subject) = case.claim.subject_mut() {
            let root = subject.root().to_owned();
            if let Some(new) = names.get(&root) {
                subject.variable = subject.variable.replacen(&root, new, 1);
            }
            if let Some(new) = subject.function.as_ref().and_then(|old| names.get(old)) {
                subject.function = Some(new.clone());
            }
        }
        case
    }

    /// A whole verification between stages: a reduction that wandered off goes back to where it was
    /// last borne out.
    fn checkpoint(&mut self, session: &mut Session<'_, '_>) -> Result<(), Stop> {
        if session.best == self.confirmed {
            return Ok(());
        }
        session.jury.announce("verification");
        let case = self.case_of(&session.best, &Names::new());
        // one debugger will do on the way
        let few = Toolset {
            debuggers: self.tools.debuggers.get(..1).unwrap_or(&[]),
            ..*self.tools
        };
        match self.verify(&few, &case)? {
            Ok(_) => {
                self.confirmed = session.best.clone();
                self.verified = None;
            }
            Err(instead) => {
                self.notes.push(format!(
                    "a smaller program ({} tokens) was given up: {instead}",
                    Size::of(&session.best).tokens
                ));
                session.best = self.confirmed.clone();
                session.sound = self.confirmed.clone();
            }
        }
        Ok(())
    }

    fn verify(&self, tools: &Toolset<'_>, case: &Case) -> Result<Result<Verified, String>, Error> {
        let name = &self.settings.name;
        let replay = |compiler: &Compiler, level: &str, _: &PointChoice| {
            let quote = candor_toolchain::build::quote;
            let option = match compiler.family {
                Family::Rustc => "--rustc",
                _ => "--cc",
            };
            format!(
                "candor check {} {option} {} {level}",
                quote(name),
                quote(&compiler.name)
            )
        };
        verify(tools, case, self.compiler, self.generous, &replay)
    }

    /// Short names, the subject's too. All at once; failing that all but the subject's.
    fn rename(&mut self, session: &mut Session<'_, '_>) -> Result<(), Stop> {
        session.jury.announce("names");
        let tree = syntax::parse(&session.best)?;
        let all = rename::names(&tree);
        let mut others = all.clone();
        if let Some(subject) = self.settled.claim.subject() {
            others.remove(subject.root());
            if let Some(function) = &subject.function {
                others.remove(function);
            }
        }
        for names in [all, others] {
            let renamed = edit::apply(&session.best, [&rename::rename(&tree, &names)]);
            let Some(text) = renamed.map(|text| session.form(&text)) else {
                continue;
            };
            if text == session.best {
                return Ok(());
            }
            let case = self.case_of(&text, &names);
            if let Ok(verified) = self.verify(self.tools, &case)? {
                session.jury.moved_to(&text);
                session.best = text.clone();
                session.sound = text.clone();
                self.confirmed = text;
                self.verified = Some(verified);
                self.names = names;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The result as a case of its own.
    fn finish(
        mut self,
        case: &Case,
        original: &Program,
        start: Instant,
        tally: Tally,
        stopped: Option<Stopped>,
    ) -> Result<Reduction, Error> {
        let mut reduced = self.case_of(&self.confirmed, &self.names);
        let can_run = matches!(stopped, None | Some(Stopped::TimeUp));
        if self.verified.is_none() && can_run {
            match self.verify(self.tools, &reduced)? {
                Ok(verified) => self.verified = Some(verified),
                Err(instead) => {
                    return Err(Error::Verification {
                        instead,
                        build: format!("{} {}", self.compiler, case.flags.join(" ")),
                    });
                }
            }
        }
        reduced.variant = None;
        if let Some(finding) = self.verified.as_ref().and_then(|v| v.finding.as_ref()) {
            if let Some(subject) = reduced.claim.subject_mut() {
                subject.variable = finding.variable.clone();
                subject.declared = finding.declared;
                subject.line = finding.line;
            }
            reduced.replay = finding.replay.clone();
            reduced.signature = Some(finding.signature.clone());
            reduced.finding = Some(finding.clone());
        } else {
            reduced.finding = None;
        }
        Ok(Reduction {
            before: Size::of(&original.text),
            after: Size::of(&reduced.program.text),
            case: reduced,
            tally,
            elapsed: start.elapsed(),
            verified: self.verified,
            stopped,
            notes: self.notes,
        })
    }
}
