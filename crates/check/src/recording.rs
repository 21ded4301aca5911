//! What the reference run saw, stop by stop, kept small: a leaf is stored again only when it changed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use candor_dwarf::{Leaf, LeafKey, Line, Observation, Svma};
use candor_tracer::{Continue, Observer, Stop, StopKind};

/// Number of a leaf in a recording.
pub type KeyId = u32;

/// Which leaves of a site are which leaves of the recording: (place among the observations, number).
///
/// A large program has thousands of sites that all show the same thousands of globals; their part of
/// the map is kept once.
#[derive(Clone, Debug)]
pub struct LeafMap {
    own: Vec<(u32, KeyId)>,
    /// Where the globals begin among the site's leaves.
    start: u32,
    globals: Arc<[(u32, KeyId)]>,
}

impl LeafMap {
    /// (place among the observations, number), in the site's order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, KeyId)> + '_ {
        let globals = self
            .globals
            .iter()
            .map(|(place, key)| (place + self.start, *key));
        self.own
            .iter()
            .copied()
            .chain(globals)
            .map(|(place, key)| (place as usize, key))
    }
}

/// The maps of all sites of a build, by address.
#[derive(Debug, Default)]
pub struct LeafMaps {
    by_pc: HashMap<Svma, LeafMap>,
    shared: HashSet<Arc<[(u32, KeyId)]>>,
}

impl LeafMaps {
    /// The map of the site at `pc`, made on the first visit with `number`.
    pub fn at(
        &mut self,
        pc: Svma,
        leaves: &[Leaf],
        number: impl FnMut(&Leaf) -> Option<KeyId>,
    ) -> &LeafMap {
        if !self.by_pc.contains_key(&pc) {
            let map = self.make(leaves, number);
            self.by_pc.insert(pc, map);
        }
        &self.by_pc[&pc]
    }

    /// A map, its global part shared with the others.
    pub fn make(
        &mut self,
        leaves: &[Leaf],
        mut number: impl FnMut(&Leaf) -> Option<KeyId>,
    ) -> LeafMap {
        let is_global = |leaf: &Leaf| leaf.key.function.is_none();
        let start = leaves
            .iter()
            .rposition(|leaf| !is_global(leaf))
            .map_or(0, |last| last + 1);
        let (own, globals) = leaves.split_at(start);
        let mut map = |part: &[Leaf]| -> Vec<(u32, KeyId)> {
            part.iter()
                .enumerate()
                .filter_map(|(place, leaf)| Some((place as u32, number(leaf)?)))
                .collect()
        };
        let (own, globals) = (map(own), map(globals));
        let globals = match self.shared.get(globals.as_slice()) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<[(u32, KeyId)]> = globals.into();
                self.shared.insert(new.clone());
                new
            }
        };
        LeafMap {
            own,
            start: start as u32,
            globals,
        }
    }
}

/// A place of the reference build where it stopped.
#[derive(Clone, Debug)]
pub struct RecordedSite {
    /// Its address in the reference build.
    pub pc: Svma,
    /// Its line.
    pub line: Line,
    /// The innermost function.
    pub function: String,
    /// The point of the source it belongs to, when that is clear.
    pub point: Option<usize>,
    /// What is compared here.
    pub leaves: LeafMap,
    /// How often the reference run came by.
    pub visits: u32,
}

#[derive(Clone, Copy, Debug)]
struct RecordedStop {
    /// Index into the sites; `u32::MAX` for a stop that shows nothing.
    site: u32,
    changes_end: u32,
    visit: u32,
}

/// All that the reference run saw.
#[derive(Debug, Default)]
pub struct Recording {
    keys: Vec<Leaf>,
    index: HashMap<LeafKey, KeyId>,
    sites: Vec<RecordedSite>,
    stops: Vec<RecordedStop>,
    changes: Vec<(KeyId, Observation)>,
}

/// Marks a stop without a site.
const NOWHERE: u32 = u32::MAX;

impl Recording {
    /// How many stops there were.
    pub fn len(&self) -> usize {
        self.stops.len()
    }

    /// The number of a leaf, if the reference run ever showed it.
    pub fn id(&self, key: &LeafKey) -> Option<KeyId> {
        self.index.get(key).copied()
    }

    /// The leaf behind a number.
    pub fn leaf(&self, id: KeyId) -> Option<&Leaf> {
        self.keys.get(id as usize)
    }

    /// Number of distinct leaves.
    pub fn leaves(&self) -> usize {
        self.keys.len()
    }

    /// The site of stop `sequence`, and the how-many-eth visit of it that was (from 1).
    pub fn site(&self, sequence: u64) -> Option<(&RecordedSite, u32)> {
        let stop = self.stops.get(usize::try_from(sequence).ok()?)?;
        Some((self.sites.get(stop.site as usize)?, stop.visit))
    }

    /// What the reference run saw of a leaf when it first looked.
    pub fn first(&self, key: KeyId) -> Option<&Observation> {
        let (_, seen) = self.changes.iter().find(|(changed, _)| *changed == key)?;
        Some(seen)
    }

