//! What this process counted: for the status line at once, and in portions for the store.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use candor_store::{Count, Metric};

/// How much, of what, by whom.
type Counts = BTreeMap<(Metric, String), u64>;

/// Counts of one program, on their way into the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Portion {
    all: Counts,
    /// What the tally does not know yet.
    fresh: Counts,
}

impl Portion {
    /// Adds `more`, by `compiler` (empty: by none in particular).
    pub(crate) fn add(&mut self, metric: Metric, compiler: &str, more: u64) {
        for counts in [&mut self.all, &mut self.fresh] {
            *counts.entry((metric, compiler.to_owned())).or_default() += more;
        }
    }

    /// For the store.
    pub(crate) fn counts(&self) -> Vec<Count> {
        let count = |((metric, compiler), more): (&(Metric, String), &u64)| Count {
            metric: *metric,
            compiler: compiler.clone(),
            more: *more,
        };
        self.all.iter().map(count).collect()
    }

    /// All of one metric.
    pub(crate) fn sum(&self, metric: Metric) -> u64 {
        sum(&self.all, metric)
    }
}

fn sum(counts: &Counts, metric: Metric) -> u64 {
    let of = counts.iter().filter(|((known, _), _)| *known == metric);
    of.map(|(_, count)| count).sum()
}

/// Everything counted so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    all: Mutex<Counts>,
    found: Mutex<BTreeMap<String, u64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counters stay usable whatever happened while they were held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tally {
    /// Takes what is new in `portion`.
    pub(crate) fn take(&self, portion: &mut Portion) {
        let mut all = lock(&self.all);
        for (key, more) in std::mem::take(&mut portion.fresh) {
            *all.entry(key).or_default() += more;
        }
    }

    pub(crate) fn found(&self, kind: &str) {
        *lock(&self.found).entry(kind.to_owned()).or_default() += 1;
    }

    pub(crate) fn sum(&self, metric: Metric) -> u64 {
        sum(&lock(&self.all), metric)
    }

    pub(crate) fn by_compiler(&self, metric: Metric) -> BTreeMap<String, u64> {
        let all = lock(&self.all);
        let of = all.iter().filter(|((known, _), _)| *known == metric);
        of.map(|((_, compiler), count)| (compiler.clone(), *count))
            .collect()
    }

    pub(crate) fn found_by_kind(&self) -> BTreeMap<String, u64> {
        lock(&self.found).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_is_taken_once_and_stays_whole_for_the_store() {
        let tally = Tally::default();
        let mut portion = Portion::default();
        portion.add(Metric::Builds, "gcc-12", 2);
        tally.take(&mut portion);
        portion.add(Metric::Builds, "clang-19", 3);
        tally.take(&mut portion);
        tally.take(&mut portion);
        assert_eq!(tally.sum(Metric::Builds), 5);
        assert_eq!(portion.sum(Metric::Builds), 5);
        assert_eq!(portion.counts().len(), 2);
        assert_eq!(tally.by_compiler(Metric::Builds)["gcc-12"], 2);
    }
}
