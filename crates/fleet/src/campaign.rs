//! Campaigns by name: beginning one, joining one, which there are.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::kv::{self, CreateErrorKind, UpdateErrorKind};
use candor_store::{Campaign, Hash, Timestamp};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::broker::{Broker, Link};
use crate::log::timestamp;
use crate::names::Names;
use crate::room::{self, Room};
use crate::store::FleetStore;
use crate::{Error, courier};

/// The version of everything candor keeps at a broker.
pub const SCHEMA: u64 = 1;
/// Copies of everything in a cluster.
const REPLICAS: usize = 3;
/// For a cluster to find its leaders.
const PATIENCE: Duration = Duration::from_secs(15);
/// Larger records are none of ours.
const LARGEST: usize = 1 << 20;

/// How a campaign is kept, decided when it is begun.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Copies of everything; `None`: three in a cluster, else one.
    pub replicas: Option<usize>,
    /// How long a worker may be silent before its seeds and claims go to others.
    pub lease: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            replicas: None,
            lease: Duration::from_secs(60),
        }
    }
}

/// A campaign in the bucket of campaigns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema: u64,
    pub(crate) candor: String,
    pub(crate) settings: Value,
    /// The object that says which seeds there are.
    pub(crate) plan: Hash,
}

/// A broker that can hold campaigns.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(crate) link: Arc<Link>,
}

impl Fleet {
    /// Connects, and makes sure that JetStream is there.
    ///
    /// # Errors
    /// When there is no such broker, it does not let us in, or it has no JetStream.
    pub fn connect(broker: &Broker) -> Result<Self, Error> {
        let link = Arc::new(broker.link()?);
        patiently(|| link.runtime.block_on(room::campaigns(&link)))?;
        Ok(Fleet { link })
    }

    /// The address, without a password.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.link.url
    }

    /// The names of all campaigns, sorted.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub fn campaigns(&self) -> Result<Vec<String>, Error> {
        self.link.runtime.block_on(async {
            let Some(bucket) = room::campaigns(&self.link).await? else {
                return Ok(Vec::new());
            };
            let failed = |error| Error::broker("list the campaigns", error);
            let mut keys = bucket.keys().await.map_err(|e| failed(e.to_string()))?;
            let mut names = Vec::new();
            while let Some(key) = keys.next().await {
                names.push(key.map_err(|e| failed(e.to_string()))?);
            }
            names.retain(|name| Names::new(name).is_ok());
            names.sort();
            Ok(names)
        })
    }

    /// A campaign that was begun. What this process cannot deliver is kept below `spool`.
    ///
    /// # Errors
    /// When there is none of that name (names like it are said), or it was made by a candor with other messages.
    pub fn open(&self, name: &str, spool: &Path) -> Result<FleetStore, Error> {
        self.enter(name, Some(spool))
    }

    /// A campaign to look at: nothing is kept on this machine.
    ///
    /// # Errors
    /// As [`open`](Fleet::open).
    pub fn look(&self, name: &str) -> Result<FleetStore, Error> {
        self.enter(name, None)
    }

    fn enter(&self, name: &str, spool: Option<&Path>) -> Result<FleetStore, Error> {
        let names = Names::new(name)?;
        let begun = patiently(|| {
            self.link.runtime.block_on(async {
                match room::campaigns(&self.link).await? {
                    Some(bucket) => read(&bucket, name).await,
                    None => Ok(None),
                }
            })
        })?;
        if begun.is_none() {
            return Err(Error::NoCampaign {
                name: name.to_owned(),
                url: self.link.url.clone(),
                near: near(name, &self.campaigns()?),
            });
        }
        let room = patiently(|| {
            let room = Room::enter(Arc::clone(&self.link), names.clone());
            self.link.runtime.block_on(room)
        })?;
        FleetStore::new(Arc::new(room), spool)
    }

    /// The campaign of that name, which is made if there is none; it begins with [`candor_store::Store::begin`].
    ///
    /// # Errors
    /// When the broker cannot hold it, or holds something else under these names.
    pub fn begin(&self, name: &str, terms: &Terms, spool: &Path) -> Result<FleetStore, Error> {
        let names = Names::new(name)?;
        let usual = if self.link.is_cluster() { REPLICAS } else { 1 };
        let room = patiently(|| {
            let room = Room::make(
                Arc::clone(&self.link),
                names.clone(),
                terms.replicas.unwrap_or(usual),
                terms.lease.max(Duration::from_secs(1)),
            );
            self.link.runtime.block_on(room)
        })?;
        // Another version's campaign is not touched.
        let known = self.link.runtime.block_on(read(&room.campaigns, name))?;
        drop(known);
        FleetStore::new(Arc::new(room), Some(spool))
    }
}

