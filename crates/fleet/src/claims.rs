//! Signatures: exactly one worker improves each, by compare-and-set on its entry in a bucket.
//!
//! Everybody keeps a view of the bucket. Who claims a signature writes his name into the entry, provided that it is
//! still as he saw it; of two that try, the broker lets one through. A claim of a worker who is not heard of for the
//! length of a lease, by the clock of whoever looks, is anybody's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use async_nats::jetstream::kv::UpdateErrorKind;
use candor_store::{Finding, Hash, Signature, State, Totals, WorkerId};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::courier::{read_entry, refused};
use crate::log::{News, Tail};
use crate::names::{key_of, key_of_worker};
use crate::room::Room;
use crate::workers::Beat;

/// A signature that so many workers died over waits until there is no other.
const PATIENT_ATTEMPTS: u32 = 3;
/// One that so many died over is left as it is.
const MOST_ATTEMPTS: u32 = 30;
/// The view is not asked for more often than this.
const FRESH: Duration = Duration::from_secs(3);
/// Larger entries are none of ours.
const LARGEST: usize = 1 << 20;

/// How far a signature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Progress {
    Open,
    Claimed,
    Done,
    Failed,
}

/// A signature at the broker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) signature: Signature,
    /// Smaller ones were found earlier.
    pub(crate) order: u64,
    /// Larger ones are improved first.
    pub(crate) priority: i64,
    /// The one that is improved, as far as it is; the culprit itself is an object.
    pub(crate) finding: Finding,
    pub(crate) state: Progress,
    pub(crate) worker: Option<WorkerId>,
    pub(crate) attempt: u32,
    pub(crate) failure: Option<String>,
}

impl Entry {
    /// From the broker; `None` unless it is one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > LARGEST {
            return None;
        }
        let entry: Entry = serde_json::from_slice(bytes).ok()?;
        let good = |hash: &Hash| Hash::parse(hash.as_str()).is_some();
        let finding = &entry.finding;
        let sound = good(&finding.case)
            && finding.reduced.as_ref().is_none_or(good)
            && finding.exhibit.as_ref().is_none_or(good)
            && finding.signature == entry.signature;
        sound.then_some(entry)
    }
}

/// What a worker knows of the signatures.
#[derive(Debug, Default)]
pub(crate) struct View {
    tail: Tail,
    /// All keys, those of entries that cannot be read included.
    keys: BTreeSet<String>,
    entries: BTreeMap<String, Entry>,
    read: Option<Instant>,
    /// When a worker's heartbeat was first seen as it is.
    heard: BTreeMap<WorkerId, (u64, Instant)>,
}

impl View {
    /// Reads what changed, unless that was done just now.
    pub(crate) async fn refresh(&mut self, room: &Room) -> Result<(), Error> {
        if self.read.is_some_and(|before| before.elapsed() < FRESH) {
            return Ok(());
        }
        self.read = Some(Instant::now());
        let news = self.tail.read(&room.signature_stream).await?;
        if !self.take(news) {
            let news = Tail::read_each(&room.signature_stream).await?;
            if !self.take(news) {
                // By the next time the servers may agree.
                self.tail = Tail::default();
                self.read = None;
            }
        }
        Ok(())
    }

    /// Takes over what was read; whether that is all there is: a bucket has one message per key.
    fn take(&mut self, news: News) -> bool {
        self.tail.taken(news.last);
        for item in news.items {
            let key = item.subject.rsplit('.').next().unwrap_or_default();
            self.keys.insert(key.to_owned());
            // An entry under another's key would let one signature be claimed twice.
            if let Some(entry) = Entry::read(&item.payload)
                && key_of(&entry.signature) == key
            {
                self.entries.insert(key.to_owned(), entry);
            }
        }
        u64::try_from(self.keys.len()).unwrap_or(u64::MAX) >= news.messages
    }

    /// The next look is at what is there by then, however short ago the last one was.
    pub(crate) fn outdated(&mut self) {
        self.read = None;
    }

    pub(crate) fn knows(&self, signature: &Signature) -> bool {
        self.entries.contains_key(&key_of(signature))
    }

