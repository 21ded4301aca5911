//! One optimised build against the truth: every comparable (stop, variable), counted and sorted.
//!
//! The k-th barrier call of the optimised build is the k-th of the reference, because a sequence of
//! external calls is observable behaviour. Where the build shows another line or function there, that is wrong by itself
//! ([`crate::frames`]) and its values are not compared (*misplaced*). What does not line up otherwise (no line, tail
//! calls) is *unaligned*: counted, never blamed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use candor_dwarf::{Chain, Image, Leaf, LeafKey, Observation, PointerValue, Svma, Value};
use candor_tracer::{Continue, Observer, Stop};

use crate::carry::{Journal, Standing};
use crate::finding::{Class, Counts, Kind};
use crate::frames::{FrameClue, Frames};
use crate::plan::Plan;
use crate::recording::{KeyId, LeafMap, LeafMaps, MapId, RecordedSite, Replay, map_id};
use crate::truth::{Truth, known_leaf, note_changes, same_value};
use crate::upper::{Here, Upper};

/// A place where a build seems to be wrong.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What sort.
    pub kind: Kind,
    /// The leaf, as the reference describes it.
    pub leaf: Leaf,
    /// The leaf in the optimised build.
    pub key: LeafKey,
    /// Where in the source it is looked at.
    pub spot: Spot,
    /// The number of the stop among those of this build.
    pub call: u64,
    /// The call instruction in the optimised build.
    pub pc: Svma,
    /// How often that address was met by then: what to tell a debugger.
    pub hit: u32,
    /// The true value; `None` for an ill-formed location of an unknown value, and without barriers.
    pub expected: Option<Value>,
    /// Without barriers: in words, which values it has there.
    pub held: Option<String>,
    /// What is shown.
    pub shown: Observation,
    /// The location in words.
    pub location: String,
    /// What a wrong line or frame is about; `None` for variables.
    pub clue: Option<FrameClue>,
}

impl Candidate {
    /// What it should show.
    pub fn truth_in_words(&self) -> String {
        match (&self.expected, &self.held) {
            (_, Some(held)) => held.clone(),
            (Some(value), None) => value.to_string(),
            (None, None) => "a value or optimised out".into(),
        }
    }
}

/// A place in the source, and a moment there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The line.
    pub line: u32,
    /// Its point, where it is at one.
    pub point: Option<usize>,
    /// The how-many-eth visit, from 1.
    pub visit: u32,
    /// Of how many.
    pub visits: u32,
}

/// The candidates of one variable of one build.
#[derive(Clone, Debug, Default)]
pub struct Suspect {
    /// The first place on each of some lines.
    pub candidates: Vec<Candidate>,
    /// Wrong values per line.
    pub lines: BTreeMap<u32, u64>,
}

/// Lines kept per suspect as candidates for confirmation.
pub(crate) const CANDIDATES: usize = 4;

/// One variable whose every appearance is followed: where it is shown, and where it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Its function; `None` for a global.
    pub function: Option<String>,
    /// Its name, without a path.
    pub variable: String,
    /// Values shown right, per line.
    pub shown: BTreeMap<u32, u64>,
    /// Values not shown, per line.
    pub lost: BTreeMap<u32, u64>,
}

impl Watch {
    /// Nothing seen yet.
    pub fn new(function: Option<String>, variable: String) -> Self {
        Watch {
            function,
            variable,
            shown: BTreeMap::new(),
            lost: BTreeMap::new(),
        }
    }

    fn is(&self, key: &LeafKey) -> bool {
        *key.variable == *self.variable && key.function.as_deref() == self.function.as_deref()
    }
}

/// One leaf at one stop, as the optimised build shows it.
pub(crate) struct Glance<'g> {
    /// The stop.
    pub stop: &'g Stop<'g>,
    /// The line it is on.
    pub line: u32,
    /// The how-many-eth visit of its place that is, from 1.
    pub visit: u32,
    /// The leaf in the recording.
    pub id: KeyId,
    /// Its place among the observations, where the build describes it.
    pub index: Option<usize>,
    /// The true value; `None` beside an ill-formed location of an unknown one.
    pub truth: Option<&'g Value>,
    /// What became of it.
    pub class: Class,
}

