//! The connection: addresses, credentials, what is allowed in the clear, and the thread that keeps it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, ServerAddr};
use tokio::runtime::Runtime;

use crate::Error;

/// For a connection to be made, and for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the broker is and how we are let in.
#[derive(Clone, Debug, Default)]
pub struct Broker {
    /// `nats://HOST:4222` or `tls://HOST:4222`; several separated by commas.
    pub url: String,
    /// A name and a password.
    pub user: Option<(String, String)>,
    /// A file with the seed of an nkey.
    pub nkey: Option<PathBuf>,
    /// A file with a JWT and the seed of its key.
    pub creds: Option<PathBuf>,
    /// Certificates that are trusted beside the system's.
    pub ca: Option<PathBuf>,
    /// Our own certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Others may read along.
    pub insecure: bool,
}

/// A broker that answers.
pub(crate) struct Link {
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) context: Context,
    /// For as long as the process lives: the last who holds a link may be a task of this very runtime.
    pub(crate) runtime: &'static Runtime,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("url", &self.url).finish()
    }
}

impl Broker {
    /// The addresses, each of them one we may use.
    fn addresses(&self) -> Result<Vec<ServerAddr>, Error> {
        let mut addresses = Vec::new();
        for text in self.url.split(',').map(str::trim) {
            let bad = |reason: String| Error::Address {
                url: hide_password(text),
                reason,
            };
            let address: ServerAddr = text.parse().map_err(|error| bad(format!("{error}")))?;
            if !["nats", "tls"].contains(&address.scheme()) {
                return Err(bad(format!(
                    "`{}` is no protocol of ours",
                    address.scheme()
                )));
            }
            if address.host().is_empty() {
                return Err(bad("it names no host".to_owned()));
            }
            let private = address.scheme() == "tls" || self.encrypts();
            if !private && !self.insecure && !is_loopback(address.host()) {
                return Err(Error::Plain {
                    host: address.host().to_owned(),
                });
            }
            addresses.push(address);
        }
        Ok(addresses)
    }

    /// Whether certificates were given: then every connection is to be TLS.
    fn encrypts(&self) -> bool {
        self.ca.is_some() || self.certificate.is_some()
    }

    fn options(&self, addresses: &[ServerAddr]) -> Result<ConnectOptions, Error> {
        let secret = |what: &'static str, path: &PathBuf| {
            std::fs::read_to_string(path).map_err(|error| Error::File {
                what,
                path: path.clone(),
                reason: error.to_string(),
            })
        };
        let mut options = ConnectOptions::new()
            .name("candor")
            .connection_timeout(PATIENCE)
            .request_timeout(Some(PATIENCE))
            // A server that is gone without a word is noticed, and another taken, before leases run out.
            .ping_interval(Duration::from_secs(5))
            .reconnect_delay_callback(|attempts| {
                Duration::from_millis((50 << attempts.min(5)).min(1000))
            });
        if let Some((name, password)) = &self.user {
            options = options.user_and_password(name.clone(), password.clone());
        }
        if let Some(path) = &self.nkey {
            options = options.nkey(secret("the nkey", path)?.trim().to_owned());
        }
        if let Some(path) = &self.creds {
            let text = secret("the credentials", path)?;
            options = options.credentials(&text).map_err(|error| Error::File {
                what: "the credentials",
                path: path.clone(),
                reason: error.to_string(),
            })?;
        }
        if let Some(path) = &self.ca {
            secret("the certificates", path)?;
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            secret("the certificate", certificate)?;
            secret("the certificate's key", key)?;
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        let all_private = self.encrypts() || addresses.iter().all(|one| one.scheme() == "tls");
        if all_private {
            options = options.require_tls(true);
        } else if !self.insecure {
            // The broker may name servers of its cluster that are not on this machine: never in the clear.
            options = options.ignore_discovered_servers();
        }
        Ok(options)
    }

