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

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use candor_dwarf::{Image, Leaf, LeafKey, Observation, PointerValue, Storage, Value};
use candor_toolchain::Program;
use candor_tracer::{
    Around, Continue, FOLLOWED, Mode, Observer, Outcome, Quiet, RunSummary, Stop, StopKind, trace,
};

use crate::compare::{Candidate, Spot, Suspect, VariableName, variable_name};
use crate::finding::{Class, Counts, Kind};
use crate::plan::Plan;
use crate::truth::{Reference, launch, options, references, same_value};
use crate::workshop::{Executable, Workshop};
use crate::{Error, Settings, Toolset};

/// Visits of an address in an optimised build; those that come later say little new.
const VISITS: u32 = 128;
/// Visits of an address in a reference; where there are more, its function is given up.
const REFERENCE_VISITS: u32 = 4096;
/// Values of a variable that are named in words.
const NAMED: usize = 6;
/// Places of one variable that are kept for confirmation, and lines.
const CANDIDATES: usize = 4;

/// A moment of a reference run: how many statements came before it.
type Time = u32;

/// A stretch of time, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from: Time,
    to: Time,
}

impl Window {
    fn intersect(self, other: Window) -> Window {
        Window {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }
}

/// A value in a form that is equal where the values are the same in two builds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Plain {
    Number(i128),
    Large(u128),
    Float(u128),
    NotANumber,
}

/// `None` for what has no such form: pointers.
fn plain(value: &Value) -> Option<Plain> {
    Some(match value {
        Value::Signed(number) => Plain::Number(*number),
        Value::Unsigned(number) => match i128::try_from(*number) {
            Ok(number) => Plain::Number(number),
            Err(_) => Plain::Large(*number),
        },
        Value::Float { bits, size } => match size {
            4 if f32::from_bits(*bits as u32).is_nan() => Plain::NotANumber,
            8 if f64::from_bits(*bits as u64).is_nan() => Plain::NotANumber,
            _ => Plain::Float(*bits),
        },
        Value::Pointer(_) | Value::Variant(_) => return None,
    })
}

/// What a leaf held, in order: from a moment on a value, or none that can be relied on.
#[derive(Debug, Default)]
struct History {
    changes: Vec<(Time, Option<Value>)>,
    /// When it began to hold a number.
    began: HashMap<Plain, Vec<Time>>,
}

impl History {
    fn note(&mut self, time: Time, value: Option<&Value>) {
        if self.changes.last().map(|(_, last)| last.as_ref()) == Some(value) {
            return;
        }
        self.changes.push((time, value.cloned()));
        if let Some(plain) = value.and_then(plain) {
            self.began.entry(plain).or_default().push(time);
        }
    }

    /// What it holds at a moment.
    fn at(&self, time: Time) -> Option<&Value> {
        let after = self.changes.partition_point(|(from, _)| *from <= time);
        self.changes.get(after.checked_sub(1)?)?.1.as_ref()
    }

    /// What it holds at some moment of a window.
    fn in_window(&self, window: Window) -> impl Iterator<Item = &Value> {
        let first = self
            .changes
            .partition_point(|(from, _)| *from <= window.from);
        let changes = self
            .changes
            .get(first.saturating_sub(1)..)
            .unwrap_or_default();
        changes
            .iter()
            .take_while(move |(from, _)| *from <= window.to)
            .filter_map(|(_, value)| value.as_ref())
    }

    /// Whether it holds `value` at some moment of the window; `None` where that cannot be told.
    fn holds(&self, value: &Value, window: Window) -> Option<bool> {
        if let Some(plain) = plain(value) {
            let began = self.began.get(&plain).map_or(&[][..], Vec::as_slice);
            let after = began.partition_point(|from| *from < window.from);
            return Some(
                began.get(after).is_some_and(|from| *from <= window.to)
                    || self
                        .at(window.from)
                        .is_some_and(|now| same_value(now, value) == Some(true)),
            );
        }
        let mut unknown = false;
        for held in self.in_window(window) {
            match same_value(held, value) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(false)
    }
}

/// One unoptimised run.
#[derive(Debug, Default)]
struct Timeline {
    who: String,
    index: HashMap<LeafKey, usize>,
    leaves: Vec<Leaf>,
    histories: Vec<History>,
    /// When a line of a function was come by.
    lines: HashMap<(String, u32), Vec<Time>>,
    /// From when to when each call of a function lasted.
    activations: HashMap<String, Vec<Window>>,
    /// The calls of other files' functions that compilers leave alone, and when.
    calls: Vec<(String, Time)>,
    /// Functions that were given up because they run too long.
    given_up: HashSet<String>,
    end: Time,
    /// By serial number: the function and which of its calls it was; those that have not returned.
    open: Vec<(u32, String, usize)>,
    summary: Option<RunSummary>,
}

impl Timeline {
    fn whole(&self) -> Window {
        Window {
            from: 0,
            to: self.end,
        }
    }

