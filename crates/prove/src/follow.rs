//! Following both programs from a start: the machine's paths, the source values they pin down, the source's steps.

use std::collections::BTreeSet;

use crate::guard::Guard;
use crate::invariant::{Column, Hypothesis, Moment, Node};
use crate::ir::{Val, ValueId};
use crate::memory::SymMemory;
use crate::region::{MachinePath, SourceEnd, machine_region, source_region};
use crate::term::{Bv, Context};

use crate::product::{
    Checked, Edge, Expanded, Fail, From, Product, Reached, Start, show_end, show_from,
};

/// Source paths followed at one time, at most.
const MOST_SOURCE_PATHS: usize = 12;

impl Product<'_> {
    pub(crate) fn machine_paths(&mut self, start: &Start) -> Checked<Vec<MachinePath>> {
        self.t.enter(start.context.clone());
        Ok(machine_region(
            &mut self.t,
            &self.world,
            self.code,
            self.calls,
            start.at,
            start.state.clone(),
            start.memory.clone(),
        )?)
    }

    /// All machine paths from a start that are possible and that traces showed; the others are shown to be impossible.
    pub fn expand(&mut self, from: From, fix: &[(ValueId, Bv)]) -> Checked<Vec<Expanded>> {
        let start = self.start(from, fix)?;
        let mut all = Vec::new();
        for path in self.machine_paths(&start)? {
            self.pause()?;
            let context = self.guarded(&start.context, &path.guard);
            self.t.enter(context.clone());
            let Some(edge) = self.edges.get(&(from, path.end)).cloned() else {
                if !self.t.contradictory() {
                    return Err(Fail::Unproved(format!(
                        "the machine path from {} to {} was never taken in any run, and could not be shown to be impossible",
                        show_from(from),
                        show_end(path.end)
                    )));
                }
                continue;
            };
            if !path.guard.is_always() && self.t.contradictory() {
                continue;
            }
            let pinned = self.pins(from, &start, &path, &edge, fix);
            if pinned.is_empty() {
                all.push(Expanded {
                    start: start.clone(),
                    path,
                    context,
                    fix: fix.to_vec(),
                });
                continue;
            }
            // States on this path have the pinned values, so they follow one of these paths to the same end.
            let mut fix = fix.to_vec();
            fix.extend(pinned);
            let start = self.start(from, &fix)?;
            let end = path.end;
            for path in self.machine_paths(&start)? {
                if path.end != end {
                    continue;
                }
                let context = self.guarded(&start.context, &path.guard);
                self.t.enter(context.clone());
                if !self.t.contradictory() {
                    all.push(Expanded {
                        start: start.clone(),
                        path,
                        context,
                        fix: fix.clone(),
                    });
                }
            }
        }
        Ok(all)
    }

    pub(crate) fn guarded(&mut self, base: &Context, guard: &Guard) -> Context {
        self.t.enter(base.clone());
        if guard.is_always() {
            return base.clone();
        }
        let condition = guard.condition(&mut self.t);
        self.t.fork(&[condition])
    }

    /// Free source values that the path's condition determines.
    pub(crate) fn pins(
        &mut self,
        from: From,
        start: &Start,
        path: &MachinePath,
        edge: &Edge,
        fix: &[(ValueId, Bv)],
    ) -> Vec<(ValueId, Bv)> {
        let Some(at) = from else { return Vec::new() };
        if path.guard.is_always() {
            return Vec::new();
        }
        let node = &self.nodes[&at];
        let free: Vec<ValueId> = node
            .sources
            .iter()
            .copied()
            .filter(|id| {
                !self.function.is_param(*id)
                    && !fix.iter().any(|(fixed, _)| fixed == id)
                    && !node
                        .invariants
                        .iter()
                        .any(|inv| inv.column == Column::Source(*id))
            })
            .collect();
        let mut pinned = Vec::new();
        for (id, number) in &edge.pins {
            if !free.contains(id) {
                continue;
            }
            let Some(Some(Val::Int(value))) = start.env.get(id.0 as usize) else {
                continue;
            };
            let constant = self.t.integer(*number, self.t.width(*value));
            if self.t.as_constant(*value).is_none() && self.t.same(*value, constant) {
                pinned.push((*id, constant));
            }
        }
        if pinned.is_empty() && !self.function.params.is_empty() {
            pinned.extend(self.symbolic_pin(start, path, &free));
        }
        pinned
    }

    /// An equation in the path's condition that solves for a free source value.
    pub(crate) fn symbolic_pin(
        &mut self,
        start: &Start,
        path: &MachinePath,
        free: &[ValueId],
    ) -> Option<(ValueId, Bv)> {
        for literal in path.guard.certain() {
            let crate::term::Formula::Zero(difference) = *self.t.formula_of(literal) else {
                continue;
            };
            let width = self.t.width(difference);
            for id in free {
                let Some(Some(Val::Int(value))) = start.env.get(id.0 as usize) else {
                    continue;
                };
                let value = *value;
                if self.t.as_var(value).is_none() {
                    continue;
                }
                let narrow = self.t.width(value);
                let wide = if narrow == width {
                    value
                } else if narrow < width {
                    self.t.sext(value, width)
                } else {
                    continue;
                };
                let Some(factor) = self.t.coefficient(wide, difference) else {
                    continue;
                };
                let factor = crate::term::signed(factor, width);
                if factor == 0 {
                    continue;
                }
                let addends = self.t.addends(difference);
                if addends.iter().any(|(k, _)| k % factor != 0) {
                    continue;
                }
                let mut rest = self.t.constant(0, width);
                for (k, mono) in addends {
                    if mono != wide {
                        let part = (-(k / factor)) as u64;
                        rest = self.t.linear(&[(1, rest), (part, mono)], width);
                    }
                }
                let solution = self.t.trunc(rest, narrow);
                if self.t.coefficient(value, solution).is_none() && self.t.same(value, solution) {
                    return Some((*id, solution));
                }
            }
        }
        None
    }

    /// Runs the source for `steps` steps (any of them, for a return) and requires that it arrives where the machine does.
    pub fn run_source(
        &mut self,
        context: &Context,
        start: &Start,
        steps: &BTreeSet<usize>,
        target: SourceEnd,
    ) -> Checked<Vec<Reached>> {
        let mut frontier = vec![Reached {
            context: context.clone(),
            env: start.env.clone(),
            memory: start.source_memory.clone(),
            result: None,
            block: Some(start.block),
        }];
        let mut arrived = Vec::new();
        let most = steps.last().copied().unwrap_or(0);
        for step in 1..=most {
            let mut next = Vec::new();
            for mut reached in frontier {
                self.pause()?;
                reached.memory.writer = step as u64;
                let Some(block) = reached.block else { continue };
                self.t.enter(reached.context.clone());
                let paths = source_region(
                    &mut self.t,
                    &self.world,
                    self.function,
                    block,
                    &reached.env,
                    &reached.memory,
                )?;
                let base = self.t.context.clone();
                for path in paths {
                    let context = self.guarded(&base, &path.guard);
                    self.t.enter(context.clone());
                    if !path.guard.is_always() && self.t.contradictory() {
                        continue;
                    }
                    match path.end {
                        SourceEnd::Return if target == SourceEnd::Return => arrived.push(Reached {
                            context,
                            env: path.env,
                            memory: path.memory,
                            result: path.result,
                            block: None,
                        }),
                        SourceEnd::Return => {
                            return Err(Fail::Unproved(
                                "the source may return where the machine code goes on".to_owned(),
                            ));
                        }
                        SourceEnd::Head(head) => next.push(Reached {
                            context,
                            env: path.env,
                            memory: path.memory,
                            result: None,
                            block: Some(head),
                        }),
                    }
                }
            }
            if next.len() > MOST_SOURCE_PATHS {
                return Err(Fail::Unproved(
                    "the source takes too many different ways at once".to_owned(),
                ));
            }
            frontier = next;
        }
        for reached in frontier {
            match (target, reached.block) {
                (SourceEnd::Head(head), Some(block)) if head == block => arrived.push(reached),
                _ => {
                    self.t.enter(reached.context);
                    if !self.t.contradictory() {
                        let line = reached
                            .block
                            .map_or(0, |block| self.function.block(block).line);
                        return Err(Fail::Unproved(format!(
                            "the source may be at its loop of line {line} when the machine code {}",
                            match target {
                                SourceEnd::Return => "returns".to_owned(),
                                SourceEnd::Head(head) => format!(
                                    "begins an iteration of the loop of line {}",
                                    self.function.block(head).line
                                ),
                            }
                        )));
                    }
                }
            }
        }
        Ok(arrived)
    }

    /// Several step counts on one machine edge: the smallest after which the target's bounds hold again, case by case.
    pub(crate) fn run_source_cases(
        &mut self,
        expanded: &Expanded,
        steps: &BTreeSet<usize>,
        node: &Node,
    ) -> Checked<Vec<Reached>> {
        let mut all = Vec::new();
        let mut context = expanded.context.clone();
        let target = SourceEnd::Head(node.head);
        for (index, count) in steps.iter().enumerate() {
            let only = BTreeSet::from([*count]);
            if index + 1 == steps.len() {
                all.extend(self.run_source(&context, &expanded.start, &only, target)?);
                break;
            }
            let Ok(mut reached) = self.run_source(&context, &expanded.start, &only, target) else {
                continue;
            };
            let (Some(one), true) = (reached.pop(), reached.is_empty()) else {
                return Err(Fail::Unproved(
                    "one machine path with several source paths".to_owned(),
                ));
            };
            self.t.enter(one.context.clone());
            let moment = Moment {
                world: &self.world,
                function: self.function,
                env: &one.env,
                state: &expanded.path.state,
                memory: &expanded.path.memory,
            };
            let mut parts = Vec::new();
            for hypothesis in &node.hypotheses {
                if let Hypothesis::AtLeast(column, _) | Hypothesis::AtMost(column, _) = hypothesis
                    && column.is_source()
                {
                    parts.push(moment.condition(&mut self.t, hypothesis)?);
                }
            }
            let inside = self.t.and_all(&parts);
            let case = self.t.fork(&[inside]);
            let outside = self.t.not(inside);
            self.t.enter(case.clone());
            if !self.t.contradictory() {
                all.push(Reached {
                    context: case,
                    ..one
                });
            }
            self.t.enter(context);
            context = self.t.fork(&[outside]);
            self.t.enter(context.clone());
            if self.t.contradictory() {
                break;
            }
        }
        Ok(all)
    }

    /// The machine region again under more facts; `None` unless exactly one path leads to the same end.
    pub(crate) fn rerun(
        &mut self,
        from: From,
        expanded: &Expanded,
        facts: &Context,
    ) -> Checked<Option<MachinePath>> {
        let mut start = self.start(from, &expanded.fix)?;
        self.t.context.learn_from(facts);
        for hypothesis in facts.hypotheses() {
            self.t.assume(*hypothesis);
        }
        start.context = self.t.context.clone();
        let end = expanded.path.end;
        let mut same: Vec<MachinePath> = self
            .machine_paths(&start)?
            .into_iter()
            .filter(|path| path.end == end)
            .collect();
        Ok(if same.len() == 1 { same.pop() } else { None })
    }

    pub(crate) fn touches_ahead(
        &mut self,
        reached: &Reached,
    ) -> Checked<Vec<crate::memory::Touch>> {
        let Some(block) = reached.block else {
            return Ok(Vec::new());
        };
        self.t.enter(reached.context.clone());
        let memory = SymMemory::default();
        let paths = source_region(
            &mut self.t,
            &self.world,
            self.function,
            block,
            &reached.env,
            &memory,
        )?;
        let mut all = Vec::new();
        for path in paths {
            all.extend(path.memory.touches);
        }
        Ok(all)
    }
}
