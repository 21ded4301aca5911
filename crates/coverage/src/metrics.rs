//! How well rankings do on bugs whose files are known (paper 003, §5.3): Top-N, mean first rank, mean
//! average rank. Ties count as the worst of their places.

use serde::Serialize;

/// Where a ranking has the files of one bug.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Position {
    /// The best of them; one past the end when the ranking has none of them.
    pub first: usize,
    /// Their mean.
    pub average: f64,
    /// Whether the ranking has any of them.
    pub present: bool,
}

impl Position {
    /// The files of `truth`, each of which has a `place` among so many files, or none.
    pub fn new(truth: &[String], files: usize, place: impl Fn(&str) -> Option<usize>) -> Self {
        let worst = files + 1;
        let ranks: Vec<Option<usize>> = truth.iter().map(|file| place(file)).collect();
        let first = ranks.iter().flatten().min().copied();
        let total: usize = ranks.iter().map(|rank| rank.unwrap_or(worst)).sum();
        Position {
            first: first.unwrap_or(worst),
            average: total as f64 / ranks.len().max(1) as f64,
            present: first.is_some(),
        }
    }
}

/// Many bugs, summed up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// How many bugs.
    pub bugs: usize,
    /// How many have their file among the first 1, 5, 10, 20.
    pub top: [usize; 4],
    /// Mean first rank.
    pub mean_first: f64,
    /// Mean average rank.
    pub mean_average: f64,
    /// Bugs none of whose files the ranking has.
    pub absent: usize,
}

impl Tally {
    /// Sums up.
    pub fn of<'p>(positions: impl IntoIterator<Item = &'p Position>) -> Self {
        let mut tally = Tally::default();
        for position in positions {
            tally.bugs += 1;
            for (count, most) in tally.top.iter_mut().zip([1, 5, 10, 20]) {
                *count += usize::from(position.present && position.first <= most);
            }
            tally.mean_first += position.first as f64;
            tally.mean_average += position.average;
            tally.absent += usize::from(!position.present);
        }
        let bugs = tally.bugs.max(1) as f64;
        tally.mean_first /= bugs;
        tally.mean_average /= bugs;
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_ranking_has_is_in_no_top() {
        let truth = ["a.cc".to_owned()];
        let nothing = Position::new(&truth, 0, |_| None);
        assert_eq!(Tally::of([&nothing]).top, [0; 4]);
        let absent = Position::new(&truth, 40, |_| None);
        assert_eq!((absent.first, absent.present), (41, false));
    }

    #[test]
    fn tallies_count_bugs_within_the_first_n() {
        let position = |first, present| Position {
            first,
            average: first as f64 + 1.0,
            present,
        };
        let positions = [position(1, true), position(5, true), position(30, false)];
        let tally = Tally::of(&positions);
        assert_eq!((tally.top, tally.absent), ([1, 2, 2, 2], 1));
        assert!((tally.mean_first - 12.0).abs() < 1e-9);
        assert!((tally.mean_average - 13.0).abs() < 1e-9);
    }
}
