//! What can go wrong with a broker, in sentences a user can act on.

use std::io;
use std::path::PathBuf;

use async_nats::jetstream::ErrorCode;

/// Errors of the fleet crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address that is none.
    #[error(
        "`{url}` is no broker's address ({reason}); give nats://HOST:4222 or tls://HOST:4222, several separated by commas"
    )]
    Address {
        /// As it was given.
        url: String,
        /// What was expected.
        reason: String,
    },
    /// A connection that others can read.
    #[error(
        "a plain connection to {host} can be read and changed by anybody on the way; use tls://, or --insecure if the \
         network is yours alone"
    )]
    Plain {
        /// Where to.
        host: String,
    },
    /// Nobody answers.
    #[error(
        "no broker answers at {url} ({reason}); is nats-server running there, and is the port right?"
    )]
    NoBroker {
        /// The address.
        url: String,
        /// In the system's words.
        reason: String,
    },
    /// The broker does not let us in.
    #[error(
        "the broker at {url} refuses these credentials ({reason}); check --user, --nkey or --creds"
    )]
    Credentials {
        /// The address.
        url: String,
        /// In the broker's words.
        reason: String,
    },
    /// A file with credentials or certificates cannot be read.
    #[error("cannot use {what} {}: {reason}", path.display())]
    File {
        /// What it should be.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// The broker's certificate is not accepted.
    #[error(
        "the broker at {url} cannot be trusted: {reason}; check its certificate (has it expired, is it for this name?), \
         --tls-ca, and the clock of this machine"
    )]
    Certificate {
        /// The address.
        url: String,
        /// In the TLS library's words.
        reason: String,
    },
    /// Our own certificate is not accepted, or we showed none.
    #[error(
        "the broker at {url} gets no certificate of ours that it takes ({reason}); check --tls-cert and --tls-key: they belong \
         together, the certificate has version 3, and an authority that the broker knows signed it"
    )]
    OwnCertificate {
        /// The address.
        url: String,
        /// In the TLS library's words.
        reason: String,
    },
    /// No JetStream.
    #[error(
        "the broker at {url} has no JetStream ({reason}); start it with `nats-server -js`, or add `jetstream {{}}` to its configuration"
    )]
    NoJetStream {
        /// The address.
        url: String,
        /// In the broker's words.
        reason: String,
    },
    /// A stream of that name or with those subjects is there and is not ours.
    #[error(
        "the broker's stream {stream} belongs to another program ({what}); nothing was changed. Give the campaign another name, or use another account of the broker"
    )]
    Foreign {
        /// Its name.
        stream: String,
        /// How we know.
        what: String,
    },
    /// A campaign that nobody began.
    #[error(
        "there is no campaign `{name}` at {url}{}; `candor hunt --begin` begins one",
        hint(near)
    )]
    NoCampaign {
        /// As it was given.
        name: String,
        /// The address.
        url: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// A name that cannot be one.
    #[error("a campaign's name has 1 to 48 letters, digits, - or _; got `{name}`")]
    BadName {
        /// As it was given.
        name: String,
    },
    /// Made by a candor with other messages.
    #[error(
        "the campaign `{campaign}` has schema version {found}, this candor knows version {known}; use the candor that began it on every worker"
    )]
    Schema {
        /// Which campaign.
        campaign: String,
        /// Its version.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// The broker's disk, or the part of it that it may use, is full.
    #[error(
        "the broker at {url} has no space left ({reason}); free some, or raise its max_file_store. Nothing is lost: what it did not take is kept"
    )]
    Full {
        /// The address.
        url: String,
        /// In the broker's words.
        reason: String,
    },
    /// Fewer servers than replicas.
    #[error(
        "the broker cannot keep {replicas} copies ({reason}); give --replicas 1, or start more servers of the cluster"
    )]
    Replicas {
        /// As many as wanted.
        replicas: usize,
        /// In the broker's words.
        reason: String,
    },
    /// A request was not answered, or not in time.
    #[error("cannot {doing} at the broker: {reason}")]
    Broker {
        /// The action, as a verb.
        doing: &'static str,
        /// What was met.
        reason: String,
    },
    /// Something at the broker that should not be there.
    #[error("the broker holds a {what} that cannot be used: {reason}")]
    Damaged {
        /// Which noun.
        what: &'static str,
        /// What was met.
        reason: String,
    },
    /// What cannot be stored.
    #[error("cannot store {what} at the broker: {reason}")]
    Unstorable {
        /// Which noun.
        what: &'static str,
        /// What was met.
        reason: String,
    },
    /// A change that a campaign does not allow.
    #[error(
        "the seeds of a fleet's campaign can only become more ({reason}); begin another campaign for other programs"
    )]
    OtherPlan {
        /// What differs.
        reason: String,
    },
    /// The spool's folder does not work.
    #[error("cannot {doing} the spool {}: {source}", path.display())]
    Spool {
        /// The action, as a verb.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Work that could not be handed over before the end.
    #[error(
        "{count} results could not be delivered to the broker ({reason}); they are safe in {} and are delivered by the \
         next `candor hunt --fleet` that uses this spool",
        directory.display()
    )]
    Undelivered {
        /// How many.
        count: usize,
        /// The last reason.
        reason: String,
        /// Where they are.
        directory: PathBuf,
    },
    /// The runtime of the connection could not be started.
    #[error("cannot start the connection's thread: {0}")]
    Runtime(io::Error),
    /// The copy made for reading failed.
    #[error(transparent)]
    Copy(Box<candor_store::Error>),
}

fn hint(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(", ")),
    }
}

impl From<Error> for candor_store::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Copy(inner) => *inner,
            other => candor_store::Error::Engine(Box::new(other)),
        }
    }
}

impl From<candor_store::Error> for Error {
    fn from(error: candor_store::Error) -> Self {
        Error::Copy(Box::new(error))
    }
}

impl Error {
    pub(crate) fn broker(doing: &'static str, reason: impl std::fmt::Display) -> Self {
        Error::Broker {
            doing,
            reason: reason.to_string(),
        }
    }

    /// Whether trying again later may help.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Error::Broker { .. } | Error::Full { .. })
    }
}

/// What servers without room answer.
const FULL: [ErrorCode; 5] = [
    ErrorCode::INSUFFICIENT_RESOURCES,
    ErrorCode::STORAGE_RESOURCES_EXCEEDED,
    ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
    ErrorCode::STREAM_STORE_FAILED,
    ErrorCode::MEMORY_RESOURCES_EXCEEDED,
];

/// Whether the server says that it has no room. The client library keeps the code as text in some of its errors.
pub(crate) fn is_full(error: &dyn std::fmt::Display) -> bool {
    let text = error.to_string();
    FULL.iter()
        .any(|code| text.contains(&format!("error code {}", code.0)))
}
