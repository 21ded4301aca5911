//! Algorithms 2 and 3 on one trace: what each destination's location should have undergone, and
//! whether it did (paper 002, sections 3.2 and 3.3).
//!
//! The final state decides what was done; the observed operation only tells a forgotten update from a
//! deliberate one. Everything that may matter to a filter is written down, and nothing filtered here.

use std::collections::BTreeSet;

use candor_llvm::{Function, InstId, Location, SelfCheck, Svma, Trace};

use crate::paths::{Avoid, Graph, LineSet, Reading, avoiding_path, avoids, reached};
use crate::sources::{Place, Relations};
use crate::update::{
    Candidate, Effect, Evidence, Operation, Origin, Required, Rule, Source, Update,
};

/// What one run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Judgement {
    /// Destinations that deserve a look.
    pub updates: Vec<Update>,
    /// All destinations that were judged.
    pub destinations: usize,
    /// Whether every instruction was accounted for.
    pub check: SelfCheck,
}

/// Judges every destination of a trace. `print` gives the text of an instruction.
pub fn judge(trace: &Trace, print: &dyn Fn(u64) -> String) -> Judgement {
    let mut court = Court::new(trace);
    let mut judgement = Judgement {
        check: trace.check,
        ..Judgement::default()
    };
    let all: Vec<InstId> = court.relations.destinations.keys().copied().collect();
    for id in all {
        let Some(&place) = court.relations.after.get(&id) else {
            continue;
        };
        if let Some(mut update) = court.update(id, place, &mut judgement.destinations) {
            update.text = print(inst(&trace.after, place).address);
            judgement.updates.push(update);
        }
    }
    judgement
}

/// A control-flow graph for people: block, lines, successors.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cfg {
    /// The function.
    pub function: String,
    /// Its blocks.
    pub blocks: Vec<CfgBlock>,
}

/// A block of a [`Cfg`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CfgBlock {
    /// Its name.
    pub name: String,
    /// The lines of its instructions.
    pub lines: Vec<u32>,
    /// Names of its successors.
    pub successors: Vec<String>,
}

/// Why the control flow requires what it does.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Explanation {
    /// The input's graph.
    pub before: Cfg,
    /// The output's graph.
    pub after: Cfg,
    /// Lines on the paths through the sources.
    pub l_src: Vec<u32>,
    /// Lines on the paths through the destination.
    pub l_dst: Vec<u32>,
    /// Lines of the second set that are not in the first.
    pub extra: Vec<u32>,
    /// A path of the output that carries an extra line through the destination.
    pub carrier: Vec<String>,
    /// A path of the input through the destination's block that avoids the sources.
    pub avoiding: Vec<String>,
}

/// Explains update `number` by the sources of `rule`.
pub fn explain(trace: &Trace, number: u32, rule: Rule) -> Option<Explanation> {
    let mut court = Court::new(trace);
    let id = InstId(number);
    let place = *court.relations.after.get(&id)?;
    let sources = court.sources(id, place, rule)?;
    let places: Vec<Place> = sources
        .iter()
        .filter_map(|id| court.relations.before.get(id).copied())
        .collect();
    let (l_src, l_dst) = court.sets(&places, place, Reading::D);
    let extra: Vec<u32> = l_dst
        .lines()
        .into_iter()
        .filter(|line| !l_src.contains(*line))
        .collect();
    let first = places.first()?;
    let before = trace.before.get(first.0)?;
    let after = trace.after.get(place.0)?;
    let graph = court.after.get(place.0)?;
    let carrier = extra
        .iter()
        .flat_map(|line| graph.blocks_with(*line))
        .map(|block| graph.path_through(block, place.1, Reading::D))
        .find(|path| !path.is_empty())
        .unwrap_or_default();
    let blocks: BTreeSet<usize> = places.iter().map(|place| place.1).collect();
    let avoiding = court
        .old_block(place)
        .map(|block| avoiding_path(before, block, &blocks))
        .unwrap_or_default();
    Some(Explanation {
        l_src: l_src.lines(),
        l_dst: l_dst.lines(),
        extra,
        carrier: names(after, &carrier),
        avoiding: names(before, &avoiding),
        before: cfg(before),
        after: cfg(after),
    })
}

fn names(function: &Function, path: &[usize]) -> Vec<String> {
    path.iter()
        .map(|block| block_name(function, *block))
        .collect()
}

/// A block's name, or its number as IR text would have it when it has none.
fn block_name(function: &Function, index: usize) -> String {
    match function.blocks.get(index) {
        Some(block) if !block.name.is_empty() => block.name.clone(),
        _ if index == 0 => "entry".to_owned(),
        _ => format!("block {index}"),
    }
}