/// Sees every value that is compared, for reports.
pub(crate) trait Onlooker {
    /// Called for each of them.
    fn glance(&mut self, glance: &Glance<'_>);
}

/// A variable: its function, its name, where it is declared.
pub type VariableName = (Option<String>, String, u32);

/// The variable of a leaf.
pub(crate) fn variable_name(key: &LeafKey) -> VariableName {
    (
        key.function.as_deref().map(str::to_owned),
        key.variable.to_string(),
        key.decl_line.0,
    )
}

/// What makes one suspect: a variable (whatever its path) and a kind.
pub(crate) type SuspectKey = (Kind, Option<String>, String, u32);

/// Observes an optimised build.
pub struct Comparison<'a> {
    truth: &'a Truth,
    /// Which stops of the recording this build makes, where they are not all.
    calls: Option<&'a [u32]>,
    /// The stop of the recording that is looked at.
    now: u64,
    plan: &'a Plan,
    image: &'a Image,
    replay: Replay<'a>,
    maps: LeafMaps,
    /// The counts.
    pub counts: Counts,
    /// Lines where a value was shown and compared.
    pub lines: BTreeSet<u32>,
    /// By number of the leaf: whether a value of it was.
    compared: Vec<bool>,
    /// What seems wrong.
    pub(crate) suspects: BTreeMap<SuspectKey, Suspect>,
    /// The variable that is followed, if any.
    pub watch: Option<Watch>,
    /// Who sees every value, if anybody.
    pub onlooker: Option<&'a mut dyn Onlooker>,
    /// Per key: the stop (by stamp) whose site last described it, and its place among that stop's
    /// observations. Reused between stops: no allocation per stop.
    seen_at: Vec<u32>,
    observed_at: Vec<u32>,
    stamp: u32,
    /// Leaves whose class may have changed, those dropped at the last stop alone, and the classes of globals, by
    /// what is listed and what is shown.
    journal: Journal,
    lifted: Vec<KeyId>,
    standings: HashMap<(MapId, MapId), Standing>,
    /// Lines and functions that are shown, and the variables further up.
    pub(crate) frames: Frames,
    upper: Upper,
}

impl<'a> Comparison<'a> {
    /// A comparison of the build behind `image` with `truth`.
    pub fn new(truth: &'a Truth, plan: &'a Plan, image: &'a Image) -> Self {
        let leaves = truth.recording.leaves();
        Comparison {
            truth,
            calls: None,
            now: 0,
            plan,
            image,
            replay: truth.recording.replay(),
            maps: LeafMaps::default(),
            counts: Counts::default(),
            lines: BTreeSet::new(),
            compared: vec![false; leaves],
            suspects: BTreeMap::new(),
            watch: None,
            onlooker: None,
            seen_at: vec![0; leaves],
            stamp: 0,
            observed_at: vec![0; leaves],
            journal: Journal::default(),
            lifted: Vec::new(),
            standings: HashMap::new(),
            frames: Frames::new(plan),
            upper: Upper::default(),
        }
    }

    /// All that seems wrong, once the run is over. A variable that is wrong in its own function's stops is looked at
    /// there, where it can be printed.
    pub(crate) fn all_suspects(&mut self) -> &BTreeMap<SuspectKey, Suspect> {
        for (key, suspect) in std::mem::take(&mut self.upper.suspects) {
            self.suspects.entry(key).or_insert(suspect);
        }
        let frames = self.frames.suspects(self.plan, self.image);
        self.suspects.extend(frames);
        &self.suspects
    }

    /// The same for a build that makes only some of the recording's stops ([`Truth::calls_at`]).
    pub fn at(mut self, calls: Option<&'a [u32]>) -> Self {
        self.calls = calls;
        self
    }

    /// The variables of which a value was shown and compared.
    pub fn variables(&self) -> BTreeSet<VariableName> {
        let compared = (0..).zip(&self.compared).filter(|(_, compared)| **compared);
        compared
            .filter_map(|(id, _)| Some(variable_name(&self.truth.recording.leaf(id)?.key)))
            .collect()
    }

    /// The stop of the recording that the build's stop `sequence` is.
    fn recorded(&self, sequence: u64) -> Option<u64> {
        match self.calls {
            None => Some(sequence),
            Some(calls) => calls
                .get(usize::try_from(sequence).ok()?)
                .map(|stop| u64::from(*stop)),
        }
    }

    fn unaligned(&mut self, stop: &Stop<'_>, misplaced: bool) {
        let Some((recorded, visit)) = self.truth.recording.site(self.now) else {
            return;
        };
        for (_, id) in recorded.leaves.iter() {
            if let Some(truth) = self.truth.value(&self.replay, self.now, id) {
                if misplaced {
                    self.counts.misplaced += 1;
                } else {
                    self.counts.unaligned += 1;
                }
                if let Some(onlooker) = &mut self.onlooker {
                    onlooker.glance(&Glance {
                        stop,
                        line: recorded.line.0,
                        visit,
                        id,
                        index: None,
                        truth: Some(truth),
                        class: Class::Unaligned,
                    });
                }
            }
        }
    }

