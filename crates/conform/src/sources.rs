//! Algorithm 1: destinations and their sources (paper 002, section 3.1), and three rules beyond it.
//!
//! The paper's manipulations give a source for only 23 of the 42 errors of its own Table 6 that show
//! on LLVM 16: what is created and never replaces anything (a branch has no uses) has none. Rules T and
//! N find one in where the instruction was put, rule S in the location it got. Sources that the pass
//! made itself resolve to their own sources until instructions of the input are met.

use std::collections::{BTreeMap, BTreeSet};

use candor_llvm::{Deed, InstId, StackId, Trace};

use crate::update::{Operation, Origin};

/// A place of an instruction in a snapshot: function, block, index.
pub type Place = (usize, usize, usize);

/// What the events say about each instruction.
#[derive(Debug, Default)]
pub struct Relations {
    /// Where each instruction of the input was.
    pub before: BTreeMap<InstId, Place>,
    /// Where each instruction of the output is.
    pub after: BTreeMap<InstId, Place>,
    /// Destinations with how and by whom they were made.
    pub destinations: BTreeMap<InstId, (Origin, usize, Option<StackId>)>,
    /// Algorithm 1's map SIM.
    pub sim: BTreeMap<InstId, Vec<InstId>>,
    /// Rule T.
    pub terminators: BTreeMap<InstId, InstId>,
    /// Rule N.
    pub neighbours: BTreeMap<InstId, InstId>,
    /// The instruction of the input with a line.
    pub by_line: BTreeMap<u32, InstId>,
    /// What was copied from what.
    pub clones: BTreeMap<InstId, InstId>,
    /// Events that changed a location, by instruction.
    updates: BTreeMap<InstId, Vec<usize>>,
    /// Replacements by the new instruction: event and replaced.
    pub replaced: BTreeMap<InstId, Vec<(usize, InstId)>>,
    /// Moves: event, in bulk.
    pub moves: BTreeMap<InstId, Vec<(usize, bool)>>,
}

impl Relations {
    /// Reads a trace.
    pub fn of(trace: &Trace) -> Self {
        let mut all = Relations {
            before: places(&trace.before),
            after: places(&trace.after),
            ..Relations::default()
        };
        for (&id, &(function, block, index)) in &all.before {
            if let Some(line) = trace.before[function].blocks[block].insts[index]
                .location
                .line()
            {
                all.by_line.insert(line, id);
            }
        }
        all.first_loop(trace);
        all.second_loop(trace);
        all.insertions(trace);
        all
    }

    /// Lines 3–10 of Algorithm 1.
    fn first_loop(&mut self, trace: &Trace) {
        for (number, event) in trace.recording.events.iter().enumerate() {
            let id = event.on;
            match event.deed {
                Deed::Create => {
                    let made = (Origin::Created, number, event.stack);
                    self.destinations.entry(id).or_insert(made);
                }
                Deed::Clone => {
                    let made = (Origin::Cloned, number, event.stack);
                    self.destinations.entry(id).or_insert(made);
                    if let Some(source) = event.other {
                        self.sim.insert(id, vec![source]);
                        self.clones.insert(id, source);
                    }
                }
                Deed::Move { bulk } => {
                    self.moves.entry(id).or_default().push((number, bulk));
                    if !trace.recording.is_new(id) {
                        let made = (Origin::Moved, number, event.stack);
                        self.destinations.entry(id).or_insert(made);
                        self.sim.entry(id).or_insert_with(|| vec![id]);
                    }
                }
                Deed::Merge | Deed::Drop | Deed::SetLocation | Deed::ClearLocation => {
                    self.updates.entry(id).or_default().push(number);
                }
                Deed::Replace => {}
            }
        }
    }

    /// Lines 11–14: what a destination replaces is a source of it.
    fn second_loop(&mut self, trace: &Trace) {
        for (number, event) in trace.recording.events.iter().enumerate() {
            let (Deed::Replace, Some(replaced)) = (event.deed, event.other) else {
                continue;
            };
            if event.on == replaced || !self.destinations.contains_key(&event.on) {
                continue;
            }
            let known = self.sim.entry(event.on).or_default();
            if !known.contains(&replaced) {
                known.push(replaced);
            }
            self.replaced
                .entry(event.on)
                .or_default()
                .push((number, replaced));
        }
    }

