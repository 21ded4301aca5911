//! Whether every seed that was put into the queue was judged: the plan is compared with the log.
//!
//! An empty queue does not say so. A server may lose a message of the queue, or what its consumer knows of it, when it is
//! killed at a bad moment; what the log says is judged is judged. So the last to find the queue empty looks, once, and
//! puts what is missing into the queue again.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use candor_store::{Fact, Stream};
use futures_util::StreamExt as _;

use crate::Error;
use crate::queue::Item;
use crate::room::Room;

/// Messages asked for at a time.
const MANY: usize = 500;
/// For the next of them to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Those of `items` that the log does not know the end of.
pub(crate) async fn missing(
    room: &Room,
    items: impl Iterator<Item = Item>,
) -> Result<Vec<Item>, Error> {
    // The last word on each seed is nearly always its end.
    let mut ended = BTreeSet::new();
    let every = room.names.facts("seed.>");
    for fact in facts(room, every, DeliverPolicy::LastPerSubject).await? {
        ended.extend(end(&fact));
    }
    let mut missing = Vec::new();
    for item in items {
        let known = ended.contains(&(item.stream.clone(), item.number));
        if !known && !is_ended(room, &item).await? {
            missing.push(item);
        }
    }
    Ok(missing)
}

/// Whether all of a seed, and not only a part of it, was judged or given up.
pub(crate) async fn is_ended(room: &Room, item: &Item) -> Result<bool, Error> {
    let subject = room.names.parts(&item.stream, item.number);
    let facts = facts(room, subject, DeliverPolicy::All).await?;
    Ok(facts.iter().any(|fact| end(fact).is_some()))
}

/// The seed whose end this is.
fn end(fact: &Fact) -> Option<(Stream, u64)> {
    match fact {
        Fact::Completed {
            stream,
            number,
            whole: true,
            ..
        }
        | Fact::Abandoned { stream, number } => Some((stream.clone(), *number)),
        _ => None,
    }
}

/// Facts of the log under some subjects.
async fn facts(
    room: &Room,
    subjects: String,
    deliver_policy: DeliverPolicy,
) -> Result<Vec<Fact>, Error> {
    fn failed(error: impl std::fmt::Display) -> Error {
        Error::broker("compare the seeds with the log", error)
    }
    let consumer = room
        .log
        .create_consumer(pull::Config {
            deliver_policy,
            filter_subject: subjects,
            ack_policy: AckPolicy::None,
            inactive_threshold: Duration::from_secs(30),
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        })
        .await
        .map_err(failed)?;
    let name = consumer.cached_info().name.clone();
    let mut left = consumer.cached_info().num_pending;
    let (mut facts, mut come) = (Vec::new(), 0);
    while left > 0 {
        let before = come;
        let mut batch = consumer
            .batch()
            .max_messages(MANY)
            .expires(PATIENCE)
            .messages()
            .await
            .map_err(failed)?;
        while let Some(message) = batch.next().await {
            let message = message.map_err(failed)?;
            let info = message.info().map_err(failed)?;
            come += 1;
            if info.consumer_sequence != come {
                return Err(failed("messages were lost on the way"));
            }
            left = info.pending;
            facts.extend(serde_json::from_slice::<Fact>(&message.payload).ok());
            if left == 0 {
                break;
            }
        }
        if come == before {
            return Err(failed("its messages do not come"));
        }
    }
    // It would go by itself after half a minute.
    let _ = room.log.delete_consumer(&name).await;
    Ok(facts)
}