/// Tries again for a while: servers of a cluster that just started, or lost one of theirs, have no leader yet.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(Error::Broker { .. }) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(250));
            }
            result => return result,
        }
    }
}

/// Names that somebody may have meant, nearest first.
fn near(name: &str, all: &[String]) -> Vec<String> {
    let mut near: Vec<(usize, &String)> = all
        .iter()
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, known)| *distance <= 3 || known.starts_with(name))
        .collect();
    near.sort();
    near.into_iter()
        .take(3)
        .map(|(_, name)| name.clone())
        .collect()
}

/// A campaign's record, when it was begun by the broker's clock, and its revision.
pub(crate) async fn read(
    bucket: &kv::Store,
    name: &str,
) -> Result<Option<(Record, Timestamp, u64)>, Error> {
    let entry = bucket
        .entry(name)
        .await
        .map_err(|error| Error::broker("read the campaign", error))?;
    let Some(entry) = entry.filter(|entry| entry.operation == kv::Operation::Put) else {
        return Ok(None);
    };
    let damaged = |reason: String| Error::Damaged {
        what: "campaign",
        reason,
    };
    if entry.value.len() > LARGEST {
        return Err(damaged(format!("it has {} bytes", entry.value.len())));
    }
    let value: Value =
        serde_json::from_slice(&entry.value).map_err(|error| damaged(error.to_string()))?;
    // The version first: the rest may look different in another.
    let schema = value.get("schema").and_then(Value::as_u64).unwrap_or(0);
    if schema != SCHEMA {
        return Err(Error::Schema {
            campaign: name.to_owned(),
            found: schema,
            known: SCHEMA,
        });
    }
    let record: Record =
        serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
    if Hash::parse(record.plan.as_str()).is_none() {
        return Err(damaged("its plan is no hash".to_owned()));
    }
    Ok(Some((
        record,
        timestamp(entry.created.unix_timestamp_nanos()),
        entry.revision,
    )))
}

impl Room {
    fn record(&self, wanted: &Campaign, plan: &Hash) -> Result<Vec<u8>, Error> {
        let record = Record {
            schema: SCHEMA,
            candor: wanted.candor.clone(),
            settings: wanted.settings.clone(),
            plan: plan.clone(),
        };
        serde_json::to_vec(&record).map_err(|error| Error::Unstorable {
            what: "a campaign",
            reason: error.to_string(),
        })
    }

    /// Begins the campaign, unless somebody did.
    pub(crate) async fn begin(&self, wanted: &Campaign, plan: &Hash) -> Result<(), Error> {
        let body = self.record(wanted, plan)?;
        match self
            .campaigns
            .create(&self.names.campaign, body.into())
            .await
        {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(courier::refused(self, &error)),
        }
    }

    /// Changes what the campaign is; `false` if somebody else just did.
    pub(crate) async fn amend(
        &self,
        wanted: &Campaign,
        plan: &Hash,
        revision: u64,
    ) -> Result<bool, Error> {
        let body = self.record(wanted, plan)?;
        let name = &self.names.campaign;
        match self.campaigns.update(name, body.into(), revision).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(false),
            Err(error) => Err(courier::refused(self, &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_like_it_are_said_nearest_first() {
        let all = ["gcc16", "gcc15", "clang", "gcc16-nightly"].map(String::from);
        assert_eq!(near("gcc61", &all), ["gcc16", "gcc15"]);
        assert_eq!(near("gcc16-", &all), ["gcc16", "gcc15", "gcc16-nightly"]);
        assert!(near("rustc-weekly", &all).is_empty());
    }
}