    /// Rules T and N: only for what was created, a copy has its source.
    fn insertions(&mut self, trace: &Trace) {
        for (&id, put) in &trace.recording.insertions {
            if !trace.recording.is_new(id) || self.clones.contains_key(&id) {
                continue;
            }
            if let Some(old) = put.old_terminator {
                self.terminators.insert(id, old);
            }
            let neighbour = match put.after || put.next.is_none() {
                true => put.previous,
                false => put.next,
            };
            if let Some(neighbour) = neighbour {
                self.neighbours.insert(id, neighbour);
            }
        }
    }

    /// The instructions of the input that `ids` come from. `far` also follows rules T and N through
    /// instructions that the pass made.
    pub fn resolve(&self, ids: &[InstId], far: bool) -> Vec<InstId> {
        let mut found = Vec::new();
        for &id in ids {
            self.resolve_one(id, far, &mut BTreeSet::new(), &mut found);
        }
        found
    }

    fn resolve_one(
        &self,
        id: InstId,
        far: bool,
        seen: &mut BTreeSet<InstId>,
        found: &mut Vec<InstId>,
    ) {
        if self.before.contains_key(&id) {
            if !found.contains(&id) {
                found.push(id);
            }
            return;
        }
        if !seen.insert(id) {
            return;
        }
        if let Some(sources) = self.sim.get(&id).filter(|sources| !sources.is_empty()) {
            for &source in sources {
                self.resolve_one(source, far, seen, found);
            }
        } else if far && let Some(&old) = self.terminators.get(&id) {
            self.resolve_one(old, far, seen, found);
        } else if far && let Some(&neighbour) = self.neighbours.get(&id) {
            self.resolve_one(neighbour, far, seen, found);
        }
    }

    /// Whether `id` had a location just before event `number`: the events replayed.
    pub fn located_at(&self, trace: &Trace, id: InstId, number: usize) -> bool {
        self.located(trace, id, number, 0)
    }

    fn located(&self, trace: &Trace, id: InstId, number: usize, depth: u32) -> bool {
        /// Copies of copies of copies.
        const DEEPEST: u32 = 20;
        let mut located = match (self.before.get(&id), self.clones.get(&id)) {
            (Some(&(function, block, index)), _) => {
                trace.before[function].blocks[block].insts[index].location
                    != candor_llvm::Location::None
            }
            (None, Some(&source)) if depth < DEEPEST => {
                let made = self.destinations.get(&id).map_or(0, |made| made.1);
                self.located(trace, source, made, depth + 1)
            }
            _ => false,
        };
        for &update in self.updates.get(&id).into_iter().flatten() {
            if update >= number {
                break;
            }
            match trace.recording.events.get(update).map(|event| event.deed) {
                Some(Deed::Merge | Deed::SetLocation) => located = true,
                Some(Deed::Drop | Deed::ClearLocation) => located = false,
                _ => {}
            }
        }
        located
    }

    /// The last thing done to the location of `id`, which ends up with one or without.
    pub fn operation(&self, trace: &Trace, id: InstId, located: bool) -> Operation {
        let mut operation = match (self.clones.contains_key(&id), self.before.contains_key(&id)) {
            (true, _) => Operation::Copied,
            (false, true) => Operation::Kept,
            (false, false) => Operation::Nothing,
        };
        let mut explicit = false;
        for &update in self.updates.get(&id).into_iter().flatten() {
            match trace.recording.events.get(update).map(|event| event.deed) {
                Some(Deed::Merge) => (operation, explicit) = (Operation::Merged, true),
                Some(Deed::Drop) => (operation, explicit) = (Operation::Dropped, true),
                Some(Deed::SetLocation) => (operation, explicit) = (Operation::Set, true),
                // Setting a location clears the old one first.
                Some(Deed::ClearLocation) if !explicit || !located => {
                    operation = Operation::Cleared;
                }
                _ => {}
            }
        }
        operation
    }
}

fn places(functions: &[candor_llvm::Function]) -> BTreeMap<InstId, Place> {
    let mut all = BTreeMap::new();
    for (f, function) in functions.iter().enumerate() {
        for (b, block) in function.blocks.iter().enumerate() {
            for (i, one) in block.insts.iter().enumerate() {
                if let Some(id) = one.id {
                    all.insert(id, (f, b, i));
                }
            }
        }
    }
    all
}