    /// A walk through the stops in order.
    pub fn replay(&self) -> Replay<'_> {
        Replay {
            recording: self,
            state: vec![None; self.keys.len()],
            next_stop: 0,
            next_change: 0,
        }
    }
}

/// The state of every leaf as of one stop, moved forward stop by stop.
#[derive(Debug)]
pub struct Replay<'a> {
    recording: &'a Recording,
    state: Vec<Option<&'a Observation>>,
    next_stop: usize,
    next_change: usize,
}

impl<'a> Replay<'a> {
    /// Moves on to stop `sequence`; false when the reference run did not get there.
    pub fn advance(&mut self, sequence: u64) -> bool {
        let Ok(wanted) = usize::try_from(sequence) else {
            return false;
        };
        while self.next_stop <= wanted {
            let Some(stop) = self.recording.stops.get(self.next_stop) else {
                return false;
            };
            let end = stop.changes_end as usize;
            for (key, seen) in &self.recording.changes[self.next_change..end] {
                if let Some(slot) = self.state.get_mut(*key as usize) {
                    *slot = Some(seen);
                }
            }
            self.next_change = end;
            self.next_stop += 1;
        }
        true
    }

    /// What the reference run saw of a leaf when it last looked.
    pub fn seen(&self, key: KeyId) -> Option<&'a Observation> {
        self.state.get(key as usize).copied().flatten()
    }
}

/// Which leaves of a site are worth recording.
pub trait Wanted {
    /// Decides for one leaf at one place.
    fn wants(&self, point: Option<usize>, line: Line, leaf: &Leaf) -> bool;
    /// The point of the source at an address.
    fn point(&self, pc: Svma, line: Line) -> Option<usize>;
}

/// Observes the reference run and makes the recording.
pub struct Recorder<'a> {
    recording: Recording,
    wanted: &'a dyn Wanted,
    /// Per address: the site's number.
    places: HashMap<Svma, u32>,
    maps: LeafMaps,
    last: Vec<Option<Observation>>,
    /// Changes kept at most; memory is bounded, and a run that exceeds it is cut short and says so.
    capacity: usize,
    /// The recording was cut short.
    pub truncated: bool,
}

impl<'a> Recorder<'a> {
    /// A recorder for what `wanted` wants.
    pub fn new(wanted: &'a dyn Wanted) -> Self {
        Recorder {
            recording: Recording::default(),
            wanted,
            places: HashMap::new(),
            maps: LeafMaps::default(),
            last: Vec::new(),
            capacity: 1 << 20,
            truncated: false,
        }
    }

    /// The recording.
    pub fn finish(self) -> Recording {
        self.recording
    }

    fn place(&mut self, stop: &Stop<'_>) -> Option<u32> {
        let site = stop.site?;
        let line = site.line?;
        let point = self.wanted.point(stop.pc, line);
        let (recording, last, wanted) = (&mut self.recording, &mut self.last, self.wanted);
        let leaves = self.maps.make(site.leaves(), |leaf| {
            if leaf.shadowed || leaf.key.depth != 0 || !wanted.wants(point, line, leaf) {
                return None;
            }
            if let Some(known) = recording.index.get(&leaf.key) {
                return Some(*known);
            }
            let new = recording.keys.len() as KeyId;
            recording.index.insert(leaf.key.clone(), new);
            recording.keys.push(leaf.clone());
            last.push(None);
            Some(new)
        });
        let number = self.recording.sites.len() as u32;
        self.recording.sites.push(RecordedSite {
            pc: stop.pc,
            line,
            function: site.function.clone(),
            point,
            leaves,
            visits: 0,
        });
        Some(number)
    }
}

impl Observer for Recorder<'_> {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        if stop.kind != StopKind::TailCall
            && !self.places.contains_key(&stop.pc)
            && let Some(place) = self.place(stop)
        {
            self.places.insert(stop.pc, place);
        }
        let mut recorded = RecordedStop {
            site: NOWHERE,
            changes_end: 0,
            visit: 0,
        };
        let Recording { sites, changes, .. } = &mut self.recording;
        let number = self.places.get(&stop.pc);
        if let Some((number, site)) = number.and_then(|n| Some((n, sites.get_mut(*n as usize)?))) {
            recorded.site = *number;
            site.visits += 1;
            recorded.visit = site.visits;
            for (place, id) in site.leaves.iter() {
                let (Some(seen), Some(last)) =
                    (stop.observations.get(place), self.last.get_mut(id as usize))
                else {
                    continue;
                };
                if last.as_ref() != Some(seen) {
                    *last = Some(seen.clone());
                    changes.push((id, seen.clone()));
                }
            }
        }
        recorded.changes_end = self.recording.changes.len() as u32;
        self.recording.stops.push(recorded);
        if self.recording.changes.len() > self.capacity {
            self.truncated = true;
            return Continue::No;
        }
        Continue::Yes
    }
}
