//! Brings parcels to the broker; what cannot be delivered now is kept on disk and delivered later, in order.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::kv::{CreateErrorKind, UpdateErrorKind};
use async_nats::jetstream::object_store::InfoErrorKind;
use candor_store::{Fact, Hash};

use crate::Error;
use crate::claims::{Entry, Progress};
use crate::error::is_full;
use crate::names::key_of;
use crate::room::Room;
use crate::spool::{Parcel, Spool, bytes};

/// How often what is spooled is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// Attempts at a compare-and-set that others race for.
const RACES: usize = 20;

/// What became of a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The broker did not have it; its number there, where it has one.
    New(u64),
    /// It was there before.
    Known,
    /// It is kept until the broker can be reached.
    Kept,
}

/// The way to the broker.
pub(crate) struct Courier {
    room: Arc<Room>,
    spool: Mutex<Spool>,
    notices: Mutex<Vec<String>>,
    /// The last reason why something could not be delivered.
    trouble: Mutex<Option<String>>,
    over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Courier {
    /// With a spool below `parent`; begins to deliver what dead workers left there.
    pub(crate) fn start(room: Arc<Room>, parent: &std::path::Path) -> Result<Arc<Self>, Error> {
        let (spool, inherited) = Spool::open(parent)?;
        let courier = Arc::new(Courier {
            room,
            spool: Mutex::new(spool),
            notices: Mutex::default(),
            trouble: Mutex::default(),
            over: AtomicBool::new(false),
        });
        if inherited > 0 {
            courier.say(format!(
                "{inherited} results that an earlier worker could not deliver are delivered now"
            ));
        }
        let later = Arc::clone(&courier);
        courier.room.link.runtime.spawn(async move {
            while !later.over.load(Ordering::SeqCst) {
                tokio::time::sleep(RETRY).await;
                later.drain().await;
            }
        });
        Ok(courier)
    }

    pub(crate) fn say(&self, notice: String) {
        lock(&self.notices).push(notice);
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notices))
    }

    /// How much waits on disk.
    pub(crate) fn backlog(&self) -> usize {
        lock(&self.spool).len()
    }

    fn directory(&self) -> PathBuf {
        lock(&self.spool).directory().to_owned()
    }

    /// Delivers, or keeps. An error is nothing that waiting would cure.
    pub(crate) fn deliver(&self, parcel: Parcel) -> Result<Sent, Error> {
        if self.backlog() == 0 && self.room.link.is_up() {
            match self.room.link.runtime.block_on(send(&self.room, &parcel)) {
                Ok(sent) => return Ok(sent),
                Err(error) if error.is_passing() => self.worry(&error),
                Err(error) => return Err(error),
            }
        } else if self.backlog() == 0 {
            self.worry(&Error::broker("be heard", "the connection is down"));
        }
        lock(&self.spool).push(&parcel)?;
        Ok(Sent::Kept)
    }

    /// Delivers at once or not at all.
    pub(crate) fn deliver_now(&self, parcel: &Parcel) -> Result<Sent, Error> {
        self.room.link.runtime.block_on(send(&self.room, parcel))
    }

    /// Takes note of a failure, and tells a person the first time.
    fn worry(&self, error: &Error) {
        let reason = error.to_string();
        let first = lock(&self.trouble).replace(reason.clone()).is_none();
        if first {
            self.say(format!(
                "{reason}; going on with the seeds at hand, results are kept in {}",
                self.directory().display()
            ));
        }
    }

    /// Delivers what is kept, until something cannot be.
    async fn drain(&self) {
        let mut delivered = 0_usize;
        while self.room.link.is_up() {
            let front = lock(&self.spool).front();
            let parcel = match front {
                Ok(Some(parcel)) => parcel,
                Ok(None) => break,
                Err(error) => {
                    self.worry(&error);
                    return;
                }
            };
            match send(&self.room, &parcel).await {
                Ok(_) => {}
                Err(error) if error.is_passing() => {
                    self.worry(&error);
                    return;
                }
                // It can never be delivered: said, and not in the way of the others.
                Err(error) => self.say(format!("a result is dropped: {error}")),
            }
            if let Err(error) = lock(&self.spool).pop() {
                self.worry(&error);
                return;
            }
            delivered += 1;
        }
        if self.room.link.is_up() && lock(&self.trouble).take().is_some() {
            self.say(format!(
                "the broker is back; {delivered} results were delivered"
            ));
        }
    }

    /// Waits until everything is delivered, but not for ever.
    pub(crate) fn finish(&self, patience: Duration) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            let count = self.backlog();
            if count == 0 {
                return Ok(());
            }
            if begun.elapsed() >= patience {
                return Err(Error::Undelivered {
                    count,
                    reason: lock(&self.trouble).clone().unwrap_or_default(),
                    directory: self.directory(),
                });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// No more attempts.
    pub(crate) fn stop(&self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

/// Publishes to a stream under a name; whether it was new.
pub(crate) async fn publish(
    room: &Room,
    subject: String,
    name: Option<&str>,
    body: Vec<u8>,
) -> Result<Sent, Error> {
    let mut headers = HeaderMap::new();
    if let Some(name) = name {
        headers.insert("Nats-Msg-Id", name);
    }
    let failed = |error: async_nats::jetstream::context::PublishError| -> Error {
        if error.kind() == PublishErrorKind::MaxPayloadExceeded {
            return Error::Unstorable {
                what: "a message",
                reason: error.to_string(),
            };
        }
        refused(room, &error)
    };
    let sending = async |headers: HeaderMap| {
        let context = &room.link.context;
        let body = body.clone().into();
        let ack = context
            .publish_with_headers(subject.clone(), headers, body)
            .await
            .map_err(failed)?;
        ack.await.map_err(failed)
    };
    let mut ack = sending(headers).await?;
    // Servers of 2.9 note a name when they propose a message to the others. One that stopped leading before they agreed
    // still knows the name and has no message: a repetition without a number. Told again without a name it is stored.
    if ack.duplicate && ack.sequence == 0 {
        ack = sending(HeaderMap::new()).await?;
    }
    Ok(if ack.duplicate {
        Sent::Known
    } else {
        Sent::New(ack.sequence)
    })
}

fn json(what: &'static str, value: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|error| Error::Unstorable {
        what,
        reason: error.to_string(),
    })
}

