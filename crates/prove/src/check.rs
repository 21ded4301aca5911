//! The checker: every edge of the product program, from what is claimed at its start to what is claimed at its end.
//!
//! **This file is what a proof rests on** (with the terms, the semantics, the memory and the region execution below it). Traces,
//! correlation and inferred invariants only say what to try; nothing here believes them.
//!
//! An edge goes from a node (or the entry) along one machine path to the next node (or a return), while the source takes a
//! number of steps. It is proved if, under the node's claims and the path's condition: the source takes the same way, memory
//! is equal at every cell either program stored, calls are the same, the machine touches no memory that the source does not
//! (or that does not exist for sure), does not trap, and the claims of the end hold; at a return the result is equal and the
//! stack pointer and callee-saved registers are restored. Machine edges that no trace showed must be impossible. Every cycle
//! of the product takes a source step, so if the source returns, the machine does.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::invariant::{Column, Hypothesis, Invariant, Moment, entry_register};
use crate::ir::{Val, ValueId};
use crate::memory::SymMemory;
use crate::region::{MachineEnd, MachinePath, SourceEnd, check_trouble};
use crate::term::{Bool, Bv, TRUE};
use crate::x86::{CALLEE_SAVED, NAMES, RAX, RSP};

use crate::product::{
    Checked, Dropped, Expanded, Fail, From, Product, Reached, Settled, quotient_name, shortened,
};

