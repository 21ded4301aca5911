//! Candidates before the predicate: each text once, several at a time, the first in order wins.
//!
//! Which candidate wins depends on their order only, never on which answer arrives first: the result
//! of a reduction is the same for any number of jobs.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use candor_predicate::{Predicate, Setup, Verdict};
use candor_toolchain::Program;

use crate::keep::Keeper;
use crate::token::tokens;
use crate::{Error, Progress};

/// Why a sweep ended early.
#[derive(Debug)]
pub enum Stop {
    /// Ctrl-C.
    Interrupted,
    /// The time for the whole reduction is over.
    TimeUp,
    /// Something of ours broke.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        if error.is_interrupt() {
            Stop::Interrupted
        } else {
            Stop::Failed(error)
        }
    }
}

/// How large a program is: tokens decide, then bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Size {
    /// Tokens.
    pub tokens: usize,
    /// Bytes.
    pub bytes: usize,
    /// Lines that are not blank.
    pub lines: usize,
}

impl Size {
    /// Of a text.
    pub fn of(text: &str) -> Self {
        Size {
            tokens: tokens(text).len(),
            bytes: text.len(),
            lines: text.lines().filter(|line| !line.trim().is_empty()).count(),
        }
    }
}

/// Counts of a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Candidates the predicate was asked about.
    pub tried: usize,
    /// Candidates that were known already.
    pub known: usize,
    /// Candidates that became the best so far.
    pub successes: usize,
    /// Of those tried: the claim fails.
    pub fails: usize,
    /// Of those tried: no valid program.
    pub invalid: usize,
    /// Of those tried: could not be told.
    pub undecided: usize,
}

/// What is known of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The claim does not hold.
    No,
    /// The quick predicate says yes.
    Quick,
    /// The strict one does.
    Strict,
}

/// Asks the predicate.
pub struct Jury<'a> {
    /// The predicate that has the last word.
    strict: &'a dyn Predicate,
    /// A cheaper one that says yes whenever the strict one does, where there is one.
    quick: Option<&'a dyn Predicate>,
    /// Whether the quick one is left out for now.
    careful: AtomicBool,
    /// The build.
    pub setup: Setup<'a>,
    /// What candidates have in common.
    pub program: Program,
    /// Candidates at a time.
    pub jobs: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Where candidates are kept.
    pub keeper: Option<Keeper>,
    /// Who is told.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
    known: Mutex<HashMap<(u64, usize), Known>>,
    tally: Mutex<Tally>,
    started: Instant,
    moved: Mutex<(Instant, Size, &'static str)>,
}

impl<'a> Jury<'a> {
    /// A jury on a predicate, about builds like `setup` of programs like `program`.
    pub fn new(
        (strict, quick): (&'a dyn Predicate, Option<&'a dyn Predicate>),
        setup: Setup<'a>,
        program: Program,
        jobs: usize,
        progress: &'a (dyn Fn(&Progress) + Sync),
    ) -> Self {
        let now = Instant::now();
        let size = Size::of(&program.text);
        Jury {
            strict,
            quick,
            careful: AtomicBool::new(false),
            setup,
            program,
            jobs: jobs.max(1),
            deadline: None,
            keeper: None,
            progress,
            known: Mutex::default(),
            tally: Mutex::default(),
            started: now,
            moved: Mutex::new((now, size, "start")),
        }
    }

    /// The counts so far.
    pub fn tally(&self) -> Tally {
        *lock(&self.tally)
    }

    /// Says which pass is at work.
    pub fn announce(&self, pass: &'static str) {
        lock(&self.moved).2 = pass;
        self.tell();
    }

    /// A candidate became the best so far.
    pub fn moved_to(&self, text: &str) {
        lock(&self.tally).successes += 1;
        let mut moved = lock(&self.moved);
        moved.0 = Instant::now();
        moved.1 = Size::of(text);
        drop(moved);
        self.tell();
    }

    fn tell(&self) {
        let (since, size, pass) = *lock(&self.moved);
        let elapsed = self.started.elapsed();
        let tally = self.tally();
        (self.progress)(&Progress {
            size,
            pass,
            tried: tally.tried,
            rate: tally.tried as f64 / elapsed.as_secs_f64().max(0.001),
            since_success: since.elapsed(),
            elapsed,
        });
    }

