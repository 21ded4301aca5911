//! The campaign: threads that lease seeds, judge them, and improve what was found, until the time is over.
//!
//! Every thread is alike: between two programs it looks whether a finding waits to be reduced and the share allows it.
//! One more thread keeps the time, says in the store that we live, and tells where the hunt stands.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use candor_check::Workshop;
use candor_store::{
    Campaign, Grant, Lease, Metric, Outcome, Store, Stream, Timestamp, Wish, WorkerId,
};

use crate::Error;
use crate::bench::{Bench, Means};
use crate::event::{Event, Status};
use crate::generate::{self, CSMITH, Member};
use crate::improve::Improver;
use crate::judge::{Judge, Progress};
use crate::settings::{Generator, Run, Settings, Tested};
use crate::share::Budget;
use crate::tally::Tally;

/// How often the store hears from us.
const BEAT: Duration = Duration::from_secs(5);
/// How often a status is told.
const STATUS: Duration = Duration::from_secs(1);
/// With less time than this nothing comes of a reduction.
const TOO_LATE: Duration = Duration::from_secs(8);
/// So many seeds in a row that fail for reasons of our own end the hunt.
const MOST_FAILURES: usize = 20;

/// Hunts until the time is over, all seeds are judged, or Ctrl-C; tells `watch` what happens.
///
/// # Errors
/// When the hunt cannot begin or cannot go on; what was found until then is stored.
pub fn hunt(
    store: &dyn Store,
    mut means: Means<'_>,
    mut settings: Settings,
    run: &Run,
    watch: &(dyn Fn(&Event) + Sync),
) -> Result<Status, Error> {
    settings.validate()?;
    if means.tested().is_empty() {
        return Err(Error::Missing {
            what: "a C compiler",
            advice: "install gcc or clang",
        });
    }
    let mut generator_version = String::new();
    if settings.generator == Generator::Csmith {
        generator_version = generate::csmith_version(means.sandbox, means.scratch)?;
    }
    let known = store.campaign()?;
    let joining = known.as_ref().filter(|_| store.shared());
    let (corpus, mut lacks) = match joining {
        // What the campaign is, the campaign says; its programs are in the store.
        Some(campaign) => (
            Vec::new(),
            join(
                campaign,
                &mut settings,
                &mut means,
                run,
                &generator_version,
                watch,
            )?,
        ),
        None => {
            settings.compilers = means.tested();
            settings.generator_version.clone_from(&generator_version);
            let (corpus, unread) = generate::corpus(&settings.corpus)?;
            for text in unread {
                watch(&Event::Notice { text });
            }
            (corpus, Vec::new())
        }
    };
    let wishes = wishes(&settings, &corpus);
    if joining.is_none() && store.shared() {
        share_programs(store, &corpus)?;
    }
    if joining.is_none() || run.resume {
        // Programs of a corpus that another machine has stay in the plan.
        if joining.is_none() || settings.corpus.is_empty() {
            store.plan(&wishes)?;
        }
        enter(store, &settings, run, watch)?;
    }
    // Somebody else may have begun it at the same moment, with other compilers.
    if joining.is_none()
        && store.shared()
        && let Some(campaign) = store.campaign()?
    {
        lacks = join(
            &campaign,
            &mut settings,
            &mut means,
            run,
            &generator_version,
            watch,
        )?;
    }
    let worker = store.join(&label())?;
    let has: Vec<String> = means.tested().into_iter().map(|one| one.command).collect();
    store.equip(worker, &has, &lacks)?;
    let hunt = Hunt {
        store,
        worker,
        settings: &settings,
        run,
        watch,
        corpus,
        tally: Tally::default(),
        budget: Budget::new(run.jobs, run.share),
        begun: Instant::now(),
        stop: AtomicBool::new(false),
        over: AtomicBool::new(false),
        epoch_over: AtomicBool::new(false),
        judging: AtomicUsize::new(0),
        failures: AtomicUsize::new(0),
        wishes,
        pending: Mutex::default(),
        gone: Mutex::default(),
        fatal: Mutex::default(),
    };
    let result = hunt.epochs(&mut means);
    // Leases and claims go back even if the hunt failed; that failure is the one to report.
    let left = store.leave(worker);
    hunt.tell_notices();
    result?;
    left?;
    let status = hunt.status()?;
    watch(&Event::Ended(status.clone()));
    Ok(status)
}

