//! Seeds: a work queue that hands them out, and the feed that keeps it filled.
//!
//! The campaign's plan says which seeds there are; there may be no end of them, so the queue holds the next few
//! hundred. Whoever finds it short feeds it, in two steps: first the feed's entry says what is being put into the
//! queue, then, when it is there, that it is. Who finds such an entry unchanged for the length of a lease does it
//! again: seeds have names, and one that comes twice is found to be finished. At the end of the plan the same is done
//! with what the log does not know to be judged (see [`audit`]).

use std::time::Instant;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::kv::{CreateErrorKind, UpdateErrorKind};
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use candor_store::{Fact, Stream, Wish};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};

use crate::courier::{publish, refused};
use crate::names::is_sequence;
use crate::room::Room;
use crate::{Error, audit};

/// Seeds put into the queue at a time.
const BATCH: u64 = 256;
/// With fewer than this the queue is fed again.
pub(crate) const LOW: u64 = 128;
/// The feed's key.
const FEED: &str = "feed";
/// Larger messages are none of ours.
const LARGEST: usize = 64 << 10;

/// A seed in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) stream: Stream,
    pub(crate) number: u64,
    /// The file it is.
    pub(crate) file: Option<String>,
    /// With these compilers only.
    pub(crate) compilers: Option<Vec<String>>,
}

impl Item {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > LARGEST {
            return None;
        }
        let item: Item = serde_json::from_slice(bytes).ok()?;
        is_sequence(&item.stream).then_some(item)
    }
}

/// A place in the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    wish: usize,
    /// How many of the wish's seeds are before it.
    seeds: u64,
}

/// How far the queue is fed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Feed {
    /// Everything before is in the queue, or was.
    place: Place,
    /// How many that is.
    pub(crate) fed: u64,
    /// Somebody is putting in what lies before this.
    until: Option<Place>,
    /// So many of them, from the first on, are known to be judged.
    #[serde(default)]
    audited: u64,
}

/// What feeding came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// There are so many more in the queue now.
    Some(usize),
    /// Somebody else is at it.
    Busy,
    /// The plan has no more.
    End,
}

/// The seeds from `place` on, at most `most`, and the place behind them.
fn next(plan: &[Wish], mut place: Place, most: u64) -> (Vec<Item>, Place) {
    let mut items = Vec::new();
    while let Some(wish) = plan.get(place.wish)
        && u64::try_from(items.len()).unwrap_or(u64::MAX) < most
    {
        let number = place
            .seeds
            .checked_mul(wish.step.max(1))
            .and_then(|offset| wish.first.checked_add(offset));
        match number {
            Some(number) if wish.end.is_none_or(|end| number < end) => {
                items.push(Item {
                    stream: wish.stream.clone(),
                    number,
                    file: wish.file.clone(),
                    compilers: None,
                });
                place.seeds += 1;
            }
            _ if place.wish + 1 < plan.len() => {
                place = Place {
                    wish: place.wish + 1,
                    seeds: 0,
                };
            }
            // The last wish may be given more seeds later: the place stays in it.
            _ => break,
        }
    }
    (items, place)
}

/// All seeds of a plan in its order.
fn seeds(plan: &[Wish]) -> impl Iterator<Item = Item> {
    let mut place = Place::default();
    std::iter::from_fn(move || {
        let (mut items, behind) = next(plan, place, 1);
        place = behind;
        items.pop()
    })
}

/// Feeds the queue.
#[derive(Debug, Default)]
pub(crate) struct Feeder {
    /// Whom we saw feeding, and since when.
    seen: Option<(u64, Instant)>,
}

/// The feed's entry and its revision; made if there is none.
async fn read_feed(room: &Room) -> Result<(Feed, u64), Error> {
    let entry = room
        .state
        .entry(FEED)
        .await
        .map_err(|error| refused(room, &error))?;
    if let Some(entry) = entry {
        let feed = serde_json::from_slice(&entry.value).map_err(|error| Error::Damaged {
            what: "feed",
            reason: error.to_string(),
        })?;
        return Ok((feed, entry.revision));
    }
    let feed = Feed::default();
    let body = serde_json::to_vec(&feed).unwrap_or_default();
    match room.state.create(FEED, body.into()).await {
        Ok(revision) => Ok((feed, revision)),
        Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {
            Err(Error::broker("feed the queue", "somebody else began"))
        }
        Err(error) => Err(refused(room, &error)),
    }
}