    /// Notes which functions have returned.
    fn close(&mut self, stop: &Stop<'_>) {
        let is_open = |serial: u32, place: usize| {
            stop.stack
                .get(place)
                .is_some_and(|one| one.serial == serial)
        };
        while let Some((serial, name, number)) = self.open.last() {
            if is_open(*serial, self.open.len() - 1) {
                break;
            }
            let window = self
                .activations
                .get_mut(name)
                .and_then(|all| all.get_mut(*number));
            if let Some(window) = window {
                window.to = self.end;
            }
            self.open.pop();
        }
    }

    /// The window after the call `number` of another file's function and before the next; 0: before the first.
    fn between_calls(&self, number: usize) -> Window {
        let time = |index: usize| self.calls.get(index).map(|(_, time)| *time);
        Window {
            // the statement that calls may assign before or behind the call
            from: number
                .checked_sub(1)
                .and_then(time)
                .map_or(0, |time| time.saturating_sub(1)),
            to: time(number).map_or(self.end, |time| time.saturating_add(1)),
        }
    }

    fn call(&self, function: &str, number: u32) -> Option<Window> {
        self.activations
            .get(function)?
            .get(number as usize)
            .copied()
    }

    fn history(&self, key: &LeafKey) -> Option<&History> {
        self.histories.get(*self.index.get(key)?)
    }

    /// Whether at every visit of a line in a window, of which there is one at least, the leaf holds something.
    fn is_known_at(&self, history: &History, function: &str, line: u32, window: Window) -> bool {
        let Some(visits) = self.lines.get(&(function.to_owned(), line)) else {
            return false;
        };
        let first = visits.partition_point(|time| *time < window.from);
        let mut visits = visits
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(|time| **time <= window.to)
            .peekable();
        visits.peek().is_some() && visits.all(|time| history.at(*time).is_some())
    }

    /// Leaves only what `other`, a run of the same code with another stack, agrees on. False if it is not the same run.
    fn agree(&mut self, other: &Timeline) -> bool {
        let lines = |timeline: &Timeline| {
            let mut lines: Vec<_> = timeline
                .lines
                .iter()
                .map(|(at, v)| (at.clone(), v.clone()))
                .collect();
            lines.sort();
            lines
        };
        if self.end != other.end || lines(self) != lines(other) {
            return false;
        }
        for (key, index) in &self.index {
            let Some(history) = self.histories.get_mut(*index) else {
                continue;
            };
            let mut agreed = History::default();
            if let Some(theirs) = other.history(key) {
                let times: BTreeSet<Time> = history
                    .changes
                    .iter()
                    .chain(&theirs.changes)
                    .map(|(time, _)| *time)
                    .collect();
                for time in times {
                    let same = match (history.at(time), theirs.at(time)) {
                        (Some(a), Some(b)) if is_same_in_both(a, b) => Some(a),
                        _ => None,
                    };
                    agreed.note(time, same);
                }
            }
            *history = agreed;
        }
        true
    }
}

/// Whether two runs of one unoptimised build hold the same; addresses that have no name are the same address there.
fn is_same_in_both(a: &Value, b: &Value) -> bool {
    a == b || same_value(a, b) == Some(true)
}

impl Observer for Timeline {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        self.close(stop);
        match stop.kind {
            StopKind::Entry => {
                if let (Some(name), Some(top)) = (stop.name, stop.stack.last()) {
                    let all = self.activations.entry(name.to_owned()).or_default();
                    all.push(Window {
                        from: self.end,
                        to: Time::MAX,
                    });
                    self.open.push((top.serial, name.to_owned(), all.len() - 1));
                }
                return Continue::Yes;
            }
            StopKind::External => {
                if let Some(name) = stop.name.and_then(lasting) {
                    self.calls.push((name.to_owned(), self.end));
                }
                return Continue::Yes;
            }
            _ => {}
        }
        let time = self.end;
        self.end += 1;
        let Some(site) = stop.site else {
            return Continue::Yes;
        };
        if stop.visit >= REFERENCE_VISITS {
            self.given_up.insert(site.function.clone());
        }
        // before an unoptimised function's first instructions have run, parameters are not where they are said to be
        let entering = self
            .open
            .last()
            .and_then(|(_, name, number)| self.call(name, *number as u32))
            .is_some_and(|window| window.from == time);
        if entering {
            return Continue::Yes;
        }
        if let Some(line) = site.line {
            self.lines
                .entry((site.function.clone(), line.0))
                .or_default()
                .push(time);
        }
        let own = site.leaves().own.len();
        let mut see = |index: usize| {
            let (Some(leaf), Some(seen)) = (site.leaves().get(index), stop.observations.get(index))
            else {
                return;
            };
            if leaf.shadowed || leaf.key.depth != 0 {
                return;
            }
            let number = match self.index.get(&leaf.key) {
                Some(number) => *number,
                None => {
                    self.index.insert(leaf.key.clone(), self.leaves.len());
                    self.leaves.push(leaf.clone());
                    self.histories.push(History::default());
                    self.leaves.len() - 1
                }
            };
            if let Some(history) = self.histories.get_mut(number) {
                history.note(time, seen.value());
            }
        };
        (0..own).for_each(&mut see);
        match stop.changed {
            Some(changed) => changed.iter().for_each(|place| see(own + *place as usize)),
            None => (own..site.leaves().len()).for_each(&mut see),
        }
        Continue::Yes
    }
}

