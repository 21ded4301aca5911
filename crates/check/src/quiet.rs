//! The program as it is, without barriers: a value that a variable never had is wrong.
//!
//! # What it checks
//! Without a barrier nobody knows which moment of the source a machine instruction belongs to. What is known: a correct
//! description shows a value that the variable *had*. So the values that a variable held in unoptimised builds are
//! recorded, and each value that the optimised build shows at a surviving statement must be one of them, in the smallest
//! window of time that both builds share: between the same two calls of other files' functions, where both make the same
//! such calls; in the same call of the same function, where both call it equally often; else in the whole run.
//!
//! # Why
//! Barriers keep the optimiser from doing much of what goes wrong. 18 of the 47 bugs of paper 000 needed none.
//!
//! # Example
//! A counter that runs from 0 to 8 and is shown as -1 after loop strength reduction.
//!
//! # False alarms
//! Nothing is said of what is read from the variable's own memory: stores may still be on their way. Nothing of lines
//! where a variable may not be initialised yet: two builds with differently filled stacks must agree on it. gcc's and
//! clang's builds must agree on the set of values. Where a statement assigns to one variable twice, the unoptimised build
//! is stopped in between (`candor_tracer::Quiet::exact`). A debugger must show the same at the same address and visit.
//!
//! # Source
//! After paper 000; the sets are ours.

mod timeline;
mod watcher;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use candor_dwarf::Image;
use candor_toolchain::Program;
use candor_tracer::{Around, Mode, Observer, Outcome, Quiet, RunSummary, trace};

use crate::compare::{Suspect, VariableName};
use crate::finding::Counts;
use crate::plan::Plan;
use crate::truth::{Reference, launch, options};
use crate::workshop::{Executable, Workshop};
use crate::{Error, Settings};
use timeline::Timeline;
use watcher::{IN_MEMORY, NOT_IN_REFERENCE, WITHOUT_NAME, Watcher, Windows, is_told};

/// Visits of an address in an optimised build; those that come later say little new.
const VISITS: u32 = 128;
/// Visits of an address in a reference; where there are more, its function is given up.
const REFERENCE_VISITS: u32 = 2048;
/// Values of a variable that are named in words.
const NAMED: usize = 6;
/// Places of one variable that are kept for confirmation, and lines.
const CANDIDATES: usize = 4;
/// What a stack is filled with that is not filled with zeroes.
const FILLING: u8 = 0xfe;
/// Places of one variable that are looked into.
const MOST_DOUBTS: usize = 64;

/// What the variables of the program held, as unoptimised builds say.
#[derive(Debug)]
pub struct Held {
    timelines: Vec<Timeline>,
}

/// What the quiet round saw of one build.
#[derive(Debug, Default)]
pub(crate) struct QuietSeen {
    pub counts: Counts,
    pub suspects: Vec<Suspect>,
    pub variables: BTreeSet<VariableName>,
    pub lines: BTreeSet<u32>,
    pub stops: u64,
    /// Values that are shown and not compared, by reason.
    pub not_compared: BTreeMap<String, usize>,
}

