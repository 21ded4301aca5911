//! What workers say of themselves, again and again: that they live, what they did, what they lack.

use candor_store::{Count, Metric};
use serde::{Deserialize, Serialize};

/// Larger heartbeats are none of ours.
const LARGEST: usize = 64 << 10;

/// A heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Beat {
    /// Host and process number, for people.
    pub(crate) label: String,
    /// Programs judged, variants included.
    pub(crate) programs: u64,
    /// Seeds that were no use.
    pub(crate) rejected: u64,
    /// Builds made.
    pub(crate) builds: u64,
    /// Findings that were new.
    pub(crate) findings: u64,
    /// Seeds it judges now.
    pub(crate) leases: u64,
    /// Results that wait to be delivered.
    pub(crate) spooled: u64,
    /// How long it works, by its own clock.
    pub(crate) seconds: f64,
    /// Compilers of the campaign that it does not have.
    pub(crate) lacks: Vec<String>,
    /// It went in order.
    pub(crate) left: bool,
}

impl Beat {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > LARGEST {
            return None;
        }
        serde_json::from_slice(bytes).ok()
    }

    /// Adds what was counted.
    pub(crate) fn count(&mut self, counts: &[Count]) {
        for count in counts {
            match count.metric {
                Metric::Programs => self.programs += count.more,
                Metric::Rejected => self.rejected += count.more,
                Metric::Builds => self.builds += count.more,
                Metric::Checks | Metric::Values | Metric::Undecided => {}
            }
        }
    }
}
