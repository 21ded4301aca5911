//! Flags of everything that talks to a broker.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use candor_fleet::{Broker, Fleet, FleetStore, Terms};

use crate::commands::hunt::duration;

/// The password of --user, so that it is neither in a history nor in a list of processes.
const PASSWORD: &str = "CANDOR_FLEET_PASSWORD";

/// How we are let in.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Broker")]
pub struct BrokerArgs {
    /// A user of the broker; the password is taken from CANDOR_FLEET_PASSWORD
    #[arg(long, value_name = "NAME", requires = "fleet")]
    user: Option<String>,

    /// A file with the seed of an nkey
    #[arg(long, value_name = "FILE", requires = "fleet", conflicts_with_all = ["user", "creds"])]
    nkey: Option<PathBuf>,

    /// A credentials file (a JWT and the seed of its key)
    #[arg(long, value_name = "FILE", requires = "fleet", conflicts_with = "user")]
    creds: Option<PathBuf>,

    /// Certificates to trust beside the system's; every connection is TLS then
    #[arg(long, value_name = "FILE", requires = "fleet")]
    tls_ca: Option<PathBuf>,

    /// Our own certificate, for brokers that ask for one
    #[arg(long, value_name = "FILE", requires_all = ["fleet", "tls_key"])]
    tls_cert: Option<PathBuf>,

    /// The key of --tls-cert
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Talk to another machine in the clear
    #[arg(long, requires = "fleet")]
    insecure: bool,
}

impl BrokerArgs {
    /// Connects.
    pub fn connect(&self, url: &str) -> anyhow::Result<Fleet> {
        let user = match &self.user {
            Some(name) => {
                let password = std::env::var(PASSWORD).with_context(|| {
                    format!("--user takes the password from {PASSWORD}, which is not set")
                })?;
                Some((name.clone(), password))
            }
            None => None,
        };
        Ok(Fleet::connect(&Broker {
            url: url.to_owned(),
            user,
            nkey: self.nkey.clone(),
            creds: self.creds.clone(),
            ca: self.tls_ca.clone(),
            certificate: self.tls_cert.clone().zip(self.tls_key.clone()),
            insecure: self.insecure,
        })?)
    }
}

/// Which campaign at which broker.
#[derive(Debug, clap::Args)]
pub struct CampaignArgs {
    /// A broker (NATS JetStream): nats://HOST:4222 or tls://HOST:4222, several separated by commas
    #[arg(long, value_name = "URL", requires = "campaign")]
    fleet: Option<String>,

    /// The campaign's name at the broker
    #[arg(long, value_name = "NAME", requires = "fleet")]
    campaign: Option<String>,

    #[command(flatten)]
    broker: BrokerArgs,
}

impl CampaignArgs {
    /// Address and name, if they were given.
    pub fn campaign(&self) -> Option<(String, String)> {
        self.fleet.clone().zip(self.campaign.clone())
    }

    /// The campaign, to look at.
    pub fn look(&self) -> anyhow::Result<Option<FleetStore>> {
        Ok(match self.campaign() {
            Some((url, name)) => Some(self.broker.connect(&url)?.look(&name)?),
            None => None,
        })
    }
}

/// The same for somebody who works.
#[derive(Debug, clap::Args)]
pub struct WorkerArgs {
    #[command(flatten)]
    campaign: CampaignArgs,

    /// Begin the campaign with these settings, unless it was begun
    #[arg(long, requires = "fleet")]
    begin: bool,

    /// With --begin: copies the broker keeps of everything (default: 3 in a cluster, else 1)
    #[arg(long, value_name = "N", requires = "begin")]
    replicas: Option<usize>,

    /// With --begin: how long a worker may be silent before its work goes to others (default: 60s)
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "begin")]
    lease: Option<Duration>,

    /// Where results are kept while the broker cannot be reached (default: below ~/.local/state)
    #[arg(long, value_name = "DIR", requires = "fleet")]
    spool: Option<PathBuf>,
}

impl WorkerArgs {
    /// Address and name, if they were given.
    pub fn campaign(&self) -> Option<(String, String)> {
        self.campaign.campaign()
    }

    /// The campaign, to work on.
    pub fn store(&self) -> anyhow::Result<FleetStore> {
        let (url, name) = self
            .campaign()
            .context("--fleet and --campaign belong together")?;
        let fleet = self.campaign.broker.connect(&url)?;
        let spool = self.spool.clone().unwrap_or_else(usual_spool);
        Ok(if self.begin {
            let usual = Terms::default();
            let terms = Terms {
                replicas: self.replicas,
                lease: self.lease.unwrap_or(usual.lease),
            };
            fleet.begin(&name, &terms, &spool)?
        } else {
            fleet.open(&name, &spool)?
        })
    }
}

/// The place for such things, or the working directory for users without one.
fn usual_spool() -> PathBuf {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    match state.or_else(home) {
        Some(state) => state.join("candor/spool"),
        None => "candor-spool".into(),
    }
}