fn cfg(function: &Function) -> Cfg {
    let blocks = function
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| CfgBlock {
            name: block_name(function, index),
            lines: block
                .insts
                .iter()
                .filter_map(|one| one.location.line())
                .collect(),
            successors: names(function, &block.successors),
        })
        .collect();
    Cfg {
        function: function.name.clone(),
        blocks,
    }
}

fn inst(functions: &[Function], place: Place) -> &candor_llvm::Inst {
    &functions[place.0].blocks[place.1].insts[place.2]
}

/// A trace with its graphs.
struct Court<'a> {
    trace: &'a Trace,
    relations: Relations,
    before: Vec<Graph>,
    after: Vec<Graph>,
    /// Blocks of the input by address.
    blocks: std::collections::HashMap<u64, (usize, usize)>,
}

impl<'a> Court<'a> {
    fn new(trace: &'a Trace) -> Self {
        let mut blocks = std::collections::HashMap::new();
        for (f, function) in trace.before.iter().enumerate() {
            for (b, block) in function.blocks.iter().enumerate() {
                blocks.insert(block.address, (f, b));
            }
        }
        Court {
            trace,
            relations: Relations::of(trace),
            before: trace.before.iter().map(Graph::new).collect(),
            after: trace.after.iter().map(Graph::new).collect(),
            blocks,
        }
    }

    /// The block's address in the output, if it is still the block it was in the input.
    fn lasting_block(&self, place: Place) -> Option<u64> {
        let address = self.trace.after[place.0].blocks[place.1].address;
        let lasts = !self.trace.recording.dead_blocks.contains(&address);
        lasts.then_some(address)
    }

    /// The destination's block as it was in the input.
    fn old_block(&self, place: Place) -> Option<usize> {
        let &(function, block) = self.blocks.get(&self.lasting_block(place)?)?;
        (self.trace.before[function].name == self.trace.after[place.0].name).then_some(block)
    }

    /// The sources of `id` by one rule, in the input.
    fn sources(&self, id: InstId, place: Place, rule: Rule) -> Option<Vec<InstId>> {
        let relations = &self.relations;
        let found = match rule {
            Rule::P => relations.resolve(relations.sim.get(&id)?, false),
            Rule::T => {
                let old = *relations.terminators.get(&id)?;
                if self.was_split_off(old) {
                    return None;
                }
                let source = match self.grows(id, place) {
                    true => self.twin(place).unwrap_or(old),
                    false => old,
                };
                relations.resolve(&[source], true)
            }
            Rule::N => relations.resolve(&[*relations.neighbours.get(&id)?], true),
            Rule::S => {
                let line = inst(&self.trace.after, place).location.line()?;
                vec![*relations.by_line.get(&line)?]
            }
            Rule::C => return None,
        };
        (!found.is_empty()).then_some(found)
    }

    /// Whether a terminator is still one, at the end of the second half of a block that was split.
    fn was_split_off(&self, old: InstId) -> bool {
        let moves = self
            .relations
            .moves
            .get(&old)
            .map_or(&[][..], Vec::as_slice);
        let in_new_block = |&place: &Place| {
            self.lasting_block(place)
                .is_none_or(|address| !self.blocks.contains_key(&address))
        };
        moves.last().is_some_and(|(_, bulk)| *bulk)
            && self.relations.after.get(&old).is_some_and(in_new_block)
    }

    /// L_src and L_dst.
    fn sets(&mut self, sources: &[Place], place: Place, reading: Reading) -> (LineSet, LineSet) {
        let mut l_src = LineSet::default();
        for source in sources {
            if let Some(graph) = self.before.get_mut(source.0) {
                l_src.extend(graph.lines_through(source.1, reading));
            }
        }
        let l_dst = self
            .after
            .get_mut(place.0)
            .map(|graph| graph.lines_through(place.1, reading).clone())
            .unwrap_or_default();
        (l_src, l_dst)
    }

