//! Several workers on one store, workers that die, findings that repeat.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use candor_store::{
    Campaign, Count, FindingId, Improvement, Metric, NewFinding, Outcome, Signature, SqliteStore,
    State, Store, Stream, Timestamp, Wish, WorkerId,
};
use serde_json::json;

fn wish(first: u64, step: u64, end: Option<u64>) -> Wish {
    Wish {
        stream: Stream("csmith".into()),
        first,
        step,
        end,
        file: None,
    }
}

fn finding(number: u64, signature: &str) -> NewFinding {
    NewFinding {
        id: FindingId::of(&["csmith", &number.to_string()]),
        stream: Stream("csmith".into()),
        seed: number,
        variant: (number % 2 == 1).then_some(number),
        kind: "wrong-value".into(),
        compiler: "gcc-12".into(),
        version: "12.2.0".into(),
        family: "gcc".into(),
        level: "-O2".into(),
        signature: Signature(signature.into()),
        priority: 0,
        title: format!("finding {number}"),
        case: json!({"program": {"text": "int main(void) { return 0; }"}, "number": number}),
        affected: json!({"gcc-12": ["-O2"]}),
    }
}

fn count(more: u64) -> Vec<Count> {
    vec![Count {
        metric: Metric::Builds,
        compiler: "gcc-12".into(),
        more,
    }]
}

fn builds(store: &dyn Store) -> u64 {
    let samples = store.samples().unwrap().samples;
    samples
        .iter()
        .filter(|sample| sample.metric == Metric::Builds)
        .map(|sample| sample.count)
        .sum()
}

/// What a killed process leaves: its store is gone without `leave`.
fn die(store: SqliteStore) {
    drop(store);
}

#[test]
fn the_first_campaign_stays() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(directory.path()).unwrap();
    assert_eq!(store.campaign().unwrap(), None);
    let campaign = |seed: u64| Campaign {
        created: Timestamp::now(),
        candor: "0.1.0".into(),
        settings: json!({ "seed": seed }),
    };
    let first = store.begin(&campaign(1)).unwrap();
    assert_eq!(store.begin(&campaign(2)).unwrap(), first);
    store.amend(&json!({"seed": 3})).unwrap();
    let again = SqliteStore::open(directory.path()).unwrap();
    assert_eq!(again.campaign().unwrap().unwrap().settings["seed"], 3);
}

#[test]
fn two_processes_never_get_the_same_seed() {
    let directory = tempfile::tempdir().unwrap();
    let lease_many = || {
        let store = SqliteStore::create(directory.path()).unwrap();
        let worker = store.join("test").unwrap();
        let mut numbers = Vec::new();
        for _ in 0..50 {
            let lease = store.lease(worker, &wish(7, 1, None)).unwrap().unwrap();
            assert_eq!(lease.attempt, 1);
            store.complete(&lease, &Outcome::Judged, &count(2)).unwrap();
            numbers.push(lease.number);
        }
        store.leave(worker).unwrap();
        numbers
    };
    let all: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(lease_many)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let unique: BTreeSet<u64> = all.iter().copied().collect();
    assert_eq!(all.len(), 200);
    assert_eq!(unique, (7..207).collect());
    let store = SqliteStore::open(directory.path()).unwrap();
    assert_eq!(store.seeds().unwrap().judged, 200);
    assert_eq!(builds(&store), 400);
}

#[test]
fn shards_partition_the_seeds_and_finite_sequences_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(directory.path()).unwrap();
    let worker = store.join("test").unwrap();
    let mut all = BTreeSet::new();
    for shard in 0..3 {
        let wish = wish(shard, 3, Some(10));
        while let Some(lease) = store.lease(worker, &wish).unwrap() {
            assert_eq!(lease.number % 3, shard);
            assert!(all.insert(lease.number));
        }
    }
    assert_eq!(all, (0..10).collect());
    // another beginning inside what is taken, and one before it
    assert_eq!(
        store
            .lease(worker, &wish(4, 1, None))
            .unwrap()
            .unwrap()
            .number,
        10
    );
    assert_eq!(
        store
            .lease(worker, &wish(0, 1, None))
            .unwrap()
            .unwrap()
            .number,
        11
    );
}

#[test]
fn a_dead_workers_seed_is_judged_again_from_where_it_stood() {
    let directory = tempfile::tempdir().unwrap();
    let first = SqliteStore::create(directory.path()).unwrap();
    let second = SqliteStore::create(directory.path()).unwrap();
    let doomed = first.join("doomed").unwrap();
    let heir = second.join("heir").unwrap();
    let lost = first.lease(doomed, &wish(1, 1, None)).unwrap().unwrap();
    first.advance(&lost, 3, &count(30)).unwrap();
    first.advance(&lost, 3, &count(30)).unwrap();
    second.beat(heir).unwrap();
    let other = second.lease(heir, &wish(1, 1, None)).unwrap().unwrap();
    assert_eq!(other.number, 2, "a living worker's lease is its own");
    die(first);
    second.beat(heir).unwrap();
    let taken = second.lease(heir, &wish(1, 1, None)).unwrap().unwrap();
    assert_eq!((taken.number, taken.attempt, taken.done), (1, 2, 3));
    // what the dead one still had to say does not count any more
    second
        .complete(&lost, &Outcome::Judged, &count(100))
        .unwrap();
    second
        .complete(&taken, &Outcome::Judged, &count(5))
        .unwrap();
    second
        .complete(&taken, &Outcome::Judged, &count(5))
        .unwrap();
    assert_eq!(builds(&second), 35);
}

