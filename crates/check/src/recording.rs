//! What the reference run saw, stop by stop, kept small: a leaf is stored again only when it changed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use candor_dwarf::{Chain, Leaf, LeafKey, Leaves, Line, Observation, Omitted, Svma};
use candor_tracer::{Continue, Observer, Stop, StopKind, UpperFrame};

use crate::above::{Above, AboveRecorder};
use crate::carry::{Bookmark, Journal};

/// Number of a leaf in a recording.
pub type KeyId = u32;

/// The globals of a site that are leaves of the recording: (place among the site's globals, number), by place.
pub type GlobalMap = Arc<[(u32, KeyId)]>;

/// Which map it is: equal maps of one [`LeafMaps`] are one, and who goes by this keeps them.
pub(crate) type MapId = usize;

/// See [`MapId`].
pub(crate) fn map_id(map: &GlobalMap) -> MapId {
    Arc::as_ptr(map).cast::<()>() as MapId
}

/// Which leaves of a site are which leaves of the recording: (place among the observations, number).
///
/// A large program has thousands of sites that all show the same thousands of globals; their part of
/// the map is kept once.
#[derive(Clone, Debug)]
pub struct LeafMap {
    own: Vec<(u32, KeyId)>,
    /// Where the globals begin among the site's leaves.
    start: u32,
    globals: GlobalMap,
}

impl LeafMap {
    /// The same without globals.
    pub fn own(&self) -> impl Iterator<Item = (usize, KeyId)> + '_ {
        self.own.iter().map(|(place, key)| (*place as usize, *key))
    }

    /// The globals.
    pub fn globals(&self) -> &GlobalMap {
        &self.globals
    }

    /// The number of a global by its place among the site's globals.
    pub fn global(&self, place: u32) -> Option<KeyId> {
        let index = self
            .globals
            .binary_search_by_key(&place, |(place, _)| *place);
        self.globals.get(index.ok()?).map(|(_, key)| *key)
    }

    /// The place among the site's observations of a place among its globals.
    pub fn among_all(&self, place: u32) -> usize {
        (self.start + place) as usize
    }

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
    by_pc: HashMap<Svma, Arc<LeafMap>>,
    shared: HashSet<GlobalMap>,
}

impl LeafMaps {
    /// The map of the site at `pc`, made on the first visit with `number`.
    pub fn at(
        &mut self,
        pc: Svma,
        leaves: Leaves<'_>,
        number: impl FnMut(&Leaf) -> Option<KeyId>,
    ) -> Arc<LeafMap> {
        if let Some(known) = self.by_pc.get(&pc) {
            return known.clone();
        }
        let new = Arc::new(self.make(leaves, number));
        self.by_pc.insert(pc, new.clone());
        new
    }

    /// A map, its global part shared with the others.
    pub fn make(
        &mut self,
        leaves: Leaves<'_>,
        mut number: impl FnMut(&Leaf) -> Option<KeyId>,
    ) -> LeafMap {
        let mut map = |part: &[Leaf]| -> Vec<(u32, KeyId)> {
            part.iter()
                .enumerate()
                .filter_map(|(place, leaf)| Some((place as u32, number(leaf)?)))
                .collect()
        };
        let (own, globals) = (map(leaves.own), map(leaves.globals));
        let globals = match self.shared.get(globals.as_slice()) {
            Some(known) => known.clone(),
            None => {
                let new: GlobalMap = globals.into();
                self.shared.insert(new.clone());
                new
            }
        };
        LeafMap {
            own,
            start: leaves.own.len() as u32,
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
    /// What is left out here.
    pub(crate) left_out: LeftOut,
}

/// What a site shows and nobody looks at, or not in full (C).
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    pub(crate) own: Vec<Omitted>,
    pub(crate) globals: Arc<[Omitted]>,
    /// Name, line and function of variables that another one hides.
    pub(crate) shadowed: BTreeSet<(Arc<str>, u32, Option<Arc<str>>)>,
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
    above: Above,
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

    /// What was seen of the functions further up.
    pub(crate) fn above(&self) -> &Above {
        &self.above
    }

    /// Every place where it stopped.
    pub fn sites(&self) -> &[RecordedSite] {
        &self.sites
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
            first_change: 0,
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
    /// The first change of the last move.
    first_change: usize,
}

impl<'a> Replay<'a> {
    /// Moves on to stop `sequence`; false when the reference run did not get there.
    pub fn advance(&mut self, sequence: u64) -> bool {
        let Ok(wanted) = usize::try_from(sequence) else {
            return false;
        };
        self.first_change = self.next_change;
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

    /// What changed in the last move.
    pub fn changed(&self) -> impl Iterator<Item = KeyId> + use<'a> {
        let changes = self
            .recording
            .changes
            .get(self.first_change..self.next_change);
        changes.unwrap_or_default().iter().map(|(key, _)| *key)
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
    /// Decides for a leaf of a function further up, whose call is at `pc`.
    fn wants_above(&self, pc: Svma, leaf: &Leaf) -> bool;
}

/// Observes the reference run and makes the recording.
pub struct Recorder<'a> {
    recording: Recording,
    wanted: &'a dyn Wanted,
    /// Per address: the site's number.
    places: HashMap<Svma, u32>,
    maps: LeafMaps,
    last: Vec<Option<Observation>>,
    above: AboveRecorder,
    /// Places of globals that may have changed, and how far each map of globals has been served with them.
    journal: Journal,
    served: HashMap<MapId, Bookmark>,
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
            above: AboveRecorder::default(),
            journal: Journal::default(),
            served: HashMap::new(),
            capacity: 1 << 20,
            truncated: false,
        }
    }

