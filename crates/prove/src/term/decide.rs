//! Does a condition follow from the hypotheses? Intervals first, then known models, then the solver.

use super::*;
use crate::solver::Answer;

/// What is asked of a solver: the hypotheses that matter and the goal.
#[derive(Clone, Debug)]
pub struct Question {
    /// Taken to hold.
    pub hypotheses: Vec<Bool>,
    /// Claimed to follow.
    pub goal: Bool,
}

impl Terms {
    /// Whether `goal` follows from the hypotheses of the present context. `false` also means "could not be
    /// shown": no caller may conclude anything from it but that.
    pub fn valid(&mut self, goal: Bool) -> bool {
        if goal == TRUE || self.context.hypotheses.contains(&goal) {
            return true;
        }
        if goal == FALSE && self.context.hypotheses.is_empty() {
            return false;
        }
        if let Some(known) = self.context.valid.get(&goal) {
            return *known;
        }
        let answer = self.decide(goal);
        self.context.valid.insert(goal, answer);
        answer
    }

    /// Whether the hypotheses exclude `condition`.
    pub fn infeasible(&mut self, condition: Bool) -> bool {
        let negated = self.not(condition);
        self.valid(negated)
    }

    /// Whether the hypotheses contradict each other.
    pub fn contradictory(&mut self) -> bool {
        self.valid(FALSE)
    }

    /// Whether two values are equal under the hypotheses.
    pub fn same(&mut self, a: Bv, b: Bv) -> bool {
        if a == b {
            return true;
        }
        let equal = self.eq(a, b);
        self.valid(equal)
    }

    fn decide(&mut self, goal: Bool) -> bool {
        if let Formula::And(parts) = self.formula_of(goal).clone() {
            return parts.iter().all(|part| self.valid(*part));
        }
        if self.follows_linearly(goal) {
            return true;
        }
        // Building the question builds terms, which may ask again; that must end.
        if self.deciding > 2 {
            return false;
        }
        self.deciding += 1;
        let answer = self.ask(goal);
        self.deciding -= 1;
        answer
    }

    /// Comparisons of sums with constants, by intervals and linear hypotheses.
    fn follows_linearly(&mut self, goal: Bool) -> bool {
        let (positive, inner) = match self.formula_of(goal) {
            Formula::Not(inner) => (false, *inner),
            _ => (true, goal),
        };
        match self.formula_of(inner).clone() {
            Formula::Slt(a, b) => {
                let (Some(a), Some(b)) = (self.lifted(a), self.lifted(b)) else {
                    return false;
                };
                let difference = self.sub(b, a);
                if !self.fits(difference) {
                    return false;
                }
                let (low, high) = self.best_range(difference, 2);
                if positive { low > 0 } else { high <= 0 }
            }
            Formula::Ult(a, b) => {
                // an unsigned comparison of a number with a sum that does not wrap as signed
                let Some(limit) = self.as_integer(a).filter(|limit| *limit >= 0) else {
                    return false;
                };
                if !self.fits(b) {
                    return false;
                }
                let (low, high) = self.best_range(b, 2);
                let limit = i128::from(limit);
                if positive {
                    low > limit || high < 0
                } else {
                    low >= 0 && high <= limit
                }
            }
            Formula::Zero(value) if positive && self.aligned(value) => true,
            Formula::Zero(value) => {
                if !self.fits(value) {
                    return false;
                }
                let (low, high) = self.best_range(value, 2);
                if positive {
                    low == 0 && high == 0
                } else {
                    low > 0 || high < 0
                }
            }
            Formula::Or(parts) if positive => parts.iter().any(|part| self.follows_linearly(*part)),
            Formula::Or(parts) => {
                let parts: Vec<Bool> = parts.to_vec();
                parts.into_iter().all(|part| {
                    let negated = self.not(part);
                    self.follows_linearly(negated)
                })
            }
            _ => false,
        }
    }

    /// `x & (2^k - 1)` of a sum whose parts are multiples of 2^k.
    fn aligned(&self, value: Bv) -> bool {
        let Some((of, bits)) = self.low_bits(value) else {
            return false;
        };
        self.common_multiple(of) >= bits && self.constant_part(of) & ((1 << bits.min(62)) - 1) == 0
    }

    /// The value over the integers in 64 bits, where the hypotheses exclude that it wraps.
    fn lifted(&mut self, value: Bv) -> Option<Bv> {
        let width = self.width(value);
        if self.fits(value) {
            return Some(self.sext_cheaply(value, 64));
        }
        if width != 32 || self.size(value) > 6 {
            return None;
        }
        let wide = self.widened(value)?;
        if !self.fits(wide) {
            return None;
        }
        let (low, high) = self.best_range(wide, 2);
        (low >= i128::from(i32::MIN) && high <= i128::from(i32::MAX)).then_some(wide)
    }

