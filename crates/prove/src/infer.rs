//! Guessing invariants from traces. Nothing here is trusted: what is guessed wrong is dropped by the checker.
//!
//! In this order, one definition per column: constants; affine rows among source variables; 64-bit registers over source
//! variables; equal lanes; 32-bit halves and lanes; memory cells; maxima and minima of lanes; then bounds and congruences
//! of what is left free.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::correlate::Correlation;
use crate::fit::relations;
use crate::image::{Code, Image};
use crate::invariant::{Column, Definition, Hypothesis, Invariant, Node};
use crate::ir::{Function, ValueId};
use crate::region::MachineEnd;
use crate::term::{mask, signed};
use crate::trace::{MachineVisit, Mood, Run, STACK, SourceVisit, UNIT_GAP, bases};
use crate::x86::{CALLEE_SAVED, NAMES, Place, RSP};

/// Visits taken from one run.
const MOST_POINTS: usize = 240;
/// Bounds beyond this are not worth stating.
const FAR: i64 = 1 << 40;

/// What is guessed from.
pub struct Evidence<'a> {
    /// The object.
    pub image: &'a Image,
    /// The machine function.
    pub code: &'a Code,
    /// The source function.
    pub function: &'a Function,
    /// Traces.
    pub runs: &'a [Run],
    /// Which visits belong together.
    pub correlation: &'a Correlation,
    /// Callee-saved registers that the function writes.
    pub saved: &'a BTreeSet<usize>,
    /// More kinds of relations (second attempt, functions with parameters).
    pub thorough: bool,
}

/// One visit seen from both sides.
struct Point<'a> {
    params: &'a [u64],
    source: &'a SourceVisit,
    machine: &'a MachineVisit,
    small: bool,
}

struct Builder<'a> {
    evidence: &'a Evidence<'a>,
    points: Vec<Point<'a>>,
    bases: Vec<u64>,
    values: FxHashMap<Column, Vec<i64>>,
    invariants: Vec<Invariant>,
    defined: FxHashSet<Column>,
}

/// A node with a score: how many relations were found.
pub fn infer(evidence: &Evidence<'_>, at: u64, quick: bool) -> Result<(Node, i64), String> {
    let head = evidence.correlation.heads[&at];
    let mut points = Vec::new();
    let mut depths = BTreeSet::new();
    for (number, run) in evidence.runs.iter().enumerate() {
        let visits: Vec<usize> = run
            .machine
            .iter()
            .enumerate()
            .filter(|(_, visit)| visit.at == MachineEnd::Head(at))
            .map(|(index, _)| index)
            .collect();
        let count = visits.len();
        for (order, index) in visits.into_iter().enumerate() {
            // all of a short run; the ends and an even spread of a long one
            let spread = count / 150 + 1;
            let keep = count <= MOST_POINTS
                || order < 40
                || order + 30 > count
                || (order * 7919) % (spread * 7) < 7;
            depths.insert(run.machine[index].regs[RSP].wrapping_sub(STACK) as i64);
            if keep || !run.machine[index].recent.is_empty() {
                points.push(Point {
                    params: &run.input.params,
                    source: &run.source[evidence.correlation.maps[number][index]],
                    machine: &run.machine[index],
                    small: run.input.mood != Mood::Any,
                });
            }
        }
    }
    if depths.len() != 1 {
        return Err(format!("rsp is not always the same at {at:#x}"));
    }
    let depth = depths.into_iter().next().unwrap_or(0);
    let mut builder = Builder {
        evidence,
        points,
        bases: bases(evidence.image),
        values: FxHashMap::default(),
        invariants: Vec::new(),
        defined: FxHashSet::default(),
    };
    let function = evidence.function;
    let mut sources: Vec<ValueId> = function.live[head.0 as usize]
        .iter()
        .copied()
        .chain(function.params.iter().map(|param| param.value))
        .collect();
    sources.sort_unstable();
    sources.dedup();
    let hypotheses = builder.run(at, &sources, depth, quick);
    let score = builder.score();
    let node = Node {
        at,
        head,
        depth,
        sources,
        invariants: builder.invariants,
        hypotheses,
    };
    Ok((node, score))
}

