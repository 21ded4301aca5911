//! How a campaign stands: what `candor fleet status` shows. Cheap: nothing of it reads the log.

use std::time::Duration;

use candor_store::Timestamp;
use futures_util::StreamExt as _;
use serde::Serialize;

use crate::claims::View;
use crate::courier::refused;
use crate::log::Tail;
use crate::names::Names;
use crate::queue;
use crate::room::Room;
use crate::store::count_findings;
use crate::workers::Beat;
use crate::{Error, Fleet};

/// Where whoever looks asks the broker for its time.
const CLOCK: &str = "clock";

/// A worker, as others see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hand {
    /// Its number.
    pub id: i64,
    /// Host and process number.
    pub label: String,
    /// Whether it is heard of.
    pub alive: bool,
    /// Whether it went in order.
    pub left: bool,
    /// When it was last heard of, by the broker's clock.
    pub seen: Timestamp,
    /// How long before the broker's now that was, in seconds.
    pub silent: f64,
    /// Programs judged.
    pub programs: u64,
    /// Seeds that were no use.
    pub rejected: u64,
    /// Builds made.
    pub builds: u64,
    /// Findings that were new.
    pub findings: u64,
    /// Seeds it judges now.
    pub leases: u64,
    /// Results it could not deliver yet.
    pub spooled: u64,
    /// How long it worked, in seconds.
    pub seconds: f64,
    /// The campaign's compilers it does not have.
    pub lacks: Vec<String>,
}

/// A campaign at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Its name.
    pub campaign: String,
    /// candor's version that began it.
    pub candor: String,
    /// When, by the broker's clock.
    pub begun: Timestamp,
    /// Seeds that were ever put into the queue.
    pub fed: u64,
    /// Seeds finished.
    pub finished: u64,
    /// Seeds that workers judge now.
    pub leased: u64,
    /// Seeds in the queue that nobody has.
    pub waiting: u64,
    /// What is left of seeds for workers with other compilers.
    pub rests: u64,
    /// Findings, duplicates included.
    pub findings: u64,
    /// Unique ones.
    pub unique: u64,
    /// Unique ones whose culprit is known.
    pub isolated: u64,
    /// Signatures that are to be reduced and isolated, or are just then.
    pub unsettled: u64,
    /// Copies the broker keeps of everything.
    pub replicas: usize,
    /// Everybody who ever worked here and is not forgotten.
    pub workers: Vec<Hand>,
}

impl Standing {
    /// Workers that live.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.workers.iter().filter(|one| one.alive).count()
    }

    /// Programs per hour of those that live.
    #[must_use]
    pub fn programs_per_hour(&self) -> f64 {
        self.rate(|one| one.programs)
    }

    /// Builds per hour of those that live.
    #[must_use]
    pub fn builds_per_hour(&self) -> f64 {
        self.rate(|one| one.builds)
    }

    fn rate(&self, of: fn(&Hand) -> u64) -> f64 {
        let living = self.workers.iter().filter(|one| one.alive);
        // not sum(): that of nobody is -0
        living
            .filter(|one| one.seconds > 0.0)
            .map(|one| of(one) as f64 * 3600.0 / one.seconds)
            .fold(0.0, |all, one| all + one)
    }
}

/// Everybody, as the bucket has them.
pub(crate) async fn workers(room: &Room) -> Result<Vec<Hand>, Error> {
    // The broker's clock, and nobody else's, says how long somebody was silent.
    let revision = room
        .state
        .put(CLOCK, "now".into())
        .await
        .map_err(|error| refused(room, &error))?;
    let mut now = Timestamp(0);
    let mut hands = Vec::new();
    for item in Tail::default().read(&room.state_stream).await?.items {
        if item.sequence == revision {
            now = item.time;
        }
        now = now.max(item.time);
        let id = item.subject.rsplit_once(".worker.");
        let Some(id) = id.and_then(|(_, id)| id.parse().ok()) else {
            continue;
        };
        let Some(beat) = Beat::read(&item.payload) else {
            continue;
        };
        hands.push(Hand {
            id,
            label: beat.label,
            alive: false,
            left: beat.left,
            seen: item.time,
            silent: 0.0,
            programs: beat.programs,
            rejected: beat.rejected,
            builds: beat.builds,
            findings: beat.findings,
            leases: beat.leases,
            spooled: beat.spooled,
            seconds: beat.seconds,
            lacks: beat.lacks,
        });
    }
    for hand in &mut hands {
        let silent: Duration = now.since(hand.seen);
        hand.silent = silent.as_secs_f64();
        hand.alive = !hand.left && silent < room.lease;
    }
    hands.sort_by_key(|hand| hand.id);
    Ok(hands)
}

impl Fleet {
    /// How a campaign stands.
    ///
    /// # Errors
    /// When there is no such campaign, or the broker does not answer.
    pub fn standing(&self, name: &str) -> Result<Standing, Error> {
        let names = Names::new(name)?;
        self.link.runtime.block_on(async {
            let room = Room::enter(std::sync::Arc::clone(&self.link), names).await?;
            let record = crate::campaign::read(&room.campaigns, name).await?;
            let Some((record, begun, _)) = record else {
                return Err(Error::NoCampaign {
                    name: name.to_owned(),
                    url: self.link.url.clone(),
                    near: Vec::new(),
                });
            };
            let failed = |error: &dyn std::fmt::Display| Error::broker("look at the queue", error);
            let (mut leased, mut waiting, mut rests) = (0, 0, 0);
            let mut consumers = room.queue.consumers();
            while let Some(info) = consumers.next().await {
                let info = info.map_err(|error| failed(&error))?;
                let held = u64::try_from(info.num_ack_pending).unwrap_or(0);
                if info.name.starts_with("rest-") {
                    rests += held + info.num_pending;
                } else {
                    waiting += info.num_pending;
                }
                leased += held;
            }
            let fed = queue::fed(&room).await?;
            let mut view = View::default();
            view.refresh(&room).await?;
            let totals = view.totals(count_findings(&room).await?);
            let info = room.log.get_info().await.map_err(|error| failed(&error))?;
            Ok(Standing {
                campaign: name.to_owned(),
                candor: record.candor,
                begun,
                fed,
                finished: fed.saturating_sub(leased + waiting + rests),
                leased,
                waiting,
                rests,
                findings: totals.findings,
                unique: totals.unique,
                isolated: totals.isolated,
                unsettled: totals.waiting,
                replicas: info.config.num_replicas,
                workers: workers(&room).await?,
            })
        })
    }
}
