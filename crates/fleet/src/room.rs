//! A campaign's streams, buckets and objects at the broker: made once, looked at by everybody who comes.
//!
//! Buckets and object stores are streams with rules of their own (NATS ADR-8 and ADR-20). They are made here as streams
//! because the client library's own way asks the server for something that servers before 2.10 answer differently.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{self, ErrorCode, kv, object_store::ObjectStore};

use crate::Error;
use crate::broker::Link;
use crate::error::is_full;
use crate::names::{CAMPAIGNS, Names};

/// Facts told again within this time are not even stored again; later they are, and are known by their names.
const REPETITIONS: Duration = Duration::from_secs(3600);
/// The consumer of seeds for everybody.
const SEEDS: &str = "seeds";
/// Leases at a time, and workers that wait for one.
const MOST_LEASES: i64 = 200_000;
const MOST_WAITING: i64 = 50_000;

/// All of it.
pub(crate) struct Room {
    pub(crate) link: Arc<Link>,
    pub(crate) names: Names,
    pub(crate) campaigns: kv::Store,
    pub(crate) state: kv::Store,
    pub(crate) signatures: kv::Store,
    pub(crate) objects: ObjectStore,
    pub(crate) log: Stream,
    pub(crate) queue: Stream,
    pub(crate) state_stream: Stream,
    pub(crate) signature_stream: Stream,
    pub(crate) seeds: PullConsumer,
    /// How long a worker may be silent before its seeds go to others.
    pub(crate) lease: Duration,
}

/// What one stream should be.
struct Wanted {
    config: Config,
}

fn description(campaign: &str) -> String {
    format!("candor campaign {campaign}")
}

/// The bucket of all campaigns.
fn registry(replicas: usize) -> Wanted {
    bucket(CAMPAIGNS, "candor campaigns".to_owned(), replicas)
}

fn bucket(name: &str, description: String, replicas: usize) -> Wanted {
    Wanted {
        config: Config {
            name: format!("KV_{name}"),
            description: Some(description),
            subjects: vec![format!("$KV.{name}.>")],
            max_messages_per_subject: 1,
            discard: DiscardPolicy::New,
            allow_rollup: true,
            deny_delete: true,
            num_replicas: replicas,
            ..Config::default()
        },
    }
}

/// The streams of a campaign.
fn wanted(names: &Names, replicas: usize) -> [Wanted; 5] {
    let description = || Some(description(&names.campaign));
    let objects = names.objects();
    [
        Wanted {
            config: Config {
                name: names.log(),
                description: description(),
                subjects: vec![names.all_facts()],
                duplicate_window: REPETITIONS,
                deny_delete: true,
                num_replicas: replicas,
                ..Config::default()
            },
        },
        Wanted {
            config: Config {
                name: names.queue(),
                description: description(),
                subjects: vec![names.all_seeds()],
                retention: RetentionPolicy::WorkQueue,
                duplicate_window: REPETITIONS,
                num_replicas: replicas,
                ..Config::default()
            },
        },
        bucket(&names.state(), description().unwrap_or_default(), replicas),
        bucket(
            &names.signatures(),
            description().unwrap_or_default(),
            replicas,
        ),
        Wanted {
            config: Config {
                name: format!("OBJ_{objects}"),
                description: description(),
                subjects: vec![format!("$O.{objects}.C.>"), format!("$O.{objects}.M.>")],
                discard: DiscardPolicy::New,
                allow_rollup: true,
                num_replicas: replicas,
                ..Config::default()
            },
        },
    ]
}

impl Wanted {
    /// The stream, if it is there; somebody else's is an error.
    async fn find(&self, link: &Link) -> Result<Option<Stream>, Error> {
        let name = &self.config.name;
        let stream = match link.context.get_stream(name).await {
            Ok(stream) => stream,
            Err(error) => {
                return match error.kind() {
                    GetStreamErrorKind::JetStream(inner)
                        if inner.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                    {
                        Ok(None)
                    }
                    GetStreamErrorKind::JetStream(inner) => Err(unavailable(link, &inner)),
                    _ => Err(no_answer(link, &error)),
                };
            }
        };
        let found = &stream.cached_info().config;
        let mut subjects = found.subjects.clone();
        subjects.sort();
        let mut ours = self.config.subjects.clone();
        ours.sort();
        let foreign = |what: String| {
            Err(Error::Foreign {
                stream: name.clone(),
                what,
            })
        };
        if found.description != self.config.description {
            return foreign(format!(
                "it describes itself as `{}`",
                found.description.as_deref().unwrap_or_default()
            ));
        }
        if subjects != ours || found.retention != self.config.retention {
            return foreign(format!("its subjects are {}", subjects.join(", ")));
        }
        Ok(Some(stream))
    }