impl Builder<'_> {
    fn score(&self) -> i64 {
        self.invariants
            .iter()
            .map(|invariant| {
                let worth = match &invariant.by {
                    Definition::Affine { terms, .. } => i64::from(!terms.is_empty()),
                    Definition::Cell { .. } | Definition::Extreme { .. } => 1,
                    _ => 0,
                };
                worth + if invariant.column.is_source() { 3 } else { 0 }
            })
            .sum()
    }

    fn column(&mut self, column: Column) -> &[i64] {
        let function = self.evidence.function;
        if !self.values.contains_key(&column) {
            let values = self
                .points
                .iter()
                .map(|point| value_at(function, point, column).unwrap_or(0))
                .collect();
            self.values.insert(column, values);
        }
        &self.values[&column]
    }

    fn define(&mut self, column: Column, by: Definition) {
        self.defined.insert(column);
        self.invariants.push(Invariant { column, by });
    }

    /// A number that is an address becomes a place.
    fn place(&self, number: i64, width: u8) -> Place {
        // units lie apart in traced runs, so an address is near one of them only
        if width == 64
            && let Some(unit) = self
                .bases
                .iter()
                .rposition(|base| *base as i64 - UNIT_GAP / 2 <= number)
            && number < crate::trace::HEAP as i64
        {
            return Place {
                unit: Some(unit as u32),
                offset: number - self.bases[unit] as i64,
            };
        }
        Place {
            unit: None,
            offset: number,
        }
    }

    fn run(&mut self, at: u64, sources: &[ValueId], depth: i64, quick: bool) -> Vec<Hypothesis> {
        let function = self.evidence.function;
        let is_param = |column: &Column| match column {
            Column::Source(id) => function.is_param(*id),
            _ => false,
        };
        let wanted: Vec<Column> = sources
            .iter()
            .copied()
            .filter(|id| {
                let here = self
                    .points
                    .iter()
                    .all(|point| value_at(function, point, Column::Source(*id)).is_some());
                here && matches!(function.value(*id).width, 8 | 16 | 32 | 64)
            })
            .map(Column::Source)
            .collect();
        let live = self.evidence.code.live.get(&at).copied().unwrap_or(0);
        let registers: Vec<Column> = (0..16u8)
            .filter(|number| {
                let index = *number as usize;
                live >> number & 1 == 1
                    && index != RSP
                    && (!CALLEE_SAVED.contains(&index) || self.evidence.saved.contains(&index))
            })
            .map(Column::Reg)
            .collect();
        let lane_count = if self.evidence.code.uses_ymm() { 8 } else { 4 };
        let lanes: Vec<Column> = (0..16u8)
            .filter(|number| live >> (16 + number) & 1 == 1)
            .flat_map(|number| (0..lane_count).map(move |lane| Column::Lane(number, lane)))
            .collect();
        let slots: Vec<Column> = (depth.max(-512)..0)
            .step_by(8)
            .filter(|offset| offset % 8 == 0)
            .map(Column::Slot)
            .collect();
        self.saved(&registers, &slots);
        let machine: Vec<Column> = registers.iter().chain(&slots).copied().collect();
        self.constants(&machine, &lanes, &wanted);
        let is_wide = |column: &Column| column.width(function) == 64;

        // source variables among themselves: wide by narrow, the larger span by the smaller
        let mut own: Vec<Column> = wanted
            .iter()
            .copied()
            .filter(|column| !self.defined.contains(column) && !is_param(column))
            .collect();
        let spans: BTreeMap<Column, i128> = own
            .iter()
            .map(|column| (*column, span(self.column(*column))))
            .collect();
        own.sort_by_key(|column| (!is_wide(column), std::cmp::Reverse(spans[column])));
        let params: Vec<Column> = wanted
            .iter()
            .copied()
            .filter(|column| is_param(column) && !self.defined.contains(column))
            .collect();
        self.rows(&own, &params, 64);
        let free: Vec<Column> = wanted
            .iter()
            .copied()
            .filter(|column| !self.defined.contains(column))
            .collect();
        let left = |builder: &Self, columns: &[Column]| -> Vec<Column> {
            columns
                .iter()
                .copied()
                .filter(|column| !builder.defined.contains(column))
                .collect()
        };
        let rest = left(self, &machine);
        self.rows(&rest, &free, 64);
        let quotients: Vec<Column> = free
            .iter()
            .filter_map(|column| self.quotient(*column))
            .collect();
        if !quotients.is_empty() {
            let rest = left(self, &machine);
            let fixed: Vec<Column> = quotients.iter().chain(&params).copied().collect();
            self.rows(&rest, &fixed, 64);
        }
        if self.evidence.thorough {
            let masked: Vec<Column> = function
                .params
                .iter()
                .filter(|param| param.width == 32)
                .flat_map(|param| [3, 7].map(|mask| Column::Masked(param.value, mask)))
                .collect();
            let rest = left(self, &machine);
            let fixed: Vec<Column> = free.iter().chain(&masked).copied().collect();
            self.rows(&rest, &fixed, 64);
        }
        // 32-bit views
        let mut halves = Vec::new();
        for column in left(self, &machine) {
            match column {
                Column::Reg(number) => {
                    let zero = self
                        .points
                        .iter()
                        .all(|point| point.machine.regs[number as usize] >> 32 == 0);
                    halves.push(if zero {
                        Column::Low(number)
                    } else {
                        Column::LowAny(number)
                    });
                }
                Column::Slot(offset) => {
                    halves.push(Column::HalfSlot(offset));
                    halves.push(Column::HalfSlot(offset + 4));
                }
                _ => {}
            }
        }
        let rest: Vec<Column> = left(self, &lanes)
            .into_iter()
            .chain(halves.iter().copied())
            .collect();
        self.equal(&rest);
        let narrow: Vec<Column> = free
            .iter()
            .copied()
            .filter(|column| !is_wide(column))
            .collect();
        let rest = left(self, &halves);
        self.rows(&rest, &narrow, 32);
        let rest: Vec<Column> = left(self, &lanes)
            .into_iter()
            .chain(left(self, &halves))
            .collect();
        self.rows(&rest, &narrow, 32);
        if quick {
            return Vec::new();
        }
        let cells: Vec<Column> = lanes
            .iter()
            .chain(&halves)
            .chain(
                wanted
                    .iter()
                    .filter(|c| !is_param(c) && c.width(function) == 32),
            )
            .copied()
            .filter(|column| !self.defined.contains(column))
            .collect();
        for column in cells {
            self.cell(column, &free);
        }
        self.extremes(&wanted, &lanes, &halves, &is_param);
        self.hypotheses(&wanted, &registers, &is_param)
    }

    /// The step and first value of a source value that moves in steps, for functions without parameters (there bounds are numbers).
    fn stepping(&mut self, column: Column) -> Option<(u64, u64)> {
        if !self.evidence.function.params.is_empty() || !matches!(column, Column::Source(_)) {
            return None;
        }
        let values = self.column(column);
        let first = *values.first()?;
        let low = values.iter().min()?;
        let step = values.iter().fold(0u64, |g, v| gcd(g, v.abs_diff(first)));
        (step > 1 && step < 5000 && *low >= 0).then(|| (step, first as u64 % step))
    }

    fn quotient(&mut self, column: Column) -> Option<Column> {
        let (step, rest) = self.stepping(column)?;
        match column {
            Column::Source(id) => Some(Column::Quotient(id, step, rest)),
            _ => None,
        }
    }

    /// Callee-saved values that are kept in the frame or still in their register.
    fn saved(&mut self, registers: &[Column], slots: &[Column]) {
        for column in registers.iter().chain(slots) {
            let values: Vec<i64> = self.column(*column).to_vec();
            for register in CALLEE_SAVED {
                let entry = 0x1111_1111_0000_0000 + register as i64;
                if !values.is_empty() && values.iter().all(|value| *value == entry) {
                    self.define(*column, Definition::Saved(register as u8));
                    break;
                }
            }
        }
    }

    fn constants(&mut self, machine: &[Column], lanes: &[Column], wanted: &[Column]) {
        let function = self.evidence.function;
        let all: Vec<Column> = machine.iter().chain(lanes).chain(wanted).copied().collect();
        for column in all {
            let is_param = matches!(column, Column::Source(id) if function.is_param(id));
            if self.defined.contains(&column) || is_param {
                continue;
            }
            let values = self.column(column);
            let Some(first) = values.first().copied() else {
                continue;
            };
            let near = matches!(column, Column::Lane(..)) || first.abs() < 1 << 47;
            if values.len() > 1 && near && values.iter().all(|value| *value == first) {
                let width = column.width(function);
                let constant = self.place(first, width);
                let by = Definition::Affine {
                    terms: Vec::new(),
                    constant,
                    width,
                };
                self.define(column, by);
            }
        }
    }

    /// Fits `columns`, in this order, against each other and against `fixed` columns.
    fn rows(&mut self, columns: &[Column], fixed: &[Column], width: u8) {
        if columns.is_empty() {
            return;
        }
        let all: Vec<Column> = columns.iter().chain(fixed).copied().collect();
        for column in &all {
            self.column(*column);
        }
        let small: Vec<usize> = (0..self.points.len())
            .filter(|i| self.points[*i].small)
            .collect();
        let mut chosen: Vec<usize> = if small.len() < all.len() + 3 {
            (0..self.points.len()).collect()
        } else {
            small
        };
        // Runs among each other: the search ends when rows bring nothing new, and in one run a parameter never changes.
        chosen.sort_by_key(|point| (*point as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let matrix: Vec<Vec<i64>> = chosen
            .iter()
            .map(|point| {
                let mut row: Vec<i64> = all.iter().map(|c| self.values[c][*point]).collect();
                row.push(1);
                row
            })
            .collect();
        let function = self.evidence.function;
        for relation in relations(&matrix, all.len() + 1) {
            let Some(column) = all.get(relation.pivot).copied() else {
                continue;
            };
            if relation.pivot >= columns.len() {
                continue;
            }
            let width = if column.is_source() {
                column.width(function)
            } else {
                width
            };
            let mut terms = Vec::new();
            let mut constant = 0;
            for (index, factor) in &relation.others {
                match all.get(*index) {
                    Some(other) => terms.push((-factor, *other)),
                    None => constant = -factor,
                }
            }
            let ones = mask(width);
            let holds = (0..self.points.len()).all(|point| {
                let mut sum = constant;
                for (factor, other) in &terms {
                    sum = i64::wrapping_add(sum, factor.wrapping_mul(self.values[other][point]));
                }
                (self.values[&column][point].wrapping_sub(sum)) as u64 & ones == 0
            });
            if holds {
                let constant = self.place(constant, width);
                let by = Definition::Affine {
                    terms,
                    constant,
                    width,
                };
                self.define(column, by);
            }
        }
    }

    /// Columns that always hold the same.
    fn equal(&mut self, columns: &[Column]) {
        let mut known: FxHashMap<Vec<i64>, Column> = FxHashMap::default();
        for column in columns {
            let values = self.column(*column).to_vec();
            match known.get(&values) {
                Some(other) => {
                    let by = Definition::Affine {
                        terms: vec![(1, *other)],
                        constant: Place {
                            unit: None,
                            offset: 0,
                        },
                        width: 32,
                    };
                    self.define(*column, by);
                }
                None => {
                    known.insert(values, *column);
                }
            }
        }
    }

    /// Is the column what memory holds at an affine address?
    fn cell(&mut self, column: Column, free: &[Column]) {
        let snapshots: Vec<usize> = (0..self.points.len())
            .filter(|i| !self.points[*i].small && !self.points[*i].machine.recent.is_empty())
            .take(12)
            .collect();
        if snapshots.len() < 4 {
            return;
        }
        let columns: Vec<Column> = free
            .iter()
            .copied()
            .filter(|other| *other != column)
            .collect();
        self.column(column);
        for other in &columns {
            self.column(*other);
        }
        let mut places: Vec<Vec<u64>> = Vec::new();
        for point in &snapshots {
            let value = self.values[&column][*point] as u32;
            let at: Vec<u64> = self.points[*point]
                .machine
                .recent
                .iter()
                .filter(|(_, content)| *content == value)
                .map(|(address, _)| *address)
                .take(3)
                .collect();
            if at.is_empty() {
                return;
            }
            places.push(at);
        }
        // which of several places is meant differs from snapshot to snapshot: try few combinations
        let most = places.iter().map(Vec::len).product::<usize>().min(32);
        for combination in 0..most {
            let mut rest = combination;
            let matrix: Vec<Vec<i64>> = snapshots
                .iter()
                .zip(&places)
                .map(|(point, at)| {
                    let chosen = at[rest % at.len()];
                    rest /= at.len();
                    let mut row = vec![chosen as i64];
                    row.extend(columns.iter().map(|c| self.values[c][*point]));
                    row.push(1);
                    row
                })
                .collect();
            let found = relations(&matrix, columns.len() + 2)
                .into_iter()
                .find(|relation| relation.pivot == 0);
            if let Some(relation) = found {
                let mut terms = Vec::new();
                let mut constant = 0;
                for (index, factor) in &relation.others {
                    match columns.get(index - 1) {
                        Some(other) => terms.push((-factor, *other)),
                        None => constant = -factor,
                    }
                }
                let constant = self.place(constant, 64);
                self.define(column, Definition::Cell { terms, constant });
                return;
            }
        }
    }

    /// Source values that are the greatest or least of all lanes of a register, of all free lanes, or of a half.
    fn extremes(
        &mut self,
        wanted: &[Column],
        lanes: &[Column],
        halves: &[Column],
        is_param: &dyn Fn(&Column) -> bool,
    ) {
        let function = self.evidence.function;
        let free: Vec<Column> = lanes
            .iter()
            .copied()
            .filter(|lane| !self.defined.contains(lane))
            .collect();
        let mut groups: Vec<Vec<Column>> = Vec::new();
        let mut registers: BTreeMap<u8, Vec<Column>> = BTreeMap::new();
        for lane in &free {
            if let Column::Lane(register, _) = lane {
                registers.entry(*register).or_default().push(*lane);
            }
        }
        groups.extend(registers.values().cloned());
        if registers.len() > 1 {
            groups.push(free.clone());
        }
        for half in halves {
            if !self.defined.contains(half) {
                groups.push(vec![*half]);
            }
        }
        for group in &groups {
            for column in group {
                self.column(*column);
            }
        }
        for column in wanted {
            if self.defined.contains(column) || is_param(column) || column.width(function) != 32 {
                continue;
            }
            let values = self.column(*column).to_vec();
            let mut chosen = None;
            'groups: for greatest in [true, false] {
                for group in &groups {
                    let fits = (0..values.len()).all(|point| {
                        let all = group.iter().map(|c| self.values[c][point]);
                        let extreme = if greatest { all.max() } else { all.min() };
                        extreme == Some(values[point])
                    });
                    if fits && !group.is_empty() {
                        chosen = Some((greatest, group.clone()));
                        break 'groups;
                    }
                }
            }
            if let Some((greatest, of)) = chosen {
                self.define(*column, Definition::Extreme { greatest, of });
            }
        }
    }

    /// Bounds and congruences of free columns, over all visits, not only the points.
    fn hypotheses(
        &mut self,
        wanted: &[Column],
        registers: &[Column],
        is_param: &dyn Fn(&Column) -> bool,
    ) -> Vec<Hypothesis> {
        let function = self.evidence.function;
        let mut all = Vec::new();
        let half_defined = |builder: &Self, column: &Column| match column {
            Column::Reg(number) => {
                builder.defined.contains(&Column::Low(*number))
                    || builder.defined.contains(&Column::LowAny(*number))
            }
            _ => false,
        };
        let free: Vec<Column> = wanted
            .iter()
            .chain(registers)
            .copied()
            .filter(|c| !self.defined.contains(c) && !half_defined(self, c))
            .collect();
        for column in &free {
            if is_param(column) && column.width(function) == 64 {
                continue;
            }
            let values = self.column(*column);
            let (Some(low), Some(high)) =
                (values.iter().min().copied(), values.iter().max().copied())
            else {
                continue;
            };
            let first = values[0];
            let step = values.iter().fold(0u64, |g, v| gcd(g, v.abs_diff(first)));
            if low.abs() < FAR && high.abs() < FAR {
                all.push(Hypothesis::AtLeast(*column, low));
                if !is_param(column) {
                    all.push(Hypothesis::AtMost(*column, high));
                }
            }
            let power = step & step.wrapping_neg();
            let odd = step > 1 && step != power && low >= 0 && step < 5000 && column.is_source();
            if let Some((step, rest)) = self.stepping(*column) {
                all.push(Hypothesis::ModAny(*column, step, rest));
            } else if odd {
                all.push(Hypothesis::ModAny(*column, step, first as u64 % step));
            } else if power > 1 {
                let power = power.min(1 << 12);
                all.push(Hypothesis::Mod(*column, power, first as u64 & (power - 1)));
            }
        }
        let moving = wanted
            .iter()
            .filter(|c| !self.defined.contains(c) && !is_param(c))
            .count();
        if !function.params.is_empty() || moving > 1 {
            self.relational(wanted, registers, &free, is_param, &mut all);
        }
        all
    }

    /// Comparisons and congruences between columns, for loops whose trip counts are parameters.
    fn relational(
        &mut self,
        wanted: &[Column],
        registers: &[Column],
        free: &[Column],
        is_param: &dyn Fn(&Column) -> bool,
        all: &mut Vec<Hypothesis>,
    ) {
        let function = self.evidence.function;
        let same_width: Vec<Column> = wanted
            .iter()
            .copied()
            .filter(|c| !self.defined.contains(c))
            .collect();
        for column in wanted.iter().chain(registers) {
            self.column(*column);
        }
        let pairs = |f: &dyn Fn(&[i64], &[i64]) -> bool, a: &Column, b: &Column| {
            f(&self.values[a], &self.values[b])
        };
        for a in &same_width {
            for b in &same_width {
                if a == b
                    || a.width(function) != b.width(function)
                    || (is_param(a) && is_param(b))
                    || (function_pointer(function, a) || function_pointer(function, b))
                {
                    continue;
                }
                if pairs(&|x, y| x.iter().zip(y).all(|(p, q)| p < q), a, b) {
                    all.push(Hypothesis::Less(*a, *b));
                } else if pairs(&|x, y| x.iter().zip(y).all(|(p, q)| p <= q), a, b) {
                    all.push(Hypothesis::LessEqual(*a, *b));
                }
            }
        }
        let compared = self.compared_registers();
        for a in registers {
            for b in registers {
                let (Column::Reg(x), Column::Reg(y)) = (a, b) else {
                    continue;
                };
                if !compared.contains(&(*x, *y)) {
                    continue;
                }
                let (va, vb) = (&self.values[a], &self.values[b]);
                let moving =
                    va.windows(2).any(|w| w[0] != w[1]) || vb.windows(2).any(|w| w[0] != w[1]);
                if !moving {
                    continue;
                }
                let zipped = || va.iter().zip(vb);
                if zipped().all(|(p, q)| (*p as u64) < *q as u64) {
                    all.push(Hypothesis::Below(*a, *b));
                } else if zipped().all(|(p, q)| *p as u64 <= *q as u64) {
                    all.push(Hypothesis::BelowEqual(*a, *b));
                }
                if x < y {
                    let first = va[0].wrapping_sub(vb[0]);
                    let step =
                        zipped().fold(0u64, |g, (p, q)| gcd(g, p.wrapping_sub(*q).abs_diff(first)));
                    let power = (step & step.wrapping_neg()).min(64);
                    if power > 1 {
                        let rest = first as u64 & (power - 1);
                        all.push(Hypothesis::ModDifference(*a, *b, power, rest));
                    }
                }
            }
        }
        if !self.evidence.thorough {
            return;
        }
        let near: Vec<Column> = free
            .iter()
            .copied()
            .filter(|c| {
                !(c.is_source() && c.width(function) == 64)
                    && self
                        .values
                        .get(c)
                        .is_some_and(|v| v.iter().all(|x| x.abs() < FAR))
            })
            .take(6)
            .collect();
        let mut sums: Vec<Vec<(i64, Column)>> = Vec::new();
        for (index, a) in near.iter().enumerate() {
            for b in &near[index + 1..] {
                sums.push(vec![(1, *a), (-1, *b)]);
                for c in &near {
                    if c != a && c != b {
                        sums.push(vec![(1, *a), (1, *b), (-1, *c)]);
                    }
                }
            }
        }
        for terms in sums {
            if terms.iter().all(|(_, c)| is_param(c)) {
                continue;
            }
            let sum = |point: usize| -> i64 {
                terms.iter().map(|(k, c)| k * self.values[c][point]).sum()
            };
            let count = self.points.len();
            let first = sum(0);
            let step = (0..count).fold(0u64, |g, p| gcd(g, sum(p).abs_diff(first)));
            let power = (step & step.wrapping_neg()).min(64);
            if power > 1 {
                all.push(Hypothesis::ModSum(
                    terms.clone(),
                    power,
                    first as u64 & (power - 1),
                ));
            }
            if (terms.len() == 3 || terms.iter().any(|(_, c)| !c.is_source()))
                && (0..count).all(|p| sum(p) <= 0)
            {
                all.push(Hypothesis::SumAtMostZero(terms.clone()));
            }
        }
    }

    /// Pairs of registers that some instruction compares.
    fn compared_registers(&self) -> BTreeSet<(u8, u8)> {
        use iced_x86::{Mnemonic, OpKind};
        let mut pairs = BTreeSet::new();
        for at in &self.evidence.code.reached {
            let raw = &self.evidence.code.ops[at].raw;
            if matches!(raw.mnemonic(), Mnemonic::Cmp | Mnemonic::Sub)
                && raw.op0_kind() == OpKind::Register
                && raw.op1_kind() == OpKind::Register
            {
                let a = raw.op0_register().full_register().number() as u8;
                let b = raw.op1_register().full_register().number() as u8;
                pairs.insert((a, b));
                pairs.insert((b, a));
            }
        }
        pairs
    }
}

