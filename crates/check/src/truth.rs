//! What is true, without print statements: several -O0 builds that must agree.
//!
//! The paper validates one pair (s, v) at a time with a shadow program (§4.2). Here the same engine
//! runs on unoptimised builds instead: one records, the others object. A value that differs between
//! zero- and pattern-initialised stacks is uninitialised; one that differs between two compilers is
//! unspecified behaviour (evaluation order, mostly). Both are dropped: nothing is blamed on them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use candor_dwarf::{Chain, Image, Leaf, Line, Observation, PointerValue, Svma, Value};
use candor_toolchain::{Compiler, Family, Program};
use candor_tracer::{
    Continue, Launch, Mode, Observer, Outcome, RunSummary, Stop, TraceOptions, trace,
};

use crate::above::{FRAMES, key_above};
use crate::carry::{Journal, Standing};
use crate::doubts::Doubts;
use crate::finding::Class;
use crate::plan::Plan;
use crate::recording::{KeyId, LeafMaps, MapId, Recorder, Recording, Replay, Wanted, map_id};
use crate::workshop::{Executable, Workshop};
use crate::{Error, Settings};

/// A reference build: compiler and the flags that make its stack one thing or another.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    /// With what.
    pub compiler: &'a Compiler,
    /// Flags besides -O0 -g.
    pub flags: Vec<String>,
}

/// Chooses the references: the newest compiler that can initialise its stack both ways records, the
/// newest of the other family gives the second opinion.
pub fn references<'a>(
    workshop: &Workshop<'_>,
    compilers: &'a [Compiler],
) -> Result<Vec<Reference<'a>>, Error> {
    const ZERO: &str = "-ftrivial-auto-var-init=zero";
    const PATTERN: &str = "-ftrivial-auto-var-init=pattern";
    let capable = |family: Family| -> Result<Option<&'a Compiler>, Error> {
        let mut newest_first: Vec<&Compiler> =
            compilers.iter().filter(|c| c.family == family).collect();
        newest_first.sort_by_key(|compiler| std::cmp::Reverse(compiler.version));
        for compiler in newest_first {
            if compiler.supports(workshop.sandbox, workshop.scratch, PATTERN)?
                && compiler.supports(workshop.sandbox, workshop.scratch, ZERO)?
            {
                return Ok(Some(compiler));
            }
        }
        Ok(None)
    };
    let make = |compiler, flag: &str| Reference {
        compiler,
        flags: vec!["-O0".into(), flag.into()],
    };
    let gcc = capable(Family::Gcc)?;
    let clang = capable(Family::Clang)?;
    let mut all = Vec::new();
    match (gcc, clang) {
        (Some(gcc), Some(clang)) => {
            all.extend([make(gcc, ZERO), make(gcc, PATTERN), make(clang, PATTERN)]);
        }
        (Some(only), None) | (None, Some(only)) => {
            all.extend([make(only, ZERO), make(only, PATTERN)]);
            // an older compiler of the other family still has an opinion on evaluation order
            if let Some(other) = compilers.iter().rev().find(|c| {
                matches!(c.family, Family::Gcc | Family::Clang) && c.family != only.family
            }) {
                all.push(Reference {
                    compiler: other,
                    flags: vec!["-O0".into()],
                });
            }
        }
        (None, None) => {
            return Err(Error::Missing {
                what: "a compiler for the reference builds",
                advice: "install gcc 12 or clang 8 or later",
            });
        }
    }
    if all.len() < 3 {
        return Err(Error::Missing {
            what: "a second compiler family for the reference builds",
            advice: "install both gcc and clang",
        });
    }
    Ok(all)
}

/// The references for a program, whatever its language. A Rust program's are made by `under_test`, or by the first
/// rustc there is.
pub fn references_of<'a>(
    workshop: &Workshop<'_>,
    compilers: &'a [Compiler],
    program: &Program,
    under_test: Option<&'a Compiler>,
) -> Result<Vec<Reference<'a>>, Error> {
    if !program.is_rust() {
        return references(workshop, compilers);
    }
    let rustc = |compiler: &&'a Compiler| compiler.family == Family::Rustc;
    let compiler = under_test
        .filter(rustc)
        .or_else(|| compilers.iter().find(rustc));
    let compiler = compiler.ok_or(Error::Missing {
        what: "rustc",
        advice: "install it with rustup, or name it with --rustc",
    })?;
    Ok(rust_references(compiler))
}

