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
use std::sync::Arc;

use candor_dwarf::{Image, Leaf, LeafKey, Observation, PointerValue, Site, Storage, Value};
use candor_toolchain::Program;
use candor_tracer::{
    Around, Continue, FOLLOWED, Mode, Observer, Outcome, Quiet, RunSummary, Stop, StopKind, trace,
};

use crate::compare::{Candidate, Spot, Suspect, VariableName, variable_name};
use crate::finding::{Class, Counts, Kind};
use crate::plan::Plan;
use crate::truth::{Reference, launch, options, same_value};
use crate::workshop::{Executable, Workshop};
use crate::{Error, Settings};

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

/// A call of another file's function.
#[derive(Debug)]
struct Call {
    name: String,
    /// The moment of the call itself.
    time: Time,
    /// Who calls, and on which line.
    caller: Option<(String, u32)>,
}

/// One unoptimised run.
#[derive(Debug, Default)]
struct Timeline {
    index: HashMap<LeafKey, usize>,
    leaves: Vec<Leaf>,
    histories: Vec<History>,
    /// When a line of a function was come by.
    lines: HashMap<(String, u32), Vec<Time>>,
    /// From when to when each call of a function lasted.
    activations: HashMap<String, Vec<Window>>,
    /// The calls of other files' functions that compilers leave alone.
    calls: Vec<Call>,
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
        let time = |index: usize| self.calls.get(index).map(|call| call.time);
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
                    let caller = stop.site.and_then(caller);
                    self.calls.push(Call {
                        name: name.to_owned(),
                        time: self.end,
                        caller,
                    });
                    self.see(stop);
                    self.end += 1;
                }
                return Continue::Yes;
            }
            _ => {}
        }
        let time = self.end;
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
            self.end += 1;
            return Continue::Yes;
        }
        if let Some(line) = site.line {
            self.lines
                .entry((site.function.clone(), line.0))
                .or_default()
                .push(time);
        }
        self.see(stop);
        self.end += 1;
        Continue::Yes
    }
}

/// Who calls a function of another file, and on which line.
fn caller(site: &Site) -> Option<(String, u32)> {
    Some((site.function.clone(), site.line?.0))
}