    /// A contradiction among hypotheses that share no variable is one among those of a part that do.
    fn ask_parts(&mut self) -> bool {
        let mut parts: Vec<(rustc_hash::FxHashSet<Atom>, Vec<Bool>)> = Vec::new();
        for hypothesis in self.context.hypotheses.clone() {
            let mut leaves = rustc_hash::FxHashSet::default();
            self.leaves_of(hypothesis, &mut leaves);
            let mut all = vec![hypothesis];
            let mut apart = Vec::new();
            for (theirs, part) in parts {
                if theirs.is_disjoint(&leaves) {
                    apart.push((theirs, part));
                } else {
                    leaves.extend(theirs);
                    all.extend(part);
                }
            }
            parts = apart;
            parts.push((leaves, all));
        }
        parts.into_iter().any(|(_, mut hypotheses)| {
            hypotheses.sort_unstable();
            self.ask_question(Question {
                hypotheses,
                goal: FALSE,
            })
        })
    }

    fn ask(&mut self, goal: Bool) -> bool {
        if goal == FALSE {
            return self.ask_parts();
        }
        let hypotheses = self.relevant(goal);
        if hypotheses.is_empty() && self.is_atomic(goal) {
            // One comparison of free values without any hypothesis: the canonical form already
            // decided it if it could be decided.
            if !self.reads_memory_twice(goal) {
                return false;
            }
        }
        self.ask_question(Question { hypotheses, goal })
    }

    fn ask_question(&mut self, question: Question) -> bool {
        if self.refuted(&question) {
            self.statistics.refuted += 1;
            return false;
        }
        if self
            .deadline
            .is_some_and(|end| std::time::Instant::now() > end)
        {
            self.statistics.unknown += 1;
            self.statistics.last_unknown = Some("the time limit was reached".to_owned());
            return false;
        }
        let script = self.script(&question);
        let Some(mut solver) = self.solver.take() else {
            return false;
        };
        let answer = solver.ask(&script, &mut self.statistics);
        self.solver = Some(solver);
        match answer {
            Answer::Unsat => true,
            Answer::Sat => false,
            Answer::Unknown(reason) => {
                self.statistics.unknown += 1;
                self.statistics.last_unknown = Some(reason);
                false
            }
        }
    }

    /// A comparison in which every operand is a plain sum of variables.
    fn is_atomic(&self, goal: Bool) -> bool {
        let plain = |value: Bv| {
            self.atoms_of(value)
                .iter()
                .all(|atom| matches!(self.kind(*atom), Kind::Var(_)))
        };
        match self.formula_of(goal) {
            Formula::Zero(value) => plain(*value),
            Formula::Not(inner) => self.is_atomic(*inner),
            _ => false,
        }
    }

    fn reads_memory_twice(&mut self, goal: Bool) -> bool {
        self.condition_reads_memory(goal)
    }

    /// The hypotheses that share a variable with the goal, directly or through others. Leaving out the rest is
    /// sound: fewer hypotheses prove less.
    fn relevant(&mut self, goal: Bool) -> Vec<Bool> {
        let all = self.context.hypotheses.clone();
        let mut known = rustc_hash::FxHashSet::default();
        self.leaves_of(goal, &mut known);
        let mut left: Vec<(Bool, rustc_hash::FxHashSet<Atom>)> = all
            .iter()
            .map(|hypothesis| {
                let mut leaves = rustc_hash::FxHashSet::default();
                self.leaves_of(*hypothesis, &mut leaves);
                (*hypothesis, leaves)
            })
            .collect();
        let mut chosen = Vec::new();
        loop {
            let before = chosen.len();
            left.retain(|(hypothesis, leaves)| {
                if leaves.iter().any(|leaf| known.contains(leaf)) {
                    known.extend(leaves.iter().copied());
                    chosen.push(*hypothesis);
                    false
                } else {
                    true
                }
            });
            if chosen.len() == before {
                break;
            }
        }
        chosen.sort_unstable();
        chosen
    }

    /// Variables and memory cells below a boolean.
    pub(super) fn leaves_of(&self, condition: Bool, found: &mut rustc_hash::FxHashSet<Atom>) {
        let mut values: Vec<Bv> = Vec::new();
        let mut conditions = vec![condition];
        let mut seen_values = rustc_hash::FxHashSet::default();
        let mut seen_conditions = rustc_hash::FxHashSet::default();
        loop {
            if let Some(condition) = conditions.pop() {
                if !seen_conditions.insert(condition) {
                    continue;
                }
                match self.formula_of(condition) {
                    Formula::True | Formula::False => {}
                    Formula::Zero(a) => values.push(*a),
                    Formula::Slt(a, b) | Formula::Ult(a, b) => values.extend([*a, *b]),
                    Formula::Not(inner) => conditions.push(*inner),
                    Formula::And(parts) | Formula::Or(parts) => {
                        conditions.extend_from_slice(parts);
                    }
                }
            } else if let Some(value) = values.pop() {
                if !seen_values.insert(value) {
                    continue;
                }
                for atom in self.atoms_of(value) {
                    match self.kind(atom) {
                        Kind::Var(_) => {
                            found.insert(atom);
                        }
                        Kind::Indicator(condition) => conditions.push(*condition),
                        kind => {
                            if matches!(kind, Kind::Mem(..)) {
                                found.insert(atom);
                            }
                            values.extend(Self::operands(kind));
                        }
                    }
                }
            } else {
                return;
            }
        }
    }
}