/// Takes part in the campaign of a shared store: its settings hold. The compilers it has and we do not are said, and
/// come back.
fn join(
    campaign: &Campaign,
    settings: &mut Settings,
    means: &mut Means<'_>,
    run: &Run,
    generator_version: &str,
    watch: &(dyn Fn(&Event) + Sync),
) -> Result<Vec<String>, Error> {
    let theirs = stored(campaign)?;
    theirs.validate_untrusted()?;
    let differences = theirs.differences(settings);
    if !differences.is_empty() {
        return Err(Error::CampaignSettings {
            differences: differences.join("; "),
        });
    }
    let say = |text: String| watch(&Event::Notice { text });
    let candor = env!("CARGO_PKG_VERSION");
    if campaign.candor != candor {
        say(format!(
            "the campaign was begun by candor {}, this is {candor}",
            campaign.candor
        ));
    }
    if theirs.generator == Generator::Csmith && theirs.generator_version != generator_version {
        return Err(Error::OtherGenerator {
            theirs: theirs.generator_version,
            ours: generator_version.to_owned(),
        });
    }
    let ours = means.tested();
    let (has, lacks): (Vec<Tested>, Vec<Tested>) = theirs
        .compilers
        .iter()
        .cloned()
        .partition(|one| ours.contains(one));
    let names = |all: &[Tested]| -> Vec<String> {
        let name = |one: &Tested| format!("{} ({})", one.command, one.version);
        all.iter().map(name).collect()
    };
    if has.is_empty() {
        return Err(Error::NoCommonCompiler {
            theirs: names(&theirs.compilers).join(", "),
            ours: names(&ours).join(", "),
        });
    }
    if !lacks.is_empty() {
        say(format!(
            "the campaign's {} is not here: taking the work of {}, the rest is left to others",
            names(&lacks).join(", "),
            names(&has).join(", ")
        ));
    }
    means.test_only(&has);
    let seeds = settings.seeds;
    *settings = theirs;
    if run.resume && seeds.is_some() {
        settings.seeds = seeds;
    }
    Ok(lacks.into_iter().map(|one| one.command).collect())
}

/// Puts the programs of the corpus where every worker finds them.
fn share_programs(store: &dyn Store, corpus: &[Member]) -> Result<(), Error> {
    for member in corpus {
        store.put(candor_toolchain::program::read_source(&member.path)?.as_bytes())?;
    }
    Ok(())
}

/// Begins the campaign, or goes on with the store's.
fn enter(
    store: &dyn Store,
    settings: &Settings,
    run: &Run,
    watch: &(dyn Fn(&Event) + Sync),
) -> Result<(), Error> {
    let value = serde_json::to_value(settings).map_err(|error| Error::BadSetting {
        what: error.to_string(),
    })?;
    let known = store.campaign()?;
    let Some(known) = known else {
        if run.resume {
            return Err(Error::NothingToResume);
        }
        store.begin(&Campaign {
            created: Timestamp::now(),
            candor: env!("CARGO_PKG_VERSION").to_owned(),
            settings: value,
        })?;
        return Ok(());
    };
    let theirs = stored(&known)?;
    let differences = theirs.differences(settings);
    if !differences.is_empty() && !run.resume {
        return Err(Error::OtherSettings {
            differences: differences.join("; "),
        });
    }
    if theirs.compilers != settings.compilers {
        watch(&Event::Notice {
            text: "the campaign's compilers are not the same as before".into(),
        });
    }
    if theirs != *settings {
        store.amend(&value)?;
    }
    Ok(())
}

/// The settings of a store's campaign.
pub fn stored(campaign: &Campaign) -> Result<Settings, Error> {
    serde_json::from_value(campaign.settings.clone()).map_err(|error| Error::UnreadableSettings {
        reason: error.to_string(),
    })
}