    fn candidate(&mut self, id: InstId, place: Place, rule: Rule) -> Option<Candidate> {
        let sources = self.sources(id, place, rule)?;
        let here = self.lasting_block(place);
        let places: Vec<Place> = sources
            .iter()
            .filter_map(|id| self.relations.before.get(id).copied())
            .collect();
        let same_block = places.iter().all(|&(function, block, _)| {
            here == Some(self.trace.before[function].blocks[block].address)
        });
        // An instruction that stayed where it was is no update.
        if rule == Rule::P && sources == [id] && same_block {
            return None;
        }
        let described: Vec<Source> = places
            .iter()
            .map(|&place| {
                let one = inst(&self.trace.before, place);
                Source {
                    block: block_name(&self.trace.before[place.0], place.1),
                    opcode: one.opcode,
                    location: one.location,
                }
            })
            .collect();
        let lines: BTreeSet<u32> = described
            .iter()
            .filter_map(|source| source.location.line())
            .collect();
        if lines.is_empty() {
            return None;
        }
        let readings = Reading::ALL.map(|reading| {
            let (l_src, l_dst) = self.sets(&places, place, reading);
            match (l_dst.is_subset(&l_src), places.len()) {
                (false, _) => Required::Drop,
                (true, 1) => Required::Preserve,
                (true, _) => Required::Merge,
            }
        });
        let one_function = places.first().map(|place| place.0);
        let blocks: BTreeSet<usize> = places.iter().map(|place| place.1).collect();
        let avoid = match (one_function, self.old_block(place)) {
            (Some(function), Some(block)) if places.iter().all(|place| place.0 == function) => {
                avoids(&self.trace.before[function], block, &blocks)
            }
            _ => Avoid::Unknown,
        };
        let effect = match inst(&self.trace.after, place).location {
            Location::None => Effect::Nothing,
            Location::Zero => Effect::Zero,
            Location::Line(line) if !lines.contains(&line) => Effect::Other,
            Location::Line(_) if lines.len() == 1 => Effect::Same,
            Location::Line(_) => Effect::One,
        };
        let name = &self.trace.after[place.0].name;
        Some(Candidate {
            rule,
            readings,
            avoid,
            effect,
            located_then: self.located_then(id, rule),
            same_block,
            same_function: places
                .iter()
                .all(|place| self.trace.before[place.0].name == *name),
            evidence: self.evidence(id, place, rule),
            grows: rule == Rule::T && self.grows(id, place) && self.twin(place).is_none(),
            precedes: rule == Rule::S && self.precedes(&places, place),
            alternatives: effect != Effect::One || self.alternatives(&places),
            sources: described,
        })
    }

    /// Whether no path of the input goes through the blocks of two sources.
    fn alternatives(&self, sources: &[Place]) -> bool {
        sources.iter().enumerate().all(|(index, one)| {
            sources.iter().skip(index + 1).all(|other| {
                let path = self
                    .before
                    .get(one.0)
                    .map(|graph| graph.path_through(one.1, other.1, Reading::D));
                one.0 == other.0 && path.is_some_and(|path| path.is_empty())
            })
        })
    }

    /// Whether only assumptions use the instruction, and something does.
    fn only_assumed(&self, place: Place) -> bool {
        let address = inst(&self.trace.after, place).address;
        let function = &self.trace.after[place.0];
        let mut users = function
            .blocks
            .iter()
            .flat_map(|block| &block.insts)
            .filter(|one| one.operands.contains(&address))
            .peekable();
        users.peek().is_some() && users.all(|one| one.is_assumption)
    }

    /// Whether every way to the destination in the output goes through a block of the sources.
    fn precedes(&self, sources: &[Place], place: Place) -> bool {
        let Some(after) = self.trace.after.get(place.0) else {
            return false;
        };
        let there: BTreeSet<usize> = sources
            .iter()
            .map(|source| self.trace.before[source.0].blocks[source.1].address)
            .filter(|address| !self.trace.recording.dead_blocks.contains(address))
            .filter_map(|address| after.blocks.iter().position(|one| one.address == address))
            .collect();
        let mut seen = BTreeSet::new();
        let mut next = vec![0];
        while let Some(block) = next.pop() {
            if there.contains(&block) || !seen.insert(block) {
                continue;
            }
            let Some(block) = after.blocks.get(block) else {
                continue;
            };
            next.extend(&block.successors);
        }
        !seen.contains(&place.1) && !there.is_empty()
    }

    /// Whether the rule's immediate source had a location when the destination was put in place.
    fn located_then(&self, id: InstId, rule: Rule) -> bool {
        let relations = &self.relations;
        let made = relations.destinations.get(&id).map_or(0, |made| made.1);
        let put = self
            .trace
            .recording
            .insertions
            .get(&id)
            .map_or(made, |put| put.event);
        let at = |source: Option<&InstId>| {
            source.is_none_or(|source| relations.located_at(self.trace, *source, put))
        };
        match rule {
            Rule::T => {
                let place = relations.after.get(&id).copied();
                let twin = place
                    .filter(|&place| self.grows(id, place))
                    .and_then(|place| self.twin(place));
                at(relations.terminators.get(&id)) && at(twin.as_ref())
            }
            Rule::N => at(relations.neighbours.get(&id)),
            Rule::P if self.trace.recording.is_new(id) => {
                let replaced = relations.replaced.get(&id).map_or(&[][..], Vec::as_slice);
                replaced.is_empty()
                    || replaced
                        .iter()
                        .any(|(event, source)| relations.located_at(self.trace, *source, *event))
            }
            Rule::P | Rule::S | Rule::C => true,
        }
    }