#[test]
fn seeds_and_signatures_that_kill_their_workers_wait_and_are_given_up_at_last() {
    let directory = tempfile::tempdir().unwrap();
    let two = wish(1, 1, Some(3));
    let start = || {
        let store = SqliteStore::create(directory.path()).unwrap();
        let worker = store.join("victim").unwrap();
        (store, worker)
    };
    for attempt in 1..=3 {
        let (store, worker) = start();
        store.add(&finding(1, "deadly")).unwrap();
        let lease = store.lease(worker, &two).unwrap().unwrap();
        assert_eq!((lease.number, lease.attempt), (1, attempt));
        assert_eq!(store.claim(worker).unwrap().unwrap().attempt, attempt);
        die(store);
    }
    // now others come first
    let (store, worker) = start();
    let other = store.lease(worker, &two).unwrap().unwrap();
    assert_eq!(other.number, 2);
    store.complete(&other, &Outcome::Judged, &[]).unwrap();
    store.add(&finding(2, "harmless")).unwrap();
    let claim = store.claim(worker).unwrap().unwrap();
    assert_eq!(claim.signature.0, "harmless");
    store.settle(&claim, None).unwrap();
    die(store);
    // but with nothing else left they are tried again, though not for ever
    for attempt in 4..=30 {
        let (store, worker) = start();
        let lease = store.lease(worker, &two).unwrap().unwrap();
        assert_eq!((lease.number, lease.attempt), (1, attempt));
        assert_eq!(store.claim(worker).unwrap().unwrap().attempt, attempt);
        die(store);
    }
    let (store, worker) = start();
    assert_eq!(store.lease(worker, &two).unwrap(), None);
    assert_eq!(store.seeds().unwrap().abandoned, 1);
    assert_eq!(store.claim(worker).unwrap(), None);
}

#[test]
fn leaving_in_order_gives_work_back_without_blame() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(directory.path()).unwrap();
    store.add(&finding(1, "s")).unwrap();
    for _ in 0..5 {
        let worker = store.join("short").unwrap();
        let lease = store.lease(worker, &wish(1, 1, None)).unwrap().unwrap();
        assert_eq!((lease.number, lease.attempt), (1, 1));
        assert_eq!(store.claim(worker).unwrap().unwrap().attempt, 1);
        store.leave(worker).unwrap();
    }
    assert!(store.workers().unwrap().iter().all(|worker| !worker.alive));
    let locks = std::fs::read_dir(directory.path().join("workers")).unwrap();
    assert_eq!(locks.count(), 0);
}

#[test]
fn a_finding_is_stored_once_and_improved_in_steps() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(directory.path()).unwrap();
    assert!(store.add(&finding(1, "a")).unwrap());
    assert!(!store.add(&finding(1, "a")).unwrap());
    let id = FindingId::of(&["csmith", "1"]);
    let found = store.finding(&id.0).unwrap();
    assert_eq!((found.state, found.key.as_str()), (State::Found, "a"));
    assert_eq!(store.case(&found.case).unwrap(), finding(1, "a").case);

    let reduced = json!({"program": {"text": "int x;"}});
    let improvement = Improvement {
        reduced: Some(reduced.clone()),
        ..Improvement::default()
    };
    assert_eq!(store.improve(&id, &improvement).unwrap(), State::Reduced);
    let improvement = Improvement {
        culprit: Some(json!({"pass": "dse"})),
        key: Some("wrong-value | gcc | dse".into()),
        exhibit: Some(json!({"lines": []})),
        ..Improvement::default()
    };
    assert_eq!(store.improve(&id, &improvement).unwrap(), State::Isolated);
    let now = store.finding(&id.0[..6]).unwrap();
    assert_eq!(now.state, State::Isolated);
    assert_eq!(now.key, "wrong-value | gcc | dse");
    assert_eq!(store.case(&now.reduced.unwrap()).unwrap(), reduced);
    assert_eq!(
        store.case(&now.exhibit.unwrap()).unwrap(),
        json!({"lines": []})
    );

    let error = store.finding("zz").unwrap_err().to_string();
    assert!(error.contains("no finding `zz`"), "{error}");
    store.add(&finding(2, "a")).unwrap();
    let error = store.finding("").unwrap_err().to_string();
    assert!(error.contains("fits 2 findings"), "{error}");

    // a whole id is that finding, whatever else begins with it
    for longer in ["abc", "abcd", "abcde"] {
        let mut new = finding(3, "a");
        new.id = FindingId(longer.into());
        store.add(&new).unwrap();
    }
    assert_eq!(store.finding("abc").unwrap().id.0, "abc");
    assert_eq!(store.finding("abcd").unwrap().id.0, "abcd");
    assert_eq!(store.finding("abcde").unwrap().id.0, "abcde");
    let error = store.finding("ab").unwrap_err().to_string();
    assert!(error.contains("fits 3 findings"), "{error}");
}