impl Timeline {
    /// Notes what is seen now.
    fn see(&mut self, stop: &Stop<'_>) {
        let Some(site) = stop.site else { return };
        let time = self.end;
        let own = site.leaves().own.len();
        let mut see = |index: usize| {
            let (Some(leaf), Some(seen)) = (site.leaves().get(index), stop.observations.get(index))
            else {
                return;
            };
            if !is_told(leaf) {
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
    }

    /// What a leaf holds at a call, for certain: the call of that number, made by that function on that line.
    fn at_call(&self, number: usize, name: &str, site: &Site, key: &LeafKey) -> Option<&Value> {
        let call = self.calls.get(number)?;
        let is_it = call.name == name && call.caller == caller(site);
        self.history(key)?.at(call.time).filter(|_| is_it)
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

/// How narrow a window is in which a value was never held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// At a call of another file's function, which is the same moment in all builds.
    Moment,
    Whole,
    Activation,
    Calls,
}

impl Tier {
    fn words(self) -> &'static str {
        match self {
            Tier::Moment => "at this call",
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
    /// How often.
    count: u64,
    /// Whose call the window is, and which.
    activation: Option<(String, u32)>,
    calls: usize,
    candidate: Candidate,
}

/// The windows that a stop is in, per reference.
#[derive(Debug, Default)]
struct Windows {
    of: Option<(Option<u32>, usize)>,
    activation: Vec<Option<Window>>,
    between: Vec<Option<Window>>,
}

/// By leaf of a site: which histories it has, one per reference; `None` where some reference does not know it.
type Numbers = Arc<[Option<Box<[usize]>>]>;

/// What was seen of a leaf, behind how many calls, in which call of the function, and what became of it.
type Seen = (Observation, usize, Option<u32>, Class);

/// What makes one suspect.
type DoubtKey = (Kind, VariableName);

/// Observes an optimised build.
struct Watcher<'a> {
    held: &'a Held,
    image: &'a Image,
    seen: QuietSeen,
    doubts: BTreeMap<DoubtKey, Vec<Doubt>>,
    calls: Vec<String>,
    /// By number of the run: a function's name, and how often it was called.
    activations: HashMap<u32, (String, u32)>,
    /// The windows of the last stop, and of which call of which function, behind how many calls, they are.
    around: Windows,
    /// How many values were shown and not compared: those in memory, pointers without a name, what no reference knows.
    aside: [usize; 3],
    /// By address: which histories the leaves are, per reference.
    known: HashMap<u64, Numbers>,
    /// By address and leaf: what was seen there, in which window, and what came of it.
    last: HashMap<(u64, usize), Seen>,
}

impl Watcher<'_> {
    /// The function that is running, and which of its calls it is.
    fn activation(&self, stop: &Stop<'_>) -> Option<(String, u32)> {
        let top = stop.stack.last()?;
        let (name, _) = self.activations.get(&top.function)?;
        Some((name.clone(), top.number))
    }

    /// Looks up the windows that a stop is in.
    fn place(&mut self, stop: &Stop<'_>) {
        let now = (stop.stack.last().map(|top| top.serial), self.calls.len());
        if self.around.of == Some(now) {
            return;
        }
        let activation = self.activation(stop);
        let of_call = |timeline: &Timeline| {
            let (name, number) = activation.as_ref()?;
            timeline.call(name, *number)
        };
        let timelines = self.held.timelines.iter();
        self.around = Windows {
            of: Some(now),
            activation: timelines.clone().map(of_call).collect(),
            between: timelines
                .map(|timeline| {
                    let calls = timeline.between_calls(self.calls.len());
                    of_call(timeline).map(|call| call.intersect(calls))
                })
                .collect(),
        };
    }

    /// Which histories the leaves of a site are; `None` for a leaf that some reference does not know.
    fn histories(&mut self, site: &Site) -> Numbers {
        let held = self.held;
        let number = |leaf: &Leaf| -> Option<Box<[usize]>> {
            let timelines = held.timelines.iter();
            timelines
                .map(|timeline| timeline.index.get(&leaf.key).copied())
                .collect()
        };
        let new = || site.leaves().iter().map(number).collect();
        self.known.entry(site.pc.0).or_insert_with(new).clone()
    }

    /// What became of one value, and, where it is wrong, how sure that is.
    fn weigh(
        &self,
        numbers: Option<&[usize]>,
        storage: Storage,
        seen: &Observation,
    ) -> Option<(Class, Option<Tier>)> {
        let value = match seen {
            Observation::OptimisedOut => return Some((Class::OptimisedOut, None)),
            Observation::Unreadable(_) => return Some((Class::Unreadable, None)),
            Observation::IllFormed(_) => return Some((Class::IllFormed, None)),
            Observation::Value(value) => value,
        };
        if storage == Storage::Memory || !is_comparable(value) {
            return None;
        }
        let numbers = numbers?;
        let timelines = &self.held.timelines;
        let holds = |windows: &dyn Fn(usize, &Timeline) -> Option<Window>| -> Option<bool> {
            let mut held = false;
            for (place, (timeline, number)) in timelines.iter().zip(numbers).enumerate() {
                let history = timeline.histories.get(*number)?;
                held |= history.holds(value, windows(place, timeline)?)?;
            }
            Some(held)
        };
        if !holds(&|_, timeline| Some(timeline.whole()))? {
            return Some((Class::Wrong, Some(Tier::Whole)));
        }
        let of = |windows: &[Option<Window>], place: usize| windows.get(place).copied().flatten();
        if holds(&|place, _| of(&self.around.activation, place)) == Some(false) {
            return Some((Class::Wrong, Some(Tier::Activation)));
        }
        if holds(&|place, _| of(&self.around.between, place)) == Some(false) {
            return Some((Class::Wrong, Some(Tier::Calls)));
        }
        Some((Class::Equal, None))
    }

    /// Compares all that the caller shows at a call of another file's function: the moment is known exactly.
    fn at_call(&mut self, stop: &Stop<'_>, name: &str) {
        let Some(site) = stop.site else { return };
        let Some(line) = site.line else { return };
        let number = self.calls.len();
        for (index, (leaf, seen)) in site.leaves().iter().zip(stop.observations).enumerate() {
            if !is_told(leaf) {
                continue;
            }
            let mut truths = self
                .held
                .timelines
                .iter()
                .map(|timeline| timeline.at_call(number, name, site, &leaf.key));
            let Some(Some(truth)) = truths.next() else {
                continue;
            };
            let agreed = truths
                .all(|other| other.is_some_and(|other| same_value(other, truth) == Some(true)));
            if !agreed || !is_comparable(truth) {
                continue;
            }
            let Some(class) = Class::of(Some(seen), Some(truth)) else {
                continue;
            };
            self.seen.counts.add(class);
            if matches!(class, Class::Equal | Class::Wrong | Class::IllFormed) {
                self.seen.lines.insert(line.0);
                self.seen.variables.insert(variable_name(&leaf.key));
            }
            if let Some(kind) = kind_of(class) {
                self.doubt(stop, index, kind, Tier::Moment, Some(truth));
            }
        }
    }

    /// Keeps a place where something seems wrong: of each line one is enough, the surest.
    fn doubt(
        &mut self,
        stop: &Stop<'_>,
        index: usize,
        kind: Kind,
        tier: Tier,
        truth: Option<&Value>,
    ) {
        let Some(site) = stop.site else { return };
        let (Some(leaf), Some(seen), Some(line)) = (
            site.leaves().get(index),
            stop.observations.get(index),
            site.line,
        ) else {
            return;
        };
        let activation = self.activation(stop);
        let doubts = self
            .doubts
            .entry((kind, variable_name(&leaf.key)))
            .or_default();
        let known = |doubt: &&mut Doubt| doubt.candidate.spot.line == line.0 && doubt.tier <= tier;
        if let Some(doubt) = doubts.iter_mut().find(known) {
            doubt.count += 1;
            return;
        }
        if doubts.len() >= MOST_DOUBTS {
            self.seen.counts.take(kind);
            return;
        }
        doubts.push(Doubt {
            tier,
            count: 1,
            activation,
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
                expected: truth.cloned(),
                held: None,
                shown: seen.clone(),
                location: self.image.describe_location(site, index),
                clue: None,
            },
        });
        doubts.sort_by_key(|doubt| doubt.tier);
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
                        for _ in 0..doubt.count {
                            self.seen.counts.take(doubt.candidate.kind);
                        }
                        continue;
                    };
                    if doubt.tier != Tier::Moment {
                        doubt.candidate.held = Some(held);
                    }
                }
                let on_line = suspect.lines.entry(line).or_default();
                let is_first = *on_line == 0;
                *on_line += doubt.count;
                if is_first && suspect.candidates.len() < CANDIDATES {
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
                    let key = &doubt.candidate.key;
                    let (name, declared) = (&key.variable, key.decl_line.0);
                    if doubt.candidate.kind == Kind::WrongValue
                        && plan.is_some_and(|plan| plan.is_write_only(name, declared))
                    {
                        doubt.candidate.kind = Kind::WriteOnlyStatic;
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
        let same_calls = |timeline: &Timeline| {
            let same = timeline.calls.iter().map(|call| &call.name).eq(&self.calls);
            whole && same && self.calls.len() < FOLLOWED as usize
        };
        if doubt.tier == Tier::Moment {
            let truth = candidate.expected.as_ref()?;
            return self
                .held
                .timelines
                .iter()
                .all(same_calls)
                .then(|| format!("{truth} {}", doubt.tier.words()));
        }
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
                let counted = self.activations.values().find(|(other, _)| other == name);
                let ours = counted.map(|(_, count)| *count as usize);
                let theirs = timeline.activations.get(name).map(Vec::len);
                let all_followed = ours.is_some_and(|count| count < FOLLOWED as usize);
                if !whole || ours != theirs || !all_followed {
                    return None;
                }
                window = window.intersect(timeline.call(name, *number)?);
            }
            if doubt.tier == Tier::Calls {
                if !same_calls(timeline) {
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

/// What sort of violation a class is.
fn kind_of(class: Class) -> Option<Kind> {
    match class {
        Class::IllFormed => Some(Kind::IllFormedLocation),
        Class::Wrong => Some(Kind::WrongValue),
        _ => None,
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

/// Shown at statements, in the variable's own memory, where stores may be on their way.
const IN_MEMORY: &str = "InMemoryBetweenBarriers";
/// A pointer to the stack, the heap or a literal.
const WITHOUT_NAME: &str = "PointerWithoutName";
/// Not every reference shows it, or none shows it where that line is.
const NOT_IN_REFERENCE: &str = "NotInReference";

/// Whether what a leaf shows means anything in another build: its name is not hidden, it is no part of the system's own,
/// it cannot have been moved away (Rust), and it is part of the variable itself.
fn is_told(leaf: &Leaf) -> bool {
    let leaves = leaf
        .route
        .as_ref()
        .is_some_and(|route| route.leaves_variable());
    let moves = leaf.key.function.is_some() && !leaf.parameter && !leaf.owning.is_empty();
    !leaf.shadowed && leaf.key.depth == 0 && !leaf.is_reserved() && !leaves && !moves
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
                    let new = || (name.to_owned(), 0);
                    self.activations.entry(top.function).or_insert_with(new).1 += 1;
                }
                return Continue::Yes;
            }
            StopKind::External => {
                if let Some(name) = stop.name.and_then(lasting) {
                    self.at_call(stop, name);
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
        self.place(stop);
        let histories = self.histories(site);
        let serial = stop.stack.last().map(|top| top.serial);
        for (index, (leaf, seen)) in site.leaves().iter().zip(stop.observations).enumerate() {
            // what globals hold in memory is not compared; those that have no memory have no line to be known at
            let declared = leaf.parameter || leaf.key.decl_line < line;
            if !is_told(leaf) || leaf.key.function.is_none() || !declared {
                continue;
            }
            let place = (stop.pc.0, index);
            let known = self.last.get(&place);
            if let Some((before, calls, when, class)) = known
                && *before == *seen
                && *calls == self.calls.len()
                && *when == serial
                && kind_of(*class).is_none()
            {
                self.seen.counts.add(*class);
                continue;
            }
            let storage = site.storage(index);
            let numbers = histories.get(index).and_then(Option::as_deref);
            let Some((class, tier)) = self.weigh(numbers, storage, seen) else {
                let comparable = seen.value().is_some_and(is_comparable);
                let reason = match (storage, comparable) {
                    (Storage::Memory, _) => 0,
                    (_, false) => 1,
                    (_, true) => 2,
                };
                self.aside[reason] += 1;
                continue;
            };
            self.seen.counts.add(class);
            let now = (seen.clone(), self.calls.len(), serial, class);
            self.last.insert(place, now);
            if matches!(class, Class::Equal | Class::Wrong | Class::IllFormed) {
                self.seen.lines.insert(line.0);
                self.seen.variables.insert(variable_name(&leaf.key));
            }
            if let Some(kind) = kind_of(class) {
                // the widest window convinces most
                self.doubt(stop, index, kind, tier.unwrap_or(Tier::Whole), None);
            }
        }
        Continue::Yes
    }
}
