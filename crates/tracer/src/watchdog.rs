//! The clock of a run. Waiting for a traced program blocks, so a second thread watches the time and kills.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Kills a process group when its time is over, unless disarmed before.
///
/// The group must not be reaped while the watchdog is armed: a process number is free for reuse once its
/// process is reaped, and the watchdog would kill a stranger.
pub(crate) struct Watchdog {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    disarmed: bool,
    fired: Option<Fired>,
}

/// Why a watchdog killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fired {
    /// The time was over.
    TimedOut,
    /// The user wants an end of everything.
    Interrupted,
}

/// How long an interruption may go unnoticed.
const GLANCE: Duration = Duration::from_millis(100);

fn lock(shared: &(Mutex<State>, Condvar)) -> MutexGuard<'_, State> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watchdog {
    /// Calls `kill` once, after `limit` or soon after `interrupted` becomes true.
    pub(crate) fn arm(
        limit: Duration,
        interrupted: impl Fn() -> bool + Send + 'static,
        kill: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let start = Instant::now();
        let thread = std::thread::Builder::new()
            .name("candor-watchdog".into())
            .stack_size(64 << 10)
            .spawn(move || {
                let mut state = lock(&theirs);
                while !state.disarmed {
                    let left = limit.saturating_sub(start.elapsed());
                    let fired = if left.is_zero() {
                        Some(Fired::TimedOut)
                    } else {
                        interrupted().then_some(Fired::Interrupted)
                    };
                    if fired.is_some() {
                        // Under the lock, so that nobody disarms and reaps in between.
                        kill();
                        state.fired = fired;
                        return;
                    }
                    (state, _) = theirs
                        .1
                        .wait_timeout(state, left.min(GLANCE))
                        .unwrap_or_else(PoisonError::into_inner);
                }
            })?;
        Ok(Watchdog {
            shared,
            thread: Some(thread),
        })
    }

    /// Stops watching; says whether and why it killed. After this the group may be reaped.
    pub(crate) fn disarm(&mut self) -> Option<Fired> {
        lock(&self.shared).disarmed = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic; were it to, time has simply not run out.
            let _ = thread.join();
        }
        lock(&self.shared).fired
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.disarm();
    }
}