    /// Connects.
    pub(crate) fn link(&self) -> Result<Link, Error> {
        let addresses = self.addresses()?;
        let options = self.options(&addresses)?;
        let url = hide_password(&self.url);
        let runtime: &'static Runtime = Box::leak(Box::new(
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .thread_name("fleet")
                .enable_all()
                .build()
                .map_err(Error::Runtime)?,
        ));
        let connecting =
            async { tokio::time::timeout(PATIENCE * 2, options.connect(addresses)).await };
        let client = match runtime.block_on(connecting) {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(refusal(&url, &error)),
            Err(_) => {
                return Err(Error::NoBroker {
                    url,
                    reason: "no answer in ten seconds".to_owned(),
                });
            }
        };
        // The context has a task of its own.
        let _inside = runtime.enter();
        let context = jetstream::context::ContextBuilder::new()
            .timeout(PATIENCE)
            .ack_timeout(PATIENCE)
            .build(client.clone());
        Ok(Link {
            url,
            client,
            context,
            runtime,
        })
    }
}

/// Why there is no connection.
fn refusal(url: &str, error: &async_nats::ConnectError) -> Error {
    let url = url.to_owned();
    let reason = error.to_string();
    let certificate = |text: &str| {
        let text = text.to_lowercase();
        text.contains("certificate") || text.contains("unknownissuer") || text.contains("expired")
    };
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            Error::Credentials { url, reason }
        }
        ConnectErrorKind::ServerParse => Error::Address { url, reason },
        // It is the other side that sends alerts.
        _ if reason.contains("alert") || reason.contains("could not add certificate or key") => {
            Error::OwnCertificate { url, reason }
        }
        ConnectErrorKind::Tls => Error::Certificate { url, reason },
        _ if certificate(&reason) => Error::Certificate { url, reason },
        _ => Error::NoBroker { url, reason },
    }
}

/// Whether a host can only be this machine.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Addresses as they may be shown: without passwords.
#[must_use]
pub fn hide_password(url: &str) -> String {
    let one = |text: &str| match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => {
            format!("{}{}", &text[..scheme + 3], &text[at + 1..])
        }
        _ => text.to_owned(),
    };
    url.split(',').map(one).collect::<Vec<_>>().join(",")
}

impl Link {
    /// Whether we are connected just now.
    pub(crate) fn is_up(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Whether the server is one of a cluster.
    pub(crate) fn is_cluster(&self) -> bool {
        self.client.server_info().cluster.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let broker = Broker {
            url: url.to_owned(),
            ..Broker::default()
        };
        broker.addresses().unwrap_err().to_string()
    }

    #[test]
    fn plain_connections_stay_on_this_machine() {
        assert!(refused("nats://build1:4222").contains("--insecure"));
        assert!(refused("nats://10.0.0.7:4222").contains("10.0.0.7"));
        assert!(refused("nats://127.0.0.1:4222,nats://other:4222").contains("other"));
        assert!(refused("nats://127.0.0.1.example.org").contains("--insecure"));
        for good in [
            "nats://127.0.0.1:4222",
            "127.0.0.1:4222",
            "nats://localhost",
            "nats://[::1]:4222",
            "tls://build1:4222",
        ] {
            let broker = Broker {
                url: good.to_owned(),
                ..Broker::default()
            };
            assert!(broker.addresses().is_ok(), "{good}");
        }
        let insecure = Broker {
            url: "nats://build1:4222".into(),
            insecure: true,
            ..Broker::default()
        };
        assert!(insecure.addresses().is_ok());
        let private = Broker {
            url: "nats://build1:4222".into(),
            ca: Some("ca.pem".into()),
            ..Broker::default()
        };
        assert!(private.addresses().is_ok(), "certificates make it TLS");
    }

    #[test]
    fn addresses_that_are_none_are_said_so_and_passwords_are_not_repeated() {
        assert!(refused("http://127.0.0.1").contains("is no broker's address"));
        assert!(refused("").contains("nats://HOST:4222"));
        let shown = hide_password("nats://me:secret@a:1,tls://b:2");
        assert_eq!(shown, "nats://a:1,tls://b:2");
        let text = refused("nats://me:secret@build1:4222");
        assert!(!text.contains("secret"), "{text}");
    }
}
