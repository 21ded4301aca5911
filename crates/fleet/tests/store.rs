//! The campaign at a real broker by the rules of every store: leases, repetition, claims, spool, parts.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use candor_fleet::{Fleet, FleetStore};
use candor_store::{Count, Grant, Improvement, Lease, Metric, Outcome, State, Store, WorkerId};
use serde_json::json;
use support::Server;
use support::campaign::{begin, connect, finding, lease};

const LEASE: Duration = Duration::from_secs(2);

struct Place {
    server: Server,
    spool: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Place {
            server: Server::start(),
            spool: tempfile::tempdir().unwrap(),
        }
    }

    fn fleet(&self) -> Fleet {
        connect(self.server.url())
    }

    fn begin(&self, seeds: u64) -> FleetStore {
        let terms = lease(LEASE.as_secs());
        begin(&self.fleet(), "c", &terms, self.spool.path(), Some(seeds))
    }

    fn open(&self) -> FleetStore {
        self.fleet().open("c", self.spool.path()).unwrap()
    }
}

fn grant(store: &FleetStore, worker: WorkerId) -> Option<Lease> {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(30));
        match store.grant(worker, &[]).unwrap() {
            Grant::Seed(lease) => return Some(lease),
            Grant::Later => std::thread::sleep(Duration::from_millis(50)),
            Grant::Nothing => return None,
        }
    }
}

fn builds(more: u64) -> Vec<Count> {
    vec![Count {
        metric: Metric::Builds,
        compiler: "gcc-12".into(),
        more,
    }]
}

fn counted(store: &FleetStore) -> u64 {
    let samples = store.samples().unwrap().samples;
    let builds = samples.iter().filter(|s| s.metric == Metric::Builds);
    builds.map(|s| s.count).sum()
}

