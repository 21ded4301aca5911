//! Guessed counterexamples: most claims that do not follow are refuted by some small state, without a solver.
//!
//! A claim that is refuted is only *not shown*, as one that a solver refutes; nothing else rests on it. So guessing badly costs a question,
//! never a proof.

use super::*;
use rustc_hash::FxHashSet;

/// States tried.
const TRIES: usize = 150;
/// Variables and cells of a question that is worth trying, at most.
const MOST_LEAVES: usize = 24;

impl Terms {
    /// Whether a guessed state satisfies the hypotheses and not the goal.
    pub(super) fn refuted(&mut self, question: &Question) -> bool {
        let mut leaves = FxHashSet::default();
        self.leaves_of(question.goal, &mut leaves);
        for hypothesis in &question.hypotheses {
            self.leaves_of(*hypothesis, &mut leaves);
        }
        if leaves.len() > MOST_LEAVES {
            return false;
        }
        let mut variables: Vec<(Atom, Var, i128, i128)> = Vec::new();
        for atom in leaves {
            if let Kind::Var(var) = *self.kind(atom) {
                let (low, high) = self.atom_range(atom);
                variables.push((atom, var, low, high));
            }
        }
        variables.sort_unstable();
        let negated = self.not(question.goal);
        let mut wanted = question.hypotheses.clone();
        wanted.push(negated);
        let solved = self.solvable(&wanted);
        let residues = self.residues(&wanted);
        let mut random = fastrand::Rng::with_seed(variables.len() as u64);
        let mut values: FxHashMap<&str, u64> = FxHashMap::default();
        for _ in 0..TRIES {
            let salt = random.u64(..);
            for (_, var, low, high) in &variables {
                let span = high.saturating_sub(*low).max(0);
                let step = match random.u8(0..8) {
                    0..4 => i128::from(random.u8(0..48)),
                    4..6 => span - i128::from(random.u8(0..8)),
                    // page by page, for addresses
                    6 => i128::from(random.u32(..)) * 4096,
                    _ => i128::from(random.u64(..)),
                };
                let mut value = low + step.rem_euclid(span + 1);
                if let Some((modulus, rest)) = residues.get(var) {
                    value += (rest - value).rem_euclid(*modulus);
                }
                values.insert(self.name_of(*var), value as u64);
            }
            for (value, var, negative) in &solved {
                values.insert(self.name_of(*var), 0);
                let rest = with_state(&values, salt, &|state| self.eval(*value, state));
                let solution = if *negative { rest } else { rest.wrapping_neg() };
                values.insert(self.name_of(*var), solution);
            }
            let met = |state: &Model<'_>| wanted.iter().all(|one| self.holds(*one, state));
            if with_state(&values, salt, &met) {
                return true;
            }
        }
        false
    }

    /// Variables that are a number modulo a power of two: both of these.
    fn residues(&self, wanted: &[Bool]) -> FxHashMap<Var, (i128, i128)> {
        let mut all: FxHashMap<Var, (i128, i128)> = FxHashMap::default();
        for condition in wanted {
            let Formula::Zero(value) = self.formula_of(*condition) else {
                continue;
            };
            let width = self.width(*value);
            let mut rest = 0;
            let mut found = None;
            for (mono, factor) in self.terms_of(*value) {
                let factor = i128::from(signed(*factor, width));
                match self.factors(*mono) {
                    [] => rest = -factor,
                    [atom] if factor == 1 && found.is_none() => found = Some(*atom),
                    _ => found = None,
                }
            }
            let known = found
                .and_then(|atom| self.low_bits_of(atom))
                .and_then(|(of, bits)| Some((self.as_var(of)?, bits)));
            if let Some((var, bits)) = known
                && all.get(&var).is_none_or(|(old, _)| *old < 1 << bits)
            {
                all.insert(var, (1 << bits, rest));
            }
        }
        all
    }

    /// Equations that can be solved for a variable: the sum that is zero, the variable, and whether its factor is -1.
    fn solvable(&self, wanted: &[Bool]) -> Vec<(Bv, Var, bool)> {
        let mut all: Vec<(Bv, Var, bool)> = Vec::new();
        for condition in wanted {
            let Formula::Zero(value) = self.formula_of(*condition) else {
                continue;
            };
            let width = self.width(*value);
            for (mono, factor) in self.terms_of(*value) {
                let [atom] = self.factors(*mono) else {
                    continue;
                };
                let var = match self.kind(*atom) {
                    Kind::Var(var) => *var,
                    Kind::Sext(inner) | Kind::Zext(inner) => match self.as_var(*inner) {
                        Some(var) => var,
                        None => continue,
                    },
                    _ => continue,
                };
                let factor = signed(*factor, width);
                if factor.abs() == 1 && !all.iter().any(|(_, other, _)| *other == var) {
                    all.push((*value, var, factor < 0));
                    break;
                }
            }
        }
        all
    }
}

/// Asks in a state: variables by name, memory by a hash of the address.
fn with_state<T>(values: &FxHashMap<&str, u64>, salt: u64, ask: &dyn Fn(&Model<'_>) -> T) -> T {
    let variable = |name: &str, width: u8| values.get(name).copied().unwrap_or(0) & mask(width);
    let cell = |address: u64, epoch: u32, width: u8| {
        let mixed = (address ^ salt ^ u64::from(epoch) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // small numbers of both signs more often than not
        let number = if mixed & 1 == 0 {
            ((mixed >> 8) as i64 % 64) as u64
        } else {
            mixed >> 7
        };
        number & mask(width)
    };
    ask(&Model {
        variable: &variable,
        cell: &cell,
    })
}
