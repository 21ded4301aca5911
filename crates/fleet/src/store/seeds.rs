//! Seeds: how a worker gets one, what it says of it, and how it gives it back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use candor_store::{Count, Fact, Grant, Lease, Metric, Outcome, Seeds, Store as _};
use futures_util::TryStreamExt as _;

use super::{FleetStore, StoreError, lock};
use crate::names::set_of;
use crate::queue::{self, Fed, Handed, Item};
use crate::spool::Parcel;
use crate::{Error, audit};

/// For a seed to come out of the queue: at first, and when there was none again and again.
const PATIENCE: Duration = Duration::from_millis(200);
const MOST_PATIENCE: Duration = Duration::from_secs(3);
/// A seed that so many workers died over is given up.
const MOST_ATTEMPTS: u32 = 30;

/// A seed that we judge.
pub(super) struct Held {
    pub(super) reply: String,
    /// Its number in the queue.
    sequence: u64,
    /// Compilers left to others.
    pub(super) rest: Vec<String>,
    pub(super) item: Item,
}

impl FleetStore {
    pub(super) fn try_grant(&self) -> Result<Grant, Error> {
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
                let fed = if short { self.feed().map(drop) } else { Ok(()) };
                match lease {
                    // Whether or not others could be put in: we live and would keep a seed that nobody judges from others.
                    Some(lease) => return Ok(Grant::Seed(lease)),
                    None => fed?,
                }
                continue;
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
            self.vain.fetch_add(1, Ordering::SeqCst);
            let left = info.num_pending > 0 || info.num_ack_pending > 0;
            if fed == Fed::Busy || left || !rests.is_empty() {
                return Ok(Grant::Later);
            }
            // What waits for other compilers is not judged, and not lost.
            if others {
                return Ok(self.nothing());
            }
            match self.audit()? {
                Fed::Some(_) => {}
                Fed::Busy => return Ok(Grant::Later),
                Fed::End => return Ok(self.nothing()),
            }
        }
    }

    /// No seed is left. Who hears this looks whether there are findings to improve, and ends if not: those of the last seconds count.
    fn nothing(&self) -> Grant {
        lock(&self.view).outdated();
        Grant::Nothing
    }

    /// Puts more seeds into the queue.
    fn feed(&self) -> Result<Fed, Error> {
        let plan = self.plan_of_campaign()?;
        let mut feeder = lock(&self.feeder);
        self.block(feeder.feed(&self.room, &plan))
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

    /// So many programs of a seed are judged.
    pub(super) fn tell_progress(
        &self,
        lease: &Lease,
        done: u64,
        counts: &[Count],
    ) -> Result<(), StoreError> {
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

    /// A seed is judged, as far as this worker can.
    pub(super) fn tell_end(
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

    /// How many there are of each sort.
    pub(super) fn count_seeds(&self) -> Result<Seeds, StoreError> {
        let mut seeds = self.copy()?.store.seeds()?;
        let info = self.block(async {
            let failed = |error| Error::broker("look at the queue", error);
            self.room.seeds.get_info().await.map_err(failed)
        })?;
        seeds.leased = u64::try_from(info.num_ack_pending).unwrap_or(0);
        Ok(seeds)
    }
}
