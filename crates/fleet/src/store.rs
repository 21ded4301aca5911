//! The campaign at the broker as a [`Store`]: what hunt, reduce, isolate and report know of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use candor_store::document::{self, Contents};
use candor_store::{
    Campaign, Claim, Count, Event, Fact, Finding, FindingId, Grant, Group, Hash, Improvement,
    Lease, Metric, NewFinding, Outcome, Samples, Seeds, Signature, State, Store, Stream, Timestamp,
    Totals, Wish, Worker, WorkerId,
};
use futures_util::TryStreamExt as _;
use serde_json::{Value, json};

use crate::claims::{Entry, Progress, View};
use crate::courier::{Courier, Sent};
use crate::log::Copy;
use crate::names::{key_of_worker, set_of};
use crate::queue::{self, Fed, Feeder, Handed, Item};
use crate::room::Room;
use crate::spool::Parcel;
use crate::workers::Beat;
use crate::{Error, audit, campaign, contents};

type StoreError = candor_store::Error;

/// For a seed to come out of the queue: at first, and when there was none again and again.
const PATIENCE: Duration = Duration::from_millis(200);
const MOST_PATIENCE: Duration = Duration::from_secs(3);
/// For what is spooled to be delivered before we go.
const FAREWELL: Duration = Duration::from_secs(10);
/// A seed that so many workers died over is given up.
const MOST_ATTEMPTS: u32 = 30;
/// Notes beyond this are cut: they are for people.
const LONGEST_NOTE: usize = 64 << 10;
/// The number of findings is not asked for more often than this.
const COUNTED: Duration = Duration::from_secs(5);

/// A seed that we judge.
struct Held {
    reply: String,
    /// Its number in the queue.
    sequence: u64,
    /// Compilers left to others.
    rest: Vec<String>,
    item: Item,
}

/// Who we are.
#[derive(Default)]
struct Myself {
    id: Option<WorkerId>,
    beat: Beat,
    has: Vec<String>,
    begun: Option<Instant>,
    held: BTreeMap<(Stream, u64), Held>,
    /// Signatures we work on.
    claims: BTreeMap<FindingId, Entry>,
}

/// A campaign at a broker.
pub struct FleetStore {
    room: Arc<Room>,
    courier: Arc<Courier>,
    me: Arc<Mutex<Myself>>,
    view: Mutex<View>,
    feeder: Mutex<Feeder>,
    /// The object that says which seeds there are, and its content.
    plan: Mutex<Option<(Hash, Vec<Wish>)>>,
    findings: Mutex<Option<(Instant, u64)>>,
    copy: OnceLock<Mutex<Copy>>,
    gone: Arc<AtomicBool>,
    /// How often in a row there was no seed.
    vain: AtomicU32,
    /// Where somebody who only looks would spool.
    _folder: Option<tempfile::TempDir>,
}

impl std::fmt::Debug for FleetStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("FleetStore");
        out.field("campaign", &self.room.names.campaign).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Contents for FleetStore {
    fn put(&self, bytes: &[u8]) -> Result<Hash, StoreError> {
        self.courier.deliver(Parcel::object(bytes))?;
        Ok(Hash::of(bytes))
    }

    fn get(&self, hash: &Hash) -> Result<Vec<u8>, StoreError> {
        Ok(contents::get(&self.room, hash)?)
    }
}

