//! How suspicious a statement is (paper 003, §4.3; Ochiai).
//!
//! Only statements that the failing compilation reached can be to blame. With one failing run, Ochiai
//! is 1/√(1 + number of passing runs that reached the statement too).

use crate::Cover;

/// One failing compilation and passing ones.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// Statements the failing compilation reached, ascending.
    reached: Vec<u32>,
    /// For each, how many passing compilations reached it.
    passing: Vec<u32>,
    /// How many passing compilations there are.
    runs: usize,
}

impl Spectrum {
    /// Counts.
    pub fn new<'c>(failing: &Cover, passing: impl IntoIterator<Item = &'c Cover>) -> Self {
        let reached: Vec<u32> = failing.iter().collect();
        let mut counts = vec![0; reached.len()];
        let mut runs = 0;
        for cover in passing {
            runs += 1;
            for (count, statement) in counts.iter_mut().zip(&reached) {
                *count += u32::from(cover.contains(*statement));
            }
        }
        Spectrum {
            reached,
            passing: counts,
            runs,
        }
    }

    /// How many passing compilations were counted.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Each statement of the failing compilation with its suspicion, between 0 and 1.
    pub fn suspicions(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let counted = self.reached.iter().zip(&self.passing);
        counted.map(|(statement, passing)| (*statement, ochiai(*passing)))
    }

    /// Statements that only the failing compilation reached.
    pub fn only_failing(&self) -> impl Iterator<Item = u32> + '_ {
        let counted = self.reached.iter().zip(&self.passing);
        counted
            .filter(|(_, passing)| **passing == 0 && self.runs > 0)
            .map(|(statement, _)| *statement)
    }
}

/// Ochiai's formula with one failing run, which reached the statement.
pub fn ochiai(passing: u32) -> f64 {
    1.0 / (1.0 + f64::from(passing)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_passing_runs_make_a_statement_more_suspicious() {
        let failing: Cover = [1, 2, 3].into_iter().collect();
        let first: Cover = [2, 3, 9].into_iter().collect();
        let second: Cover = [3].into_iter().collect();
        let spectrum = Spectrum::new(&failing, [&first, &second]);
        let expected = [(1, 1.0), (2, 1.0 / 2f64.sqrt()), (3, 1.0 / 3f64.sqrt())];
        assert_eq!(spectrum.suspicions().collect::<Vec<_>>(), expected);
        assert_eq!(spectrum.only_failing().collect::<Vec<_>>(), [1]);
        assert_eq!(spectrum.runs(), 2);
    }

    #[test]
    fn without_passing_runs_nothing_is_told_apart() {
        let failing: Cover = [1, 2].into_iter().collect();
        let spectrum = Spectrum::new(&failing, []);
        assert!(spectrum.suspicions().all(|(_, suspicion)| suspicion == 1.0));
        assert_eq!(spectrum.only_failing().count(), 0);
    }
}