/// The seeds of a campaign: the shard's files of the corpus, then the generator's.
fn wishes(settings: &Settings, corpus: &[Member]) -> Vec<Wish> {
    let shard = settings.shard;
    let ours = (0..shard.count).cycle().zip(corpus);
    let mut wishes: Vec<Wish> = ours
        .filter(|(turn, _)| *turn == shard.index)
        .map(|(_, member)| Wish {
            stream: member.stream.clone(),
            first: 0,
            step: 1,
            end: Some(1),
            file: Some(member.path.display().to_string()),
        })
        .collect();
    if settings.generator == Generator::Csmith {
        wishes.push(Wish {
            stream: Stream(CSMITH.to_owned()),
            first: settings.seed + shard.index,
            step: shard.count,
            end: settings.seeds.map(|seeds| settings.seed + seeds),
            file: None,
        });
    }
    wishes
}

/// Who we are, for people who look at the store.
fn label() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} process {}", host.trim(), std::process::id())
}

/// The state of a running hunt, shared by its threads.
struct Hunt<'a> {
    store: &'a dyn Store,
    worker: WorkerId,
    settings: &'a Settings,
    run: &'a Run,
    watch: &'a (dyn Fn(&Event) + Sync),
    corpus: Vec<Member>,
    tally: Tally,
    budget: Budget,
    begun: Instant,
    /// The hunt ends.
    stop: AtomicBool,
    /// The time is over: nothing new is judged, what is being improved is given the grace.
    over: AtomicBool,
    /// The bench must be set up anew.
    epoch_over: AtomicBool,
    /// Threads that judge a seed.
    judging: AtomicUsize,
    /// Seeds in a row that failed for reasons of our own.
    failures: AtomicUsize,
    /// The seeds there are, in the order in which they should be judged.
    wishes: Vec<Wish>,
    /// Leases that were put aside when an epoch ended.
    pending: Mutex<Vec<Lease>>,
    /// Compilers that stopped working, with what was met.
    gone: Mutex<Vec<(String, String)>>,
    /// What ends the hunt.
    fatal: Mutex<Option<Error>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread does next.
enum Next {
    Seed(Lease),
    /// Seeds are still being judged by others: there may be findings to improve in a moment.
    Wait,
    Nothing,
}