    fn suspect(
        &mut self,
        stop: &Stop<'_>,
        line: u32,
        index: usize,
        id: KeyId,
        kind: Kind,
        expected: Option<&Value>,
    ) {
        let Some(site) = stop.site else { return };
        let (Some(leaf), Some(shown)) = (site.leaves().get(index), stop.observations.get(index))
        else {
            return;
        };
        let key = (
            kind,
            leaf.key.function.as_deref().map(str::to_owned),
            leaf.key.variable.to_string(),
            leaf.key.decl_line.0,
        );
        let recording = &self.truth.recording;
        let (Some(reference), Some((place, visit))) =
            (recording.leaf(id), recording.site(self.now))
        else {
            return;
        };
        let suspect = self.suspects.entry(key).or_default();
        let on_line = suspect.lines.entry(line).or_default();
        *on_line += 1;
        if *on_line == 1 && suspect.candidates.len() < CANDIDATES {
            suspect.candidates.push(Candidate {
                kind,
                leaf: reference.clone(),
                key: leaf.key.clone(),
                spot: Spot {
                    line: place.line.0,
                    point: place.point,
                    visit,
                    visits: place.visits,
                },
                call: stop.sequence,
                pc: stop.pc,
                hit: stop.visit,
                expected: expected.cloned(),
                held: None,
                shown: shown.clone(),
                location: self.image.describe_location(site, index),
                clue: None,
            });
        }
    }

    /// Notes an appearance of the followed variable.
    fn note(&mut self, id: KeyId, line: u32, shown: bool) {
        let Some(watch) = &mut self.watch else { return };
        let leaf = self.truth.recording.leaf(id);
        if leaf.is_some_and(|leaf| watch.is(&leaf.key)) {
            let lines = if shown {
                &mut watch.shown
            } else {
                &mut watch.lost
            };
            *lines.entry(line).or_default() += 1;
        }
    }

    /// A static that is only written loses its stores, or its initialiser too: one known cause, so it has a kind of its
    /// own. C programs are asked whether they read it; of a Rust program what is shown must tell: its first value or
    /// zero.
    fn wrong_kind(&self, key: &LeafKey, id: KeyId, shown: &Value) -> Kind {
        if !self.plan.unit.is_rust() {
            return match self.plan.is_write_only(&key.variable, key.decl_line.0) {
                true => Kind::WriteOnlyStatic,
                false => Kind::WrongValue,
            };
        }
        let zero = matches!(
            shown,
            Value::Signed(0)
                | Value::Unsigned(0)
                | Value::Pointer(PointerValue::Null)
                | Value::Float { bits: 0, .. }
        );
        let first = || {
            let first = self.truth.recording.first(id).and_then(Observation::value);
            first.is_some_and(|first| same_value(first, shown) == Some(true))
        };
        if self.plan.is_static(&key.variable, key.decl_line.0) && (zero || first()) {
            Kind::WriteOnlyStatic
        } else {
            Kind::WrongValue
        }
    }
}

