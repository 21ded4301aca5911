//! The bench: asks the predicate about flags added to the case's build, many at a time.
//!
//! Every answer is remembered by the flags added, counted, and stops at Ctrl-C or when the time for
//! the whole isolation is used up. Builds with identical code are neither linked nor run again: the
//! predicate's [`Prepared`] sees to that.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use candor_check::Workshop;
use candor_predicate::{Claim, Prepared, Setup, Verdict};
use candor_toolchain::{Compiler, Family, Finished, JobDirectory, Limits, Program, rustc};

use crate::{Error, Progress, Settings};

/// What a build with some flags added shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The claim still holds.
    Bad,
    /// It does not.
    Good,
    /// Nothing can be said: it does not compile that way, or a limit struck.
    Broken(String),
}

/// Where one isolation asks its questions.
pub struct Bench<'a> {
    /// Runs compilers and holds their files.
    pub workshop: &'a Workshop<'a>,
    /// The compiler under test.
    pub compiler: &'a Compiler,
    /// The program, as the predicate builds it.
    pub program: &'a Program,
    /// The case's flags, which every build has.
    pub flags: &'a [String],
    /// What is claimed.
    pub claim: &'a Claim,
    prepared: &'a dyn Prepared,
    settings: &'a Settings,
    started: Instant,
    answers: Mutex<BTreeMap<Vec<String>, Seen>>,
    asked: AtomicUsize,
    progress: &'a (dyn Fn(Progress) + Sync),
}