/// How many seeds were ever put into the queue.
pub(crate) async fn fed(room: &Room) -> Result<u64, Error> {
    Ok(read_feed(room).await?.0.fed)
}

/// Writes the feed's entry; `None` if it is not as we saw it.
async fn write_feed(room: &Room, feed: &Feed, revision: u64) -> Result<Option<u64>, Error> {
    let body = serde_json::to_vec(feed).unwrap_or_default();
    match room.state.update(FEED, body.into(), revision).await {
        Ok(revision) => Ok(Some(revision)),
        Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(None),
        Err(error) => Err(refused(room, &error)),
    }
}

impl Feeder {
    /// Puts the next seeds of the plan into the queue.
    pub(crate) async fn feed(&mut self, room: &Room, plan: &[Wish]) -> Result<Fed, Error> {
        let (mut feed, revision) = read_feed(room).await?;
        let (items, until) = next(plan, feed.place, BATCH);
        if items.is_empty() {
            return Ok(Fed::End);
        }
        if self.is_busy(room, &feed, revision) {
            return Ok(Fed::Busy);
        }
        feed.until = Some(until);
        let Some(revision) = write_feed(room, &feed, revision).await? else {
            return Ok(Fed::Busy);
        };
        self.put(room, &items, true).await?;
        let done = Feed {
            place: until,
            fed: feed.fed + u64::try_from(items.len()).unwrap_or(0),
            until: None,
            audited: feed.audited,
        };
        // If somebody thought us dead, he did the same.
        write_feed(room, &done, revision).await?;
        self.seen = None;
        Ok(Fed::Some(items.len()))
    }

    /// With an empty queue and nothing more in the plan: puts in again what is not judged.
    pub(crate) async fn audit(&mut self, room: &Room, plan: &[Wish]) -> Result<Fed, Error> {
        let (mut feed, revision) = read_feed(room).await?;
        if feed.audited >= feed.fed {
            return Ok(Fed::End);
        }
        if self.is_busy(room, &feed, revision) {
            return Ok(Fed::Busy);
        }
        feed.until = Some(feed.place);
        let Some(revision) = write_feed(room, &feed, revision).await? else {
            return Ok(Fed::Busy);
        };
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (fed, judged) = (count(feed.fed), count(feed.audited));
        let missing = audit::missing(room, seeds(plan).take(fed).skip(judged)).await?;
        // Without their names: the server may remember those of messages that it lost.
        self.put(room, &missing, false).await?;
        feed.until = None;
        if missing.is_empty() {
            feed.audited = feed.fed;
        }
        write_feed(room, &feed, revision).await?;
        self.seen = None;
        Ok(match missing.len() {
            0 => Fed::End,
            count => Fed::Some(count),
        })
    }

    /// Whether somebody is at it, and was not seen at the same place for the length of a lease.
    fn is_busy(&mut self, room: &Room, feed: &Feed, revision: u64) -> bool {
        if feed.until.is_none() {
            return false;
        }
        let now = Instant::now();
        let seen = self.seen.get_or_insert((revision, now));
        if seen.0 != revision {
            *seen = (revision, now);
        }
        seen.1.elapsed() < room.lease
    }

    async fn put(&self, room: &Room, items: &[Item], named: bool) -> Result<(), Error> {
        // A few at a time on their way: a queue in three places takes its time for each.
        let mut sending = futures_util::stream::iter(items.iter().map(|item| {
            let name = format!("seed/{}/{}", item.stream.0, item.number);
            let body = serde_json::to_vec(item).unwrap_or_default();
            async move {
                let name = named.then_some(name.as_str());
                publish(room, room.names.seeds(), name, body).await
            }
        }))
        .buffer_unordered(32);
        while let Some(sent) = sending.next().await {
            sent?;
        }
        Ok(())
    }
}

/// A message of the queue.
pub(crate) struct Handed {
    pub(crate) item: Item,
    /// Where it wants to be acknowledged.
    pub(crate) reply: String,
    /// How often it was handed out, this time included.
    pub(crate) attempt: u32,
    /// How many are behind it.
    pub(crate) behind: u64,
    /// Its number in the queue.
    pub(crate) sequence: u64,
}

