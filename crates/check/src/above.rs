//! What the reference run saw of the functions that had not returned: their chain at each stop, and at some stops their
//! variables, in the registers of their own frames.
//!
//! Variables further up change less often than there are stops, and are more than those of the innermost function: they
//! are looked at when a place is come by in a chain for the first, second, fourth, eighth time and so on.

use std::collections::HashMap;
use std::sync::Arc;

use candor_dwarf::{Chain, Leaf, LeafKey, Svma};
use candor_tracer::{Stop, UpperFrame};

use crate::recording::KeyId;

/// Up to which depth variables are looked at.
pub(crate) const DEPTH: u16 = 4;
/// Frames of the stack that are walked and compared.
pub(crate) const FRAMES: usize = 48;
/// Chains that are kept; of a run with more, the later ones are not compared.
const CHAINS: u32 = 1 << 15;

const NONE: u32 = u32::MAX;

/// The recorded part.
#[derive(Debug, Default)]
pub(crate) struct Above {
    chains: Vec<Arc<Chain>>,
    lists: Vec<Arc<[KeyId]>>,
    /// Per stop: its chain and its list.
    stops: Vec<(u32, u32)>,
}

impl Above {
    /// The chain of a stop and its number.
    pub(crate) fn chain(&self, stop: u64) -> Option<(u32, &Arc<Chain>)> {
        let (chain, _) = self.stops.get(usize::try_from(stop).ok()?)?;
        Some((*chain, self.chains.get(*chain as usize)?))
    }

    /// The leaves further up that were looked at, if they were.
    pub(crate) fn keys(&self, stop: u64) -> Option<&Arc<[KeyId]>> {
        let (_, list) = self.stops.get(usize::try_from(stop).ok()?)?;
        self.lists.get(*list as usize)
    }

    /// How deep a build must look at this stop to be compared.
    pub(crate) fn depth(&self, stop: u64) -> u16 {
        if self.keys(stop).is_some() { DEPTH } else { 0 }
    }
}

/// A leaf of a frame further up: the frame among those shown, its place there, its number.
type Slot = (usize, usize, KeyId);

/// Makes the recording.
#[derive(Debug, Default)]
pub(crate) struct AboveRecorder {
    pub(crate) above: Above,
    /// By chain: which place in which frames it is.
    places: HashMap<u32, u32>,
    by_addresses: HashMap<Vec<Svma>, u32>,
    visits: Vec<u32>,
    /// By the addresses of the frames shown: the list, and what is on it.
    slots: HashMap<Vec<Svma>, (u32, Arc<[Slot]>)>,
}

impl AboveRecorder {
    /// Up to which depth variables are wanted at the stop that comes.
    pub(crate) fn wants(&mut self, (id, chain): (u32, &Arc<Chain>)) -> u16 {
        if chain.frames.len() < 2 || id >= CHAINS {
            return 0;
        }
        let (by_addresses, visits) = (&mut self.by_addresses, &mut self.visits);
        let place = *self.places.entry(id).or_insert_with(|| {
            let frames = chain.frames.iter().take(usize::from(DEPTH) + 1);
            let next = by_addresses.len() as u32;
            *by_addresses
                .entry(frames.map(|frame| frame.pc).collect())
                .or_insert(next)
        });
        let place = place as usize;
        if visits.len() <= place {
            visits.resize(place + 1, 0);
        }
        let Some(count) = visits.get_mut(place) else {
            return 0;
        };
        *count += 1;
        if count.is_power_of_two() { DEPTH } else { 0 }
    }

    /// Notes a stop; `number` gives a leaf of a frame further up its number, `record` takes what was seen of it.
    pub(crate) fn stop(
        &mut self,
        stop: &Stop<'_>,
        mut number: impl FnMut(&UpperFrame, &Leaf, LeafKey) -> Option<KeyId>,
        mut record: impl FnMut(KeyId, &candor_dwarf::Observation),
    ) {
        let chain = stop.chain.filter(|(id, _)| *id < CHAINS);
        if let Some((id, chain)) = chain
            && self.above.chains.len() == id as usize
        {
            self.above.chains.push(chain.clone());
        }
        let mut list = NONE;
        if !stop.upper.is_empty() {
            let key: Vec<Svma> = stop.upper.iter().map(|frame| frame.site.pc).collect();
            let lists = &mut self.above.lists;
            let (id, slots) = self.slots.entry(key).or_insert_with(|| {
                let mut slots = Vec::new();
                for (place, frame) in stop.upper.iter().enumerate() {
                    for (index, leaf) in frame.site.leaves().iter().enumerate() {
                        if let Some(key) = key_above(frame, leaf)
                            && let Some(id) = number(frame, leaf, key)
                        {
                            slots.push((place, index, id));
                        }
                    }
                }
                lists.push(slots.iter().map(|(_, _, id)| *id).collect());
                (lists.len() as u32 - 1, slots.into())
            });
            list = *id;
            for (place, index, id) in slots.iter() {
                let frame = stop.upper.get(*place);
                if let Some(seen) = frame.and_then(|frame| frame.observations.get(*index)) {
                    record(*id, seen);
                }
            }
        }
        let chain = chain.map_or(NONE, |(id, _)| id);
        self.above.stops.push((chain, list));
    }
}

/// The key of a leaf of a frame further up, with its depth from the innermost function; `None` for what the stop's own
/// site shows, what is too far up, and what another variable hides.
pub(crate) fn key_above(frame: &UpperFrame, leaf: &Leaf) -> Option<LeafKey> {
    let depth = frame.base.saturating_add(leaf.key.depth);
    let wanted = (1..=DEPTH).contains(&depth) && leaf.key.function.is_some() && !leaf.shadowed;
    wanted.then(|| LeafKey {
        depth,
        ..leaf.key.clone()
    })
}
