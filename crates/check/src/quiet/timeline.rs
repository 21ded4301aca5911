//! What the variables of one unoptimised run held, and when; and the windows of time that another build shares with it.

use std::collections::{BTreeSet, HashMap, HashSet};

use candor_dwarf::{Leaf, LeafKey, Site, Value};
use candor_tracer::{Continue, Observer, RunSummary, Stop, StopKind};

use super::{REFERENCE_VISITS, is_told};
use crate::truth::same_value;

/// A moment of a reference run: how many statements came before it.
pub(super) type Time = u32;

/// A stretch of time, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: Time,
    pub(super) to: Time,
}

impl Window {
    pub(super) fn intersect(self, other: Window) -> Window {
        Window {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }
}

/// A value in a form that is equal where the values are the same in two builds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Plain {
    Number(i128),
    Large(u128),
    Float(u128),
    NotANumber,
}

/// `None` for what has no such form: pointers.
pub(super) fn plain(value: &Value) -> Option<Plain> {
    Some(match value {
        Value::Signed(number) => Plain::Number(*number),
        Value::Unsigned(number) => match i128::try_from(*number) {
            Ok(number) => Plain::Number(number),
            Err(_) => Plain::Large(*number),
        },
        Value::Float { bits, size } => match size {
            4 if f32::from_bits(*bits as u32).is_nan() => Plain::NotANumber,
            8 if f64::from_bits(*bits as u64).is_nan() => Plain::NotANumber,
            _ => Plain::Float(*bits),
        },
        Value::Pointer(_) | Value::Variant(_) => return None,
    })
}

/// What a leaf held, in order: from a moment on a value, or none that can be relied on.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) changes: Vec<(Time, Option<Value>)>,
    /// When it began to hold a number.
    pub(super) began: HashMap<Plain, Vec<Time>>,
}

impl History {
    pub(super) fn note(&mut self, time: Time, value: Option<&Value>) {
        if self.changes.last().map(|(_, last)| last.as_ref()) == Some(value) {
            return;
        }
        self.changes.push((time, value.cloned()));
        if let Some(plain) = value.and_then(plain) {
            self.began.entry(plain).or_default().push(time);
        }
    }

    /// What it holds at a moment.
    pub(super) fn at(&self, time: Time) -> Option<&Value> {
        let after = self.changes.partition_point(|(from, _)| *from <= time);
        self.changes.get(after.checked_sub(1)?)?.1.as_ref()
    }

    /// What it holds at some moment of a window.
    pub(super) fn in_window(&self, window: Window) -> impl Iterator<Item = &Value> {
        let first = self
            .changes
            .partition_point(|(from, _)| *from <= window.from);
        let changes = self
            .changes
            .get(first.saturating_sub(1)..)
            .unwrap_or_default();
        changes
            .iter()
            .take_while(move |(from, _)| *from <= window.to)
            .filter_map(|(_, value)| value.as_ref())
    }

    /// Whether it holds `value` at some moment of the window; `None` where that cannot be told.
    pub(super) fn holds(&self, value: &Value, window: Window) -> Option<bool> {
        if let Some(plain) = plain(value) {
            let began = self.began.get(&plain).map_or(&[][..], Vec::as_slice);
            let after = began.partition_point(|from| *from < window.from);
            return Some(
                began.get(after).is_some_and(|from| *from <= window.to)
                    || self
                        .at(window.from)
                        .is_some_and(|now| same_value(now, value) == Some(true)),
            );
        }
        let mut unknown = false;
        for held in self.in_window(window) {
            match same_value(held, value) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(false)
    }
}

/// A call of another file's function.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    /// The moment of the call itself.
    pub(super) time: Time,
    /// Who calls, and on which line.
    pub(super) caller: Option<(String, u32)>,
}