impl Hunt<'_> {
    /// Sets up and works, anew whenever a compiler is lost.
    fn epochs(&self, means: &mut Means<'_>) -> Result<(), Error> {
        loop {
            self.epoch_over.store(false, Ordering::SeqCst);
            self.epoch(means)?;
            if let Some(error) = lock(&self.fatal).take() {
                return Err(error);
            }
            let gone = std::mem::take(&mut *lock(&self.gone));
            if gone.is_empty() || self.ending() {
                return Ok(());
            }
            self.lose(means, &gone)?;
        }
    }

    /// Leaves compilers out from now on.
    fn lose(&self, means: &mut Means<'_>, gone: &[(String, String)]) -> Result<(), Error> {
        let before = means.tested();
        let mut all = means.gone()?;
        for one in gone {
            if !all.iter().any(|(name, _)| *name == one.0) {
                all.push(one.clone());
            }
        }
        for (compiler, reason) in &all {
            let event = Event::CompilerGone {
                compiler: compiler.clone(),
                reason: reason.clone(),
            };
            let body = serde_json::to_value(&event).unwrap_or_default();
            self.store.note("compiler-gone", &body)?;
            (self.watch)(&event);
        }
        let names: Vec<String> = all.into_iter().map(|(name, _)| name).collect();
        if before.iter().all(|one| names.contains(&one.command)) {
            let names: Vec<String> = before.into_iter().map(|one| one.command).collect();
            return Err(Error::NoCompilerLeft {
                names: names.join(", "),
            });
        }
        means.drop_compilers(&names);
        let has: Vec<String> = means.tested().into_iter().map(|one| one.command).collect();
        let all = self
            .settings
            .compilers
            .iter()
            .map(|one| one.command.clone());
        let lacks: Vec<String> = all.filter(|name| !has.contains(name)).collect();
        Ok(self.store.equip(self.worker, &has, &lacks)?)
    }

    fn epoch(&self, means: &Means<'_>) -> Result<(), Error> {
        let workshop = Workshop::new(means.sandbox, means.scratch)?;
        let bench = Bench::new(means, &workshop, self.settings.variants > 0)?;
        (self.watch)(&Event::Started {
            compilers: means.tested(),
            levels: self.settings.levels.clone(),
            oracles: self.settings.oracles.iter().map(|o| o.name()).collect(),
            resumed: self.run.resume,
        });
        std::thread::scope(|scope| {
            let (alive, ended) = channel::<()>();
            scope.spawn(|| self.keep_time(&bench, ended));
            for _ in 0..self.run.jobs.max(1) {
                let alive = alive.clone();
                let bench = &bench;
                scope.spawn(move || {
                    self.work(bench);
                    drop(alive);
                });
            }
            drop(alive);
        });
        Ok(())
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// No more seeds.
    fn ending(&self) -> bool {
        self.stopping() || self.over.load(Ordering::SeqCst)
    }

    fn pausing(&self) -> bool {
        self.stopping() || self.epoch_over.load(Ordering::SeqCst)
    }

    /// Ends the hunt for this reason, unless another came first.
    fn fail(&self, bench: &Bench<'_>, error: Error) {
        lock(&self.fatal).get_or_insert(error);
        self.stop.store(true, Ordering::SeqCst);
        bench.sandbox().interrupt();
    }

    /// The clock of the hunt; ends when the last working thread does.
    fn keep_time(&self, bench: &Bench<'_>, ended: Receiver<()>) {
        let mut beaten = Instant::now();
        let mut told = Instant::now();
        loop {
            match ended.recv_timeout(Duration::from_millis(100)) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if bench.sandbox().interrupted() {
                self.stop.store(true, Ordering::SeqCst);
            } else {
                let elapsed = self.begun.elapsed();
                if self.run.time.is_some_and(|time| elapsed >= time) {
                    self.over.store(true, Ordering::SeqCst);
                }
                if self.run.left(elapsed).is_some_and(|left| left.is_zero()) {
                    self.stop.store(true, Ordering::SeqCst);
                    bench.sandbox().interrupt();
                }
            }
            let mut due = || -> Result<(), Error> {
                if beaten.elapsed() >= BEAT {
                    beaten = Instant::now();
                    self.store.beat(self.worker)?;
                }
                if told.elapsed() >= STATUS {
                    told = Instant::now();
                    self.tell_notices();
                    (self.watch)(&Event::Status(self.status()?));
                }
                Ok(())
            };
            if let Err(error) = due() {
                self.fail(bench, error);
            }
        }
    }

    /// What the store has to say.
    fn tell_notices(&self) {
        for text in self.store.notices() {
            (self.watch)(&Event::Notice { text });
        }
    }

    /// One working thread.
    fn work(&self, bench: &Bench<'_>) {
        let ending = || self.ending() || self.pausing();
        let judge = Judge {
            ending: &ending,
            bench,
            settings: self.settings,
            store: self.store,
            tally: &self.tally,
            watch: self.watch,
        };
        let improver = Improver {
            bench,
            settings: self.settings,
            run: self.run,
            begun: self.begun,
            store: self.store,
            watch: self.watch,
        };
        while !self.pausing() {
            match self.step(&judge, &improver) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) if error.is_interrupt() => {
                    self.stop.store(true, Ordering::SeqCst);
                }
                Err(Error::CompilerGone { compiler, reason }) => {
                    lock(&self.gone).push((compiler, reason));
                    self.epoch_over.store(true, Ordering::SeqCst);
                }
                Err(error) => self.fail(bench, error),
            }
        }
    }

    /// Judges one seed, improves one finding, or waits; `false` when nothing is left.
    fn step(&self, judge: &Judge<'_>, improver: &Improver<'_>) -> Result<bool, Error> {
        if self.ending() {
            return self.improve(improver, true);
        }
        if self.improve(improver, false)? {
            return Ok(true);
        }
        match self.next()? {
            Next::Seed(mut lease) => {
                let ending = || self.ending() || self.pausing();
                self.judging.fetch_add(1, Ordering::SeqCst);
                let pause = || -> Result<bool, Error> {
                    if ending() {
                        return Ok(true);
                    }
                    self.improve(improver, false)?;
                    Ok(ending())
                };
                let member = self
                    .corpus
                    .iter()
                    .find(|member| member.stream == lease.stream);
                let result = judge.seed(&mut lease, member, &pause);
                self.judging.fetch_sub(1, Ordering::SeqCst);
                self.conclude(lease, result)?;
                Ok(true)
            }
            Next::Wait => {
                if !self.improve(improver, true)? {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Ok(true)
            }
            Next::Nothing => self.improve(improver, true),
        }
    }

    /// What the end of a seed means for the hunt.
    fn conclude(&self, lease: Lease, result: Result<Progress, Error>) -> Result<(), Error> {
        match result {
            Ok(Progress::Done) => {
                self.failures.store(0, Ordering::SeqCst);
                Ok(())
            }
            Ok(Progress::Paused) => {
                lock(&self.pending).push(lease);
                Ok(())
            }
            Err(error @ Error::CompilerGone { .. }) => {
                lock(&self.pending).push(lease);
                Err(error)
            }
            Err(error) if error.is_interrupt() || error.is_fatal() => Err(error),
            Err(error) => {
                // This program is more than we can handle; the next may not be.
                let reason = format!("candor: {error}");
                self.store
                    .complete(&lease, &Outcome::Rejected(reason.clone()), &[])?;
                (self.watch)(&Event::Rejected {
                    stream: lease.stream.0,
                    seed: lease.number,
                    reason,
                });
                let count = self.failures.fetch_add(1, Ordering::SeqCst) + 1;
                if count >= MOST_FAILURES {
                    return Err(Error::Unusable {
                        count,
                        last: error.to_string(),
                    });
                }
                Ok(())
            }
        }
    }

    /// The next seed: what was put aside, then what the store hands out.
    fn next(&self) -> Result<Next, Error> {
        if let Some(lease) = lock(&self.pending).pop() {
            return Ok(Next::Seed(lease));
        }
        Ok(match self.store.grant(self.worker, &self.wishes)? {
            Grant::Seed(lease) => Next::Seed(lease),
            Grant::Later => Next::Wait,
            Grant::Nothing if self.judging.load(Ordering::SeqCst) > 0 => Next::Wait,
            Grant::Nothing => Next::Nothing,
        })
    }

    /// Improves one finding, if there is one and the share allows it; `false` if not.
    fn improve(&self, improver: &Improver<'_>, nothing_else: bool) -> Result<bool, Error> {
        let left = self.run.left(self.begun.elapsed());
        if left.is_some_and(|left| left < TOO_LATE) {
            return Ok(false);
        }
        let Some(_turn) = self.budget.turn(nothing_else) else {
            return Ok(false);
        };
        let Some(claim) = self.store.claim(self.worker)? else {
            return Ok(false);
        };
        // With seeds left, the other cores go on searching.
        let jobs = if nothing_else && self.budget.running() == 1 {
            self.run.jobs.max(1)
        } else {
            1
        };
        let improved = improver.improve(&claim, jobs);
        candor_toolchain::memory::give_back();
        improved?;
        Ok(true)
    }

    fn status(&self) -> Result<Status, Error> {
        let totals = self.store.totals()?;
        Ok(Status {
            seconds: self.begun.elapsed().as_secs_f64(),
            programs: self.tally.sum(Metric::Programs),
            rejected: self.tally.sum(Metric::Rejected),
            builds: self.tally.sum(Metric::Builds),
            checks: self.tally.sum(Metric::Checks),
            values: self.tally.sum(Metric::Values),
            builds_by: self.tally.by_compiler(Metric::Builds),
            found: self.tally.found_by_kind(),
            undecided: self.tally.sum(Metric::Undecided),
            findings: totals.findings,
            unique: totals.unique,
            isolated: totals.isolated,
            waiting: totals.waiting,
            improving: self.budget.running(),
        })
    }
}
