//! How much of the threads' time goes into improving findings while there are seeds left to judge.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time that improving may take in advance: the first finding of a short hunt is worth it.
const CREDIT: Duration = Duration::from_secs(60);

/// Bounds the share of the threads' time that improving takes.
#[derive(Debug)]
pub(crate) struct Budget {
    begun: Instant,
    jobs: usize,
    share: f64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    spent: Duration,
}

/// The right to improve one finding; ends when dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    budget: &'a Budget,
    begun: Instant,
}

impl Budget {
    pub(crate) fn new(jobs: usize, share: f64) -> Self {
        Budget {
            begun: Instant::now(),
            jobs: jobs.max(1),
            share,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Threads that improve at one time, at most: never all of them, but for a machine with one.
    fn most(&self) -> usize {
        let most = (self.jobs as f64 * self.share).ceil() as usize;
        most.clamp(1, self.jobs)
    }

    /// A turn, if the share allows one. When nothing else is left to do, any share does.
    pub(crate) fn turn(&self, nothing_else: bool) -> Option<Turn<'_>> {
        let mut state = self.state();
        // No share at all: findings are improved elsewhere, or not.
        if self.share <= 0.0 {
            return None;
        }
        if !nothing_else {
            let allowed = self.begun.elapsed().mul_f64(self.jobs as f64 * self.share) + CREDIT;
            if state.running >= self.most() || state.spent > allowed {
                return None;
            }
        }
        state.running += 1;
        Some(Turn {
            budget: self,
            begun: Instant::now(),
        })
    }

    /// Turns under way.
    pub(crate) fn running(&self) -> usize {
        self.state().running
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.running = state.running.saturating_sub(1);
        state.spent += self.begun.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn improving_is_bounded_unless_nothing_else_is_left() {
        let budget = Budget::new(8, 0.25);
        let first = budget.turn(false).unwrap();
        let second = budget.turn(false).unwrap();
        assert!(budget.turn(false).is_none(), "a quarter of eight is two");
        let third = budget.turn(true).unwrap();
        assert_eq!(budget.running(), 3);
        drop((first, second, third));
        assert_eq!(budget.running(), 0);

        budget.state().spent = CREDIT + Duration::from_secs(3600);
        assert!(budget.turn(false).is_none(), "the share is used up");
        assert!(budget.turn(true).is_some());
        assert!(Budget::new(1, 0.25).turn(false).is_some());
        assert!(Budget::new(4, 0.0).turn(true).is_none());
    }
}
