//! The campaign at the broker as a [`Store`]: what hunt, reduce, isolate and report know of it.
//!
//! `plan`: what the campaign is. `worker`: joining and leaving. `seeds`: leases. `findings`: findings and claims. What
//! only reads is here, and looks at the copy of the log.

mod findings;
mod plan;
mod seeds;
mod worker;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use candor_store::document::{self, Contents};
use candor_store::{
    Campaign, Claim, Count, Event, Fact, Finding, FindingId, Grant, Group, Hash, Improvement,
    Lease, NewFinding, Outcome, Samples, Seeds, Signature, State, Store, Totals, Wish, Worker,
    WorkerId,
};
use serde_json::{Value, json};

use self::worker::Myself;
use crate::claims::View;
use crate::courier::Courier;
use crate::log::Copy;
use crate::queue::Feeder;
use crate::room::Room;
use crate::spool::Parcel;
use crate::{Error, contents};

pub(crate) use self::findings::count_findings;

type StoreError = candor_store::Error;

/// For what is spooled to be delivered before we go.
const FAREWELL: Duration = Duration::from_secs(10);
/// Notes beyond this are cut: they are for people.
const LONGEST_NOTE: usize = 64 << 10;

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

    fn me(&self) -> MutexGuard<'_, Myself> {
        lock(&self.me)
    }

    fn id(&self) -> WorkerId {
        self.me().id.unwrap_or(WorkerId(0))
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
        self.begin_campaign(wanted)
    }

    fn plan(&self, wishes: &[Wish]) -> Result<(), StoreError> {
        self.put_plan(wishes)
    }

    fn shared(&self) -> bool {
        true
    }

    fn amend(&self, settings: &Value) -> Result<(), StoreError> {
        self.amend_campaign(settings)
    }

    fn join(&self, label: &str) -> Result<WorkerId, StoreError> {
        self.enter(label)
    }

    fn equip(&self, _: WorkerId, has: &[String], lacks: &[String]) -> Result<(), StoreError> {
        self.carry(has, lacks);
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
        self.go(worker)
    }

    fn workers(&self) -> Result<Vec<Worker>, StoreError> {
        self.everybody()
    }

    fn grant(&self, _: WorkerId, _: &[Wish]) -> Result<Grant, StoreError> {
        or_later(self.try_grant(), Grant::Later)
    }

    fn advance(&self, lease: &Lease, done: u64, counts: &[Count]) -> Result<(), StoreError> {
        self.tell_progress(lease, done, counts)
    }

    fn complete(
        &self,
        lease: &Lease,
        outcome: &Outcome,
        counts: &[Count],
    ) -> Result<(), StoreError> {
        self.tell_end(lease, outcome, counts)
    }

    fn seeds(&self) -> Result<Seeds, StoreError> {
        self.count_seeds()
    }

    fn samples(&self) -> Result<Samples, StoreError> {
        self.copy()?.store.samples()
    }

    fn add(&self, new: &NewFinding) -> Result<bool, StoreError> {
        self.add_finding(new)
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
        self.improve_finding(id, improvement)
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
        self.claim_next(worker)
    }

    fn settle(&self, claim: &Claim, failure: Option<&str>) -> Result<(), StoreError> {
        self.settle_claim(claim, failure)
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

impl Drop for FleetStore {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::SeqCst);
        self.courier.stop();
    }
}
