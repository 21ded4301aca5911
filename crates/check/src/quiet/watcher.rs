//! The optimised build: what it shows is compared with what was held, and doubted where it was not.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use candor_dwarf::{Image, Leaf, Observation, PointerValue, Site, Storage, Value};
use candor_tracer::{Continue, FOLLOWED, Observer, Stop, StopKind};

use super::timeline::{Plain, Timeline, Window, lasting, plain};
use super::{CANDIDATES, Held, MOST_DOUBTS, NAMED, QuietSeen};
use crate::compare::{Candidate, Spot, Suspect, VariableName, variable_name};
use crate::finding::{Class, Kind};
use crate::plan::Plan;
use crate::truth::same_value;

/// How narrow a window is in which a value was never held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    /// At a call of another file's function, which is the same moment in all builds.
    Moment,
    Whole,
    Activation,
    Calls,
}

impl Tier {
    pub(super) fn words(self) -> &'static str {
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
pub(super) struct Doubt {
    pub(super) tier: Tier,
    /// How often.
    pub(super) count: u64,
    /// Whose call the window is, and which.
    pub(super) activation: Option<(String, u32)>,
    pub(super) calls: usize,
    pub(super) candidate: Candidate,
}

/// The windows that a stop is in, per reference.
#[derive(Debug, Default)]
pub(super) struct Windows {
    pub(super) of: Option<(Option<u32>, usize)>,
    pub(super) activation: Vec<Option<Window>>,
    pub(super) between: Vec<Option<Window>>,
}

/// By leaf of a site: which histories it has, one per reference; `None` where some reference does not know it.
pub(super) type Numbers = Arc<[Option<Box<[usize]>>]>;

/// What was seen of a leaf, behind how many calls, in which call of the function, and what became of it.
pub(super) type Seen = (Observation, usize, Option<u32>, Class);

/// What makes one suspect.
pub(super) type DoubtKey = (Kind, VariableName);

/// Observes an optimised build.
pub(super) struct Watcher<'a> {
    pub(super) held: &'a Held,
    pub(super) image: &'a Image,
    pub(super) seen: QuietSeen,
    pub(super) doubts: BTreeMap<DoubtKey, Vec<Doubt>>,
    pub(super) calls: Vec<String>,
    /// By number of the run: a function's name, and how often it was called.
    pub(super) activations: HashMap<u32, (String, u32)>,
    /// The windows of the last stop, and of which call of which function, behind how many calls, they are.
    pub(super) around: Windows,
    /// How many values were shown and not compared: those in memory, pointers without a name, what no reference knows.
    pub(super) aside: [usize; 3],
    /// By address: which histories the leaves are, per reference.
    pub(super) known: HashMap<u64, Numbers>,
    /// By address and leaf: what was seen there, in which window, and what came of it.
    pub(super) last: HashMap<(u64, usize), Seen>,
}

impl Watcher<'_> {
    /// The function that is running, and which of its calls it is.
    pub(super) fn activation(&self, stop: &Stop<'_>) -> Option<(String, u32)> {
        let top = stop.stack.last()?;
        let (name, _) = self.activations.get(&top.function)?;
        Some((name.clone(), top.number))
    }

    /// Looks up the windows that a stop is in.
    pub(super) fn place(&mut self, stop: &Stop<'_>) {
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
    pub(super) fn histories(&mut self, site: &Site) -> Numbers {
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
    pub(super) fn weigh(
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
    pub(super) fn at_call(&mut self, stop: &Stop<'_>, name: &str) {
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
    pub(super) fn doubt(
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
    pub(super) fn conclude(&mut self, plan: Option<&Plan>, whole: bool) {
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
    pub(super) fn stands(&self, doubt: &Doubt, whole: bool) -> Option<String> {
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
pub(super) fn kind_of(class: Class) -> Option<Kind> {
    match class {
        Class::IllFormed => Some(Kind::IllFormedLocation),
        Class::Wrong => Some(Kind::WrongValue),
        _ => None,
    }
}

/// Values that are different, without what fills a stack.
pub(super) fn distinct<'v>(values: impl Iterator<Item = &'v Value>, leaf: &Leaf) -> Vec<Value> {
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
pub(super) fn is_filling(value: &Value, leaf: &Leaf) -> bool {
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
pub(super) fn words(values: &[Value]) -> String {
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
pub(super) const IN_MEMORY: &str = "InMemoryBetweenBarriers";
/// A pointer to the stack, the heap or a literal.
pub(super) const WITHOUT_NAME: &str = "PointerWithoutName";
/// Not every reference shows it, or none shows it where that line is.
pub(super) const NOT_IN_REFERENCE: &str = "NotInReference";

/// Whether what a leaf shows means anything in another build: its name is not hidden, it is no part of the system's own,
/// it cannot have been moved away (Rust), and it is part of the variable itself.
pub(super) fn is_told(leaf: &Leaf) -> bool {
    let leaves = leaf
        .route
        .as_ref()
        .is_some_and(|route| route.leaves_variable());
    let moves = leaf.key.function.is_some() && !leaf.parameter && !leaf.owning.is_empty();
    !leaf.shadowed && leaf.key.depth == 0 && !leaf.is_reserved() && !leaves && !moves
}

/// What has a meaning in another build.
pub(super) fn is_comparable(value: &Value) -> bool {
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
