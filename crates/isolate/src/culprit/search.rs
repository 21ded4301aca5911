//! Where along a line of numbers the claim begins to hold.
//!
//! Used for clang's pass limit and gcc's debug counters: with everything up to N allowed, from which
//! N on is the build bad? The interval is cut into one more piece than questions can be asked at a
//! time. The assumption that it is good below and bad above is checked by samples on both sides; where
//! it fails, the last change from good to bad counts, because that one makes the full build bad.

use std::collections::BTreeMap;

use crate::Error;
use crate::probe::Seen;

/// How many numbers on each side of the answer are sampled afterwards.
const SAMPLES: u64 = 3;

/// How often the search starts again above a good number that should have been bad.
const RESTARTS: usize = 4;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The greatest number known good below `bad`.
    pub good: u64,
    /// The least number known bad above `good`; `good + 1` unless numbers between cannot be told.
    pub bad: u64,
    /// Whether all samples agree with one single change.
    pub monotone: bool,
    /// Everything that was asked.
    pub samples: BTreeMap<u64, Seen>,
}

/// Answers a batch of numbers.
pub type Batch<'a> = &'a dyn Fn(&[u64]) -> Result<Vec<Seen>, Error>;

/// Looks for the change between `good` and `bad`, which are known to be so. `test` answers a batch,
/// of which `jobs` are worked on at a time.
pub fn edge(good: u64, bad: u64, jobs: usize, test: Batch<'_>) -> Result<Edge, Error> {
    let mut samples = BTreeMap::from([(good, Seen::Good), (bad, Seen::Bad)]);
    let mut ask = |numbers: Vec<u64>, samples: &mut BTreeMap<u64, Seen>| -> Result<(), Error> {
        let new: Vec<u64> = numbers
            .into_iter()
            .filter(|number| !samples.contains_key(number))
            .collect();
        let answers = test(&new)?;
        samples.extend(new.into_iter().zip(answers));
        Ok(())
    };
    let (mut low, mut high) = (good, bad);
    for _ in 0..=RESTARTS {
        narrow(&mut low, &mut high, jobs, &mut samples, &mut ask)?;
        let spread = |from: u64, to: u64| -> Vec<u64> {
            let width = to.saturating_sub(from);
            let parts = (1..=SAMPLES).map(|part| from + width * part / (SAMPLES + 1));
            parts.filter(|n| *n > from && *n < to).collect()
        };
        ask(spread(good, low), &mut samples)?;
        ask(spread(high, bad), &mut samples)?;
        let later_good = samples
            .iter()
            .rev()
            .find(|(number, seen)| **seen == Seen::Good && **number > high);
        match later_good {
            Some((number, _)) => (low, high) = (*number, bad),
            None => break,
        }
        // the nearest bad number above the new good one
        if let Some((number, _)) = samples
            .range(low + 1..)
            .find(|(_, seen)| **seen == Seen::Bad)
        {
            high = *number;
        }
    }
    let disagrees = |(number, seen): (&u64, &Seen)| match seen {
        Seen::Good => *number >= high,
        Seen::Bad => *number <= low,
        Seen::Broken(_) => false,
    };
    let monotone = !samples.iter().any(disagrees);
    Ok(Edge {
        good: low,
        bad: high,
        monotone,
        samples,
    })
}

type Ask<'a> = dyn FnMut(Vec<u64>, &mut BTreeMap<u64, Seen>) -> Result<(), Error> + 'a;

/// Narrows the interval until nothing between its ends can be told.
fn narrow(
    low: &mut u64,
    high: &mut u64,
    jobs: usize,
    samples: &mut BTreeMap<u64, Seen>,
    ask: &mut Ask<'_>,
) -> Result<(), Error> {
    loop {
        let open: Vec<u64> = (*low + 1..*high)
            .filter(|number| !samples.contains_key(number))
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        let pieces = jobs.max(1).min(open.len());
        let numbers = (1..=pieces)
            .filter_map(|piece| open.get(open.len() * piece / (pieces + 1)).copied())
            .collect();
        ask(numbers, samples)?;
        // the last change among the answers
        if let Some((number, _)) = samples
            .range(*low + 1..*high)
            .rev()
            .find(|(_, seen)| **seen == Seen::Good)
        {
            *low = *number;
        }
        if let Some((number, _)) = samples
            .range(*low + 1..*high)
            .find(|(_, seen)| **seen == Seen::Bad)
        {
            *high = *number;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn search(bad: u64, jobs: usize, judge: impl Fn(u64) -> Seen) -> (Edge, usize) {
        let asked = RefCell::new(0);
        let found = edge(0, bad, jobs, &|numbers| {
            *asked.borrow_mut() += numbers.len();
            Ok(numbers.iter().map(|number| judge(*number)).collect())
        })
        .unwrap();
        (found, asked.into_inner())
    }

    fn from(first: u64) -> impl Fn(u64) -> Seen {
        move |number| {
            if number >= first {
                Seen::Bad
            } else {
                Seen::Good
            }
        }
    }

    #[test]
    fn every_edge_is_found_in_few_questions() {
        for jobs in [1, 2, 7] {
            for first in 1..=272 {
                let (found, asked) = search(272, jobs, from(first));
                assert_eq!((found.good, found.bad), (first - 1, first), "{jobs} jobs");
                assert!(found.monotone);
                assert!(asked <= 6 + 9 * jobs, "{asked} questions for {first}");
            }
        }
    }

    #[test]
    fn the_last_change_counts_and_is_reported_as_one_of_several() {
        // bad from 40 to 99, hidden from 100 to 199, bad again
        let judge = |n: u64| {
            if (40..100).contains(&n) || n >= 200 {
                Seen::Bad
            } else {
                Seen::Good
            }
        };
        let (found, _) = search(272, 2, judge);
        assert_eq!((found.good, found.bad), (199, 200));
        assert!(!found.monotone, "{:?}", found.samples);
    }

    #[test]
    fn numbers_that_cannot_be_told_widen_the_answer() {
        let judge = |n: u64| match n {
            100..=104 => Seen::Broken("does not compile".into()),
            _ => from(103)(n),
        };
        let (found, _) = search(272, 2, judge);
        assert_eq!((found.good, found.bad), (99, 105));
    }
}