/// The references of a Rust program: the compiler under test without optimisation, twice. The second has another frame
/// layout, so that what is not initialised differs, and is another run, so that what is random differs.
fn rust_references(compiler: &Compiler) -> Vec<Reference<'_>> {
    let make = |flags: &[&str]| Reference {
        compiler,
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
    };
    vec![make(&["-O0"]), make(&["-O0", "-Cforce-frame-pointers=yes"])]
}

/// The values every reference build agrees on.
#[derive(Debug)]
pub struct Truth {
    /// What the first reference saw.
    pub recording: Recording,
    /// How its run ended.
    pub outcome: Outcome,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// The program's exit status means nothing.
    any_exit_status: bool,
    /// (stop, leaf) pairs that some reference objected to.
    dropped: HashMap<u32, BTreeSet<KeyId>>,
    /// Leaves with so many objections that they are dropped for good.
    dropped_leaves: HashSet<KeyId>,
    /// Stops that another reference puts on another line.
    dropped_stops: HashSet<u32>,
    /// Of the chains.
    pub(crate) doubts: Doubts,
}

/// Objections to one leaf after which all of it is dropped.
const TOO_MANY_OBJECTIONS: usize = 2000;

impl Truth {
    /// Builds and runs the references.
    pub fn establish(
        workshop: &Workshop<'_>,
        program: &Program,
        plan: &Plan,
        references: &[Reference<'_>],
        settings: &Settings,
    ) -> Result<Self, Error> {
        let mut builds = Vec::new();
        for reference in references {
            let built =
                workshop.build(reference.compiler, program, &plan.text, &reference.flags)?;
            let executable = built.map_err(|reason| {
                Error::unfit(format!(
                    "its reference build with {} failed: {reason}",
                    reference.compiler
                ))
            })?;
            builds.push((reference, executable));
        }
        let mut builds = builds.iter();
        let Some((first, executable)) = builds.next() else {
            return Err(Error::unfit("there is no reference build"));
        };
        let mut truth =
            record(workshop, program, plan, executable, settings).map_err(|error| match error {
                Error::Unfit { reason } => {
                    Error::unfit(format!("under {} -O0, {reason}", first.compiler))
                }
                other => other,
            })?;
        for (reference, executable) in builds {
            truth.hear(workshop, program, executable, settings, reference)?;
        }
        Ok(truth)
    }

    /// What one reference build alone says: cheap, and to be doubted until others are heard.
    pub fn record(
        workshop: &Workshop<'_>,
        program: &Program,
        plan: &Plan,
        executable: &Executable,
        settings: &Settings,
    ) -> Result<Self, Error> {
        record(workshop, program, plan, executable, settings)
    }

    /// Lets another reference object.
    pub fn hear(
        &mut self,
        workshop: &Workshop<'_>,
        program: &Program,
        executable: &Executable,
        settings: &Settings,
        reference: &Reference<'_>,
    ) -> Result<(), Error> {
        let image = Image::open(&executable.path)?;
        let mut opponent = Opponent::new(&*self);
        let launch = launch(executable, program, settings);
        let options = options(settings);
        let summary = trace(
            workshop.sandbox,
            &image,
            &launch,
            &Mode::barrier(),
            &options,
            &mut opponent,
        )?;
        let (objections, misplaced) = (opponent.objections, opponent.misplaced);
        let doubts = opponent.doubts;
        if !self.ends_alike(&summary.outcome)
            || summary.stdout != self.stdout
            || summary.stops != self.recording.len() as u64
        {
            return Err(Error::unfit(format!(
                "its unoptimised builds disagree: {} makes {} stops and ends with {}, the first reference {} and {}; \
                 it is not deterministic, or reads what it should not",
                reference.compiler,
                summary.stops,
                summary.outcome,
                self.recording.len(),
                self.outcome
            )));
        }
        let mut counts: HashMap<KeyId, usize> = HashMap::new();
        for (stop, key) in objections {
            let count = counts.entry(key).or_default();
            *count += 1;
            if *count > TOO_MANY_OBJECTIONS {
                self.dropped_leaves.insert(key);
            } else {
                self.dropped.entry(stop).or_default().insert(key);
            }
        }
        self.dropped_stops.extend(misplaced);
        self.doubts.add(doubts);
        Ok(())
    }

    /// Whether a run that ends like this ends as the first reference did.
    pub(crate) fn ends_alike(&self, outcome: &Outcome) -> bool {
        let exited = |outcome: &Outcome| matches!(outcome, Outcome::Exited(_));
        *outcome == self.outcome
            || (self.any_exit_status && exited(outcome) && exited(&self.outcome))
    }

    /// What one run saw, as long as nobody objects.
    pub(crate) fn of(recording: Recording, summary: RunSummary) -> Self {
        Truth {
            recording,
            outcome: summary.outcome,
            stdout: summary.stdout,
            any_exit_status: false,
            dropped: HashMap::new(),
            dropped_leaves: HashSet::new(),
            dropped_stops: HashSet::new(),
            doubts: Doubts::default(),
        }
    }

    /// The true value of a leaf at a stop, if there is one to compare with.
    pub fn value<'t>(&self, replay: &Replay<'t>, stop: u64, key: KeyId) -> Option<&'t Value> {
        let value = replay.seen(key)?.value()?;
        let stop = u32::try_from(stop).ok()?;
        let comparable = is_comparable(value)
            && !self.dropped_stops.contains(&stop)
            && !self.dropped_leaves.contains(&key)
            && !self
                .dropped
                .get(&stop)
                .is_some_and(|keys| keys.contains(&key));
        comparable.then_some(value)
    }

    /// The stops of the full program that a build with barriers at `points` alone makes, in order; `None` where that
    /// cannot be told, because it is not known of every stop which point it belongs to.
    pub fn calls_at(&self, points: &BTreeSet<usize>) -> Option<Vec<u32>> {
        let mut calls = Vec::new();
        for stop in 0..self.recording.len() as u32 {
            let (site, _) = self.recording.site(u64::from(stop))?;
            if points.contains(&site.point?) {
                calls.push(stop);
            }
        }
        Some(calls)
    }

    /// The points that the reference run came by.
    pub fn reached(&self) -> BTreeSet<usize> {
        let sites = self.recording.sites().iter();
        sites.filter_map(|site| site.point).collect()
    }

    /// Leaves that are dropped at this stop and perhaps not at others.
    pub(crate) fn dropped_at(&self, stop: u64) -> impl Iterator<Item = KeyId> + '_ {
        let keys = u32::try_from(stop)
            .ok()
            .and_then(|stop| self.dropped.get(&stop));
        keys.into_iter().flatten().copied()
    }

    /// Whether nothing can be compared at this stop.
    pub(crate) fn is_dropped(&self, stop: u64) -> bool {
        u32::try_from(stop).is_ok_and(|stop| self.dropped_stops.contains(&stop))
    }
}

