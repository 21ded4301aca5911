//! What is seen at one stop after the other. A program changes few of its globals between two stops; the bytes of all
//! are compared with those of the stop before, and only what differs is looked at again. What is seen is the same as
//! what [`Image::observe`](crate::Image::observe) sees, which the tests insist on.

use std::sync::Arc;

use crate::Observation;
use crate::frame::Frame;
use crate::globals::{Fixed, Globals, Stretch};
use crate::observe::{Reader, bits_of, value};
use crate::site::{Site, Variable};

/// The observations of the last stop, kept for the next one of the same run.
#[derive(Debug, Default)]
pub struct Sight {
    /// Room, then a site's own leaves, then the globals: those stay in place while the others change in number.
    seen: Vec<Observation>,
    /// Where the globals begin.
    middle: usize,
    /// How many own leaves there are.
    own: usize,
    /// How many globals are shown.
    globals: usize,
    /// Whose values `seen` holds from `middle` on, and at what bias.
    of: Option<(Arc<Fixed>, u64)>,
    /// The bytes behind them, stretch by stretch, and which stretches could be read.
    bytes: Vec<u8>,
    readable: Vec<bool>,
    /// Globals that may have changed since the stop before, unless all may have.
    changed: Vec<u32>,
    anew: bool,
    fresh: Vec<u8>,
    again: Vec<Observation>,
}

impl Sight {
    /// One observation per leaf of the site, in its order.
    pub fn observations(&self) -> &[Observation] {
        &self.seen[self.middle - self.own..self.middle + self.globals]
    }

    /// Which globals may be seen otherwise than at the stop before, counted from the first global of the site; `None`:
    /// any of them.
    pub fn changed(&self) -> Option<&[u32]> {
        (!self.anew).then_some(&self.changed)
    }

    /// Shows nothing, and forgets nothing.
    pub fn look_away(&mut self) {
        self.own = 0;
        self.globals = 0;
        self.changed.clear();
        self.anew = false;
    }

    pub(crate) fn look(&mut self, frame: &Frame<'_>, site: &Site) {
        let mut reader = Reader::new(frame);
        self.own = site.own.leaves.len();
        if self.own > self.middle {
            let missing = self.own - self.middle;
            let room = std::iter::repeat_n(Observation::OptimisedOut, missing);
            self.seen.splice(..0, room);
            self.middle = self.own;
        }
        let slots = &mut self.seen[self.middle - self.own..self.middle];
        for variable in &site.own.variables {
            reader.read(
                variable,
                variable.of(&site.own.leaves),
                variable.of_mut(slots),
            );
        }
        let globals = &*site.globals;
        self.globals = globals.leaves.len();
        self.changed.clear();
        let known = |(fixed, bias): &(Arc<Fixed>, u64)| {
            Arc::ptr_eq(fixed, &globals.fixed) && *bias == frame.machine.bias()
        };
        self.anew = !self.of.as_ref().is_some_and(known);
        if self.anew {
            self.begin(&mut reader, globals);
        } else {
            self.go_on(&mut reader, globals);
        }
    }

    /// Looks at all globals.
    fn begin(&mut self, reader: &mut Reader<'_, '_>, globals: &Globals) {
        let fixed = &globals.fixed;
        self.seen.resize(
            self.middle + globals.leaves.len(),
            Observation::OptimisedOut,
        );
        let slots = &mut self.seen[self.middle..];
        for variable in &fixed.variables {
            reader.read(
                variable,
                variable.of(&globals.leaves),
                variable.of_mut(slots),
            );
        }
        self.bytes.clear();
        self.bytes.resize(fixed.bytes, 0);
        self.readable.clear();
        let mut rest = self.bytes.as_mut_slice();
        for stretch in &fixed.stretches {
            let bytes = rest.split_off_mut(..stretch.length).unwrap_or_default();
            self.readable.push(reader.bytes(stretch.start, bytes));
        }
        self.of = Some((fixed.clone(), reader.frame.machine.bias()));
    }

    /// Looks at the globals whose bytes differ from those of the stop before, and at those without an address.
    fn go_on(&mut self, reader: &mut Reader<'_, '_>, globals: &Globals) {
        let fixed = &*globals.fixed;
        let slots = &mut self.seen[self.middle..];
        let mut rest = self.bytes.as_mut_slice();
        for (stretch, was_readable) in fixed.stretches.iter().zip(&mut self.readable) {
            let old = rest.split_off_mut(..stretch.length).unwrap_or_default();
            self.fresh.resize(stretch.length, 0);
            let is_readable = reader.bytes(stretch.start, &mut self.fresh);
            if is_readable && *was_readable {
                if *old != *self.fresh {
                    let change = Change {
                        stretch,
                        old,
                        new: &self.fresh,
                    };
                    change.apply(reader, globals, slots, &mut self.changed);
                    old.copy_from_slice(&self.fresh);
                }
                continue;
            }
            // Part of it is not there, or was not: every variable for itself.
            *was_readable = is_readable;
            old.copy_from_slice(&self.fresh);
            for (index, _) in &stretch.variables {
                if let Some(variable) = fixed.variables.get(*index) {
                    again(
                        reader,
                        variable,
                        globals,
                        slots,
                        &mut self.again,
                        &mut self.changed,
                    );
                }
            }
        }
        for index in &fixed.elsewhere {
            if let Some(variable) = fixed.variables.get(*index) {
                again(
                    reader,
                    variable,
                    globals,
                    slots,
                    &mut self.again,
                    &mut self.changed,
                );
            }
        }
    }
}

/// A stretch of memory that is not what it was.
struct Change<'c> {
    stretch: &'c Stretch,
    old: &'c [u8],
    new: &'c [u8],
}

impl Change<'_> {
    fn apply(
        &self,
        reader: &Reader<'_, '_>,
        globals: &Globals,
        slots: &mut [Observation],
        changed: &mut Vec<u32>,
    ) {
        for (index, at) in &self.stretch.variables {
            let Some(variable) = globals.fixed.variables.get(*index) else {
                continue;
            };
            let range = *at..*at + variable.known.reach as usize;
            let (Some(old), Some(new)) = (self.old.get(range.clone()), self.new.get(range)) else {
                continue;
            };
            if old == new {
                continue;
            }
            let leaves = variable.of(&globals.leaves);
            let places = (variable.first_leaf as u32..).zip(variable.of_mut(slots));
            for (leaf, (place, slot)) in leaves.iter().zip(places) {
                let bits = bits_of(new, leaf.bit_offset, leaf.bit_size);
                if bits != bits_of(old, leaf.bit_offset, leaf.bit_size)
                    && let Some(bits) = bits
                {
                    *slot = Observation::Value(value(reader.frame, leaf, bits));
                    changed.push(place);
                }
            }
        }
    }
}

/// Looks at a variable again, whether or not it changed.
fn again(
    reader: &mut Reader<'_, '_>,
    variable: &Variable,
    globals: &Globals,
    slots: &mut [Observation],
    seen: &mut Vec<Observation>,
    changed: &mut Vec<u32>,
) {
    seen.clear();
    seen.resize(variable.leaf_count, Observation::OptimisedOut);
    reader.read(variable, variable.of(&globals.leaves), seen);
    let places = (variable.first_leaf as u32..).zip(variable.of_mut(slots));
    for ((place, slot), seen) in places.zip(seen) {
        if slot != seen {
            std::mem::swap(slot, seen);
            changed.push(place);
        }
    }
}