impl FleetStore {
    /// What cannot be delivered is kept below `spool`; whoever only looks has none.
    pub(crate) fn new(room: Arc<Room>, spool: Option<&Path>) -> Result<Self, Error> {
        let folder = match spool {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(Error::Runtime)?),
        };
        let spool = match (&folder, spool) {
            (Some(folder), _) => folder.path().to_owned(),
            (None, spool) => spool.unwrap_or(Path::new(".")).join(&room.names.campaign),
        };
        let courier = Courier::start(Arc::clone(&room), &spool)?;
        Ok(FleetStore {
            room,
            courier,
            me: Arc::default(),
            view: Mutex::default(),
            feeder: Mutex::default(),
            plan: Mutex::default(),
            findings: Mutex::default(),
            copy: OnceLock::new(),
            gone: Arc::new(AtomicBool::new(false)),
            vain: AtomicU32::new(0),
            _folder: folder,
        })
    }

    fn block<T>(&self, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.room.link.runtime.block_on(future)
    }

    fn record(&self) -> Result<Option<(campaign::Record, Timestamp, u64)>, Error> {
        self.block(campaign::read(
            &self.room.campaigns,
            &self.room.names.campaign,
        ))
    }

    /// Says again and again that we live, to the queue for each lease and to everybody in the bucket.
    fn live(&self) {
        let (room, me) = (Arc::clone(&self.room), Arc::clone(&self.me));
        let (courier, gone) = (Arc::clone(&self.courier), Arc::clone(&self.gone));
        let period = (room.lease / 4).min(Duration::from_secs(5));
        self.room.link.runtime.spawn(async move {
            while !gone.load(Ordering::SeqCst) {
                let (replies, body, key) = {
                    let mut me = lock(&me);
                    let replies: Vec<String> =
                        me.held.values().map(|held| held.reply.clone()).collect();
                    me.beat.leases = u64::try_from(replies.len()).unwrap_or(0);
                    me.beat.spooled = u64::try_from(courier.backlog()).unwrap_or(0);
                    me.beat.seconds = me.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
                    let body = serde_json::to_vec(&me.beat).unwrap_or_default();
                    (replies, body, me.id.map(key_of_worker))
                };
                if room.link.is_up() {
                    for reply in replies {
                        // One that is lost is followed by three others before the lease ends.
                        let _ = room.link.client.publish(reply, "+WPI".into()).await;
                    }
                    if let Some(key) = key {
                        let _ = room.state.put(key, body.into()).await;
                    }
                }
                tokio::time::sleep(period).await;
            }
        });
    }

    fn me(&self) -> MutexGuard<'_, Myself> {
        lock(&self.me)
    }

    fn id(&self) -> WorkerId {
        self.me().id.unwrap_or(WorkerId(0))
    }

    /// The campaign's plan, fetched once.
    fn plan_of_campaign(&self) -> Result<Vec<Wish>, Error> {
        let Some((record, ..)) = self.record()? else {
            return Ok(Vec::new());
        };
        if let Some((hash, plan)) = &*lock(&self.plan)
            && *hash == record.plan
        {
            return Ok(plan.clone());
        }
        let bytes = contents::get(&self.room, &record.plan)?;
        let plan: Vec<Wish> = serde_json::from_slice(&bytes).map_err(|error| Error::Damaged {
            what: "plan",
            reason: error.to_string(),
        })?;
        *lock(&self.plan) = Some((record.plan, plan.clone()));
        Ok(plan)
    }

    /// Puts more seeds into the queue.
    fn feed(&self) -> Result<Fed, Error> {
        let plan = self.plan_of_campaign()?;
        let mut feeder = lock(&self.feeder);
        self.block(feeder.feed(&self.room, &plan))
    }

    /// What is left of seeds that others could not finish, of which we can do something: sets of compilers; and whether
    /// there is something for others.
    fn rests(&self) -> Result<(Vec<String>, bool), Error> {
        let has = self.me().has.clone();
        self.block(async {
            let failed = |error: String| Error::broker("look at the queue", error);
            let mut names = self.room.queue.consumers();
            let (mut sets, mut others) = (Vec::new(), false);
            while let Some(info) = names.try_next().await.map_err(|e| failed(e.to_string()))? {
                let waiting = info.num_pending > 0 || info.num_ack_pending > 0;
                if let Some(set) = info.name.strip_prefix("rest-")
                    && waiting
                {
                    let key = format!("rest.{set}");
                    let names = self.room.state.entry(key).await;
                    let names = names.map_err(|e| failed(e.to_string()))?;
                    let names: Vec<String> = names
                        .and_then(|entry| serde_json::from_slice(&entry.value).ok())
                        .unwrap_or_default();
                    if has.is_empty() || names.iter().any(|name| has.contains(name)) {
                        sets.push(set.to_owned());
                    } else {
                        others = true;
                    }
                }
            }
            Ok((sets, others))
        })
    }

    /// Takes what was handed out, unless it is finished.
    fn take(&self, handed: Handed) -> Result<Option<Lease>, Error> {
        let (has, lacks) = {
            let me = self.me();
            (me.has.clone(), me.beat.lacks.clone())
        };
        let Handed {
            item,
            reply,
            attempt,
            sequence,
            ..
        } = handed;
        // Of all compilers, or of those that are left: which of them we have, and which not.
        let (mine, rest) = match &item.compilers {
            None if lacks.is_empty() => (None, lacks),
            None => (Some(has), lacks),
            Some(names) => {
                let (mine, rest): (Vec<String>, Vec<String>) =
                    names.iter().cloned().partition(|name| has.contains(name));
                (Some(mine), rest)
            }
        };
        let part = mine.as_deref().map(set_of).unwrap_or_default();
        let done = self.block(queue::progress(&self.room, &item, &part))?;
        let held = Held {
            reply,
            sequence,
            rest,
            item,
        };
        let Some(done) = done else {
            // It came again: what is left for others may have been lost with it.
            if !held.rest.is_empty() && !self.block(audit::is_ended(&self.room, &held.item))? {
                self.leave_rest(&held)?;
            }
            self.courier.deliver(Parcel::Ack { reply: held.reply })?;
            return Ok(None);
        };
        let item = &held.item;
        if attempt > MOST_ATTEMPTS {
            self.courier.deliver(Parcel::Fact(Fact::Abandoned {
                stream: item.stream.clone(),
                number: item.number,
            }))?;
            self.courier.deliver(Parcel::Ack { reply: held.reply })?;
            return Ok(None);
        }
        let lease = Lease {
            stream: item.stream.clone(),
            number: item.number,
            worker: self.id(),
            attempt,
            done,
            file: item.file.clone(),
            compilers: mine,
        };
        let place = (item.stream.clone(), item.number);
        self.me().held.insert(place, held);
        Ok(Some(lease))
    }

    fn try_grant(&self) -> Result<Grant, Error> {
        // Results first: a broker that does not take them need not hand out more.
        if self.courier.backlog() > 0 || !self.room.link.is_up() {
            return Ok(Grant::Later);
        }
        let room = &self.room;
        loop {
            let vain = self.vain.load(Ordering::SeqCst).min(6);
            let patience = (PATIENCE * (1 << vain)).min(MOST_PATIENCE);
            let handed = self.block(queue::hand_out(room, &room.seeds, patience))?;
            if let Some(handed) = handed {
                self.vain.store(0, Ordering::SeqCst);
                let short = handed.behind < queue::LOW;
                let lease = self.take(handed)?;
                if short {
                    self.feed()?;
                }
                match lease {
                    Some(lease) => return Ok(Grant::Seed(lease)),
                    None => continue,
                }
            }
            let fed = self.feed()?;
            if let Fed::Some(_) = fed {
                continue;
            }
            let (rests, others) = self.rests()?;
            for set in &rests {
                let handed = self.block(async {
                    let rest = room.rest(set).await?;
                    queue::hand_out(room, &rest, PATIENCE).await
                })?;
                if let Some(handed) = handed
                    && let Some(lease) = self.take(handed)?
                {
                    return Ok(Grant::Seed(lease));
                }
            }
            let info = self.block(async {
                let failed = |error| Error::broker("look at the queue", error);
                room.seeds.get_info().await.map_err(failed)
            })?;
            let left = info.num_pending > 0 || info.num_ack_pending > 0;
            self.vain.fetch_add(1, Ordering::SeqCst);
            if fed == Fed::Busy || left || !rests.is_empty() {
                return Ok(Grant::Later);
            }
            // What waits for other compilers is not judged, and not lost.
            if others {
                return Ok(Grant::Nothing);
            }
            match self.audit()? {
                Fed::Some(_) => {}
                Fed::Busy => return Ok(Grant::Later),
                Fed::End => return Ok(Grant::Nothing),
            }
        }
    }

    /// Puts what is not judged, though the queue is empty, into it again.
    fn audit(&self) -> Result<Fed, Error> {
        let plan = self.plan_of_campaign()?;
        let mut feeder = lock(&self.feeder);
        let found = self.block(feeder.audit(&self.room, &plan))?;
        if let Fed::Some(count) = found {
            self.courier.say(format!(
                "the broker lost {count} seeds that nobody judged; they are handed out again"
            ));
        }
        Ok(found)
    }

    /// How many findings the log has.
    fn count_findings(&self) -> Result<u64, Error> {
        let known = *lock(&self.findings);
        if let Some((when, count)) = known
            && when.elapsed() < COUNTED
        {
            return Ok(count);
        }
        let count = self.block(count_findings(&self.room))?;
        *lock(&self.findings) = Some((Instant::now(), count));
        Ok(count)
    }

    /// The copy of the campaign, brought up to date.
    fn copy(&self) -> Result<MutexGuard<'_, Copy>, Error> {
        if self.copy.get().is_none() {
            let copy = Copy::new()?;
            // Another thread may have been first.
            let _ = self.copy.set(Mutex::new(copy));
        }
        let Some(copy) = self.copy.get() else {
            return Err(Error::broker("read the campaign", "no copy"));
        };
        let mut copy = lock(copy);
        copy.refresh(&self.room)?;
        Ok(copy)
    }

    /// Messages in the log that no candor of this version wrote.
    pub fn unreadable(&self) -> Result<usize, Error> {
        Ok(self.copy()?.unreadable)
    }

    /// The counts of a lease: a program is counted by whoever judges the last part of it.
    fn counts(&self, lease: &Lease, counts: &[Count]) -> Vec<Count> {
        let mut me = self.me();
        me.beat.count(counts);
        let place = (lease.stream.clone(), lease.number);
        let parted = me.held.get(&place).is_some_and(|h| !h.rest.is_empty());
        let mut counts = counts.to_vec();
        if parted {
            counts.retain(|count| count.metric != Metric::Programs);
        }
        counts
    }

    fn part(&self, lease: &Lease) -> String {
        lease.compilers.as_deref().map(set_of).unwrap_or_default()
    }

    /// Leaves the rest of a seed to workers that have the other compilers.
    fn leave_rest(&self, held: &Held) -> Result<(), Error> {
        let set = set_of(&held.rest);
        let item = Item {
            compilers: Some(held.rest.clone()),
            ..held.item.clone()
        };
        let body = serde_json::to_string(&item).unwrap_or_default();
        let names = serde_json::to_vec(&held.rest).unwrap_or_default();
        // Said each time: it is the same each time.
        let _ = self.block(async {
            let put = self
                .room
                .state
                .put(format!("rest.{set}"), names.into())
                .await;
            put.map_err(|error| Error::broker("leave a seed", error))
        });
        // A seed that is put into the queue again is another message.
        let sequence = held.sequence;
        let id = format!("rest/{}/{}/{sequence}/{set}", item.stream.0, item.number);
        self.courier.deliver(Parcel::Rest { set, body, id })?;
        Ok(())
    }

    fn store_claim(&self, entry: Entry) -> Result<(), Error> {
        let (worker, attempt) = (entry.worker.unwrap_or(WorkerId(0)), entry.attempt);
        lock(&self.view).note(entry.clone());
        self.courier.deliver(Parcel::Claimed {
            entry: Box::new(entry),
            worker,
            attempt,
        })?;
        Ok(())
    }
}

