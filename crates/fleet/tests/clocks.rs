//! Workers whose clocks are hours apart: nobody's lease is taken early or kept late, and times are the broker's.
//!
//! It starts itself again as the workers, below Debian's `faketime`.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor_store::{Grant, Outcome, Store, Timestamp};
use support::Server;
use support::campaign::{begin, connect, finding, lease, program};

const WORKER: &str = "CANDOR_CLOCKS_WORKER";
const SPOOL: &str = "CANDOR_CLOCKS_SPOOL";
const SEEDS: u64 = 6;
const LEASE: u64 = 2;
const HOURS: u64 = 5;

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs()
}

#[test]
fn clocks_that_are_hours_apart_decide_nothing() {
    if let Ok(url) = std::env::var(WORKER) {
        return worker(url);
    }
    let server = Server::start();
    let fleet = connect(server.url());
    let spool = tempfile::tempdir().unwrap();
    let store = begin(&fleet, "clocks", &lease(LEASE), spool.path(), Some(SEEDS));
    let begun = now();
    let workers = [format!("+{HOURS}h"), format!("-{HOURS}h")]
        .map(|shift| (start(&server.url(), spool.path(), &shift), shift));
    let mut alive = 0;
    for (mut child, shift) in workers {
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            alive = alive.max(fleet.standing("clocks").unwrap().alive());
            std::thread::sleep(Duration::from_millis(200));
        };
        assert!(status.success(), "the worker at {shift}: {status}");
    }
    assert_eq!(alive, 2, "both are seen, whatever their clocks say");
    assert_eq!(store.seeds().unwrap().judged, SEEDS);
    // Judging took longer than a lease, and yet no seed went to the other: each was told once.
    let findings = store.findings().unwrap();
    assert_eq!(findings.len() as u64, SEEDS);
    let close = |time: Timestamp| {
        let seconds = u64::try_from(time.0 / 1000).unwrap();
        seconds + 60 > begun && seconds < now() + 60
    };
    assert!(findings.iter().all(|finding| close(finding.found)));
    assert!(
        store
            .workers()
            .unwrap()
            .iter()
            .all(|worker| close(worker.seen))
    );
    assert!(close(store.campaign().unwrap().unwrap().created));
}

fn start(url: &str, spool: &Path, shift: &str) -> Child {
    Command::new("faketime")
        .args(["-f", shift])
        .arg(std::env::current_exe().unwrap())
        .args(["clocks_that_are_hours_apart_decide_nothing", "--exact"])
        // Only the time of day is wrong, as on a machine whose clock was never set.
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
        .env(WORKER, url)
        .env(SPOOL, spool)
        .env("CANDOR_CLOCKS_REAL", now().to_string())
        .spawn()
        .expect("faketime is installed by scripts/install.sh --tests")
}

fn worker(url: String) {
    let real: u64 = std::env::var("CANDOR_CLOCKS_REAL")
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        now().abs_diff(real) > (HOURS - 1) * 3600,
        "the clock is not shifted"
    );
    let fleet = connect(url);
    let spool = std::env::var(SPOOL).unwrap();
    let store = fleet.open("clocks", Path::new(&spool)).unwrap();
    let me = store.join("a worker from another time").unwrap();
    loop {
        match store.grant(me, &[]).unwrap() {
            Grant::Seed(lease) => {
                assert_eq!(lease.attempt, 1, "seed {} came twice", lease.number);
                std::thread::sleep(Duration::from_secs(LEASE) * 3 / 2);
                store.add(&finding(lease.number, "sig")).unwrap();
                store.advance(&lease, 1, &[program()]).unwrap();
                store.complete(&lease, &Outcome::Judged, &[]).unwrap();
            }
            Grant::Later => std::thread::sleep(Duration::from_millis(50)),
            Grant::Nothing => break,
        }
    }
    store.leave(me).unwrap();
}