async fn send(room: &Room, parcel: &Parcel) -> Result<Sent, Error> {
    match parcel {
        Parcel::Object { hash, text, hex } => {
            let bytes = bytes(text.as_deref(), hex.as_deref()).filter(|b| Hash::of(b) == *hash);
            let bytes = bytes.ok_or_else(|| Error::Damaged {
                what: "parcel",
                reason: format!("it is not the object {hash}"),
            })?;
            put(room, hash, &bytes).await
        }
        Parcel::Fact(fact) => send_fact(room, fact).await,
        Parcel::Signature(entry) => {
            let key = key_of(&entry.signature);
            match room
                .signatures
                .create(&key, json("a signature", entry)?.into())
                .await
            {
                Ok(revision) => Ok(Sent::New(revision)),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(Sent::Known),
                Err(error) => Err(refused(room, &error)),
            }
        }
        Parcel::Claimed {
            entry,
            worker,
            attempt,
        } => {
            for _ in 0..RACES {
                let key = key_of(&entry.signature);
                let Some((revision, known)) = read_entry(room, &key).await? else {
                    return Ok(Sent::Known);
                };
                // Somebody took over, or it is settled: what we know is in the log.
                let ours = known.state == Progress::Claimed
                    && known.worker == Some(*worker)
                    && known.attempt == *attempt;
                if !ours {
                    return Ok(Sent::Known);
                }
                match room
                    .signatures
                    .update(&key, json("a signature", entry)?.into(), revision)
                    .await
                {
                    Ok(revision) => return Ok(Sent::New(revision)),
                    Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                    Err(error) => return Err(refused(room, &error)),
                }
            }
            Err(Error::broker(
                "store a signature",
                "others are always first",
            ))
        }
        Parcel::Rest { set, body, id } => {
            room.rest(set).await?;
            publish(
                room,
                room.names.rest(set),
                Some(id),
                body.clone().into_bytes(),
            )
            .await
        }
        Parcel::Ack { reply } => {
            // Not waited for: a lost one brings the seed back, which is then found to be finished.
            room.link
                .client
                .publish(reply.clone(), "+ACK".into())
                .await
                .map_err(|error| Error::broker("give back a seed", error))?;
            Ok(Sent::New(0))
        }
    }
}

async fn send_fact(room: &Room, fact: &Fact) -> Result<Sent, Error> {
    let names = &room.names;
    let subject = match fact {
        Fact::Advanced {
            stream,
            number,
            part,
            ..
        }
        | Fact::Completed {
            stream,
            number,
            part,
            ..
        } => names.seed(stream, *number, part),
        Fact::Abandoned { stream, number } => names.seed(stream, *number, ""),
        other => names.facts(other.sort()),
    };
    // Two workers may have the same label.
    let name = (!matches!(fact, Fact::Joined { .. })).then(|| fact.name());
    publish(room, subject, name.as_deref(), json("a fact", fact)?).await
}

/// Stores a content under its hash, once.
pub(crate) async fn put(room: &Room, hash: &Hash, bytes: &[u8]) -> Result<Sent, Error> {
    match room.objects.info(hash.as_str()).await {
        Ok(info) if !info.deleted => return Ok(Sent::Known),
        Ok(_) => {}
        Err(error) if error.kind() == InfoErrorKind::NotFound => {}
        Err(error) => return Err(refused(room, &error)),
    }
    let mut content = bytes;
    match room.objects.put(hash.as_str(), &mut content).await {
        Ok(_) => Ok(Sent::New(0)),
        Err(error) => Err(refused(room, &error)),
    }
}

/// A signature's entry, with its revision. One that cannot be read is nobody's.
pub(crate) async fn read_entry(room: &Room, key: &str) -> Result<Option<(u64, Entry)>, Error> {
    let entry = room
        .signatures
        .entry(key)
        .await
        .map_err(|error| refused(room, &error))?;
    Ok(entry.and_then(|found| Some((found.revision, Entry::read(&found.value)?))))
}

/// A failed request, with a full disk told apart.
pub(crate) fn refused(room: &Room, error: &dyn std::fmt::Display) -> Error {
    if is_full(error) {
        return Error::Full {
            url: room.link.url.clone(),
            reason: error.to_string(),
        };
    }
    Error::broker("store results", error)
}