    /// What we did ourselves is known before it is read.
    pub(crate) fn note(&mut self, entry: Entry) {
        self.entries.insert(key_of(&entry.signature), entry);
    }

    /// Counts by the rules of every store.
    pub(crate) fn totals(&self, findings: u64) -> Totals {
        let count = |keys: BTreeSet<&str>| u64::try_from(keys.len()).unwrap_or(u64::MAX);
        let all = self.entries.values();
        let isolated = all.clone().filter(|e| e.finding.state == State::Isolated);
        let waiting = all
            .clone()
            .filter(|e| matches!(e.state, Progress::Open | Progress::Claimed));
        Totals {
            findings,
            unique: count(all.map(|e| e.finding.key.as_str()).collect()),
            isolated: count(isolated.map(|e| e.finding.key.as_str()).collect()),
            waiting: u64::try_from(waiting.count()).unwrap_or(u64::MAX),
        }
    }

    /// Claims the signature that should be improved next by a worker with these compilers.
    pub(crate) async fn claim(
        &mut self,
        room: &Room,
        worker: WorkerId,
        compilers: &[String],
        working_on: &BTreeSet<Signature>,
    ) -> Result<Option<Entry>, Error> {
        self.refresh(room).await?;
        let mut waiting: Vec<Entry> = self
            .entries
            .values()
            .filter(|e| match e.state {
                Progress::Open => true,
                // Our own, unless the broker took our claim and its answer was lost.
                Progress::Claimed => e.worker != Some(worker) || !working_on.contains(&e.signature),
                Progress::Done | Progress::Failed => false,
            })
            .filter(|e| compilers.is_empty() || compilers.contains(&e.finding.compiler))
            .cloned()
            .collect();
        waiting.sort_by(|a, b| {
            let rank = |e: &Entry| (e.attempt >= PATIENT_ATTEMPTS, -e.priority, e.order);
            rank(a)
                .cmp(&rank(b))
                .then_with(|| a.signature.cmp(&b.signature))
        });
        for candidate in waiting {
            if let (Progress::Claimed, Some(other)) = (candidate.state, candidate.worker)
                && other != worker
                && !self.is_dead(room, other).await?
            {
                continue;
            }
            let key = key_of(&candidate.signature);
            let Some((revision, known)) = read_entry(room, &key).await? else {
                continue;
            };
            // Others were here since we looked.
            if known != candidate {
                self.entries.insert(key, known);
                continue;
            }
            let mut mine = known;
            if mine.attempt >= MOST_ATTEMPTS {
                mine.state = Progress::Failed;
                mine.failure = Some("its worker died each time".to_owned());
            } else {
                mine.state = Progress::Claimed;
                mine.attempt += u32::from(mine.worker != Some(worker));
                mine.worker = Some(worker);
            }
            let body = serde_json::to_vec(&mine).map_err(|error| Error::Unstorable {
                what: "a claim",
                reason: error.to_string(),
            })?;
            match room.signatures.update(&key, body.into(), revision).await {
                Ok(_) => {
                    self.note(mine.clone());
                    if mine.state == Progress::Claimed {
                        return Ok(Some(mine));
                    }
                }
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(error) => return Err(refused(room, &error)),
            }
        }
        Ok(None)
    }

    /// Whether a worker left, or was not heard of for the length of a lease by our own clock.
    async fn is_dead(&mut self, room: &Room, worker: WorkerId) -> Result<bool, Error> {
        let entry = room
            .state
            .entry(key_of_worker(worker))
            .await
            .map_err(|error| refused(room, &error))?;
        let (revision, left) = match &entry {
            Some(entry) => (
                entry.revision,
                Beat::read(&entry.value).is_some_and(|beat| beat.left),
            ),
            None => (0, false),
        };
        if left {
            return Ok(true);
        }
        let now = Instant::now();
        let heard = self.heard.entry(worker).or_insert((revision, now));
        if heard.0 != revision {
            *heard = (revision, now);
        }
        Ok(heard.1.elapsed() >= room.lease)
    }
}
