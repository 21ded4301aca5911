//! The variables of the functions further up against what the reference saw of them, at the stops where it looked, as
//! far up as both are in the same functions at the same lines.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use candor_dwarf::{Image, LeafKey, Observation, Value};
use candor_tracer::Stop;

use crate::above::key_above;
use crate::compare::{Candidate, Spot, Suspect, SuspectKey};
use crate::finding::{Class, Counts, Kind};
use crate::recording::{KeyId, RecordedSite, Replay};
use crate::truth::Truth;

/// What was seen of one build's functions further up.
#[derive(Default)]
pub(crate) struct Upper {
    pub(crate) suspects: BTreeMap<SuspectKey, Suspect>,
    /// By number of the stop's chain and the recording's list: what is on the list and shown, with its place.
    slots: HashMap<(u32, usize), Arc<[Slot]>>,
}

/// A leaf of the recording: the frame among those shown, its place there, its number, its depth.
type Slot = (usize, usize, KeyId, u16);

/// A stop of a build, and which of the recording's it is.
pub(crate) struct Here<'s> {
    pub(crate) stop: &'s Stop<'s>,
    pub(crate) now: u64,
    pub(crate) recorded: &'s RecordedSite,
    pub(crate) visit: u32,
    /// So many functions from the innermost on are the same.
    pub(crate) same: usize,
}

impl Upper {
    /// Compares what a stop shows.
    pub(crate) fn weigh(
        &mut self,
        here: &Here<'_>,
        truth: &Truth,
        replay: &Replay<'_>,
        image: &Image,
        counts: &mut Counts,
    ) {
        let stop = here.stop;
        let recording = &truth.recording;
        let (Some(keys), Some((number, _))) = (recording.above().keys(here.now), stop.chain) else {
            return;
        };
        if here.same < 2 || stop.upper.is_empty() {
            return;
        }
        let list = Arc::as_ptr(keys).cast::<()>() as usize;
        let slots = self.slots.entry((number, list)).or_insert_with(|| {
            let keys: HashSet<KeyId> = keys.iter().copied().collect();
            let mut slots = Vec::new();
            for (place, frame) in stop.upper.iter().enumerate() {
                for (index, leaf) in frame.site.leaves().iter().enumerate() {
                    if let Some(key) = key_above(frame, leaf)
                        && let Some(id) = recording.id(&key)
                        && keys.contains(&id)
                    {
                        slots.push((place, index, id, key.depth));
                    }
                }
            }
            slots.into()
        });
        let slots = slots.clone();
        for (place, index, id, depth) in slots.iter() {
            if usize::from(*depth) >= here.same {
                continue;
            }
            let Some(frame) = stop.upper.get(*place) else {
                continue;
            };
            let seen = frame.observations.get(*index);
            let true_value = truth.value(replay, here.now, *id);
            let Some(class) = Class::of(seen, true_value) else {
                continue;
            };
            // what is ill-formed is so where its own function stops, and is reported there
            if class == Class::IllFormed {
                continue;
            }
            counts.add(class);
            if let (Class::Wrong, Some(seen), Some(value)) = (class, seen, true_value) {
                let location = image.describe_location(&frame.site, *index);
                self.suspect(here, truth, *id, seen, value, location);
            }
        }
    }

    fn suspect(
        &mut self,
        here: &Here<'_>,
        truth: &Truth,
        id: KeyId,
        seen: &Observation,
        value: &Value,
        location: String,
    ) {
        let Some(leaf) = truth.recording.leaf(id) else {
            return;
        };
        let key: LeafKey = leaf.key.clone();
        let suspect = self
            .suspects
            .entry((
                Kind::WrongValue,
                key.function.as_deref().map(str::to_owned),
                key.variable.to_string(),
                key.decl_line.0,
            ))
            .or_default();
        let line = here.recorded.line.0;
        let on_line = suspect.lines.entry(line).or_default();
        *on_line += 1;
        if *on_line == 1 && suspect.candidates.len() < crate::compare::CANDIDATES {
            suspect.candidates.push(Candidate {
                kind: Kind::WrongValue,
                leaf: leaf.clone(),
                key,
                spot: Spot {
                    line,
                    point: here.recorded.point,
                    visit: here.visit,
                    visits: here.recorded.visits,
                },
                call: here.stop.sequence,
                pc: here.stop.pc,
                hit: here.stop.visit,
                expected: Some(value.clone()),
                held: None,
                shown: seen.clone(),
                location,
                clue: None,
            });
        }
    }
}