/// One unoptimised run.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub(super) index: HashMap<LeafKey, usize>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) histories: Vec<History>,
    /// When a line of a function was come by.
    pub(super) lines: HashMap<(String, u32), Vec<Time>>,
    /// From when to when each call of a function lasted.
    pub(super) activations: HashMap<String, Vec<Window>>,
    /// The calls of other files' functions that compilers leave alone.
    pub(super) calls: Vec<Call>,
    /// Functions that were given up because they run too long.
    pub(super) given_up: HashSet<String>,
    pub(super) end: Time,
    /// By serial number: the function and which of its calls it was; those that have not returned.
    pub(super) open: Vec<(u32, String, usize)>,
    pub(super) summary: Option<RunSummary>,
}

impl Timeline {
    pub(super) fn whole(&self) -> Window {
        Window {
            from: 0,
            to: self.end,
        }
    }

    /// Notes which functions have returned.
    pub(super) fn close(&mut self, stop: &Stop<'_>) {
        let is_open = |serial: u32, place: usize| {
            stop.stack
                .get(place)
                .is_some_and(|one| one.serial == serial)
        };
        while let Some((serial, name, number)) = self.open.last() {
            if is_open(*serial, self.open.len() - 1) {
                break;
            }
            let window = self
                .activations
                .get_mut(name)
                .and_then(|all| all.get_mut(*number));
            if let Some(window) = window {
                window.to = self.end;
            }
            self.open.pop();
        }
    }

    /// The window after the call `number` of another file's function and before the next; 0: before the first.
    pub(super) fn between_calls(&self, number: usize) -> Window {
        let time = |index: usize| self.calls.get(index).map(|call| call.time);
        Window {
            // the statement that calls may assign before or behind the call
            from: number
                .checked_sub(1)
                .and_then(time)
                .map_or(0, |time| time.saturating_sub(1)),
            to: time(number).map_or(self.end, |time| time.saturating_add(1)),
        }
    }

    pub(super) fn call(&self, function: &str, number: u32) -> Option<Window> {
        self.activations
            .get(function)?
            .get(number as usize)
            .copied()
    }

    pub(super) fn history(&self, key: &LeafKey) -> Option<&History> {
        self.histories.get(*self.index.get(key)?)
    }

    /// Whether at every visit of a line in a window, of which there is one at least, the leaf holds something.
    pub(super) fn is_known_at(
        &self,
        history: &History,
        function: &str,
        line: u32,
        window: Window,
    ) -> bool {
        let Some(visits) = self.lines.get(&(function.to_owned(), line)) else {
            return false;
        };
        let first = visits.partition_point(|time| *time < window.from);
        let mut visits = visits
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(|time| **time <= window.to)
            .peekable();
        visits.peek().is_some() && visits.all(|time| history.at(*time).is_some())
    }

    /// Leaves only what `other`, a run of the same code with another stack, agrees on. False if it is not the same run.
    pub(super) fn agree(&mut self, other: &Timeline) -> bool {
        let lines = |timeline: &Timeline| {
            let mut lines: Vec<_> = timeline
                .lines
                .iter()
                .map(|(at, v)| (at.clone(), v.clone()))
                .collect();
            lines.sort();
            lines
        };
        if self.end != other.end || lines(self) != lines(other) {
            return false;
        }
        for (key, index) in &self.index {
            let Some(history) = self.histories.get_mut(*index) else {
                continue;
            };
            let mut agreed = History::default();
            if let Some(theirs) = other.history(key) {
                let times: BTreeSet<Time> = history
                    .changes
                    .iter()
                    .chain(&theirs.changes)
                    .map(|(time, _)| *time)
                    .collect();
                for time in times {
                    let same = match (history.at(time), theirs.at(time)) {
                        (Some(a), Some(b)) if is_same_in_both(a, b) => Some(a),
                        _ => None,
                    };
                    agreed.note(time, same);
                }
            }
            *history = agreed;
        }
        true
    }
}

/// Whether two runs of one unoptimised build hold the same; addresses that have no name are the same address there.
pub(super) fn is_same_in_both(a: &Value, b: &Value) -> bool {
    a == b || same_value(a, b) == Some(true)
}

