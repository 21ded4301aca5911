//! A worker's life: it joins, says again and again that it lives, and leaves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use candor_store::{Fact, FindingId, Store as _, Stream, Worker, WorkerId};

use super::seeds::Held;
use super::{FAREWELL, FleetStore, StoreError, lock};
use crate::Error;
use crate::claims::{Entry, Progress};
use crate::courier::Sent;
use crate::names::key_of_worker;
use crate::spool::Parcel;
use crate::workers::Beat;

/// Who we are.
#[derive(Default)]
pub(super) struct Myself {
    pub(super) id: Option<WorkerId>,
    pub(super) beat: Beat,
    pub(super) has: Vec<String>,
    pub(super) begun: Option<Instant>,
    pub(super) held: BTreeMap<(Stream, u64), Held>,
    /// Signatures we work on.
    pub(super) claims: BTreeMap<FindingId, Entry>,
}

impl FleetStore {
    /// Joins; the number of its entry in the log is its name.
    pub(super) fn enter(&self, label: &str) -> Result<WorkerId, StoreError> {
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

    /// Says which compilers of the campaign are here.
    pub(super) fn carry(&self, has: &[String], lacks: &[String]) {
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
    }

    /// Gives back what it has and delivers what it found.
    pub(super) fn go(&self, worker: WorkerId) -> Result<(), StoreError> {
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

    /// All who ever joined.
    pub(super) fn everybody(&self) -> Result<Vec<Worker>, StoreError> {
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
}