/// The next message of a queue, if one comes in time.
pub(crate) async fn hand_out(
    room: &Room,
    queue: &PullConsumer,
    patience: std::time::Duration,
) -> Result<Option<Handed>, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::broker("get a seed", error);
    let mut batch = queue
        .batch()
        .max_messages(1)
        .expires(patience)
        .messages()
        .await
        .map_err(|error| failed(&error))?;
    let Some(message) = batch.next().await else {
        return Ok(None);
    };
    let message = message.map_err(|error| failed(&error))?;
    let info = message.info().map_err(|error| failed(&error))?;
    let attempt = u32::try_from(info.delivered).unwrap_or(1);
    let (behind, sequence) = (info.pending, info.stream_sequence);
    let Some(reply) = message.reply.as_ref().map(ToString::to_string) else {
        return Ok(None);
    };
    let Some(item) = Item::read(&message.payload) else {
        // Not one of ours: out of the way.
        let _ = room.link.client.publish(reply, "+TERM".into()).await;
        return Ok(None);
    };
    Ok(Some(Handed {
        item,
        reply,
        attempt,
        behind,
        sequence,
    }))
}

/// How far a seed, or a part of it, was judged: `None` if nothing of it is left.
pub(crate) async fn progress(room: &Room, item: &Item, part: &str) -> Result<Option<u64>, Error> {
    let subject = room.names.seed(&item.stream, item.number, part);
    let message = match room.log.get_last_raw_message_by_subject(&subject).await {
        Ok(message) => message,
        Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => {
            return Ok(Some(0));
        }
        Err(error) => return Err(Error::broker("look a seed up", error)),
    };
    Ok(match serde_json::from_slice(&message.payload) {
        Ok(Fact::Advanced { done, .. }) => Some(done),
        Ok(Fact::Completed { .. } | Fact::Abandoned { .. }) => None,
        _ => Some(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(stream: &str, first: u64, step: u64, end: Option<u64>) -> Wish {
        Wish {
            stream: Stream(stream.into()),
            first,
            step,
            end,
            file: None,
        }
    }

    #[test]
    fn a_plan_is_walked_in_order_to_its_end() {
        let plan = [
            wish("a", 0, 1, Some(1)),
            wish("b", 0, 1, Some(1)),
            wish("csmith", 5, 2, Some(12)),
        ];
        let mut place = Place::default();
        let mut all = Vec::new();
        loop {
            let (items, until) = next(&plan, place, 2);
            assert!(items.len() <= 2);
            if items.is_empty() {
                break;
            }
            all.extend(items.into_iter().map(|i| (i.stream.0, i.number)));
            place = until;
        }
        let expected = [
            ("a", 0),
            ("b", 0),
            ("csmith", 5),
            ("csmith", 7),
            ("csmith", 9),
            ("csmith", 11),
        ];
        let expected = expected.map(|(s, n)| (s.to_owned(), n));
        assert_eq!(all, expected);
        let again = seeds(&plan).map(|i| (i.stream.0, i.number));
        assert_eq!(again.collect::<Vec<_>>(), expected);
        // More seeds later: the place stays good.
        let longer = [
            plan[0].clone(),
            plan[1].clone(),
            wish("csmith", 5, 2, Some(14)),
        ];
        let before_end = Place { wish: 2, seeds: 4 };
        let (items, _) = next(&longer, before_end, 9);
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].number, 13);
    }

    #[test]
    fn endless_plans_end_at_the_last_number() {
        let plan = [wish("csmith", u64::MAX - 1, 1, None)];
        let (items, place) = next(&plan, Place::default(), 9);
        assert_eq!(items.len(), 2);
        assert!(next(&plan, place, 9).0.is_empty());
    }

    #[test]
    fn messages_that_are_no_seeds_are_refused() {
        assert!(Item::read(b"{}").is_none());
        let evil = br#"{"stream":"corpus/../x","number":1,"file":null,"compilers":null}"#;
        assert!(Item::read(evil).is_none());
        let good = br#"{"stream":"csmith","number":1,"file":null,"compilers":null}"#;
        assert!(Item::read(good).is_some());
    }
}
