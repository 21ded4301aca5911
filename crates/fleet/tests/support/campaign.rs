//! A campaign of numbered seeds that needs no compiler, and what every test of one says to the broker.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use candor_fleet::{Broker, Error, Fleet, FleetStore, Terms};
use candor_store::{
    Campaign, Count, FindingId, Metric, NewFinding, Signature, Store, Stream, Timestamp, Wish,
};
use serde_json::json;

/// Without credentials.
pub fn broker(url: String) -> Broker {
    Broker {
        url,
        ..Broker::default()
    }
}

pub fn connect(url: String) -> Fleet {
    insist(|| Fleet::connect(&broker(url.clone())))
}

/// The usual terms with another lease.
pub fn lease(seconds: u64) -> Terms {
    Terms {
        lease: Duration::from_secs(seconds),
        ..Terms::default()
    }
}

/// Seeds 1, 2, 3, ...
pub fn wish(seeds: Option<u64>) -> Wish {
    Wish {
        stream: Stream("csmith".into()),
        first: 1,
        step: 1,
        end: seeds.map(|seeds| seeds + 1),
        file: None,
    }
}

/// Begins a campaign of so many seeds, or of no end of them.
pub fn begin(
    fleet: &Fleet,
    name: &str,
    terms: &Terms,
    spool: &Path,
    seeds: Option<u64>,
) -> FleetStore {
    let store = insist(|| fleet.begin(name, terms, spool));
    insist(|| store.plan(&[wish(seeds)]));
    insist(|| {
        store.begin(&Campaign {
            created: Timestamp(0),
            candor: "0".into(),
            settings: json!({"seed": 1}),
        })
    });
    store
}

/// Until it works: servers of a cluster may be down, or without a leader, for a while.
pub fn insist<T, E: std::fmt::Display>(mut attempt: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match attempt() {
            Ok(value) => return value,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(120), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A crash of gcc that a seed shows.
pub fn finding(seed: u64, signature: &str) -> NewFinding {
    NewFinding {
        id: FindingId::of(&[&seed.to_string(), signature]),
        stream: Stream("csmith".into()),
        seed,
        variant: None,
        kind: "crash".into(),
        compiler: "gcc-12".into(),
        version: "12.2.0".into(),
        family: "gcc".into(),
        level: "-O2".into(),
        signature: Signature(signature.into()),
        priority: 5,
        title: "it crashes".into(),
        case: json!({"program": {"text": format!("int main{seed};")}, "flags": ["-O2"]}),
        affected: json!({"gcc-12": ["-O2"]}),
    }
}

/// One more program.
pub fn program() -> Count {
    Count {
        metric: Metric::Programs,
        compiler: String::new(),
        more: 1,
    }
}

/// What a broker has against somebody.
pub fn refused(broker: &Broker) -> Error {
    Fleet::connect(broker).unwrap_err()
}