fn function_pointer(function: &Function, column: &Column) -> bool {
    match column {
        Column::Source(id) => function
            .params
            .iter()
            .any(|param| param.value == *id && param.pointer),
        _ => false,
    }
}

fn span(values: &[i64]) -> i128 {
    let low = values.iter().min().copied().unwrap_or(0);
    let high = values.iter().max().copied().unwrap_or(0);
    i128::from(high) - i128::from(low)
}

/// The signed value of a column at a point; `None` if it has none.
fn value_at(function: &Function, point: &Point<'_>, column: Column) -> Option<i64> {
    let source = |id: ValueId| -> Option<u64> {
        point.source.values.get(&id).copied().or_else(|| {
            let index = function.params.iter().position(|param| param.value == id)?;
            point.params.get(index).copied()
        })
    };
    let frame = |offset: i64| -> Option<u32> {
        let found = point.machine.frame.iter().find(|(at, _)| *at == offset)?;
        Some(found.1)
    };
    Some(match column {
        Column::Source(id) => signed(source(id)?, function.value(id).width),
        Column::Masked(id, mask) => (source(id)? & mask) as i64,
        Column::Quotient(id, divisor, rest) => {
            let value = signed(source(id)?, function.value(id).width);
            (value - rest as i64) / divisor as i64
        }
        Column::Reg(number) => point.machine.regs[number as usize] as i64,
        Column::Low(number) | Column::LowAny(number) => {
            i64::from(point.machine.regs[number as usize] as i32)
        }
        Column::Lane(register, lane) => {
            i64::from(point.machine.vectors[register as usize][lane as usize] as i32)
        }
        Column::HalfSlot(offset) => i64::from(frame(offset)? as i32),
        Column::Slot(offset) => {
            let low = u64::from(frame(offset)?);
            let high = u64::from(frame(offset + 4)?);
            (low | high << 32) as i64
        }
    })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Callee-saved registers that a function writes.
pub fn written_saved(code: &Code) -> BTreeSet<usize> {
    use iced_x86::{InstructionInfoFactory, OpAccess};
    let mut factory = InstructionInfoFactory::new();
    let mut all = BTreeSet::new();
    for at in &code.reached {
        for used in factory.info(&code.ops[at].raw).used_registers() {
            let register = used.register();
            let writes = !matches!(
                used.access(),
                OpAccess::Read | OpAccess::CondRead | OpAccess::None | OpAccess::NoMemAccess
            );
            if register.is_gpr() && writes {
                let number = register.full_register().number();
                if CALLEE_SAVED.contains(&number) {
                    all.insert(number);
                }
            }
        }
    }
    debug_assert!(all.iter().all(|number| *number < NAMES.len()));
    all
}