#[test]
fn signatures_with_one_culprit_are_one_unique_finding() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(directory.path()).unwrap();
    for (number, signature) in [(1, "a"), (2, "a"), (3, "b"), (4, "c")] {
        store.add(&finding(number, signature)).unwrap();
    }
    assert_eq!(store.groups().unwrap().len(), 3);
    let worker = store.join("test").unwrap();
    for _ in 0..2 {
        let claim = store.claim(worker).unwrap().unwrap();
        let improvement = Improvement {
            culprit: Some(json!({"pass": "dse"})),
            key: Some("dse".into()),
            ..Improvement::default()
        };
        store.improve(&claim.finding.id, &improvement).unwrap();
        store.settle(&claim, None).unwrap();
    }
    let groups = store.groups().unwrap();
    let shape: Vec<_> = groups
        .iter()
        .map(|group| (group.key.as_str(), group.findings, group.signatures))
        .collect();
    assert_eq!(shape, [("dse", 3, 2), ("c", 1, 1)]);
    assert_eq!(groups[0].representative.seed, 1);
    // a new finding of a known signature needs no work
    let last = store.claim(worker).unwrap().unwrap();
    assert_eq!(last.signature, Signature("c".into()));
    store.settle(&last, Some("could not be reduced")).unwrap();
    store.add(&finding(5, "a")).unwrap();
    assert_eq!(store.claim(worker).unwrap(), None);
    assert_eq!(store.groups().unwrap()[0].findings, 4);
}

#[test]
fn only_one_worker_has_a_claim_and_the_important_ones_come_first() {
    let directory = tempfile::tempdir().unwrap();
    let one = SqliteStore::create(directory.path()).unwrap();
    let two = SqliteStore::create(directory.path()).unwrap();
    let (first, second) = (one.join("1").unwrap(), two.join("2").unwrap());
    one.add(&finding(1, "debug")).unwrap();
    let mut urgent = finding(2, "wrong code");
    urgent.priority = 9;
    one.add(&urgent).unwrap();
    let claim = one.claim(first).unwrap().unwrap();
    assert_eq!(claim.signature.0, "wrong code");
    let other = two.claim(second).unwrap().unwrap();
    assert_eq!(other.signature.0, "debug");
    assert_eq!(two.claim(second).unwrap(), None);
    die(one);
    two.beat(second).unwrap();
    let taken = two.claim(second).unwrap().unwrap();
    assert_eq!(
        (taken.signature.0.as_str(), taken.attempt),
        ("wrong code", 2)
    );
}

#[test]
fn damage_is_told_and_nothing_is_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(directory.path()).unwrap();
    for number in 0..300 {
        store.add(&finding(number, &format!("s{number}"))).unwrap();
    }
    drop(store);
    let path = directory.path().join("candor.db");
    let whole = std::fs::read(&path).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let damages: [(&str, Vec<u8>); 3] = [
        (
            "a text",
            b"this is not a database, whatever its name says".repeat(100),
        ),
        (
            "a file cut in the middle",
            whole[..whole.len() / 2].to_vec(),
        ),
        ("random bytes in the middle", {
            let mut bytes = whole.clone();
            for byte in &mut bytes[4096..] {
                *byte = random.u8(..);
            }
            bytes
        }),
    ];
    for (what, bytes) in damages {
        std::fs::write(&path, &bytes).unwrap();
        let attempt: fn(&Path) -> Result<SqliteStore, _> = SqliteStore::create;
        let error = attempt(directory.path()).unwrap_err().to_string();
        assert!(
            error.contains("not a readable candor store"),
            "{what}: {error}"
        );
        assert!(error.contains("nothing was changed"), "{what}: {error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{what}");
    }
    let error = SqliteStore::open(Path::new("/nonexistent/store")).unwrap_err();
    assert!(error.to_string().contains("no store in /nonexistent/store"));
}

#[test]
fn live_reports_see_that_something_changed() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(directory.path()).unwrap();
    let other = SqliteStore::open(directory.path()).unwrap();
    let before = other.revision().unwrap();
    store.add(&finding(1, "a")).unwrap();
    store.note("found", &json!({"title": "x"})).unwrap();
    assert!(other.revision().unwrap() > before);
    let events = other.events(0, 10).unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(other.events(events[0].number, 10).unwrap(), []);
    let _: WorkerId = store.join("x").unwrap();
}