    async fn make(&self, link: &Link) -> Result<Stream, Error> {
        let name = &self.config.name;
        let error = match link.context.create_stream(self.config.clone()).await {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        let CreateStreamErrorKind::JetStream(inner) = error.kind() else {
            return Err(no_answer(link, &error));
        };
        let reason = inner.to_string();
        Err(match inner.error_code() {
            ErrorCode::STREAM_NAME_EXIST | ErrorCode::STREAM_SUBJECT_OVERLAP => Error::Foreign {
                stream: name.clone(),
                what: reason,
            },
            ErrorCode::CLUSTER_NO_PEERS | ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED => {
                Error::Replicas {
                    replicas: self.config.num_replicas,
                    reason,
                }
            }
            _ => unavailable(link, &inner),
        })
    }
}

/// The server's refusal in our words.
fn unavailable(link: &Link, error: &jetstream::Error) -> Error {
    let url = link.url.clone();
    let reason = error.to_string();
    match error.error_code() {
        ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
            Error::NoJetStream { url, reason }
        }
        _ if is_full(error) => Error::Full { url, reason },
        _ => Error::Broker {
            doing: "open the campaign",
            reason,
        },
    }
}

/// Nobody answers requests to JetStream.
fn no_answer(link: &Link, error: &dyn std::error::Error) -> Error {
    let reason = error.to_string();
    let info = link.client.server_info();
    // A server without JetStream has nobody who listens to its requests.
    if !info.jetstream && link.is_up() {
        return Error::NoJetStream {
            url: link.url.clone(),
            reason,
        };
    }
    Error::Broker {
        doing: "open the campaign",
        reason,
    }
}

/// The bucket of all campaigns; `None` if nobody ever began one.
pub(crate) async fn campaigns(link: &Link) -> Result<Option<kv::Store>, Error> {
    if registry(1).find(link).await?.is_none() {
        return Ok(None);
    }
    let bucket = link.context.get_key_value(CAMPAIGNS).await;
    bucket
        .map(Some)
        .map_err(|error| Error::broker("list the campaigns", error))
}

impl Room {
    /// The streams of a campaign, made where they are missing. Nothing is made if one of them is somebody else's.
    pub(crate) async fn make(
        link: Arc<Link>,
        names: Names,
        replicas: usize,
        lease: Duration,
    ) -> Result<Self, Error> {
        let mut all = vec![registry(replicas)];
        all.extend(wanted(&names, replicas));
        let mut missing = Vec::new();
        for one in all {
            if one.find(&link).await?.is_none() {
                missing.push(one);
            }
        }
        for one in &missing {
            one.make(&link).await?;
        }
        let queue = link
            .context
            .get_stream(names.queue())
            .await
            .map_err(|error| Error::broker("open the queue", error))?;
        queue
            .get_or_create_consumer(SEEDS, consumer(SEEDS, names.seeds(), lease))
            .await
            .map_err(|error| Error::broker("open the queue", error))?;
        Self::enter(link, names).await
    }

    /// Those of a campaign that was begun.
    pub(crate) async fn enter(link: Arc<Link>, names: Names) -> Result<Self, Error> {
        let open = |error: &dyn std::fmt::Display| Error::broker("open the campaign", error);
        let mut streams = Vec::new();
        for one in wanted(&names, 1) {
            let found = one.find(&link).await?;
            streams.push(found.ok_or_else(|| Error::Damaged {
                what: "campaign",
                reason: format!("its stream {} is gone", one.config.name),
            })?);
        }
        let [log, queue, state_stream, signature_stream, _] = &streams[..] else {
            return Err(open(&"its streams are gone"));
        };
        let (log, queue) = (log.clone(), queue.clone());
        let (state_stream, signature_stream) = (state_stream.clone(), signature_stream.clone());
        let seeds: PullConsumer = queue
            .get_consumer(SEEDS)
            .await
            .map_err(|error| open(&error))?;
        let lease = seeds.cached_info().config.ack_wait;
        let get = async |name: String| {
            let bucket = link.context.get_key_value(name).await;
            bucket.map_err(|error| open(&error))
        };
        Ok(Room {
            campaigns: get(CAMPAIGNS.to_owned()).await?,
            state: get(names.state()).await?,
            signatures: get(names.signatures()).await?,
            objects: link
                .context
                .get_object_store(names.objects())
                .await
                .map_err(|error| open(&error))?,
            log,
            queue,
            state_stream,
            signature_stream,
            seeds,
            lease,
            link,
            names,
        })
    }

    /// The consumer of what is left of seeds for a set of compilers.
    pub(crate) async fn rest(&self, set: &str) -> Result<PullConsumer, Error> {
        let name = format!("rest-{set}");
        self.queue
            .get_or_create_consumer(&name, consumer(&name, self.names.rest(set), self.lease))
            .await
            .map_err(|error| Error::broker("open the queue", error))
    }
}

fn consumer(name: &str, filter: String, lease: Duration) -> pull::Config {
    pull::Config {
        durable_name: Some(name.to_owned()),
        filter_subject: filter,
        ack_wait: lease,
        max_ack_pending: MOST_LEASES,
        max_waiting: MOST_WAITING,
        ..pull::Config::default()
    }
}