    /// The recording.
    pub fn finish(self) -> Recording {
        Recording {
            above: self.above.above,
            ..self.recording
        }
    }

    /// Notes the functions further up.
    fn climb(&mut self, stop: &Stop<'_>) {
        let (wanted, last) = (self.wanted, std::cell::RefCell::new(&mut self.last));
        let Recording {
            keys,
            index,
            changes,
            ..
        } = &mut self.recording;
        let number = |frame: &UpperFrame, leaf: &Leaf, key: LeafKey| {
            if !wanted.wants_above(frame.site.pc, leaf) {
                return None;
            }
            if let Some(known) = index.get(&key) {
                return Some(*known);
            }
            let new = keys.len() as KeyId;
            index.insert(key.clone(), new);
            keys.push(Leaf {
                key,
                ..leaf.clone()
            });
            last.borrow_mut().push(None);
            Some(new)
        };
        let record = |id: KeyId, seen: &Observation| {
            let mut last = last.borrow_mut();
            if let Some(last) = last.get_mut(id as usize)
                && last.as_ref() != Some(seen)
            {
                *last = Some(seen.clone());
                changes.push((id, seen.clone()));
            }
        };
        self.above.stop(stop, number, record);
    }

    fn place(&mut self, stop: &Stop<'_>) -> Option<u32> {
        let site = stop.site?;
        let line = site.line?;
        let point = self.wanted.point(stop.pc, line);
        let (recording, last, wanted) = (&mut self.recording, &mut self.last, self.wanted);
        let mut left_out = LeftOut {
            own: site.omitted().to_vec(),
            globals: site.omitted_globals().clone(),
            shadowed: BTreeSet::new(),
        };
        let leaves = self.maps.make(site.leaves(), |leaf| {
            if leaf.shadowed && leaf.key.depth == 0 && leaf.key.decl_line < line {
                let key = &leaf.key;
                let name = (key.variable.clone(), key.decl_line.0, key.function.clone());
                left_out.shadowed.insert(name);
            }
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
            left_out,
        });
        Some(number)
    }
}

impl Observer for Recorder<'_> {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        match stop.changed {
            Some(changed) => changed.iter().for_each(|place| self.journal.note(*place)),
            None => self.journal.note_all(),
        }
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
            let last = &mut self.last;
            let mut record = |place: usize, id: KeyId| {
                if let (Some(seen), Some(last)) =
                    (stop.observations.get(place), last.get_mut(id as usize))
                    && last.as_ref() != Some(seen)
                {
                    *last = Some(seen.clone());
                    changes.push((id, seen.clone()));
                }
            };
            let map = &site.leaves;
            map.own().for_each(|(place, id)| record(place, id));
            // A stop that shows nothing has served nobody.
            if !stop.observations.is_empty() {
                let served = self.served.entry(map_id(map.globals())).or_default();
                match self.journal.since(served) {
                    Some(news) => {
                        for place in news {
                            if let Some(id) = map.global(*place) {
                                record(map.among_all(*place), id);
                            }
                        }
                    }
                    None => {
                        for (place, id) in map.globals().iter() {
                            record(map.among_all(*place), *id);
                        }
                    }
                }
            }
        }
        self.climb(stop);
        recorded.changes_end = self.recording.changes.len() as u32;
        self.recording.stops.push(recorded);
        if self.recording.changes.len() > self.capacity {
            self.truncated = true;
            return Continue::No;
        }
        Continue::Yes
    }

    fn climbs(&mut self, _sequence: u64, chain: (u32, &Arc<Chain>)) -> u16 {
        self.above.wants(chain)
    }
}