/// The name under which a call of another file's function is counted; `None` for calls that compilers add, remove or
/// replace as they like.
fn lasting(name: &str) -> Option<&str> {
    const FREE: [&str; 26] = [
        "mem", "str", "bcmp", "bcopy", "bzero", "malloc", "calloc", "realloc", "free", "abs",
        "labs", "sqrt", "pow", "exp", "log", "sin", "cos", "tan", "floor", "ceil", "round",
        "trunc", "fm", "ldexp", "sprintf", "snprintf",
    ];
    // what prints may print by another function of the family
    const PRINTS: [&str; 13] = [
        "printf",
        "puts",
        "putchar",
        "putc",
        "fputc",
        "fputs",
        "fwrite",
        "fprintf",
        "vprintf",
        "vfprintf",
        "__printf_chk",
        "__fprintf_chk",
        "_IO_putc",
    ];
    if PRINTS.contains(&name) {
        return Some("a function that prints");
    }
    let bare = name.trim_start_matches('_');
    (!FREE.iter().any(|free| bare.starts_with(free)) && !name.contains("stack_chk")).then_some(name)
}

/// What the variables of the program held, as unoptimised builds say.
#[derive(Debug)]
pub(crate) struct Held {
    timelines: Vec<Timeline>,
}

/// What the quiet round saw of one build.
#[derive(Debug, Default)]
pub(crate) struct QuietSeen {
    pub counts: Counts,
    pub suspects: Vec<Suspect>,
    pub variables: BTreeSet<VariableName>,
    pub lines: BTreeSet<u32>,
}