    /// Leaves the quick predicate out, or takes it in again.
    pub fn be_strict(&self, careful: bool) {
        self.careful.store(careful, Ordering::Relaxed);
    }

    /// Whether the claim holds for `text`, as far as the quick predicate can tell.
    pub fn holds(&self, text: &str) -> Result<bool, Stop> {
        match self.quick {
            Some(quick) if !self.careful.load(Ordering::Relaxed) => {
                self.judged(text, quick, Known::Quick)
            }
            _ => self.holds_strictly(text),
        }
    }

    /// Whether the claim holds for `text`.
    pub fn holds_strictly(&self, text: &str) -> Result<bool, Stop> {
        self.judged(text, self.strict, Known::Strict)
    }

    fn judged(&self, text: &str, predicate: &dyn Predicate, yes: Known) -> Result<bool, Stop> {
        let key = key_of(text);
        let known = lock(&self.known).get(&key).copied();
        match known {
            None => {}
            // the strict predicate may still say no to what the quick one took
            Some(Known::Quick) if yes == Known::Strict => {}
            Some(known) => {
                lock(&self.tally).known += 1;
                return Ok(known != Known::No);
            }
        }
        if self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return Err(Stop::TimeUp);
        }
        let verdict = self.ask(text, predicate)?;
        let says = if verdict.holds() { yes } else { Known::No };
        lock(&self.known).insert(key, says);
        let number = {
            let mut tally = lock(&self.tally);
            tally.tried += 1;
            match &verdict {
                Verdict::Holds(_) => {}
                Verdict::Fails(_) => tally.fails += 1,
                Verdict::Invalid(_) => tally.invalid += 1,
                Verdict::Undecided(_) => tally.undecided += 1,
            }
            tally.tried
        };
        if let Some(keeper) = &self.keeper {
            keeper.keep(number, text, &verdict)?;
        }
        if number.is_multiple_of(8) {
            self.tell();
        }
        Ok(verdict.holds())
    }

    /// The verdict on `text`, whatever is known.
    fn ask(&self, text: &str, predicate: &dyn Predicate) -> Result<Verdict, Stop> {
        let program = Program {
            text: text.to_owned(),
            ..self.program.clone()
        };
        match predicate.test(&program, &self.setup) {
            Ok(verdict) => Ok(verdict),
            Err(error) => Err(Error::from(error).into()),
        }
    }

    /// The first of `count` candidates for which the claim holds, with its text. `make` gives the
    /// text of a candidate, or `None` where there is none.
    pub fn first(
        &self,
        count: usize,
        make: &(dyn Fn(usize) -> Option<String> + Sync),
    ) -> Result<Option<(usize, String)>, Stop> {
        let next = AtomicUsize::new(0);
        let best = AtomicUsize::new(usize::MAX);
        let found: Mutex<Option<(usize, String)>> = Mutex::new(None);
        let stop: Mutex<Option<Stop>> = Mutex::new(None);
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count || index > best.load(Ordering::Relaxed) {
                    return;
                }
                if lock(&stop).is_some() {
                    return;
                }
                let Some(text) = make(index) else { continue };
                match self.holds(&text) {
                    Ok(true) => {
                        best.fetch_min(index, Ordering::Relaxed);
                        let mut found = lock(&found);
                        if found.as_ref().is_none_or(|(other, _)| index < *other) {
                            *found = Some((index, text));
                        }
                    }
                    Ok(false) => {}
                    Err(reason) => {
                        lock(&stop).get_or_insert(reason);
                        return;
                    }
                }
            }
        };
        match self.jobs.min(count) {
            0 => {}
            1 => work(),
            jobs => std::thread::scope(|scope| {
                for _ in 0..jobs {
                    scope.spawn(work);
                }
            }),
        }
        let stop = stop.into_inner().unwrap_or_else(PoisonError::into_inner);
        match stop {
            Some(stop) => Err(stop),
            None => Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// What is written under a lock here is whole: a thread that panicked leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Content hash and length.
fn key_of(text: &str) -> (u64, usize) {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    (hasher.finish(), text.len())
}