/// How many findings the log of a campaign has.
pub(crate) async fn count_findings(room: &Room) -> Result<u64, Error> {
    let subject = room.names.facts("found");
    let failed = |error: String| Error::broker("count the findings", error);
    let mut subjects = room
        .log
        .info_with_subjects(&subject)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let mut count = 0;
    while let Some((_, more)) = subjects
        .try_next()
        .await
        .map_err(|error| failed(error.to_string()))?
    {
        count += u64::try_from(more).unwrap_or(0);
    }
    Ok(count)
}

/// Something that can wait: while the broker is away the answer is `otherwise`.
fn or_later<T>(result: Result<T, Error>, otherwise: T) -> Result<T, StoreError> {
    match result {
        Ok(value) => Ok(value),
        Err(error) if error.is_passing() => Ok(otherwise),
        Err(error) => Err(error.into()),
    }
}

impl Store for FleetStore {
    fn campaign(&self) -> Result<Option<Campaign>, StoreError> {
        Ok(self.record()?.map(|(record, created, _)| Campaign {
            created,
            candor: record.candor,
            settings: record.settings,
        }))
    }

    fn begin(&self, wanted: &Campaign) -> Result<Campaign, StoreError> {
        let plan = lock(&self.plan).as_ref().map(|(hash, _)| hash.clone());
        let plan = plan.ok_or_else(|| Error::Unstorable {
            what: "a campaign",
            reason: "it has no plan".to_owned(),
        })?;
        self.block(self.room.begin(wanted, &plan))?;
        let begun = self.campaign()?;
        begun.ok_or_else(|| {
            let reason = "it was removed at once".to_owned();
            let what = "campaign";
            Error::Damaged { what, reason }.into()
        })
    }