impl Product<'_> {
    /// Checks one machine path; claims of the end that do not hold are collected.
    pub fn check_path(
        &mut self,
        from: From,
        expanded: &Expanded,
        dropped: &mut Vec<Dropped>,
    ) -> Checked<()> {
        let end = expanded.path.end;
        let edge = self.edges.get(&(from, end)).cloned().unwrap_or_default();
        if edge.steps.is_empty() {
            return Err(Fail::Unproved("an edge without source steps".to_owned()));
        }
        let reached = match end {
            MachineEnd::Return(_) => self.run_source(
                &expanded.context,
                &expanded.start,
                &edge.steps,
                SourceEnd::Return,
            )?,
            MachineEnd::Head(at) => {
                let node = self.nodes[&at].clone();
                if edge.steps.len() > 1 {
                    self.run_source_cases(expanded, &edge.steps, &node)?
                } else {
                    let target = SourceEnd::Head(node.head);
                    self.run_source(&expanded.context, &expanded.start, &edge.steps, target)?
                }
            }
        };
        for reached in reached {
            self.pause()?;
            self.check_end(from, expanded, &reached, dropped)?;
        }
        Ok(())
    }

    fn check_end(
        &mut self,
        from: From,
        expanded: &Expanded,
        reached: &Reached,
        dropped: &mut Vec<Dropped>,
    ) -> Checked<()> {
        self.t.enter(reached.context.clone());
        let mut path = expanded.path.clone();
        let mut difference = self.memory_difference(&reached.memory, &path.memory);
        if !matches!(difference, Ok(None)) && reached.context.learnt() {
            // the machine again, knowing what the source's accesses and operations tell
            if let Some(better) = self.rerun(from, expanded, &reached.context)? {
                self.t.enter(reached.context.clone());
                difference = self.memory_difference(&reached.memory, &better.memory);
                path = better;
            }
            self.t.enter(reached.context.clone());
        }
        if let Some(what) = difference? {
            return Err(Fail::Unproved(what));
        }
        self.check_touches(reached, &path)?;
        for obligation in path.memory.obligations.clone() {
            if !self.t.valid(obligation) {
                return Err(Fail::Unproved(format!(
                    "the machine code may trap (a division by zero or a misaligned vector access): {} could not be shown",
                    shortened(&self.t.show_condition(obligation))
                )));
            }
        }
        let expected_depth = match path.end {
            MachineEnd::Return(_) => 0,
            MachineEnd::Head(at) => self.nodes[&at].depth,
        };
        let rsp = self.t.offset(self.world.rsp, expected_depth);
        if path.state.regs[RSP] != rsp {
            return Err(Fail::Unproved(
                "the stack pointer is not restored".to_owned(),
            ));
        }
        match path.end {
            MachineEnd::Return(_) => self.check_return(&path, reached),
            MachineEnd::Head(at) => self.check_claims(at, &path, reached, dropped),
        }?;
        self.note_stores(from, &path, reached);
        self.note_settled(from, expanded, reached);
        Ok(())
    }

    /// Which source values are numbers on this edge: those that are on all its paths.
    fn note_settled(&mut self, from: From, expanded: &Expanded, reached: &Reached) {
        let numbers = |env: &crate::ir::Env<crate::term::Terms>| -> BTreeMap<ValueId, u64> {
            env.iter()
                .enumerate()
                .filter_map(|(index, value)| match value {
                    Some(Val::Int(value)) => {
                        Some((ValueId(index as u32), self.t.as_constant(*value)?))
                    }
                    _ => None,
                })
                .collect()
        };
        let now = Settled {
            start: numbers(&expanded.start.env),
            end: numbers(&reached.env),
        };
        match self.settled.entry((from, expanded.path.end)) {
            Entry::Vacant(slot) => {
                slot.insert(now);
            }
            Entry::Occupied(mut slot) => {
                let known = slot.get_mut();
                known
                    .start
                    .retain(|id, number| now.start.get(id) == Some(number));
                known
                    .end
                    .retain(|id, number| now.end.get(id) == Some(number));
            }
        }
    }

    /// Which source steps the machine's stores realise: those that store the same cells.
    fn note_stores(&mut self, from: From, path: &MachinePath, reached: &Reached) {
        for (cell, at) in &path.memory.trail {
            let realised = self.stores.entry((from, *at)).or_default();
            let mut found = false;
            for (address, step) in &reached.memory.trail {
                if address == cell {
                    found = true;
                    realised.steps.insert(*step);
                }
            }
            realised.complete &= found;
        }
    }

    fn check_return(&mut self, path: &MachinePath, reached: &Reached) -> Checked<()> {
        for register in CALLEE_SAVED {
            let entry = entry_register(&mut self.t, register);
            let now = path.state.regs[register];
            if now != entry && !self.t.same(now, entry) {
                return Err(Fail::Unproved(format!(
                    "{} is not restored at the return",
                    NAMES[register]
                )));
            }
        }
        let (Some(width), Some(result)) = (self.function.result, reached.result) else {
            return Ok(());
        };
        let met = self.t.trunc(path.state.regs[RAX], width);
        if !self.t.same(result, met) {
            return Err(Fail::Unproved(format!(
                "the returned values could not be shown to be equal: {} in the source, {} in the machine code",
                shortened(&self.t.show(result)),
                shortened(&self.t.show(met))
            )));
        }
        Ok(())
    }

    fn check_claims(
        &mut self,
        at: u64,
        path: &MachinePath,
        reached: &Reached,
        dropped: &mut Vec<Dropped>,
    ) -> Checked<()> {
        let node = self.nodes[&at].clone();
        for invariant in &node.invariants {
            if !self.claim_holds(invariant, path, reached) {
                dropped.push(Dropped::Invariant(at, invariant.clone()));
            }
        }
        for hypothesis in &node.hypotheses {
            let moment = Moment {
                world: &self.world,
                function: self.function,
                env: &reached.env,
                state: &path.state,
                memory: &path.memory,
            };
            let holds = match moment.condition(&mut self.t, hypothesis) {
                Ok(condition) => self.t.valid(condition),
                Err(_) => false,
            };
            if !holds {
                dropped.push(Dropped::Hypothesis(at, hypothesis.clone()));
            }
        }
        check_trouble(&mut self.t)?;
        // what lives at the source head must have a value, or the node cannot be started
        for id in &node.sources {
            if !matches!(reached.env.get(id.0 as usize), Some(Some(_))) {
                return Err(Fail::Unproved(
                    "a source value is missing at a loop head".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn claim_holds(
        &mut self,
        invariant: &Invariant,
        path: &MachinePath,
        reached: &Reached,
    ) -> bool {
        let moment = Moment {
            world: &self.world,
            function: self.function,
            env: &reached.env,
            state: &path.state,
            memory: &path.memory,
        };
        let t = &mut self.t;
        let (Ok(met), Ok(claimed)) = (
            moment.value(t, invariant.column),
            moment.defined(t, invariant),
        ) else {
            return false;
        };
        if t.width(met) != t.width(claimed) || !t.same(met, claimed) {
            return false;
        }
        match invariant.column {
            Column::Low(number) => {
                let whole = path.state.regs[number as usize];
                let extended = t.zext(met, 64);
                t.same(whole, extended)
            }
            _ => true,
        }
    }

    /// Where the two memories differ, or may differ; also the calls made.
    fn memory_difference(
        &mut self,
        source: &SymMemory,
        machine: &SymMemory,
    ) -> Checked<Option<String>> {
        if source.calls.len() != machine.calls.len() {
            return Ok(Some("the programs make different calls".to_owned()));
        }
        for (ours, theirs) in source.calls.iter().zip(&machine.calls) {
            let same_arguments = ours.callee == theirs.callee
                && ours.arguments.len() == theirs.arguments.len()
                && ours
                    .arguments
                    .iter()
                    .zip(&theirs.arguments)
                    .all(|(a, b)| self.t.same(*a, *b));
            if !same_arguments {
                return Ok(Some(format!(
                    "the arguments of the call of `{}` could not be shown to be equal",
                    ours.callee
                )));
            }
            if let Some(what) = self.stores_difference(&ours.before, &theirs.before, ours.epoch)? {
                return Ok(Some(format!(
                    "before the call of `{}`, {what}",
                    ours.callee
                )));
            }
        }
        self.stores_difference(&source.stores, &machine.stores, source.epoch())
    }

    fn stores_difference(
        &mut self,
        source: &[(Bv, Bv)],
        machine: &[(Bv, Bv)],
        epoch: u32,
    ) -> Checked<Option<String>> {
        let mut seen: BTreeSet<Bv> = BTreeSet::new();
        for (address, _) in source.iter().chain(machine) {
            if !seen.insert(*address) {
                continue;
            }
            let ours = self.world.cell(&mut self.t, source, epoch, *address)?;
            let theirs = self.world.cell(&mut self.t, machine, epoch, *address)?;
            check_trouble(&mut self.t)?;
            if !self.t.same(ours, theirs) {
                if self.t.contradictory() {
                    return Ok(None);
                }
                return Ok(Some(format!(
                    "memory at {} could not be shown to be equal: {} in the source, {} in the machine code",
                    shortened(&self.t.show(*address)),
                    shortened(&self.t.show(ours)),
                    shortened(&self.t.show(theirs))
                )));
            }
        }
        Ok(None)
    }

    /// The machine touches only memory that the source touches too, or that is part of a global.
    fn check_touches(&mut self, reached: &Reached, path: &MachinePath) -> Checked<()> {
        let mut known = reached.memory.touches.clone();
        let mut ahead = false;
        for touch in path.memory.touches.clone() {
            if self.world.object(&mut self.t, touch.address).is_some() {
                continue;
            }
            if self.is_touched(&known, touch.address, touch.guard) {
                continue;
            }
            if !ahead {
                // loads before the first iteration: the source makes them within its next step
                ahead = true;
                known.extend(self.touches_ahead(reached)?);
                self.t.enter(reached.context.clone());
                if self.is_touched(&known, touch.address, touch.guard) {
                    continue;
                }
            }
            if self.t.contradictory() {
                return Ok(());
            }
            return Err(Fail::Unproved(format!(
                "the machine code accesses memory at {}, which the source may leave alone there",
                shortened(&self.t.show(touch.address))
            )));
        }
        Ok(())
    }

    fn is_touched(&mut self, known: &[crate::memory::Touch], address: Bv, guard: Bool) -> bool {
        known.iter().any(|ours| {
            ours.address == address
                && (ours.guard == TRUE || ours.guard == guard || {
                    let not_here = self.t.not(guard);
                    let covered = self.t.or_all(&[not_here, ours.guard]);
                    self.t.valid(covered)
                })
        })
    }

    /// Checks all edges from a start.
    pub fn check_from(&mut self, from: From, dropped: &mut Vec<Dropped>) -> Checked<()> {
        let plain = self.check_plainly(from, &[], dropped);
        match plain {
            Err(Fail::Unproved(_) | Fail::Unsupported(_)) => {}
            other => return other,
        }
        let Some(split) = self.split_parameter(from) else {
            return plain;
        };
        let Some(modulus) = self.modulus else {
            return plain;
        };
        let kept = dropped.clone();
        for rest in 0..modulus {
            let width = self.function.value(split).width;
            let name = quotient_name(self.function, split);
            let quotient = self.t.var(&name, width);
            let rest = self.t.constant(rest, width);
            let value = self.t.linear(&[(modulus, quotient), (1, rest)], width);
            if self
                .check_plainly(from, &[(split, value)], dropped)
                .is_err()
            {
                *dropped = kept;
                return plain;
            }
        }
        Ok(())
    }

    fn check_plainly(
        &mut self,
        from: From,
        fix: &[(ValueId, Bv)],
        dropped: &mut Vec<Dropped>,
    ) -> Checked<()> {
        for expanded in self.expand(from, fix)? {
            self.check_path(from, &expanded, dropped)
                .map_err(|fail| match fail {
                    Fail::Unproved(what) => Fail::Unproved(format!(
                        "on the way from {} to {}: {what}",
                        self.place_name(from),
                        self.end_name(expanded.path.end)
                    )),
                    other => other,
                })?;
        }
        Ok(())
    }

    fn place_name(&self, from: From) -> String {
        match from {
            None => "the entry".to_owned(),
            Some(at) => self.end_name(MachineEnd::Head(at)),
        }
    }

    fn end_name(&self, end: MachineEnd) -> String {
        match end {
            MachineEnd::Return(at) => format!("the return at {at:#x}"),
            MachineEnd::Head(at) => {
                let line = self
                    .nodes
                    .get(&at)
                    .map_or(0, |node| self.function.block(node.head).line);
                format!("the loop head {at:#x} (source line {line})")
            }
        }
    }

    /// The parameter whose residue is worth a case distinction: a 32-bit one known not to be negative.
    fn split_parameter(&self, from: From) -> Option<ValueId> {
        let node = self.nodes.get(&from?)?;
        self.function
            .params
            .iter()
            .filter(|param| param.width == 32)
            .map(|param| param.value)
            .find(|id| {
                node.hypotheses.iter().any(|hypothesis| {
                    matches!(hypothesis, Hypothesis::AtLeast(Column::Source(other), bound) if other == id && *bound >= 0)
                })
            })
    }

    /// A cycle of the product in which the source takes no step.
    pub fn stalls(&self) -> bool {
        let zero: Vec<(u64, u64)> = self
            .edges
            .iter()
            .filter_map(|((from, end), edge)| match (from, end) {
                (Some(from), MachineEnd::Head(to)) if edge.steps.contains(&0) => Some((*from, *to)),
                _ => None,
            })
            .collect();
        // a path of more such edges than there are nodes has a cycle
        let mut reachable: BTreeSet<u64> = zero.iter().map(|(from, _)| *from).collect();
        for _ in 0..=self.nodes.len() {
            reachable = zero
                .iter()
                .filter(|(from, _)| reachable.contains(from))
                .map(|(_, to)| *to)
                .collect();
        }
        !reachable.is_empty()
    }
}