impl Comparison<'_> {
    /// Notes which leaves may be of another class than at the stop before.
    fn keep_journal(&mut self, stop: &Stop<'_>) {
        let journal = &mut self.journal;
        self.replay.changed().for_each(|id| journal.note(id));
        self.lifted.drain(..).for_each(|id| journal.note(id));
        for id in self.truth.dropped_at(self.now) {
            journal.note(id);
            self.lifted.push(id);
        }
        note_changes(journal, &mut self.maps, &self.truth.recording, stop);
    }

    /// Whether somebody wants to see each global at each stop.
    fn globals_are_watched(&self) -> bool {
        let watched = |watch: &Watch| watch.function.is_none();
        self.onlooker.is_some() || self.watch.as_ref().is_some_and(watched)
    }

    /// Compares one leaf.
    fn weigh(&mut self, stop: &Stop<'_>, recorded: &RecordedSite, visit: u32, id: KeyId) {
        let described = self.seen_at.get(id as usize) == Some(&self.stamp);
        let index = self.observed_at.get(id as usize).copied().unwrap_or(0) as usize;
        let seen = stop.observations.get(index).filter(|_| described);
        let truth = self.truth.value(&self.replay, self.now, id);
        let Some(class) = Class::of(seen, truth) else {
            return;
        };
        let line = recorded.line.0;
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.glance(&Glance {
                stop,
                line,
                visit,
                id,
                index: described.then_some(index),
                truth,
                class,
            });
        }
        self.counts.add(class);
        if matches!(class, Class::Equal | Class::Wrong | Class::IllFormed) {
            self.lines.insert(line);
            if let Some(compared) = self.compared.get_mut(id as usize) {
                *compared = true;
            }
        }
        match class {
            Class::OptimisedOut => self.note(id, line, false),
            Class::Equal => self.note(id, line, true),
            Class::IllFormed | Class::Wrong => self.notable(stop, line, index, id),
            Class::Unreadable | Class::Unaligned => {}
        }
    }

    /// Suspects what is wrong or ill-formed.
    fn notable(&mut self, stop: &Stop<'_>, line: u32, index: usize, id: KeyId) {
        let truth = self.truth.value(&self.replay, self.now, id);
        let kind = match stop.observations.get(index) {
            Some(Observation::IllFormed(_)) => Kind::IllFormedLocation,
            Some(Observation::Value(shown)) => match self.truth.recording.leaf(id) {
                Some(leaf) if leaf.route.as_ref().is_some_and(|r| r.leaves_variable()) => {
                    Kind::WrongReferent
                }
                Some(leaf) => self.wrong_kind(&leaf.key, id, shown),
                None => return,
            },
            _ => return,
        };
        self.suspect(stop, line, index, id, kind, truth);
    }

    /// Compares the globals: the class of those that did not change is what it was.
    fn weigh_globals(&mut self, stop: &Stop<'_>, recorded: &RecordedSite, shown: &LeafMap) {
        let listed = recorded.leaves.globals();
        let (truth, replay, now) = (self.truth, &self.replay, self.now);
        let key = (map_id(listed), map_id(shown.globals()));
        let keys = truth.recording.leaves();
        let mut standing = self
            .standings
            .remove(&key)
            .unwrap_or_else(|| Standing::new(listed, shown.globals(), keys));
        standing.catch_up(&self.journal, |id, place| {
            let seen = place.and_then(|place| stop.observations.get(shown.among_all(place)));
            Class::of(seen, truth.value(replay, now, id))
        });
        self.counts.add_all(&standing.counts);
        if standing.counts.compared() > 0 {
            self.lines.insert(recorded.line.0);
            for id in standing.compared() {
                if let Some(compared) = self.compared.get_mut(id as usize) {
                    *compared = true;
                }
            }
        }
        for (id, place) in standing.notable() {
            if let Some(place) = place {
                self.notable(stop, recorded.line.0, shown.among_all(place), id);
            }
        }
        self.standings.insert(key, standing);
    }
}

impl Observer for Comparison<'_> {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        let Some(now) = self.recorded(stop.sequence) else {
            return Continue::No;
        };
        self.now = now;
        if !self.replay.advance(now) {
            return Continue::No;
        }
        self.keep_journal(stop);
        let recording = &self.truth.recording;
        let Some((recorded, visit)) = recording.site(now) else {
            return Continue::Yes;
        };
        let aligned = stop
            .site
            .filter(|site| site.line == Some(recorded.line) && site.function == recorded.function);
        let agreement = self.frames.weigh(stop, self.truth, now, (recorded, visit));
        let Some(site) = aligned else {
            let misplaced = agreement.is_some_and(|agreement| agreement.is_misplaced());
            self.unaligned(stop, misplaced);
            return Continue::Yes;
        };
        let here = Here {
            stop,
            now,
            recorded,
            visit,
            same: agreement.map_or(0, |agreement| agreement.same),
        };
        self.upper.weigh(
            &here,
            self.truth,
            &self.replay,
            self.image,
            &mut self.counts,
        );
        let shown = self
            .maps
            .at(stop.pc, site.leaves(), |leaf| known_leaf(recording, leaf));
        let whole = self.globals_are_watched() || self.truth.is_dropped(now);
        self.stamp = self.stamp.wrapping_add(1);
        let mut describe = |index: usize, id: KeyId| {
            if let (Some(stamp), Some(place)) = (
                self.seen_at.get_mut(id as usize),
                self.observed_at.get_mut(id as usize),
            ) {
                *stamp = self.stamp;
                *place = index as u32;
            }
        };
        if whole {
            shown.iter().for_each(|(index, id)| describe(index, id));
            for (_, id) in recorded.leaves.iter() {
                self.weigh(stop, recorded, visit, id);
            }
        } else {
            shown.own().for_each(|(index, id)| describe(index, id));
            for (_, id) in recorded.leaves.own() {
                self.weigh(stop, recorded, visit, id);
            }
            self.weigh_globals(stop, recorded, &shown);
        }
        Continue::Yes
    }

    fn climbs(&mut self, sequence: u64, _chain: (u32, &Arc<Chain>)) -> u16 {
        let above = self.truth.recording.above();
        self.recorded(sequence).map_or(0, |now| above.depth(now))
    }
}
