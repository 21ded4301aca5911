//! A process that stores findings as fast as it can is killed with -9 at twenty random moments: nothing that it said
//! was stored is lost, nothing is there twice, and the next process goes on.
//!
//! The test starts itself again as the victim, so it has its own `main`.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use candor_store::{
    Count, FindingId, Improvement, Metric, NewFinding, Outcome, Signature, SqliteStore, State,
    Store, Stream, Wish,
};
use serde_json::json;

const VICTIM: &str = "CANDOR_STORE_VICTIM";
const SEED: u64 = 20_261_116;
const KILLS: usize = 20;
const BUILDS_PER_SEED: u64 = 3;

fn main() {
    match std::env::var_os(VICTIM) {
        Some(directory) => victim(Path::new(&directory)),
        None => test(),
    }
}

fn id(seed: u64) -> FindingId {
    FindingId::of(&["csmith", &seed.to_string()])
}

/// Judges seeds without end: one finding each, improved in two steps; says what is stored.
fn victim(directory: &Path) {
    let store = SqliteStore::create(directory).unwrap();
    let worker = store.join("victim").unwrap();
    let mut out = std::io::stdout();
    let mut say = |words: String| {
        writeln!(out, "{words}").unwrap();
        out.flush().unwrap();
    };
    loop {
        let wish = Wish {
            stream: Stream("csmith".into()),
            first: 1,
            step: 1,
            end: None,
            file: None,
        };
        let lease = store.lease(worker, &wish).unwrap().unwrap();
        let seed = lease.number;
        store
            .add(&NewFinding {
                id: id(seed),
                stream: lease.stream.clone(),
                seed,
                variant: None,
                kind: "wrong-value".into(),
                compiler: "gcc-12".into(),
                version: "12.2.0".into(),
                family: "gcc".into(),
                level: "-O2".into(),
                signature: Signature(format!("signature {}", seed % 7)),
                priority: 0,
                title: format!("finding of {seed}"),
                case: json!({"program": {"text": format!("int seed = {seed};")}}),
                affected: json!({}),
            })
            .unwrap();
        say(format!("found {seed}"));
        let counts = [Count {
            metric: Metric::Builds,
            compiler: "gcc-12".into(),
            more: BUILDS_PER_SEED,
        }];
        store.advance(&lease, 1, &counts).unwrap();
        let reduced = Improvement {
            reduced: Some(json!({"program": {"text": format!("int s = {seed};")}})),
            ..Improvement::default()
        };
        store.improve(&id(seed), &reduced).unwrap();
        say(format!("reduced {seed}"));
        store.complete(&lease, &Outcome::Judged, &[]).unwrap();
        say(format!("judged {seed}"));
    }
}

fn test() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(SEED);
    println!("killing {KILLS} times, seed {SEED}");
    let mut said: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(VICTIM, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        // After so many steps, and a little: at any point within a step, however slow the machine is.
        let steps = random.usize(0..15);
        let delay = Duration::from_micros(random.u64(0..30_000));
        let mut killed = false;
        let mut lines = output.lines();
        for step in 0.. {
            if step == steps {
                std::thread::sleep(delay);
                child.kill().unwrap();
                killed = true;
            }
            // What it said before it died is still in the pipe.
            let Some(line) = lines.next() else { break };
            let line = line.unwrap();
            let (what, seed) = line.split_once(' ').unwrap();
            let seed = seed.parse().unwrap();
            said.entry(what.to_owned()).or_default().insert(seed);
        }
        let status = child.wait().unwrap();
        assert!(killed);
        assert!(!status.success(), "the victim was killed, not finished");
    }
    let store = SqliteStore::create(directory.path()).unwrap();
    let findings = store.findings().unwrap();
    let stored: BTreeSet<u64> = findings.iter().map(|finding| finding.seed).collect();
    assert_eq!(stored.len(), findings.len(), "no seed twice");
    let found = said.remove("found").unwrap();
    assert!(found.len() > KILLS, "{} findings were stored", found.len());
    let lost: Vec<_> = found.difference(&stored).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    // Stored, and killed before it could say so: one per kill at most.
    assert!(stored.len() <= found.len() + KILLS);
    for seed in said.remove("reduced").unwrap() {
        let finding = store.finding(&id(seed).0).unwrap();
        assert_eq!(finding.state, State::Reduced, "seed {seed}");
        let text = store.case(&finding.reduced.unwrap()).unwrap();
        assert_eq!(text["program"]["text"], format!("int s = {seed};"));
    }
    let judged = said.remove("judged").unwrap();
    let seeds = store.seeds().unwrap();
    assert!(seeds.judged as usize >= judged.len());
    let builds: u64 = store
        .samples()
        .unwrap()
        .samples
        .iter()
        .map(|sample| sample.count)
        .sum();
    assert!(builds >= judged.len() as u64 * BUILDS_PER_SEED);
    assert!(
        builds <= stored.len() as u64 * BUILDS_PER_SEED,
        "counted twice"
    );
    // What the dead had begun is taken up again, lowest first, before anything new.
    let worker = store.join("heir").unwrap();
    assert_eq!(
        store.workers().unwrap().iter().filter(|w| w.alive).count(),
        1
    );
    let half = directory.path().join("tmp");
    assert!(!half.exists() || half.read_dir().unwrap().count() == 0);
    if seeds.leased > 0 {
        let wish = Wish {
            stream: Stream("csmith".into()),
            first: 1,
            step: 1,
            end: None,
            file: None,
        };
        let lease = store.lease(worker, &wish).unwrap().unwrap();
        assert!(lease.attempt > 1, "{lease:?}");
    }
    println!(
        "ok: {} findings stored through {KILLS} kills, none lost, none twice",
        stored.len()
    );
}