/// Pointers to the stack or heap mean nothing in another build.
fn is_comparable(value: &Value) -> bool {
    !matches!(
        value,
        Value::Pointer(PointerValue::Opaque(_) | PointerValue::Synthetic { .. })
    )
}

/// Whether two builds show the same value; `None` when that cannot be told.
pub fn same_value(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Pointer(a), Value::Pointer(b)) => a.agrees(b),
        // an enumeration may be signed in one compiler's eyes only
        (Value::Signed(a), Value::Unsigned(b)) | (Value::Unsigned(b), Value::Signed(a)) => {
            Some(i128::try_from(*b).is_ok_and(|b| *a == b))
        }
        (Value::Float { .. }, Value::Float { .. })
        | (Value::Signed(_), Value::Signed(_))
        | (Value::Unsigned(_), Value::Unsigned(_))
        | (Value::Variant(_), Value::Variant(_)) => Some(a == b),
        _ => None,
    }
}

/// The launch every build of a check gets: the same in all that could move a stack address.
pub fn launch(executable: &Executable, program: &Program, settings: &Settings) -> Launch {
    let mut launch = Launch::new(&executable.path, executable.directory.path());
    launch.arguments = program.arguments.iter().map(Into::into).collect();
    if !program.stdin.is_empty() {
        launch.input = candor_tracer::Input::Bytes(program.stdin.clone());
    }
    launch.stdout = candor_tracer::Sink::Capture;
    launch.limits = candor_toolchain::Limits::program().with_time(settings.time);
    // The time limit is the program's; looking at it at every stop takes ours.
    launch.limits.wall = settings.time * 8;
    launch
}

