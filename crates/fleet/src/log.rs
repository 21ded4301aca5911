//! Reading a stream from where we stopped last, and the copy of a campaign that reports look at.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::Stream;
use candor_store::{Fact, Hash, SqliteStore, Timestamp, Told};
use futures_util::StreamExt as _;

use crate::Error;
use crate::contents;
use crate::room::Room;

/// With so few new messages each is asked for by its number.
const FEW: u64 = 8;
/// Messages asked for at a time.
const MANY: usize = 500;
/// For the next of them to come.
const PATIENCE: Duration = Duration::from_secs(5);
/// Larger messages are none of ours.
const LARGEST: usize = 4 << 20;

/// One message.
pub(crate) struct Item {
    pub(crate) sequence: u64,
    pub(crate) time: Timestamp,
    pub(crate) subject: String,
    pub(crate) payload: Vec<u8>,
}

/// What is new in a stream.
pub(crate) struct News {
    pub(crate) items: Vec<Item>,
    /// Up to where.
    pub(crate) last: u64,
    /// How many messages the stream has.
    pub(crate) messages: u64,
}

/// How far a stream is read.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    read: u64,
    /// No message of the stream is ever replaced by another: all numbers are there.
    dense: bool,
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::broker("read the campaign", error)
}

/// A server's time in ours.
pub(crate) fn timestamp(nanoseconds: i128) -> Timestamp {
    Timestamp(i64::try_from(nanoseconds / 1_000_000).unwrap_or(0))
}

impl Tail {
    /// What came since the last time, in order. It comes again unless it is [taken](Tail::taken).
    pub(crate) async fn read(&self, stream: &Stream) -> Result<News, Error> {
        let state = stream.get_info().await.map_err(failed)?.state;
        let last = state.last_sequence;
        if last <= self.read || state.messages == 0 {
            return Ok(News {
                items: Vec::new(),
                last: self.read,
                messages: state.messages,
            });
        }
        let first = (self.read + 1).max(state.first_sequence);
        let mut items = if last - first < FEW {
            one_by_one(stream, first, last).await?
        } else {
            together(stream, first, last, self.dense).await?
        };
        items.retain(|item| item.payload.len() <= LARGEST);
        Ok(News {
            items,
            last,
            messages: state.messages,
        })
    }

    /// Everything that a stream has, each message asked for by its number: a server's consumer was seen to pass over some.
    pub(crate) async fn read_each(stream: &Stream) -> Result<News, Error> {
        let state = stream.get_info().await.map_err(failed)?.state;
        Ok(News {
            items: one_by_one(stream, state.first_sequence, state.last_sequence).await?,
            last: state.last_sequence,
            messages: state.messages,
        })
    }

    /// Of a stream whose messages stay for ever.
    pub(crate) fn dense() -> Self {
        Tail {
            read: 0,
            dense: true,
        }
    }

    /// Goes on behind what was read.
    pub(crate) fn taken(&mut self, last: u64) {
        self.read = last;
    }
}

async fn one_by_one(stream: &Stream, first: u64, last: u64) -> Result<Vec<Item>, Error> {
    let mut items = Vec::new();
    for sequence in first..=last {
        // Those that are gone were replaced by a newer one of their subject.
        items.extend(one(stream, sequence).await?);
    }
    Ok(items)
}

