//! Whether every seed that was put into the queue was judged: the plan is compared with the log.
//!
//! An empty queue does not say so. A server may lose a message of the queue, or what its consumer knows of it, when it is
//! killed at a bad moment; what the log says is judged is judged. So the last to find the queue empty looks, once, and
//! puts what is missing into the queue again.

use std::collections::BTreeSet;

use async_nats::jetstream::consumer::DeliverPolicy;
use candor_store::{Fact, Stream};

use crate::Error;
use crate::log::in_order;
use crate::queue::Item;
use crate::room::Room;

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
    let items = in_order(&room.log, deliver_policy, subjects, |_, waiting| {
        waiting == 0
    })
    .await
    .map_err(|error| Error::broker("compare the seeds with the log", error))?;
    let facts = items
        .iter()
        .filter_map(|item| serde_json::from_slice(&item.payload).ok());
    Ok(facts.collect())
}