pub(crate) fn options(settings: &Settings) -> TraceOptions {
    TraceOptions {
        site: candor_dwarf::SiteOptions {
            globals: settings.globals,
            leaf_cap: settings.leaf_cap,
            all_frames: false,
        },
        max_stops: settings.max_stops,
        chain: FRAMES,
        ..TraceOptions::default()
    }
}

fn record(
    workshop: &Workshop<'_>,
    program: &Program,
    plan: &Plan,
    executable: &Executable,
    settings: &Settings,
) -> Result<Truth, Error> {
    let image = Image::open(&executable.path)?;
    let filter = Filter {
        plan,
        image: &image,
    };
    let mut recorder = Recorder::new(&filter);
    let launch = launch(executable, program, settings);
    let summary = trace(
        workshop.sandbox,
        &image,
        &launch,
        &Mode::barrier(),
        &options(settings),
        &mut recorder,
    )?;
    match summary.outcome {
        Outcome::Exited(_) | Outcome::StopLimit | Outcome::Enough => {}
        // A program may end by a signal and still be a fine test: abort() is an ending like another.
        Outcome::Signalled(_) => {}
        other => return Err(Error::unfit(other.to_string())),
    }
    Ok(Truth {
        any_exit_status: plan.unit.has_any_exit_status(),
        ..Truth::of(recorder.finish(), summary)
    })
}

/// Which leaves can be compared at all: visible by name, declared before the point.
pub(crate) struct Filter<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) image: &'a Image,
}

impl Wanted for Filter<'_> {
    fn wants(&self, point: Option<usize>, line: Line, leaf: &Leaf) -> bool {
        if let Some(only) = &self.plan.only {
            let shown = leaf.key.to_string();
            let whole = candor_dwarf::without_part(&shown);
            let deeper = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
            if shown != *only && !whole.strip_prefix(only.as_str()).is_some_and(deeper) {
                return false;
            }
        }
        if leaf.is_reserved() {
            return false;
        }
        if leaf.key.function.is_none() {
            return true;
        }
        if self.plan.unit.is_rust() {
            let point = point.and_then(|point| self.plan.points().get(point));
            return point.is_some_and(|point| self.plan.is_whole(point, leaf));
        }
        if leaf.parameter {
            return true;
        }
        match point.and_then(|point| self.plan.points().get(point)) {
            Some(point) => self
                .plan
                .is_visible(point, &leaf.key.variable, leaf.key.decl_line.0),
            None => leaf.key.decl_line < line,
        }
    }

    fn point(&self, pc: Svma, line: Line) -> Option<usize> {
        let row = self.image.line_at(pc).ok().flatten()?;
        let point = self
            .plan
            .point_at(line.0, Some(row.column).filter(|column| *column > 0))?;
        Some(point.id)
    }

    /// What is visible at the statement that the call is in, which must be clear, and was declared before it.
    fn wants_above(&self, pc: Svma, leaf: &Leaf) -> bool {
        let plan = self.plan;
        // what is inlined into an unoptimised function says so of no statement
        if plan.unit.is_rust() || leaf.key.depth > 0 {
            return false;
        }
        let row = self.image.line_at(pc).ok().flatten();
        let Some((line, column)) = row.and_then(|row| Some((row.line?, row.column))) else {
            return false;
        };
        let column = Some(column).filter(|column| *column > 0);
        let Some(point) = plan.point_at(line.0, column) else {
            return false;
        };
        let key = &leaf.key;
        let functions = plan.unit.functions();
        let function = functions.get(point.function).map(|f| f.name.as_str());
        let only = plan.only.as_deref().is_none_or(|only| {
            let shown = key.to_string();
            let rest = shown.strip_prefix(only);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        only && function == key.function.as_deref()
            && !plan.is_static(&key.variable, key.decl_line.0)
            && (leaf.parameter || plan.is_visible(point, &key.variable, key.decl_line.0))
    }
}

/// Observes another reference and notes where it differs.
pub(crate) struct Opponent<'a> {
    truth: &'a Truth,
    replay: Replay<'a>,
    maps: LeafMaps,
    journal: Journal,
    standings: HashMap<MapId, Standing>,
    /// Where it sees another value.
    pub(crate) objections: Vec<(u32, KeyId)>,
    /// Stops that it has on another line.
    pub(crate) misplaced: Vec<u32>,
    /// Of which chains it has others.
    pub(crate) doubts: Doubts,
}

