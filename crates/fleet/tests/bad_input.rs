//! Brokers that are not there, do not let us in, are full, are used by others: each a sentence, and nothing lost.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::time::Duration;

use candor_fleet::{Error, Fleet, FleetStore, Terms};
use candor_store::{Grant, Outcome, Store, WorkerId};
use serde_json::json;
use support::campaign::{begin, broker, lease, refused};
use support::{Server, free_port};

fn terms() -> Terms {
    lease(5)
}

#[test]
fn nobody_answers() {
    let error = refused(&broker(format!("nats://127.0.0.1:{}", free_port())));
    assert!(matches!(error, Error::NoBroker { .. }), "{error}");
    assert!(error.to_string().contains("is nats-server running there"));
}

#[test]
fn a_broker_without_jetstream() {
    let server = Server::with("");
    let error = refused(&broker(server.url()));
    assert!(matches!(error, Error::NoJetStream { .. }), "{error}");
    assert!(error.to_string().contains("nats-server -js"));
}

#[test]
fn campaigns_that_are_not_there_not_ours_or_not_of_this_version() {
    let server = Server::start();
    let fleet = Fleet::connect(&broker(server.url())).unwrap();
    let spool = tempfile::tempdir().unwrap();
    let error = fleet.open("gcc16", spool.path()).unwrap_err();
    assert!(error.to_string().contains("no campaign `gcc16`"), "{error}");
    drop(begin(&fleet, "gcc16", &terms(), spool.path(), Some(3)));
    assert_eq!(fleet.campaigns().unwrap(), ["gcc16"]);
    let error = fleet.open("gcc61", spool.path()).unwrap_err();
    assert!(error.to_string().contains("did you mean gcc16?"), "{error}");
    let error = fleet.begin("a.b", &terms(), spool.path()).unwrap_err();
    assert!(matches!(error, Error::BadName { .. }), "{error}");

    // Somebody else's stream has the name, or the subjects.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let stream = |name: &str, subject: &str| async_nats::jetstream::stream::Config {
            name: name.into(),
            subjects: vec![subject.into()],
            ..Default::default()
        };
        let made = [
            ("candor-taken-log", "mails.>"),
            ("orders", "candor.sold.queue.>"),
        ];
        for (name, subject) in made {
            context.create_stream(stream(name, subject)).await.unwrap();
        }
        let bucket = context.get_key_value("candor-campaigns").await.unwrap();
        let record = json!({"schema": 2, "what": "ever"}).to_string();
        bucket.put("newer", record.into()).await.unwrap();
        bucket.put("broken", "{".into()).await.unwrap();
    });
    for (name, stream) in [("taken", "candor-taken-log"), ("sold", "candor-sold-queue")] {
        let error = fleet.begin(name, &terms(), spool.path()).unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        assert!(error.to_string().contains(stream), "{error}");
    }
    let error = fleet.open("newer", spool.path()).unwrap_err();
    assert!(error.to_string().contains("schema version 2"), "{error}");
    let error = fleet.begin("newer", &terms(), spool.path()).unwrap_err();
    assert!(matches!(error, Error::Schema { .. }), "{error}");
    let error = fleet.open("broken", spool.path()).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn a_single_server_cannot_keep_three_copies() {
    let server = Server::start();
    let fleet = Fleet::connect(&broker(server.url())).unwrap();
    let spool = tempfile::tempdir().unwrap();
    let three = Terms {
        replicas: Some(3),
        ..terms()
    };
    let error = fleet.begin("three", &three, spool.path()).unwrap_err();
    assert!(matches!(error, Error::Replicas { .. }), "{error}");
}

/// Judges the next seed.
fn judge(store: &FleetStore, worker: WorkerId) -> Option<u64> {
    for _ in 0..60 {
        match store.grant(worker, &[]).unwrap() {
            Grant::Seed(lease) => {
                store.complete(&lease, &Outcome::Judged, &[]).unwrap();
                return Some(lease.number);
            }
            Grant::Later => std::thread::sleep(Duration::from_millis(100)),
            Grant::Nothing => return None,
        }
    }
    panic!("no answer for a minute");
}

#[test]
fn a_full_broker_takes_nothing_and_nothing_is_lost() {
    let server = Server::with("jetstream { store_dir: \"STORE\", max_file_store: 300KB }\n");
    let fleet = Fleet::connect(&broker(server.url())).unwrap();
    let spool = tempfile::tempdir().unwrap();
    let store = begin(&fleet, "full", &terms(), spool.path(), Some(5));
    let worker = store.join("w").unwrap();
    let Grant::Seed(lease) = store.grant(worker, &[]).unwrap() else {
        panic!("a seed");
    };
    let large: Vec<String> = (0..8).map(|n| format!("{n}").repeat(60_000)).collect();
    for text in &large {
        store.put(text.as_bytes()).unwrap();
    }
    store.complete(&lease, &Outcome::Judged, &[]).unwrap();
    let said = store.notices().join("\n");
    assert!(
        said.contains("no space left") && said.contains("results are kept in"),
        "{said}"
    );
    assert!(matches!(store.grant(worker, &[]).unwrap(), Grant::Later));
    let error = store.leave(worker).unwrap_err().to_string();
    assert!(error.contains("could not be delivered"), "{error}");
    // Once there is room, what was kept is delivered.
    let mut server = server;
    let config = std::fs::read_to_string(server.folder().join("nats.conf")).unwrap();
    let more = config.replace("300KB", "30MB");
    std::fs::write(server.folder().join("nats.conf"), more).unwrap();
    server.restart();
    server.wait();
    let delivered = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(200));
        store.leave(worker).is_ok()
    });
    assert!(delivered, "still in the spool");
    drop(store);
    let fleet = Fleet::connect(&broker(server.url())).unwrap();
    let spool = tempfile::tempdir().unwrap();
    let store = fleet.open("full", spool.path()).unwrap();
    for _ in 0..100 {
        if let Ok(worker) = store.join("later") {
            let mut judged: Vec<u64> = std::iter::from_fn(|| judge(&store, worker)).collect();
            judged.sort_unstable();
            assert_eq!(judged, [2, 3, 4, 5], "the first was delivered");
            store.leave(worker).unwrap();
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(store.seeds().unwrap().judged, 5);
    for text in &large {
        let hash = candor_store::Hash::of(text.as_bytes());
        assert_eq!(store.get(&hash).unwrap(), text.as_bytes());
    }
}