impl Held {
    /// Runs the reference builds of `program`; the inner error says why their word is not enough.
    pub fn establish(
        workshop: &Workshop<'_>,
        references: &[Reference<'_>],
        program: &Program,
        plan: &Plan,
        settings: &Settings,
    ) -> Result<Result<Self, String>, Error> {
        let mut timelines: Vec<(String, Timeline)> = Vec::new();
        for (reference, fill) in with_two_stacks(references) {
            let (compiler, text) = (reference.compiler, plan.unit.text());
            let executable = match workshop.build(compiler, program, text, &reference.flags)? {
                Ok(executable) => executable,
                Err(reason) => return Ok(Err(format!("{compiler}: {reason}"))),
            };
            let timeline = record(workshop, program, &executable, settings, fill)?;
            let name = compiler.name.clone();
            match timelines.iter_mut().find(|(other, _)| *other == name) {
                Some((_, first)) => {
                    if !first.agree(&timeline) {
                        return Ok(Err(format!(
                            "two unoptimised builds by {name} do not run in the same way"
                        )));
                    }
                }
                None => timelines.push((name, timeline)),
            }
        }
        let timelines = timelines
            .into_iter()
            .map(|(_, timeline)| timeline)
            .collect();
        Ok(Held::of(timelines))
    }

    /// The same of a build of the user's own, run twice with different stacks.
    pub fn of_binary(
        run: &mut dyn FnMut(&mut dyn Observer, Quiet) -> Result<RunSummary, Error>,
    ) -> Result<Result<Self, String>, Error> {
        let mut first: Option<Timeline> = None;
        for fill in [0, FILLING] {
            let mut timeline = Timeline::default();
            let quiet = Quiet {
                fill: Some(fill),
                ..reference_mode()
            };
            let summary = run(&mut timeline, quiet)?;
            timeline.summary = Some(summary);
            match &mut first {
                None => first = Some(timeline),
                Some(first) => {
                    if !first.agree(&timeline) {
                        return Ok(Err("two runs of the reference are not alike".into()));
                    }
                }
            }
        }
        Ok(Held::of(first.into_iter().collect()))
    }

    fn of(timelines: Vec<Timeline>) -> Result<Self, String> {
        for timeline in &timelines {
            let outcome = timeline.summary.as_ref().map(|summary| summary.outcome);
            if !matches!(outcome, Some(Outcome::Exited(_) | Outcome::Signalled(_))) {
                let words = outcome.map_or(String::new(), |outcome| outcome.to_string());
                return Err(format!(
                    "the unoptimised run was not seen to its end: {words} (--timeout, --max-stops)"
                ));
            }
        }
        match timelines.is_empty() {
            true => Err("there is no reference build".into()),
            false => Ok(Held { timelines }),
        }
    }

    /// How many lines are executed.
    pub fn lines(&self) -> usize {
        let first = self.timelines.first();
        let lines: BTreeSet<u32> = first
            .into_iter()
            .flat_map(|timeline| timeline.lines.keys().map(|(_, line)| *line))
            .collect();
        lines.len()
    }

    /// How the reference run ended, and what it printed.
    pub fn ending(&self) -> Option<(&Outcome, &[u8])> {
        let summary = self.timelines.first()?.summary.as_ref()?;
        Some((&summary.outcome, &summary.stdout))
    }

    /// Compares one build; the inner error says why its run cannot be held against it.
    pub(crate) fn compare(
        &self,
        workshop: &Workshop<'_>,
        program: &Program,
        plan: &Plan,
        (executable, image): (&Executable, &Image),
        settings: &Settings,
    ) -> Result<Result<QuietSeen, String>, Error> {
        let launch = launch(executable, program, settings);
        let options = options(settings);
        self.judge(image, Some(plan), &mut |observer, quiet| {
            Ok(trace(
                workshop.sandbox,
                image,
                &launch,
                &Mode::Quiet(quiet),
                &options,
                observer,
            )?)
        })
    }

    /// The same for any way of running it.
    pub(crate) fn judge(
        &self,
        image: &Image,
        plan: Option<&Plan>,
        run: &mut dyn FnMut(&mut dyn Observer, Quiet) -> Result<RunSummary, Error>,
    ) -> Result<Result<QuietSeen, String>, Error> {
        let mut watcher = Watcher {
            held: self,
            image,
            seen: QuietSeen::default(),
            doubts: BTreeMap::new(),
            calls: Vec::new(),
            activations: HashMap::new(),
            around: Windows::default(),
            aside: [0; 3],
            known: HashMap::new(),
            last: HashMap::new(),
        };
        let quiet = Quiet {
            visits: VISITS,
            around: Around::Line,
            exact: false,
            fill: None,
        };
        let summary = run(&mut watcher, quiet)?;
        let whole = matches!(summary.outcome, Outcome::Exited(_) | Outcome::Signalled(_));
        if !whole && summary.outcome != Outcome::StopLimit {
            return Ok(Err(format!(
                "its run was cut off after {} stops: {} (--timeout, --max-stops)",
                summary.stops, summary.outcome
            )));
        }
        if whole
            && self
                .ending()
                .is_some_and(|ending| ending != (&summary.outcome, &summary.stdout[..]))
        {
            return Ok(Err(format!(
                "the program behaves differently: {}; unoptimised {}. This may be wrong code",
                summary.outcome,
                self.ending()
                    .map_or(String::new(), |(outcome, _)| outcome.to_string())
            )));
        }
        watcher.conclude(plan, whole);
        let mut seen = watcher.seen;
        seen.stops = summary.stops;
        let reasons = [IN_MEMORY, WITHOUT_NAME, NOT_IN_REFERENCE];
        for (reason, count) in reasons.iter().zip(watcher.aside) {
            if count > 0 {
                seen.not_compared.insert((*reason).to_owned(), count);
            }
        }
        Ok(Ok(seen))
    }
}

fn reference_mode() -> Quiet {
    Quiet {
        visits: REFERENCE_VISITS,
        around: Around::Function,
        exact: true,
        fill: None,
    }
}

/// The references, and if no two of them differ in what fills the stack of one compiler's build alone, the first of them
/// with its stack filled in two ways: what is not initialised must show.
fn with_two_stacks<'r, 'a>(
    references: &'r [Reference<'a>],
) -> Vec<(&'r Reference<'a>, Option<u8>)> {
    // what compilers fill they fill at declarations without an initialiser only
    let fill = |reference: &Reference<'_>| match reference.flags.last().map(String::as_str) {
        Some(flag) if flag.ends_with("=zero") => Some(0),
        Some(flag) if flag.ends_with("=pattern") => Some(FILLING),
        _ => None,
    };
    let mut runs: Vec<(&Reference<'_>, Option<u8>)> = references
        .iter()
        .map(|reference| (reference, fill(reference)))
        .collect();
    let name = |reference: &Reference<'_>| reference.compiler.name.clone();
    let names: HashSet<String> = references.iter().map(name).collect();
    if names.len() == references.len()
        && let Some(first) = references.first()
    {
        runs.retain(|(reference, _)| name(reference) != name(first));
        runs.splice(..0, [(first, Some(0)), (first, Some(FILLING))]);
    }
    runs
}

fn record(
    workshop: &Workshop<'_>,
    program: &Program,
    executable: &Executable,
    settings: &Settings,
    fill: Option<u8>,
) -> Result<Timeline, Error> {
    let image = Image::open(&executable.path)?;
    let mut timeline = Timeline::default();
    let mut options = options(settings);
    options.max_stops = settings.max_stops.saturating_mul(10);
    let summary = trace(
        workshop.sandbox,
        &image,
        &launch(executable, program, settings),
        &Mode::Quiet(Quiet {
            fill,
            ..reference_mode()
        }),
        &options,
        &mut timeline,
    )?;
    timeline.summary = Some(summary);
    Ok(timeline)
}