impl<'a> Opponent<'a> {
    pub(crate) fn new(truth: &'a Truth) -> Self {
        Opponent {
            truth,
            replay: truth.recording.replay(),
            maps: LeafMaps::default(),
            journal: Journal::default(),
            standings: HashMap::new(),
            objections: Vec::new(),
            misplaced: Vec::new(),
            doubts: Doubts::default(),
        }
    }
}

impl Observer for Opponent<'_> {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        let recording = &self.truth.recording;
        if !self.replay.advance(stop.sequence) {
            return Continue::No;
        }
        self.replay.changed().for_each(|id| self.journal.note(id));
        note_changes(&mut self.journal, &mut self.maps, recording, stop);
        let number = stop.sequence as u32;
        let (Some(site), Some((recorded, _))) = (stop.site, recording.site(stop.sequence)) else {
            self.misplaced.push(number);
            return Continue::Yes;
        };
        if site.line != Some(recorded.line) || site.function != recorded.function {
            self.misplaced.push(number);
            return Continue::Yes;
        }
        if let Some(chain) = recording.above().chain(stop.sequence) {
            self.doubts.hear(chain, stop.chain);
        }
        self.hear_above(stop);
        let leaves = self
            .maps
            .at(stop.pc, site.leaves(), |leaf| known_leaf(recording, leaf));
        let replay = &self.replay;
        let objects = |place: usize, key: KeyId| {
            match (stop.observations.get(place), replay.seen(key)) {
                (Some(Observation::Value(theirs)), Some(Observation::Value(ours))) => {
                    same_value(theirs, ours) == Some(false)
                }
                // A reference that cannot show it has no opinion.
                _ => false,
            }
        };
        for (place, key) in leaves.own() {
            if objects(place, key) {
                self.objections.push((number, key));
            }
        }
        let globals = leaves.globals();
        let standing = self
            .standings
            .entry(map_id(globals))
            .or_insert_with(|| Standing::new(globals, globals, recording.leaves()));
        standing.catch_up(&self.journal, |key, place| {
            let objects = place.is_some_and(|place| objects(leaves.among_all(place), key));
            objects.then_some(Class::Wrong)
        });
        self.objections
            .extend(standing.notable().map(|(key, _)| (number, key)));
        Continue::Yes
    }

    fn climbs(&mut self, sequence: u64, _chain: (u32, &Arc<Chain>)) -> u16 {
        self.truth.recording.above().depth(sequence)
    }
}

impl Opponent<'_> {
    /// Objects to values further up.
    fn hear_above(&mut self, stop: &Stop<'_>) {
        let recording = &self.truth.recording;
        for frame in stop.upper {
            for (leaf, seen) in frame.site.leaves().iter().zip(&frame.observations) {
                let id = key_above(frame, leaf).and_then(|key| recording.id(&key));
                if let Some(id) = id
                    && let Observation::Value(theirs) = seen
                    && let Some(Observation::Value(ours)) = self.replay.seen(id)
                    && same_value(theirs, ours) == Some(false)
                {
                    self.objections.push((stop.sequence as u32, id));
                }
            }
        }
    }
}

/// Notes which leaves of the recording may be seen otherwise than at the stop before.
pub(crate) fn note_changes(
    journal: &mut Journal,
    maps: &mut LeafMaps,
    recording: &Recording,
    stop: &Stop<'_>,
) {
    match (stop.changed, stop.site) {
        (None, _) => journal.note_all(),
        (Some([]), _) | (_, None) => {}
        (Some(changed), Some(site)) => {
            let map = maps.at(stop.pc, site.leaves(), |leaf| known_leaf(recording, leaf));
            let numbers = changed.iter().filter_map(|place| map.global(*place));
            numbers.for_each(|id| journal.note(id));
        }
    }
}

/// The number of a leaf of another build's site, if the recording knows it.
pub(crate) fn known_leaf(recording: &Recording, leaf: &Leaf) -> Option<KeyId> {
    (leaf.key.depth == 0)
        .then(|| recording.id(&leaf.key))
        .flatten()
}