    fn evidence(&self, id: InstId, place: Place, rule: Rule) -> Evidence {
        let (Rule::N, Some(neighbour)) = (rule, self.relations.neighbours.get(&id)) else {
            return Evidence::default();
        };
        let Some(&there) = self.relations.after.get(neighbour) else {
            return Evidence {
                erased: true,
                ..Evidence::default()
            };
        };
        let (ours, theirs) = (
            inst(&self.trace.after, place),
            inst(&self.trace.after, there),
        );
        Evidence {
            erased: false,
            uses: theirs.operands.contains(&ours.address),
            used: ours.operands.contains(&theirs.address),
            shares: ours
                .operands
                .iter()
                .any(|operand| theirs.operands.contains(operand)),
        }
    }

    /// The only terminator of the input that decides the same on the same value: what a new terminator
    /// with more successors than its block's old one comes from.
    fn twin(&self, place: Place) -> Option<InstId> {
        let after = self.trace.after.get(place.0)?;
        let one = inst(&self.trace.after, place);
        let [condition] = one.operands.as_slice() else {
            return None;
        };
        let before = self
            .trace
            .before
            .iter()
            .find(|function| function.name == after.name)?;
        // An address may have had another owner before.
        let owner = |function: &Function| {
            let mut all = function.blocks.iter().flat_map(|block| &block.insts);
            all.find(|one| one.address == *condition)
                .and_then(|one| one.id)
        };
        if owner(before) != owner(after) {
            return None;
        }
        let mut twins = before
            .blocks
            .iter()
            .filter(|block| block.successors.len() > 1)
            .filter_map(|block| block.insts.last())
            .filter(|other| other.opcode == one.opcode && other.operands == one.operands);
        match (twins.next(), twins.next()) {
            (Some(twin), None) => twin.id,
            _ => None,
        }
    }

    fn grows(&self, id: InstId, place: Place) -> bool {
        let Some(old) = self.relations.terminators.get(&id) else {
            return false;
        };
        let new = self.trace.after[place.0].blocks[place.1].successors.len();
        let old = self
            .trace
            .recording
            .successors
            .get(old)
            .copied()
            .unwrap_or(0);
        new > (old as usize).max(1)
    }

    /// The update of one destination, if anything about it may be wrong.
    fn update(&mut self, id: InstId, place: Place, judged: &mut usize) -> Option<Update> {
        let one = inst(&self.trace.after, place);
        if one.is_debug {
            return None;
        }
        let &(origin, _, stack) = self.relations.destinations.get(&id)?;
        // A move that went back, or within the block, replaces nothing: no update.
        if origin == Origin::Moved && !self.relations.replaced.contains_key(&id) {
            let home = self.relations.before.get(&id)?;
            let address = self.trace.before[home.0].blocks[home.1].address;
            if self.lasting_block(place) == Some(address) {
                return None;
            }
        }
        *judged += 1;
        let located = one.location != Location::None;
        let operation = self.relations.operation(self.trace, id, located);
        let candidates: Vec<Candidate> = [Rule::P, Rule::T, Rule::N, Rule::S]
            .into_iter()
            .filter_map(|rule| self.candidate(id, place, rule))
            .collect();
        let forgotten = !located && operation == Operation::Nothing;
        let suspicious = forgotten
            || candidates.iter().any(|candidate| match one.location {
                Location::None => !matches!(operation, Operation::Dropped | Operation::Merged),
                Location::Zero => false,
                Location::Line(_) => {
                    candidate.any_drop()
                        || matches!(candidate.avoid, Avoid::Yes | Avoid::OnlyTraps)
                        || candidate.effect == Effect::One
                }
            });
        if !suspicious {
            return None;
        }
        let moves = self.relations.moves.get(&id).map_or(&[][..], Vec::as_slice);
        let stack_of = |stack: Option<candor_llvm::StackId>| -> Vec<Svma> {
            stack.map_or_else(Vec::new, |id| self.trace.recording.stack(id).to_vec())
        };
        let last_move = moves
            .last()
            .filter(|_| origin != Origin::Moved)
            .and_then(|(event, _)| self.trace.recording.events.get(*event)?.stack);
        Some(Update {
            number: id.0,
            function: self.trace.after[place.0].name.clone(),
            block: block_name(&self.trace.after[place.0], place.1),
            text: String::new(),
            opcode: one.opcode,
            location: one.location,
            origin,
            operation,
            candidates,
            moved_alone: moves.iter().any(|(_, bulk)| !bulk),
            moved_in_bulk: moves.iter().any(|(_, bulk)| *bulk),
            dead: reached(&self.trace.after[place.0]).get(place.1) == Some(&false),
            assumption: one.is_assumption || self.only_assumed(place),
            stack: stack_of(stack),
            move_stack: stack_of(last_move),
        })
    }
}
