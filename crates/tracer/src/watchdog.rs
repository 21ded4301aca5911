//! The clock of a run. Waiting for a traced program blocks, so a second thread watches the time and kills.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

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
    fired: bool,
}

fn lock(shared: &(Mutex<State>, Condvar)) -> MutexGuard<'_, State> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watchdog {
    /// Starts watching over the group `pid` leads; after `limit`, `kill` is called once.
    pub(crate) fn arm(
        limit: Duration,
        kill: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("candor-watchdog".into())
            .stack_size(64 << 10)
            .spawn(move || {
                let state = lock(&theirs);
                let (mut state, _) = theirs
                    .1
                    .wait_timeout_while(state, limit, |state| !state.disarmed)
                    .unwrap_or_else(PoisonError::into_inner);
                if !state.disarmed {
                    // Under the lock, so that nobody disarms and reaps in between.
                    kill();
                    state.fired = true;
                }
            })?;
        Ok(Watchdog {
            shared,
            thread: Some(thread),
        })
    }

    /// Stops watching; says whether time had run out. After this the group may be reaped.
    pub(crate) fn disarm(&mut self) -> bool {
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