/// The message of a number, from the server that leads; `None` if there is none.
async fn one(stream: &Stream, sequence: u64) -> Result<Option<Item>, Error> {
    use async_nats::jetstream::stream::RawMessageErrorKind as Kind;
    match stream.get_raw_message(sequence).await {
        Ok(message) => Ok(Some(Item {
            sequence,
            time: timestamp(message.time.unix_timestamp_nanos()),
            subject: message.subject.to_string(),
            payload: message.payload.to_vec(),
        })),
        Err(error) if matches!(error.kind(), Kind::NoMessageFound) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

async fn together(stream: &Stream, first: u64, last: u64, dense: bool) -> Result<Vec<Item>, Error> {
    let policy = DeliverPolicy::ByStartSequence {
        start_sequence: first,
    };
    let enough = |item: Option<&Item>, _| item.is_some_and(|item| item.sequence >= last);
    let come = in_order(stream, policy, String::new(), enough)
        .await
        .map_err(failed)?;
    if !dense {
        return Ok(come);
    }
    // A server's consumer was seen to pass over a message that the log has.
    let mut items: Vec<Item> = Vec::with_capacity(come.len());
    for item in come {
        let next = items.last().map_or(first, |before| before.sequence + 1);
        if next < item.sequence {
            items.extend(one_by_one(stream, next, item.sequence - 1).await?);
        }
        items.push(item);
    }
    Ok(items)
}

/// Messages of some subjects (all, if empty) in their order, until there are `enough`: judged by the last one and by how
/// many are waiting, first before any has come. The error is the broker's, in words.
pub(crate) async fn in_order(
    stream: &Stream,
    deliver_policy: DeliverPolicy,
    filter_subject: String,
    enough: impl Fn(Option<&Item>, u64) -> bool,
) -> Result<Vec<Item>, String> {
    fn words(error: impl std::fmt::Display) -> String {
        error.to_string()
    }
    let consumer = stream
        .create_consumer(pull::Config {
            deliver_policy,
            filter_subject,
            ack_policy: AckPolicy::None,
            inactive_threshold: Duration::from_secs(30),
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        })
        .await
        .map_err(words)?;
    let name = consumer.cached_info().name.clone();
    let mut items: Vec<Item> = Vec::new();
    let mut come = 0;
    let mut done = enough(None, consumer.cached_info().num_pending);
    while !done {
        let before = come;
        let mut batch = consumer
            .batch()
            .max_messages(MANY)
            .expires(PATIENCE)
            .messages()
            .await
            .map_err(words)?;
        while let Some(message) = batch.next().await {
            let message = message.map_err(words)?;
            let info = message.info().map_err(words)?;
            // Nobody sends again what a broken connection swallowed: whoever notices begins anew.
            come += 1;
            if info.consumer_sequence != come {
                return Err("messages were lost on the way".to_owned());
            }
            items.push(Item {
                sequence: info.stream_sequence,
                time: timestamp(info.published.unix_timestamp_nanos()),
                subject: message.subject.to_string(),
                payload: message.payload.to_vec(),
            });
            done = enough(items.last(), info.pending);
            if done {
                break;
            }
        }
        if come == before {
            return Err("its messages do not come".to_owned());
        }
    }
    // It would go by itself after half a minute.
    let _ = stream.delete_consumer(&name).await;
    Ok(items)
}

/// A copy of the campaign in a folder that goes away.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) store: SqliteStore,
    tail: Tail,
    /// Messages that are no facts.
    pub(crate) unreadable: usize,
    _folder: tempfile::TempDir,
}

impl Copy {
    pub(crate) fn new() -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(Error::Runtime)?;
        Ok(Copy {
            store: SqliteStore::create(folder.path())?,
            tail: Tail::dense(),
            unreadable: 0,
            _folder: folder,
        })
    }

    /// How far the log is read: changes when the campaign does.
    pub(crate) fn read(&self) -> u64 {
        self.tail.read
    }

    /// Takes over what is new.
    pub(crate) fn refresh(&mut self, room: &Room) -> Result<(), Error> {
        let news = room.link.runtime.block_on(self.tail.read(&room.log))?;
        let mut told = Vec::new();
        let mut unreadable = 0;
        for item in news.items {
            let fact = match serde_json::from_slice::<Fact>(&item.payload) {
                Ok(fact) if is_sound(&fact) => fact,
                _ => {
                    unreadable += 1;
                    continue;
                }
            };
            let culprit = match &fact {
                Fact::Learnt {
                    culprit: Some(hash),
                    ..
                } => match contents::get(room, hash) {
                    Ok(bytes) => serde_json::from_slice(&bytes).ok(),
                    Err(error) if error.is_passing() => return Err(error),
                    Err(_) => None,
                },
                _ => None,
            };
            told.push(Told {
                number: i64::try_from(item.sequence).unwrap_or(i64::MAX),
                time: item.time,
                fact,
                culprit,
            });
        }
        self.store.replay(&told)?;
        self.unreadable += unreadable;
        self.tail.taken(news.last);
        Ok(())
    }
}

/// Whether the hashes of a fact are hashes: everything else is text that is only shown.
fn is_sound(fact: &Fact) -> bool {
    let good = |hash: &Hash| Hash::parse(hash.as_str()).is_some();
    let all = |hashes: &[&Option<Hash>]| hashes.iter().all(|h| h.as_ref().is_none_or(good));
    match fact {
        Fact::Found { finding, .. } => {
            good(&finding.case) && all(&[&finding.reduced, &finding.exhibit])
        }
        Fact::Learnt {
            reduced,
            culprit,
            exhibit,
            ..
        } => all(&[reduced, culprit, exhibit]),
        _ => true,
    }
}