    fn plan(&self, wishes: &[Wish]) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(wishes).map_err(|error| Error::Unstorable {
            what: "a plan",
            reason: error.to_string(),
        })?;
        let hash = Contents::put(self, &bytes)?;
        // What the campaign's record names must be there.
        self.courier.finish(FAREWELL)?;
        *lock(&self.plan) = Some((hash, wishes.to_vec()));
        Ok(())
    }

    fn shared(&self) -> bool {
        true
    }

    fn amend(&self, settings: &Value) -> Result<(), StoreError> {
        let wanted = lock(&self.plan).clone();
        let Some((record, created, revision)) = self.record()? else {
            return Ok(());
        };
        let hash = match wanted {
            Some((hash, plan)) if hash != record.plan => {
                let bytes = contents::get(&self.room, &record.plan)?;
                let known: Vec<Wish> = serde_json::from_slice(&bytes).unwrap_or_default();
                may_become(&known, &plan)?;
                hash
            }
            _ => record.plan.clone(),
        };
        let wanted = Campaign {
            created,
            candor: record.candor,
            settings: settings.clone(),
        };
        if self.block(self.room.amend(&wanted, &hash, revision))? {
            Ok(())
        } else {
            Err(Error::broker("change the campaign", "somebody else just did; try again").into())
        }
    }

    fn join(&self, label: &str) -> Result<WorkerId, StoreError> {
        let joined = Parcel::Fact(Fact::Joined {
            label: label.to_owned(),
        });
        // What earlier workers left first: it may be about seeds that we would be given.
        self.courier.finish(FAREWELL)?;
        let Sent::New(number) = self.courier.deliver_now(&joined)? else {
            return Err(Error::broker("join", "the broker takes us for another").into());
        };
        let id = WorkerId(i64::try_from(number).unwrap_or(0));
        {
            let mut me = self.me();
            me.id = Some(id);
            me.begun = Some(Instant::now());
            me.beat.label = label.to_owned();
        }
        self.live();
        Ok(id)
    }

    fn equip(&self, _: WorkerId, has: &[String], lacks: &[String]) -> Result<(), StoreError> {
        let mut me = self.me();
        me.has = has.to_vec();
        me.beat.lacks = lacks.to_vec();
        // A compiler that was lost on the way is missing from the seeds at hand, too.
        for held in me.held.values_mut() {
            let wanted = |name: &&String| match &held.item.compilers {
                None => true,
                Some(names) => names.contains(name),
            };
            held.rest = lacks.iter().filter(wanted).cloned().collect();
        }
        Ok(())
    }

    fn notices(&self) -> Vec<String> {
        self.courier.notices()
    }

    fn beat(&self, _: WorkerId) -> Result<(), StoreError> {
        // A thread of its own does it, oftener than it is asked for here.
        Ok(())
    }

    fn leave(&self, worker: WorkerId) -> Result<(), StoreError> {
        let (held, claims) = {
            let mut me = self.me();
            let held = std::mem::take(&mut me.held);
            let claims = std::mem::take(&mut me.claims);
            me.beat.left = true;
            me.beat.leases = 0;
            me.beat.spooled = 0;
            (held, claims)
        };
        for entry in claims.into_values() {
            let attempt = entry.attempt;
            let back = Entry {
                state: Progress::Open,
                worker: None,
                // Going in order is no failed attempt.
                attempt: attempt.saturating_sub(1),
                ..entry
            };
            self.courier.deliver(Parcel::Claimed {
                entry: Box::new(back),
                worker,
                attempt,
            })?;
        }
        let delivered = self.courier.finish(FAREWELL);
        self.gone.store(true, Ordering::SeqCst);
        self.courier.stop();
        let body = serde_json::to_vec(&self.me().beat).unwrap_or_default();
        // If the broker is away, all this happens by itself when the leases run out.
        let _ = self.block(async {
            let client = &self.room.link.client;
            for held in held.into_values() {
                let _ = client.publish(held.reply, "-NAK".into()).await;
            }
            if self.room.link.is_up() {
                let _ = self
                    .room
                    .state
                    .put(key_of_worker(worker), body.into())
                    .await;
                let _ = tokio::time::timeout(Duration::from_secs(2), client.flush()).await;
            }
            Ok(())
        });
        delivered?;
        Ok(())
    }

    fn workers(&self) -> Result<Vec<Worker>, StoreError> {
        let mut workers = self.copy()?.store.workers()?;
        let living = self.block(crate::status::workers(&self.room))?;
        for worker in &mut workers {
            if let Some(known) = living.iter().find(|one| one.id == worker.id.0) {
                worker.alive = known.alive;
                worker.seen = worker.seen.max(known.seen);
            }
        }
        workers.retain(|worker| worker.id.0 != 0);
        Ok(workers)
    }

    fn grant(&self, _: WorkerId, _: &[Wish]) -> Result<Grant, StoreError> {
        or_later(self.try_grant(), Grant::Later)
    }

    fn advance(&self, lease: &Lease, done: u64, counts: &[Count]) -> Result<(), StoreError> {
        let counts = self.counts(lease, counts);
        self.courier.deliver(Parcel::Fact(Fact::Advanced {
            worker: lease.worker,
            stream: lease.stream.clone(),
            number: lease.number,
            part: self.part(lease),
            done,
            counts,
        }))?;
        Ok(())
    }

    fn complete(
        &self,
        lease: &Lease,
        outcome: &Outcome,
        counts: &[Count],
    ) -> Result<(), StoreError> {
        let counts = self.counts(lease, counts);
        let place = (lease.stream.clone(), lease.number);
        let held = self.me().held.remove(&place);
        // What is no use as a test is none for the other compilers either.
        let judged = *outcome == Outcome::Judged;
        let rest = held.as_ref().filter(|held| judged && !held.rest.is_empty());
        if let Some(held) = rest {
            self.leave_rest(held)?;
        }
        self.courier.deliver(Parcel::Fact(Fact::Completed {
            worker: lease.worker,
            stream: lease.stream.clone(),
            number: lease.number,
            part: self.part(lease),
            whole: rest.is_none(),
            outcome: outcome.clone(),
            counts,
        }))?;
        if let Some(held) = held {
            self.courier.deliver(Parcel::Ack { reply: held.reply })?;
        }
        Ok(())
    }

    fn seeds(&self) -> Result<Seeds, StoreError> {
        let mut seeds = self.copy()?.store.seeds()?;
        let info = self.block(async {
            let failed = |error| Error::broker("look at the queue", error);
            self.room.seeds.get_info().await.map_err(failed)
        })?;
        seeds.leased = u64::try_from(info.num_ack_pending).unwrap_or(0);
        Ok(seeds)
    }

    fn samples(&self) -> Result<Samples, StoreError> {
        self.copy()?.store.samples()
    }

    fn add(&self, new: &NewFinding) -> Result<bool, StoreError> {
        // The content first: a fact never points at nothing.
        let case = document::put(self, &new.case)?;
        let finding = Finding {
            id: new.id.clone(),
            found: Timestamp(0),
            changed: Timestamp(0),
            stream: new.stream.clone(),
            seed: new.seed,
            variant: new.variant,
            kind: new.kind.clone(),
            compiler: new.compiler.clone(),
            version: new.version.clone(),
            family: new.family.clone(),
            level: new.level.clone(),
            signature: new.signature.clone(),
            key: new.signature.0.clone(),
            state: State::Found,
            title: new.title.clone(),
            affected: new.affected.clone(),
            culprit: None,
            case,
            reduced: None,
            exhibit: None,
        };
        let sent = self.courier.deliver(Parcel::Fact(Fact::Found {
            finding: Box::new(finding.clone()),
            priority: new.priority,
        }))?;
        if !lock(&self.view).knows(&new.signature) {
            let order = match sent {
                Sent::New(number) => number,
                // Later than all that are numbered.
                Sent::Known | Sent::Kept => u64::MAX,
            };
            self.courier.deliver(Parcel::Signature(Box::new(Entry {
                signature: new.signature.clone(),
                order,
                priority: new.priority,
                finding,
                state: Progress::Open,
                worker: None,
                attempt: 0,
                failure: None,
            })))?;
        }
        let fresh = sent != Sent::Known;
        if fresh {
            self.me().beat.findings += 1;
        }
        Ok(fresh)
    }

    fn knows(&self, signature: &Signature) -> Result<bool, StoreError> {
        let mut view = lock(&self.view);
        if view.knows(signature) {
            return Ok(true);
        }
        or_later(self.block(view.refresh(&self.room)), ())?;
        Ok(view.knows(signature))
    }

    fn improve(&self, id: &FindingId, improvement: &Improvement) -> Result<State, StoreError> {
        let put = |document: &Option<Value>| -> Result<Option<Hash>, StoreError> {
            match document {
                Some(document) => document::put(self, document).map(Some),
                None => Ok(None),
            }
        };
        let reduced = put(&improvement.reduced)?;
        let exhibit = put(&improvement.exhibit)?;
        let culprit = match &improvement.culprit {
            Some(culprit) => Some(Contents::put(self, culprit.to_string().as_bytes())?),
            None => None,
        };
        let isolated = culprit.is_some();
        self.courier.deliver(Parcel::Fact(Fact::Learnt {
            id: id.clone(),
            reduced: reduced.clone(),
            culprit,
            key: improvement.key.clone(),
            affected: improvement.affected.clone(),
            exhibit: exhibit.clone(),
        }))?;
        let entry = {
            let mut me = self.me();
            let Some(entry) = me.claims.get_mut(id) else {
                return Ok(candor_store::state(reduced.is_some(), isolated));
            };
            let finding = &mut entry.finding;
            finding.reduced = reduced.or(finding.reduced.take());
            finding.exhibit = exhibit.or(finding.exhibit.take());
            if let Some(key) = &improvement.key {
                finding.key.clone_from(key);
            }
            if let Some(affected) = &improvement.affected {
                finding.affected.clone_from(affected);
            }
            let isolated = isolated || finding.state == State::Isolated;
            finding.state = candor_store::state(finding.reduced.is_some(), isolated);
            entry.clone()
        };
        let state = entry.finding.state;
        self.store_claim(entry)?;
        Ok(state)
    }

    fn finding(&self, id: &str) -> Result<Finding, StoreError> {
        self.copy()?.store.finding(id)
    }

    fn findings(&self) -> Result<Vec<Finding>, StoreError> {
        self.copy()?.store.findings()
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        let findings = or_later(self.count_findings(), 0)?;
        let mut view = lock(&self.view);
        or_later(self.block(view.refresh(&self.room)), ())?;
        Ok(view.totals(findings))
    }

    fn groups(&self) -> Result<Vec<Group>, StoreError> {
        self.copy()?.store.groups()
    }

    fn claim(&self, worker: WorkerId) -> Result<Option<Claim>, StoreError> {
        if self.courier.backlog() > 0 || !self.room.link.is_up() {
            return Ok(None);
        }
        let has = self.me().has.clone();
        // Held until we know what we have: two threads of ours are not to claim the same.
        let mut view = lock(&self.view);
        let working_on = {
            let me = self.me();
            let claims = me.claims.values();
            claims.map(|entry| entry.signature.clone()).collect()
        };
        let claimed = self.block(view.claim(&self.room, worker, &has, &working_on));
        let Some(entry) = or_later(claimed, None)? else {
            return Ok(None);
        };
        let claim = Claim {
            signature: entry.signature.clone(),
            finding: entry.finding.clone(),
            worker,
            attempt: entry.attempt,
        };
        self.me().claims.insert(entry.finding.id.clone(), entry);
        Ok(Some(claim))
    }

    fn settle(&self, claim: &Claim, failure: Option<&str>) -> Result<(), StoreError> {
        let Some(mut entry) = self.me().claims.remove(&claim.finding.id) else {
            return Ok(());
        };
        self.courier.deliver(Parcel::Fact(Fact::Settled {
            signature: claim.signature.clone(),
            attempt: claim.attempt,
            failure: failure.map(str::to_owned),
        }))?;
        entry.state = match failure {
            Some(_) => Progress::Failed,
            None => Progress::Done,
        };
        entry.failure = failure.map(str::to_owned);
        Ok(self.store_claim(entry)?)
    }

    fn put(&self, bytes: &[u8]) -> Result<Hash, StoreError> {
        Contents::put(self, bytes)
    }

    fn get(&self, hash: &Hash) -> Result<Vec<u8>, StoreError> {
        Contents::get(self, hash)
    }

    fn case(&self, hash: &Hash) -> Result<Value, StoreError> {
        document::get(self, hash)
    }

    fn note(&self, kind: &str, body: &Value) -> Result<(), StoreError> {
        let long = body.to_string().len() > LONGEST_NOTE;
        let body = if long {
            json!({ "too-long": true })
        } else {
            body.clone()
        };
        self.courier.deliver(Parcel::Fact(Fact::Noted {
            kind: kind.to_owned(),
            body,
        }))?;
        Ok(())
    }

    fn events(&self, after: i64, most: usize) -> Result<Vec<Event>, StoreError> {
        self.copy()?.store.events(after, most)
    }

    fn revision(&self) -> Result<u64, StoreError> {
        let copy = self.copy()?;
        Ok(copy.read())
    }
}

/// Whether a campaign's plan may be replaced by this one: the same seeds, and perhaps more.
fn may_become(known: &[Wish], wanted: &[Wish]) -> Result<(), Error> {
    let other = |reason: String| Err(Error::OtherPlan { reason });
    if known.len() != wanted.len() {
        return other(format!(
            "{} sequences of seeds, not {}",
            known.len(),
            wanted.len()
        ));
    }
    for (old, new) in known.iter().zip(wanted) {
        let same = (&old.stream, old.first, old.step) == (&new.stream, new.first, new.step);
        let fewer = match (old.end, new.end) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(old), Some(new)) => new < old,
        };
        if !same || fewer {
            return other(format!("the seeds of {} differ", old.stream.0));
        }
    }
    Ok(())
}

impl Drop for FleetStore {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::SeqCst);
        self.courier.stop();
    }
}
