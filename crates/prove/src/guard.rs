//! Path conditions: disjunctions of conjunctions, with resolution.
//!
//! *Why not plain terms:* two paths that part at a condition and come together again must leave no trace of it;
//! `(g ∧ c) ∨ (g ∧ ¬c)` is `g` here.

use std::collections::BTreeSet;

use crate::term::{Bool, FALSE, Formula, TRUE, Terms};

/// A path condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard(BTreeSet<BTreeSet<Bool>>);

impl Guard {
    /// The condition that always holds.
    pub fn always() -> Self {
        Guard(BTreeSet::from([BTreeSet::new()]))
    }

    /// Whether it always holds.
    pub fn is_always(&self) -> bool {
        *self == Self::always()
    }

    /// Whether it never holds.
    pub fn is_never(&self) -> bool {
        self.0.is_empty()
    }

    /// With one more condition.
    pub fn and(&self, t: &mut Terms, condition: Bool) -> Self {
        if condition == TRUE {
            return self.clone();
        }
        if condition == FALSE {
            return Guard(BTreeSet::new());
        }
        let literals: Vec<Bool> = match t.formula_of(condition) {
            Formula::And(parts) => parts.to_vec(),
            _ => vec![condition],
        };
        let mut all = BTreeSet::new();
        for conjunction in &self.0 {
            let mut now = conjunction.clone();
            let mut possible = true;
            for literal in &literals {
                if now.contains(&t.not(*literal)) {
                    possible = false;
                    break;
                }
                now.insert(*literal);
            }
            if possible {
                all.insert(now);
            }
        }
        Guard(resolved(t, all))
    }

    /// Any of several.
    pub fn any(t: &mut Terms, guards: &[Guard]) -> Self {
        let all = guards
            .iter()
            .flat_map(|guard| guard.0.iter().cloned())
            .collect();
        Guard(resolved(t, all))
    }

    /// As a term.
    pub fn condition(&self, t: &mut Terms) -> Bool {
        let parts: Vec<Bool> = self
            .0
            .iter()
            .map(|conjunction| {
                let literals: Vec<Bool> = conjunction.iter().copied().collect();
                t.and_all(&literals)
            })
            .collect();
        t.or_all(&parts)
    }

    /// The literals that hold on every path.
    pub fn certain(&self) -> Vec<Bool> {
        let mut all = self.0.iter();
        let Some(first) = all.next() else {
            return Vec::new();
        };
        let rest: Vec<_> = all.collect();
        first
            .iter()
            .filter(|literal| rest.iter().all(|other| other.contains(literal)))
            .copied()
            .collect()
    }

    /// Whether any literal reads memory.
    pub fn reads_memory(&self, t: &mut Terms) -> bool {
        self.0
            .iter()
            .flatten()
            .any(|literal| t.condition_reads_memory(*literal))
    }
}

/// What tells guards of paths that come together apart, without what they share.
pub fn distinguishing(t: &mut Terms, guards: &[Guard]) -> Vec<Bool> {
    let all: BTreeSet<BTreeSet<Bool>> = guards.iter().flat_map(|guard| guard.0.clone()).collect();
    let shared = Guard(all).certain();
    guards
        .iter()
        .map(|guard| {
            let own = guard
                .0
                .iter()
                .map(|conjunction| {
                    conjunction
                        .iter()
                        .filter(|literal| !shared.contains(literal))
                        .copied()
                        .collect()
                })
                .collect();
            Guard(own).condition(t)
        })
        .collect()
}

fn resolved(t: &mut Terms, mut all: BTreeSet<BTreeSet<Bool>>) -> BTreeSet<BTreeSet<Bool>> {
    if all.len() > 64 {
        return all;
    }
    loop {
        let list: Vec<BTreeSet<Bool>> = all.iter().cloned().collect();
        let mut change: Option<(BTreeSet<Bool>, Option<BTreeSet<Bool>>)> = None;
        'search: for a in &list {
            for b in &list {
                if a == b {
                    continue;
                }
                if a.is_subset(b) {
                    change = Some((b.clone(), None));
                    break 'search;
                }
                let mut only = a.difference(b);
                if let (Some(literal), None) = (only.next(), only.next()) {
                    let negated = t.not(*literal);
                    if b.contains(&negated) {
                        let mut without = a.clone();
                        without.remove(literal);
                        if b.iter().all(|l| *l == negated || without.contains(l)) {
                            change = Some((a.clone(), Some(without)));
                            break 'search;
                        }
                    }
                }
            }
        }
        match change {
            None => return all,
            Some((old, new)) => {
                all.remove(&old);
                all.extend(new);
            }
        }
    }
}
