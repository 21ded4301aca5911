//! One optimised build against the truth: every comparable (stop, variable), counted and sorted.
//!
//! The k-th barrier call of the optimised build is the k-th of the reference, because a sequence of
//! external calls is observable behaviour. What does not line up all the same (merged calls, tail
//! calls) is *unaligned*: counted, never blamed.

use std::collections::BTreeMap;

use candor_dwarf::{Image, LeafKey, Observation, PointerValue, Svma, Value};
use candor_tracer::{Continue, Observer, Stop};

use crate::finding::{Counts, Kind};
use crate::plan::Plan;
use crate::recording::{KeyId, LeafMaps, Replay};
use crate::truth::{Truth, known_leaf, same_value};

/// A place where a build seems to be wrong.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What sort.
    pub kind: Kind,
    /// The leaf in the optimised build.
    pub key: LeafKey,
    /// The leaf in the recording.
    pub id: KeyId,
    /// The number of the stop.
    pub stop: u64,
    /// The call instruction in the optimised build.
    pub pc: Svma,
    /// How often that address was met by then: what to tell a debugger.
    pub hit: u32,
    /// The true value; `None` for an ill-formed location of an unknown value.
    pub expected: Option<Value>,
    /// What is shown.
    pub shown: Observation,
    /// The location in words.
    pub location: String,
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
const CANDIDATES: usize = 4;

/// What makes one suspect: a variable (whatever its path) and a kind.
type SuspectKey = (Kind, Option<String>, String, u32);

/// Observes an optimised build.
pub struct Comparison<'a> {
    truth: &'a Truth,
    plan: &'a Plan,
    image: &'a Image,
    replay: Replay<'a>,
    maps: LeafMaps,
    /// The counts.
    pub counts: Counts,
    /// What seems wrong.
    pub suspects: BTreeMap<SuspectKey, Suspect>,
    /// Per key: the stop (by stamp) whose site last described it, and its place among that stop's
    /// observations. Reused between stops: no allocation per stop.
    seen_at: Vec<u32>,
    observed_at: Vec<u32>,
    stamp: u32,
}

impl<'a> Comparison<'a> {
    /// A comparison of the build behind `image` with `truth`.
    pub fn new(truth: &'a Truth, plan: &'a Plan, image: &'a Image) -> Self {
        let leaves = truth.recording.leaves();
        Comparison {
            truth,
            plan,
            image,
            replay: truth.recording.replay(),
            maps: LeafMaps::default(),
            counts: Counts::default(),
            suspects: BTreeMap::new(),
            seen_at: vec![0; leaves],
            stamp: 0,
            observed_at: vec![0; leaves],
        }
    }

    fn unaligned(&mut self, stop: u64) {
        if let Some((recorded, _)) = self.truth.recording.site(stop) {
            let comparable = recorded
                .leaves
                .iter()
                .filter(|(_, key)| self.truth.value(&self.replay, stop, *key).is_some());
            self.counts.unaligned += comparable.count() as u64;
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
        let suspect = self.suspects.entry(key).or_default();
        let on_line = suspect.lines.entry(line).or_default();
        *on_line += 1;
        if *on_line == 1 && suspect.candidates.len() < CANDIDATES {
            suspect.candidates.push(Candidate {
                kind,
                key: leaf.key.clone(),
                id,
                stop: stop.sequence,
                pc: stop.pc,
                hit: stop.visit,
                expected: expected.cloned(),
                shown: shown.clone(),
                location: self.image.describe_location(site, index),
            });
        }
    }

    /// A static that is only written loses its stores, or its initialiser too: what is shown is then
    /// its first value or zero. One known cause, so it has a kind of its own.
    fn wrong_kind(&self, key: &LeafKey, id: KeyId, shown: &Value) -> Kind {
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

impl Observer for Comparison<'_> {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        if !self.replay.advance(stop.sequence) {
            return Continue::No;
        }
        let recording = &self.truth.recording;
        let Some((recorded, _)) = recording.site(stop.sequence) else {
            return Continue::Yes;
        };
        let aligned = stop
            .site
            .filter(|site| site.line == Some(recorded.line) && site.function == recorded.function);
        let Some(site) = aligned else {
            self.unaligned(stop.sequence);
            return Continue::Yes;
        };
        let leaves = self
            .maps
            .at(stop.pc, site.leaves(), |leaf| known_leaf(recording, leaf));
        self.stamp = self.stamp.wrapping_add(1);
        for (index, id) in leaves.iter() {
            if let (Some(stamp), Some(place)) = (
                self.seen_at.get_mut(id as usize),
                self.observed_at.get_mut(id as usize),
            ) {
                *stamp = self.stamp;
                *place = index as u32;
            }
        }
        for (_, id) in recorded.leaves.iter() {
            let described = self.seen_at.get(id as usize) == Some(&self.stamp);
            let index = self.observed_at.get(id as usize).copied().unwrap_or(0) as usize;
            let seen = stop.observations.get(index).filter(|_| described);
            let truth = self.truth.value(&self.replay, stop.sequence, id);
            match (seen, truth) {
                (Some(Observation::IllFormed(_)), truth) => {
                    self.counts.ill_formed += 1;
                    self.suspect(
                        stop,
                        recorded.line.0,
                        index,
                        id,
                        Kind::IllFormedLocation,
                        truth,
                    );
                }
                (_, None) => {}
                (None | Some(Observation::OptimisedOut), Some(_)) => self.counts.optimised_out += 1,
                (Some(Observation::Unreadable(_)), Some(_)) => self.counts.unreadable += 1,
                (Some(Observation::Value(shown)), Some(truth)) => match same_value(shown, truth) {
                    Some(true) => self.counts.equal += 1,
                    Some(false) => {
                        self.counts.wrong += 1;
                        if let Some(leaf) = recording.leaf(id) {
                            let kind = self.wrong_kind(&leaf.key, id, shown);
                            self.suspect(stop, recorded.line.0, index, id, kind, Some(truth));
                        }
                    }
                    None => {}
                },
            }
        }
        Continue::Yes
    }
}