/// Everything a [`Bench`] is made of.
pub struct Parts<'a> {
    /// See [`Bench`].
    pub workshop: &'a Workshop<'a>,
    /// See [`Bench`].
    pub compiler: &'a Compiler,
    /// See [`Bench`].
    pub program: &'a Program,
    /// See [`Bench`].
    pub flags: &'a [String],
    /// See [`Bench`].
    pub claim: &'a Claim,
    /// The predicate, ready for this program.
    pub prepared: &'a dyn Prepared,
    /// How many at a time, and how long in all.
    pub settings: &'a Settings,
    /// When the isolation began.
    pub started: Instant,
    /// Told what is going on.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Bench<'a> {
    /// A bench on which nothing was asked yet.
    pub fn new(parts: Parts<'a>) -> Self {
        Bench {
            workshop: parts.workshop,
            compiler: parts.compiler,
            program: parts.program,
            flags: parts.flags,
            claim: parts.claim,
            prepared: parts.prepared,
            settings: parts.settings,
            started: parts.started,
            answers: Mutex::default(),
            asked: AtomicUsize::new(0),
            progress: parts.progress,
        }
    }

    /// How many builds were asked about so far.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Tells the outside what is being done.
    pub fn report(&self, step: &str) {
        (self.progress)(Progress {
            step: step.to_owned(),
            asked: self.asked(),
        });
    }

    /// Refuses to go on after Ctrl-C or when the time is used up.
    pub fn in_time(&self) -> Result<(), Error> {
        if self.workshop.sandbox.interrupted() {
            return Err(candor_toolchain::Error::Interrupted.into());
        }
        match self.settings.budget {
            Some(budget) if self.started.elapsed() > budget => Err(Error::OutOfTime),
            _ => Ok(()),
        }
    }

    /// Asks about the case's build with `added` flags.
    pub fn test(&self, added: &[String]) -> Result<Seen, Error> {
        if let Some(known) = self.lock().get(added) {
            return Ok(known.clone());
        }
        let seen = self.ask(self.compiler, added)?;
        self.lock().insert(added.to_vec(), seen.clone());
        Ok(seen)
    }

    /// The same of another compiler; nothing is remembered.
    pub fn ask(&self, compiler: &Compiler, added: &[String]) -> Result<Seen, Error> {
        self.in_time()?;
        self.asked.fetch_add(1, Ordering::Relaxed);
        let setup = Setup {
            compiler,
            flags: [self.flags, added].concat(),
        };
        Ok(match self.prepared.test(&setup)? {
            Verdict::Holds(_) => Seen::Bad,
            Verdict::Fails(_) => Seen::Good,
            Verdict::Invalid(words) | Verdict::Undecided(words) => Seen::Broken(words),
        })
    }

    /// Asks about many sets of flags at a time; answers come in their order.
    pub fn test_all(&self, sets: &[Vec<String>]) -> Result<Vec<Seen>, Error> {
        self.parallel(sets, |added| self.test(added))
    }

    /// Does `work` on all `items`, as many at a time as the settings say. The first error ends it.
    pub fn parallel<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let next = AtomicUsize::new(0);
        let results: Mutex<BTreeMap<usize, Result<R, Error>>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..self.settings.jobs.clamp(1, items.len().max(1)) {
                scope.spawn(|| {
                    while let Some((number, item)) = {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        items.get(number).map(|item| (number, item))
                    } {
                        let result = work(item);
                        if result.is_err() {
                            next.store(items.len(), Ordering::Relaxed);
                        }
                        results
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .insert(number, result);
                    }
                });
            }
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.into_values().collect()
    }

    /// How many questions are asked at a time.
    pub fn jobs(&self) -> usize {
        self.settings.jobs.max(1)
    }

    /// Calls the compiler on the program itself, with the case's flags and `added`, to hear what it
    /// says or to read what it writes (into the directory returned).
    pub fn compile(&self, added: &[String]) -> Result<(Finished, JobDirectory), Error> {
        self.call(&self.program.file_name(), &self.program.text, added)
    }

    /// The same on a file without content: lists of passes are printed even if the program crashes
    /// the compiler.
    pub fn compile_nothing(&self, added: &[String]) -> Result<Finished, Error> {
        Ok(self.call("empty.c", "", added)?.0)
    }

    fn call(
        &self,
        name: &str,
        text: &str,
        added: &[String],
    ) -> Result<(Finished, JobDirectory), Error> {
        self.in_time()?;
        let directory = self.workshop.scratch.job()?;
        directory.write(name, text)?;
        if self.compiler.family == Family::Rustc {
            return self.call_rustc(directory, name, added);
        }
        let job = self
            .compiler
            .job(directory.path())
            .arg("-w")
            .args(self.about_debug_information().then_some("-g"))
            .args(self.flags.iter().cloned())
            .args(self.program.flags.iter().cloned())
            .args(added.iter().cloned())
            .arg(name);
        let limits = Limits {
            output: LARGEST_DUMP,
            ..Limits::compiler()
        };
        let finished = self.workshop.sandbox.run(&job, &limits)?;
        Ok((finished, directory))
    }

    /// The same for rustc, which takes other words for the same; no more than an object is made.
    fn call_rustc(
        &self,
        directory: JobDirectory,
        name: &str,
        added: &[String],
    ) -> Result<(Finished, JobDirectory), Error> {
        let flags: Vec<String> = [self.flags, added].concat();
        let flags: Vec<String> = flags.into_iter().filter(|flag| flag != "-c").collect();
        let job = self
            .compiler
            .job(directory.path())
            .arg("--emit=obj")
            .args(rustc::build_flags(&flags, &self.program.flags))
            .arg(name);
        let limits = Limits {
            output: LARGEST_DUMP,
            ..Limits::compiler()
        };
        let finished = self.workshop.sandbox.run(&job, &limits)?;
        Ok((finished, directory))
    }

    /// Whether the claim is about debug information; such claims are decided on builds that have it.
    pub fn about_debug_information(&self) -> bool {
        matches!(self.claim, Claim::Debug { .. } | Claim::Lost { .. })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Vec<String>, Seen>> {
        // Entries are whole or absent: a poisoned map is still a map.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dumps of a whole module may be large; beyond this they are not shown.
const LARGEST_DUMP: usize = 64 << 20;

/// Files that a compiler call left in `directory`, by name.
pub fn files_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