#[test]
fn every_seed_is_leased_once_and_repetition_counts_once() {
    let place = Place::new();
    let one = place.begin(7);
    let two = place.open();
    let (first, second) = (one.join("one").unwrap(), two.join("two").unwrap());
    assert_ne!(first, second);
    let mut numbers = Vec::new();
    let mut turn = 0;
    loop {
        turn += 1;
        let (store, worker) = if turn % 2 == 0 {
            (&one, first)
        } else {
            (&two, second)
        };
        let Some(lease) = grant(store, worker) else {
            break;
        };
        numbers.push(lease.number);
        for _ in 0..2 {
            store.advance(&lease, 1, &builds(3)).unwrap();
        }
        let outcome = if lease.number == 3 {
            Outcome::Rejected("too small".into())
        } else {
            Outcome::Judged
        };
        for _ in 0..2 {
            store.complete(&lease, &outcome, &builds(2)).unwrap();
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
    let seeds = two.seeds().unwrap();
    assert_eq!((seeds.judged, seeds.rejected, seeds.leased), (6, 1, 0));
    assert_eq!(counted(&one), 7 * 5);
    one.leave(first).unwrap();
    let workers = two.workers().unwrap();
    assert_eq!(
        workers.iter().map(|w| w.alive).collect::<Vec<_>>(),
        [false, true]
    );
    let standing = place.fleet().standing("c").unwrap();
    assert_eq!(
        (standing.fed, standing.finished, standing.alive()),
        (7, 7, 1)
    );
    two.leave(second).unwrap();
}

#[test]
fn a_silent_workers_seed_comes_back_where_it_stood_and_a_leavers_at_once() {
    let place = Place::new();
    let dead = place.begin(2);
    let worker = dead.join("dead").unwrap();
    let lease = grant(&dead, worker).unwrap();
    dead.advance(&lease, 2, &builds(4)).unwrap();
    // Dropped without leaving: no more heartbeats, as if it had been killed.
    drop(dead);
    let store = place.open();
    let worker = store.join("heir").unwrap();
    let mut again = Vec::new();
    while let Some(lease) = grant(&store, worker) {
        again.push((lease.number, lease.attempt, lease.done));
        if again.len() < 2 {
            store.complete(&lease, &Outcome::Judged, &[]).unwrap();
        } else {
            break;
        }
    }
    again.sort_unstable();
    assert_eq!(again, [(1, 2, 2), (2, 1, 0)]);
    store.leave(worker).unwrap();
    let begun = Instant::now();
    let last = place.open();
    let worker = last.join("last").unwrap();
    let lease = grant(&last, worker).unwrap();
    assert!(begun.elapsed() < LEASE, "handed back in order: no waiting");
    last.complete(&lease, &Outcome::Judged, &[]).unwrap();
    assert!(grant(&last, worker).is_none());
    assert_eq!(last.seeds().unwrap().judged, 2);
    last.leave(worker).unwrap();
}

#[test]
fn one_worker_improves_a_signature_and_another_takes_over() {
    let place = Place::new();
    let one = place.begin(1);
    let two = place.open();
    let (first, second) = (one.join("one").unwrap(), two.join("two").unwrap());
    assert!(one.add(&finding(1, "sig a")).unwrap());
    assert!(!two.add(&finding(1, "sig a")).unwrap(), "the same again");
    assert!(two.add(&finding(2, "sig a")).unwrap());
    let claim = one.claim(first).unwrap().unwrap();
    assert_eq!(claim.attempt, 1);
    assert_eq!(
        one.case(&claim.finding.case).unwrap(),
        finding(1, "sig a").case
    );
    assert!(two.claim(second).unwrap().is_none(), "somebody has it");
    let improvement = Improvement {
        reduced: Some(json!({"program": {"text": "int m;"}})),
        ..Improvement::default()
    };
    let state = one.improve(&claim.finding.id, &improvement).unwrap();
    assert_eq!(state, State::Reduced);
    drop(one);
    let begun = Instant::now();
    let claim = loop {
        assert!(begun.elapsed() < LEASE * 10);
        match two.claim(second).unwrap() {
            Some(claim) => break claim,
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    assert_eq!((claim.attempt, claim.finding.state), (2, State::Reduced));
    let improvement = Improvement {
        culprit: Some(json!({"pass": "vrp"})),
        key: Some("crash | gcc | vrp".into()),
        ..Improvement::default()
    };
    let state = two.improve(&claim.finding.id, &improvement).unwrap();
    assert_eq!(state, State::Isolated);
    two.settle(&claim, None).unwrap();
    assert!(two.claim(second).unwrap().is_none());
    let totals = two.totals().unwrap();
    assert_eq!(
        (
            totals.findings,
            totals.unique,
            totals.isolated,
            totals.waiting
        ),
        (2, 1, 1, 0)
    );
    // The copy that reports look at says the same.
    let groups = two.groups().unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!(
        (groups[0].findings, groups[0].key.as_str()),
        (2, "crash | gcc | vrp")
    );
    assert_eq!(
        groups[0].representative.culprit,
        Some(json!({"pass": "vrp"}))
    );
    let reduced = groups[0].representative.reduced.clone().unwrap();
    assert_eq!(two.case(&reduced).unwrap()["program"]["text"], "int m;");
    two.leave(second).unwrap();
}

/// Workers ended with findings of the last seconds left to improve (seen in chaos on a quick machine).
#[test]
fn who_hears_that_no_seed_is_left_sees_what_was_found_a_moment_ago() {
    let place = Place::new();
    let one = place.begin(1);
    let two = place.open();
    let (first, second) = (one.join("one").unwrap(), two.join("two").unwrap());
    let lease = grant(&one, first).unwrap();
    assert!(two.claim(second).unwrap().is_none(), "nothing found yet");
    one.add(&finding(1, "sig a")).unwrap();
    one.complete(&lease, &Outcome::Judged, &[]).unwrap();
    assert!(grant(&two, second).is_none());
    assert_eq!(two.totals().unwrap().waiting, 1);
    assert!(two.claim(second).unwrap().is_some());
}

#[test]
fn a_worker_cut_off_goes_on_spools_and_delivers_later() {
    let mut place = Place::new();
    let store = place.begin(3);
    let worker = store.join("w").unwrap();
    let lease = grant(&store, worker).unwrap();
    place.server.kill();
    store.advance(&lease, 1, &builds(3)).unwrap();
    assert!(store.add(&finding(lease.number, "sig")).unwrap());
    store
        .complete(&lease, &Outcome::Judged, &builds(2))
        .unwrap();
    assert!(matches!(store.grant(worker, &[]).unwrap(), Grant::Later));
    assert!(store.claim(worker).unwrap().is_none());
    let said = store.notices().join("\n");
    assert!(said.contains("results are kept in"), "{said}");
    let kept = walk(place.spool.path());
    assert!(kept >= 5, "{kept} parcels on disk");
    place.server.restart();
    place.server.wait();
    let mut left = 0;
    while let Some(lease) = grant(&store, worker) {
        store.complete(&lease, &Outcome::Judged, &[]).unwrap();
        left += 1;
    }
    assert_eq!(left, 2);
    assert!(store.notices().join("\n").contains("the broker is back"));
    assert_eq!(walk(place.spool.path()), 0);
    assert_eq!(store.seeds().unwrap().judged, 3);
    assert_eq!(store.findings().unwrap().len(), 1);
    assert_eq!(counted(&store), 5);
    assert!(store.claim(worker).unwrap().is_some());
    store.leave(worker).unwrap();
}

/// Parcels below a folder.
fn walk(folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            count += walk(&path);
        } else if path.extension().is_some_and(|end| end == "json") {
            count += 1;
        }
    }
    count
}

#[test]
fn workers_that_lack_compilers_share_a_seed() {
    let place = Place::new();
    let one = place.begin(1);
    let two = place.open();
    let (first, second) = (
        one.join("gcc only").unwrap(),
        two.join("clang only").unwrap(),
    );
    let names = |all: &[&str]| all.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    one.equip(first, &names(&["gcc-12"]), &names(&["clang-19"]))
        .unwrap();
    two.equip(second, &names(&["clang-19"]), &names(&["gcc-12"]))
        .unwrap();
    let lease = grant(&one, first).unwrap();
    assert_eq!(lease.compilers, Some(names(&["gcc-12"])));
    one.complete(&lease, &Outcome::Judged, &builds(6)).unwrap();
    assert_eq!(one.seeds().unwrap().judged, 0, "half of it is left");
    assert!(grant(&one, first).is_none(), "the other half is not for us");
    let lease = grant(&two, second).unwrap();
    assert_eq!(
        (lease.number, lease.compilers.clone()),
        (1, Some(names(&["clang-19"])))
    );
    two.complete(&lease, &Outcome::Judged, &builds(6)).unwrap();
    assert!(grant(&two, second).is_none());
    assert_eq!(one.seeds().unwrap().judged, 1);
    assert_eq!(counted(&one), 12);
    let standing = place.fleet().standing("c").unwrap();
    assert_eq!(
        (standing.rests, standing.workers[0].lacks.clone()),
        (0, names(&["clang-19"]))
    );
    one.leave(first).unwrap();
    two.leave(second).unwrap();
}

#[test]
fn what_is_not_what_it_says_is_refused() {
    let place = Place::new();
    let store = place.begin(1);
    let hash = store.put(b"int main;").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(place.server.url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let objects = context.get_object_store("candor-c-objects").await.unwrap();
        objects
            .put(hash.as_str(), &mut &b"int niam;"[..])
            .await
            .unwrap();
        // Facts and seeds of nobody we know.
        for (subject, body) in [
            ("candor.c.log.found", "{\"fact\":\"found\"}"),
            ("candor.c.log.found", "nonsense"),
            (
                "candor.c.queue.all",
                "{\"stream\":\"../../etc\",\"number\":1,\"file\":null,\"compilers\":null}",
            ),
        ] {
            context
                .publish(subject, body.into())
                .await
                .unwrap()
                .await
                .unwrap();
        }
    });
    let error = store.get(&hash).unwrap_err().to_string();
    assert!(error.contains("is not what it says"), "{error}");
    assert_eq!(store.findings().unwrap(), []);
    assert_eq!(store.unreadable().unwrap(), 2);
    let worker = store.join("w").unwrap();
    let lease = grant(&store, worker).unwrap();
    assert_eq!((lease.stream.0.as_str(), lease.number), ("csmith", 1));
    store.complete(&lease, &Outcome::Judged, &[]).unwrap();
    assert!(grant(&store, worker).is_none());
    store.leave(worker).unwrap();
}

/// Takes messages of some seeds out of the queue behind everybody's back, as a server does that is killed at a bad moment.
fn lose(place: &Place, seeds: &[u64]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut lost = 0;
    runtime.block_on(async {
        let client = async_nats::connect(place.server.url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let queue = context.get_stream("candor-c-queue").await.unwrap();
        let last = queue.get_info().await.unwrap().state.last_sequence;
        for sequence in 1..=last {
            let Ok(message) = queue.get_raw_message(sequence).await else {
                continue;
            };
            let item: serde_json::Value = serde_json::from_slice(&message.payload).unwrap();
            if seeds.contains(&item["number"].as_u64().unwrap()) {
                queue.delete_message(sequence).await.unwrap();
                lost += 1;
            }
        }
    });
    assert_eq!(lost, seeds.len());
}

#[test]
fn seeds_that_the_broker_lost_are_handed_out_again() {
    let place = Place::new();
    let store = place.begin(5);
    let worker = store.join("w").unwrap();
    let first = grant(&store, worker).unwrap();
    let others: Vec<u64> = (1..=5).filter(|seed| *seed != first.number).collect();
    lose(&place, &others[1..3]);
    store.complete(&first, &Outcome::Judged, &[]).unwrap();
    let mut judged = vec![first.number];
    while let Some(lease) = grant(&store, worker) {
        store.complete(&lease, &Outcome::Judged, &[]).unwrap();
        judged.push(lease.number);
    }
    judged.sort_unstable();
    assert_eq!(judged, [1, 2, 3, 4, 5]);
    let said = store.notices().join("\n");
    assert!(said.contains("the broker lost 2 seeds"), "{said}");
    assert_eq!(store.seeds().unwrap().judged, 5);
    store.leave(worker).unwrap();
}

#[test]
fn the_rest_of_a_seed_that_the_broker_lost_is_left_again() {
    let place = Place::new();
    let one = place.begin(1);
    let two = place.open();
    let (first, second) = (one.join("gcc").unwrap(), two.join("clang").unwrap());
    let names = |name: &str| vec![name.to_owned()];
    one.equip(first, &names("gcc-12"), &names("clang-19"))
        .unwrap();
    two.equip(second, &names("clang-19"), &names("gcc-12"))
        .unwrap();
    let lease = grant(&one, first).unwrap();
    one.complete(&lease, &Outcome::Judged, &[]).unwrap();
    lose(&place, &[1]);
    assert!(grant(&one, first).is_none(), "our part of it is done");
    let lease = grant(&two, second).unwrap();
    assert_eq!(lease.compilers, Some(names("clang-19")));
    two.complete(&lease, &Outcome::Judged, &[]).unwrap();
    assert!(grant(&two, second).is_none());
    assert_eq!(two.seeds().unwrap().judged, 1);
    one.leave(first).unwrap();
    two.leave(second).unwrap();
}