impl Held {
    /// Runs the reference builds of `program`; the inner error says why their word is not enough.
    pub fn establish(
        tools: &Toolset<'_>,
        program: &Program,
        plan: &Plan,
        settings: &Settings,
    ) -> Result<Result<Self, String>, Error> {
        let mut timelines: Vec<(String, Timeline)> = Vec::new();
        for reference in &references(tools.workshop, tools.compilers)? {
            let built = tools.workshop.build(
                reference.compiler,
                program,
                &plan.unit.text().to_owned(),
                &reference.flags,
            )?;
            let executable = match built {
                Ok(executable) => executable,
                Err(reason) => return Ok(Err(format!("{}: {reason}", reference.compiler))),
            };
            let timeline = match record(
                tools.workshop,
                program,
                &executable,
                settings,
                reference,
                None,
            )? {
                Ok(timeline) => timeline,
                Err(reason) => return Ok(Err(reason)),
            };
            let name = reference.compiler.name.clone();
            match timelines.iter_mut().find(|(other, _)| *other == name) {
                Some((_, first)) => {
                    if !first.agree(&timeline) {
                        return Ok(Err(format!(
                            "two unoptimised builds by {name} do not run alike"
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
        for fill in [0u8, 0xfe] {
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
    pub fn compare(
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
    pub fn judge(
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
        Ok(Ok(watcher.seen))
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

fn record(
    workshop: &Workshop<'_>,
    program: &Program,
    executable: &Executable,
    settings: &Settings,
    reference: &Reference<'_>,
    fill: Option<u8>,
) -> Result<Result<Timeline, String>, Error> {
    let image = Image::open(&executable.path)?;
    let mut timeline = Timeline {
        who: reference.compiler.name.clone(),
        ..Timeline::default()
    };
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
    Ok(Ok(timeline))
}

/// How narrow a window is in which a value was never held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Whole,
    Activation,
    Calls,
}

impl Tier {
    fn words(self) -> &'static str {
        match self {
            Tier::Whole => "in this run",
            Tier::Activation => "in this call of the function",
            Tier::Calls => "between these two calls of library functions",
        }
    }
}

/// Something that seems wrong, if the window it rests on is one that both builds share.
#[derive(Debug)]
struct Doubt {
    tier: Tier,
    /// Whose call the window is, and which.
    activation: Option<(String, u32)>,
    calls: usize,
    candidate: Candidate,
}

/// What makes one suspect.
type DoubtKey = (Kind, VariableName);

/// Observes an optimised build.
struct Watcher<'a> {
    held: &'a Held,
    image: &'a Image,
    seen: QuietSeen,
    doubts: BTreeMap<DoubtKey, Vec<Doubt>>,
    calls: Vec<String>,
    /// How often each function was called.
    activations: HashMap<String, (u32, u32)>,
    /// By address and leaf: what was seen there, in which window, and what came of it.
    last: HashMap<(u64, usize), (Observation, usize, Option<u32>, Class)>,
}

impl Watcher<'_> {
    /// The function that is running, and which of its calls it is.
    fn activation(&self, stop: &Stop<'_>) -> Option<(String, u32)> {
        let top = stop.stack.last()?;
        let name = self
            .activations
            .iter()
            .find(|(_, (number, _))| *number == top.function)?
            .0;
        Some((name.clone(), top.number))
    }

    /// What became of one value, and, where it is wrong, how sure that is.
    fn weigh(
        &self,
        leaf: &Leaf,
        storage: Storage,
        seen: &Observation,
        activation: Option<&(String, u32)>,
    ) -> Option<(Class, Option<Tier>)> {
        let value = match seen {
            Observation::OptimisedOut => return Some((Class::OptimisedOut, None)),
            Observation::Unreadable(_) => return Some((Class::Unreadable, None)),
            Observation::IllFormed(_) => return Some((Class::IllFormed, None)),
            Observation::Value(value) => value,
        };
        if storage == Storage::Home || !is_comparable(value) {
            return None;
        }
        let histories: Vec<(&Timeline, &History)> = self
            .held
            .timelines
            .iter()
            .filter_map(|timeline| Some((timeline, timeline.history(&leaf.key)?)))
            .collect();
        if histories.len() < self.held.timelines.len() {
            return None;
        }
        let holds = |window: &dyn Fn(&Timeline) -> Option<Window>| -> Option<bool> {
            let mut held = false;
            for (timeline, history) in &histories {
                held |= history.holds(value, window(timeline)?)?;
            }
            Some(held)
        };
        if !holds(&|timeline| Some(timeline.whole()))? {
            return Some((Class::Wrong, Some(Tier::Whole)));
        }
        if let Some((function, number)) = activation {
            if holds(&|timeline| timeline.call(function, *number)) == Some(false) {
                return Some((Class::Wrong, Some(Tier::Activation)));
            }
            let calls = self.calls.len();
            let window = |timeline: &Timeline| {
                let around = timeline.call(function, *number)?;
                Some(around.intersect(timeline.between_calls(calls)))
            };
            // a variable that has memory of its own at times is stored when it suits the optimiser
            if storage == Storage::Elsewhere && holds(&window) == Some(false) {
                return Some((Class::Wrong, Some(Tier::Calls)));
            }
        }
        Some((Class::Equal, None))
    }

    /// Decides which doubts rest on windows that both builds share, and on values that all references agree on.
    fn conclude(&mut self, plan: Option<&Plan>, whole: bool) {
        let doubts = std::mem::take(&mut self.doubts);
        for doubts in doubts.into_values() {
            let mut suspect = Suspect::default();
            for mut doubt in doubts {
                let line = doubt.candidate.spot.line;
                if doubt.candidate.kind == Kind::WrongValue {
                    let Some(held) = self.stands(&doubt, whole) else {
                        self.seen.counts.wrong = self.seen.counts.wrong.saturating_sub(1);
                        self.seen.counts.unaligned += 1;
                        continue;
                    };
                    doubt.candidate.held = Some(held);
                }
                let on_line = suspect.lines.entry(line).or_default();
                *on_line += 1;
                if *on_line == 1 && suspect.candidates.len() < CANDIDATES {
                    if let Some(plan) = plan {
                        let function = doubt.candidate.key.function.as_deref();
                        let point = plan.points().iter().find(|point| {
                            point.debug_line == line
                                && plan
                                    .unit
                                    .functions()
                                    .get(point.function)
                                    .is_some_and(|f| Some(f.name.as_str()) == function)
                        });
                        doubt.candidate.spot.point = point.map(|point| point.id);
                    }
                    suspect.candidates.push(doubt.candidate);
                }
            }
            if !suspect.candidates.is_empty() {
                self.seen.suspects.push(suspect);
            }
        }
    }

    /// Which values the variable has in the window of a doubt, in words; `None` where nothing can be said.
    fn stands(&self, doubt: &Doubt, whole: bool) -> Option<String> {
        let candidate = &doubt.candidate;
        let function = candidate.key.function.as_deref()?;
        let mut sets: Vec<Vec<Value>> = Vec::new();
        for timeline in &self.held.timelines {
            let history = timeline.history(&candidate.key)?;
            if timeline.given_up.contains(function) {
                return None;
            }
            let mut window = timeline.whole();
            if doubt.tier >= Tier::Activation {
                let (name, number) = doubt.activation.as_ref()?;
                let ours = self.activations.get(name).map(|(_, count)| *count as usize);
                let theirs = timeline.activations.get(name).map(Vec::len);
                let all_followed = ours.is_some_and(|count| count < FOLLOWED as usize);
                if !whole || ours != theirs || !all_followed {
                    return None;
                }
                window = window.intersect(timeline.call(name, *number)?);
            }
            if doubt.tier == Tier::Calls {
                let same = timeline.calls.iter().map(|(name, _)| name).eq(&self.calls);
                let all_followed = self.calls.len() < FOLLOWED as usize;
                if !whole || !same || !all_followed {
                    return None;
                }
                window = window.intersect(timeline.between_calls(doubt.calls));
            }
            if !timeline.is_known_at(history, function, candidate.spot.line, window) {
                return None;
            }
            sets.push(distinct(history.in_window(window), &candidate.leaf));
        }
        let agree = |a: &[Value], b: &[Value]| {
            let within = |a: &[Value], b: &[Value]| {
                a.iter()
                    .all(|x| b.iter().any(|y| same_value(x, y) == Some(true)))
            };
            within(a, b) && within(b, a)
        };
        let first = sets.first().filter(|set| !set.is_empty())?;
        sets.iter()
            .all(|set| agree(first, set))
            .then(|| format!("{} {}", words(first), doubt.tier.words()))
    }
}

/// Values that are different, without what fills a stack.
fn distinct<'v>(values: impl Iterator<Item = &'v Value>, leaf: &Leaf) -> Vec<Value> {
    let mut numbers: BTreeMap<Plain, Value> = BTreeMap::new();
    let mut others: Vec<Value> = Vec::new();
    for value in values {
        if is_filling(value, leaf) {
            continue;
        }
        match plain(value) {
            Some(plain) => {
                numbers.entry(plain).or_insert_with(|| value.clone());
            }
            None if !others
                .iter()
                .any(|other| same_value(other, value) == Some(true)) =>
            {
                others.push(value.clone());
            }
            None => {}
        }
    }
    numbers.into_values().chain(others).collect()
}

/// Whether all bytes of a value are the one that compilers fill stacks with.
fn is_filling(value: &Value, leaf: &Leaf) -> bool {
    let bits = match value {
        Value::Signed(number) => *number as u128,
        Value::Unsigned(number) => *number,
        Value::Float { bits, .. } => *bits,
        Value::Pointer(PointerValue::Opaque(address)) => u128::from(*address),
        Value::Pointer(_) | Value::Variant(_) => return false,
    };
    let size = leaf.bit_size.min(128);
    let mask = u128::MAX.checked_shr(128 - size).unwrap_or(0);
    [0xaau8, 0xfe, 0xff]
        .iter()
        .any(|byte| size >= 16 && (bits ^ u128::from_le_bytes([*byte; 16])) & mask == 0)
        && !matches!(value, Value::Signed(-1))
}

/// A set of values for people: a few of them, and how many there are.
fn words(values: &[Value]) -> String {
    let mut text: Vec<String> = values.iter().take(NAMED).map(ToString::to_string).collect();
    match values {
        [only] => return format!("only {only}"),
        [.., last] if values.len() > NAMED => {
            text.push(format!("… {last} ({} values)", values.len()));
        }
        _ => {}
    }
    format!("one of {}", text.join(", "))
}

/// What has a meaning in another build.
fn is_comparable(value: &Value) -> bool {
    !matches!(
        value,
        Value::Pointer(PointerValue::Opaque(_) | PointerValue::Synthetic { .. })
    )
}

impl Observer for Watcher<'_> {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        match stop.kind {
            StopKind::Entry => {
                if let (Some(name), Some(top)) = (stop.name, stop.stack.last()) {
                    let known = self.activations.entry(name.to_owned()).or_default();
                    *known = (top.function, known.1 + 1);
                }
                return Continue::Yes;
            }
            StopKind::External => {
                if let Some(name) = stop.name.and_then(lasting) {
                    self.calls.push(name.to_owned());
                }
                return Continue::Yes;
            }
            _ => {}
        }
        let Some(site) = stop.site else {
            return Continue::Yes;
        };
        let Some(line) = site.line else {
            return Continue::Yes;
        };
        let activation = self.activation(stop);
        let serial = stop.stack.last().map(|top| top.serial);
        for (index, (leaf, seen)) in site.leaves().iter().zip(stop.observations).enumerate() {
            // what globals hold in memory is not compared; those that have no memory have no line to be known at
            let declared = leaf.parameter || leaf.key.decl_line < line;
            if leaf.shadowed || leaf.key.depth != 0 || leaf.key.function.is_none() || !declared {
                continue;
            }
            let place = (stop.pc.0, index);
            let known = self.last.get(&place);
            if let Some((before, calls, when, class)) = known
                && *before == *seen
                && *calls == self.calls.len()
                && *when == serial
            {
                self.seen.counts.add(*class);
                continue;
            }
            let storage = site.storage(index);
            let Some((class, tier)) = self.weigh(leaf, storage, seen, activation.as_ref()) else {
                continue;
            };
            self.seen.counts.add(class);
            let now = (seen.clone(), self.calls.len(), serial, class);
            self.last.insert(place, now);
            if matches!(class, Class::Equal | Class::Wrong | Class::IllFormed) {
                self.seen.lines.insert(line.0);
                self.seen.variables.insert(variable_name(&leaf.key));
            }
            let kind = match class {
                Class::IllFormed => Kind::IllFormedLocation,
                Class::Wrong => Kind::WrongValue,
                _ => continue,
            };
            let doubts = self
                .doubts
                .entry((kind, variable_name(&leaf.key)))
                .or_default();
            // the widest window convinces most; of each line one place is enough
            let tier = tier.unwrap_or(Tier::Whole);
            if doubts.len() >= 32
                || doubts
                    .iter()
                    .any(|doubt| doubt.candidate.spot.line == line.0 && doubt.tier <= tier)
            {
                continue;
            }
            doubts.push(Doubt {
                tier,
                activation: activation.clone(),
                calls: self.calls.len(),
                candidate: Candidate {
                    kind,
                    leaf: leaf.clone(),
                    key: leaf.key.clone(),
                    spot: Spot {
                        line: line.0,
                        point: None,
                        visit: stop.visit,
                        visits: 0,
                    },
                    call: 0,
                    pc: stop.pc,
                    hit: stop.visit,
                    expected: None,
                    held: None,
                    shown: seen.clone(),
                    location: self.image.describe_location(site, index),
                    clue: None,
                },
            });
            doubts.sort_by_key(|doubt| doubt.tier);
        }
        Continue::Yes
    }
}
