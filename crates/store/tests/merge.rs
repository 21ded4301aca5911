//! Stores of a job array become one, whatever the order and however often.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use candor_store::{
    Count, FindingId, Improvement, Metric, NewFinding, Outcome, Signature, SqliteStore, State,
    Store, Stream, Wish,
};
use serde_json::json;

fn finding(number: u64) -> NewFinding {
    NewFinding {
        id: FindingId::of(&["csmith", &number.to_string()]),
        stream: Stream("csmith".into()),
        seed: number,
        variant: None,
        kind: "wrong-value".into(),
        compiler: "gcc-12".into(),
        version: "12.2.0".into(),
        family: "gcc".into(),
        level: "-O2".into(),
        signature: Signature(format!("sort {}", number % 3)),
        priority: 0,
        title: format!("finding {number}"),
        case: json!({"program": {"text": format!("int f{number};")}, "number": number}),
        affected: json!({"gcc-12": ["-O2"]}),
    }
}

/// Judges the seeds of shard `index` of `count` below 12; seed 5 is rejected, every other one has a finding.
fn judge(directory: &Path, index: u64, count: u64, most: usize) {
    let store = SqliteStore::create(directory).unwrap();
    let worker = store.join(&format!("part {index}")).unwrap();
    let wish = Wish {
        stream: Stream("csmith".into()),
        first: index,
        step: count,
        end: Some(12),
        file: None,
    };
    for _ in 0..most {
        let Some(lease) = store.lease(worker, &wish).unwrap() else {
            break;
        };
        let outcome = if lease.number == 5 {
            Outcome::Rejected("too small".into())
        } else {
            store.add(&finding(lease.number)).unwrap();
            Outcome::Judged
        };
        let builds = Count {
            metric: Metric::Builds,
            compiler: "gcc-12".into(),
            more: 10 + lease.number,
        };
        store.complete(&lease, &outcome, &[builds]).unwrap();
    }
    store.leave(worker).unwrap();
}

/// Everything that must not depend on how the work was divided.
fn essence(store: &dyn Store) -> String {
    let builds: u64 = store
        .samples()
        .unwrap()
        .samples
        .iter()
        .map(|sample| sample.count)
        .sum();
    let mut findings: Vec<String> = store
        .findings()
        .unwrap()
        .iter()
        .map(|f| {
            let case = store.case(&f.case).unwrap();
            format!("{} {} {case}", f.id, f.signature)
        })
        .collect();
    findings.sort();
    let totals = store.totals().unwrap();
    let seeds = store.seeds().unwrap();
    format!("{builds} builds, {totals:?}, {seeds:?}, {findings:#?}")
}

#[test]
fn parts_make_the_same_store_as_the_whole_in_any_order_and_when_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    judge(&path("whole"), 0, 1, 99);
    for part in 0..4 {
        judge(&path(&part.to_string()), part, 4, 99);
    }
    let expected = essence(&SqliteStore::open(&path("whole")).unwrap());
    for (name, order) in [("a", [0, 1, 2, 3]), ("b", [3, 1, 0, 2])] {
        let all = SqliteStore::create(&path(name)).unwrap();
        for part in order.into_iter().chain(order) {
            let part = SqliteStore::open(&path(&part.to_string())).unwrap();
            all.merge(&part).unwrap();
        }
        assert_eq!(essence(&all), expected, "merged in the order {order:?}");
    }
    // A merge of merges, one of which was made before, counts nothing twice.
    let of_all = SqliteStore::create(&path("c")).unwrap();
    for part in ["a", "0", "b"] {
        of_all
            .merge(&SqliteStore::open(&path(part)).unwrap())
            .unwrap();
    }
    assert_eq!(essence(&of_all), expected);
}

#[test]
fn a_part_that_went_on_is_merged_again_and_what_is_known_best_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    judge(&path("even"), 0, 2, 2);
    judge(&path("odd"), 1, 2, 99);
    let all = SqliteStore::create(&path("all")).unwrap();
    let open = |name: &str| SqliteStore::open(&path(name)).unwrap();
    let first = all.merge(&open("even")).unwrap();
    assert_eq!((first.seeds, first.findings, first.signatures), (2, 2, 2));

    judge(&path("even"), 0, 2, 99);
    let even = open("even");
    let id = finding(6).id;
    let improvement = Improvement {
        reduced: Some(json!({"program": {"text": "int f;"}})),
        culprit: Some(json!({"pass": "dse"})),
        key: Some("wrong-value | gcc | dse".into()),
        ..Improvement::default()
    };
    even.improve(&id, &improvement).unwrap();
    let again = all.merge(&even).unwrap();
    assert_eq!(
        (again.seeds, again.findings, again.signatures),
        (4, 4, 1),
        "seeds 4, 6, 8, 10; the sort of 4, 10 is new"
    );
    // The odd part found the same sort and knows less about it.
    all.merge(&open("odd")).unwrap();
    let isolated = all.finding(&id.0).unwrap();
    assert_eq!(isolated.state, State::Isolated);
    assert_eq!(
        all.case(&isolated.reduced.unwrap()).unwrap()["program"]["text"],
        "int f;"
    );
    let keys: BTreeSet<String> = all
        .groups()
        .unwrap()
        .into_iter()
        .map(|group| group.key)
        .collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.contains("wrong-value | gcc | dse"), "{keys:?}");
}

#[test]
fn a_store_is_not_merged_into_itself_and_damage_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    judge(&path("part"), 0, 1, 3);
    let part = SqliteStore::open(&path("part")).unwrap();
    let error = part.merge(&SqliteStore::open(&path("part")).unwrap());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("both part and whole"), "{error}");

    let object = part.findings().unwrap()[0].case.to_string();
    let file = path("part").join("objects").join(&object[..2]);
    std::fs::write(file.join(&object[2..]), "{}").unwrap();
    let all = SqliteStore::create(&path("all")).unwrap();
    let error = all.merge(&part).unwrap_err().to_string();
    assert!(error.contains("damaged"), "{error}");
    assert_eq!(all.totals().unwrap().findings, 0);
}