impl Observer for Timeline {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        self.close(stop);
        match stop.kind {
            StopKind::Entry => {
                if let (Some(name), Some(top)) = (stop.name, stop.stack.last()) {
                    let all = self.activations.entry(name.to_owned()).or_default();
                    all.push(Window {
                        from: self.end,
                        to: Time::MAX,
                    });
                    self.open.push((top.serial, name.to_owned(), all.len() - 1));
                }
                return Continue::Yes;
            }
            StopKind::External => {
                if let Some(name) = stop.name.and_then(lasting) {
                    let caller = stop.site.and_then(caller);
                    self.calls.push(Call {
                        name: name.to_owned(),
                        time: self.end,
                        caller,
                    });
                    self.see(stop);
                    self.end += 1;
                }
                return Continue::Yes;
            }
            _ => {}
        }
        let time = self.end;
        let Some(site) = stop.site else {
            return Continue::Yes;
        };
        if stop.visit >= REFERENCE_VISITS {
            self.given_up.insert(site.function.clone());
        }
        // before an unoptimised function's first instructions have run, parameters are not where they are said to be
        let entering = self
            .open
            .last()
            .and_then(|(_, name, number)| self.call(name, *number as u32))
            .is_some_and(|window| window.from == time);
        if entering {
            self.end += 1;
            return Continue::Yes;
        }
        if let Some(line) = site.line {
            self.lines
                .entry((site.function.clone(), line.0))
                .or_default()
                .push(time);
        }
        self.see(stop);
        self.end += 1;
        Continue::Yes
    }
}

/// Who calls a function of another file, and on which line.
pub(super) fn caller(site: &Site) -> Option<(String, u32)> {
    Some((site.function.clone(), site.line?.0))
}

impl Timeline {
    /// Notes what is seen now.
    pub(super) fn see(&mut self, stop: &Stop<'_>) {
        let Some(site) = stop.site else { return };
        let time = self.end;
        let own = site.leaves().own.len();
        let mut see = |index: usize| {
            let (Some(leaf), Some(seen)) = (site.leaves().get(index), stop.observations.get(index))
            else {
                return;
            };
            if !is_told(leaf) {
                return;
            }
            let number = match self.index.get(&leaf.key) {
                Some(number) => *number,
                None => {
                    self.index.insert(leaf.key.clone(), self.leaves.len());
                    self.leaves.push(leaf.clone());
                    self.histories.push(History::default());
                    self.leaves.len() - 1
                }
            };
            if let Some(history) = self.histories.get_mut(number) {
                history.note(time, seen.value());
            }
        };
        (0..own).for_each(&mut see);
        match stop.changed {
            Some(changed) => changed.iter().for_each(|place| see(own + *place as usize)),
            None => (own..site.leaves().len()).for_each(&mut see),
        }
    }

    /// What a leaf holds at a call, for certain: the call of that number, made by that function on that line.
    pub(super) fn at_call(
        &self,
        number: usize,
        name: &str,
        site: &Site,
        key: &LeafKey,
    ) -> Option<&Value> {
        let call = self.calls.get(number)?;
        let is_it = call.name == name && call.caller == caller(site);
        self.history(key)?.at(call.time).filter(|_| is_it)
    }
}

/// The name under which a call of another file's function is counted; `None` for calls that compilers add, remove or
/// replace as they like.
pub(super) fn lasting(name: &str) -> Option<&str> {
    const FREE: [&str; 26] = [
        "mem", "str", "bcmp", "bcopy", "bzero", "malloc", "calloc", "realloc", "free", "abs",
        "labs", "sqrt", "pow", "exp", "log", "sin", "cos", "tan", "floor", "ceil", "round",
        "trunc", "fm", "ldexp", "sprintf", "snprintf",
    ];
    // what prints may print by another function of the family
    const PRINTS: [&str; 13] = [
        "printf",
        "puts",
        "putchar",
        "putc",
        "fputc",
        "fputs",
        "fwrite",
        "fprintf",
        "vprintf",
        "vfprintf",
        "__printf_chk",
        "__fprintf_chk",
        "_IO_putc",
    ];
    if PRINTS.contains(&name) {
        return Some("a function that prints");
    }
    let bare = name.trim_start_matches('_');
    (!FREE.iter().any(|free| bare.starts_with(free)) && !name.contains("stack_chk")).then_some(name)
}
