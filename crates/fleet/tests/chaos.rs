//! Three servers that keep everything three times, four workers; workers and one server at a time are killed with -9 at
//! random moments and started again. At the end every seed is judged, no finding that a worker was told is stored is
//! lost, and each signature is stored once.
//!
//! It starts itself again as the workers, which judge nothing: they wait as long as judging would take. Short and
//! with a fixed seed unless the environment says otherwise; `scripts/fleet-chaos.sh` runs it for ten minutes. What servers and
//! workers said, and the campaign's log, are kept when it fails.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use candor_fleet::Fleet;
use candor_store::{Grant, Improvement, Metric, NewFinding, Outcome, Store};
use futures_util::StreamExt as _;
use serde_json::json;
use support::Server;
use support::campaign::{begin, connect, insist, lease, program};

const WORKER: &str = "CANDOR_CHAOS_WORKER";
const SPOOL: &str = "CANDOR_CHAOS_SPOOL";
const CAMPAIGN: &str = "chaos";
const WORKERS: usize = 4;
/// Findings have so many signatures.
const SIGNATURES: u64 = 11;
/// For what is left after the last kill.
const PATIENCE: Duration = Duration::from_secs(180);
/// How a worker ends that could not deliver everything: the next one will.
const UNDELIVERED: i32 = 3;

/// A number from the environment.
fn setting(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// How long judging a seed takes.
fn pause() -> Duration {
    Duration::from_millis(setting("CHAOS_PAUSE_MS", 150))
}

#[test]
fn chaos() {
    match std::env::var(WORKER) {
        Ok(url) => worker(url),
        Err(_) => attack(),
    }
}

fn has_finding(seed: u64) -> bool {
    seed.is_multiple_of(3)
}

fn finding(seed: u64) -> NewFinding {
    support::campaign::finding(seed, &format!("signature {}", seed % SIGNATURES))
}

/// The time of day as the servers' logs have it.
fn clock() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seconds = now.as_secs() % 86_400;
    let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
    let (second, milli) = (seconds % 60, now.subsec_millis());
    format!("{hour:02}:{minute:02}:{second:02}.{milli:03}")
}

fn worker(url: String) {
    let spool = PathBuf::from(std::env::var(SPOOL).unwrap());
    let mut out = std::io::stdout();
    let mut say = |words: String| {
        writeln!(out, "{} {words}", clock()).unwrap();
        out.flush().unwrap();
    };
    say(format!("started as process {}", std::process::id()));
    let fleet = connect(url);
    let store = insist(|| fleet.open(CAMPAIGN, &spool));
    let me = insist(|| store.join(&format!("process {}", std::process::id())));
    loop {
        for notice in store.notices() {
            say(format!("notice {notice}"));
        }
        if let Some(claim) = store.claim(me).unwrap() {
            improve(&store, &claim);
            let (signature, attempt) = (&claim.signature, claim.attempt);
            say(format!("improved {signature} at attempt {attempt}"));
            continue;
        }
        match store.grant(me, &[]).unwrap() {
            Grant::Seed(lease) => {
                let (seed, attempt) = (lease.number, lease.attempt);
                say(format!("leased {seed} at attempt {attempt}"));
                std::thread::sleep(pause());
                if has_finding(seed) {
                    let finding = finding(seed);
                    store.add(&finding).unwrap();
                    say(format!("found {}", finding.id));
                }
                store.advance(&lease, 1, &[program()]).unwrap();
                store.complete(&lease, &Outcome::Judged, &[]).unwrap();
                say(format!("judged {seed} at attempt {attempt}"));
            }
            Grant::Later => std::thread::sleep(Duration::from_millis(50)),
            Grant::Nothing if store.totals().unwrap().waiting == 0 => break,
            Grant::Nothing => std::thread::sleep(Duration::from_millis(200)),
        }
    }
    // Undelivered results are the next worker's business.
    if let Err(error) = store.leave(me) {
        say(format!("{error}"));
        std::process::exit(UNDELIVERED);
    }
    say("left".to_owned());
}

fn improve(store: &dyn Store, claim: &candor_store::Claim) {
    let learn = |improvement: Improvement| {
        std::thread::sleep(pause());
        store.improve(&claim.finding.id, &improvement).unwrap();
    };
    learn(Improvement {
        reduced: Some(json!({"program": {"text": "int m;"}})),
        ..Improvement::default()
    });
    learn(Improvement {
        culprit: Some(json!({"pass": "vrp"})),
        key: Some(format!("key of {}", claim.signature)),
        ..Improvement::default()
    });
    store.settle(claim, None).unwrap();
}

/// A worker, gone with the test however that ends.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(url: &str, folder: &Path, number: usize) -> Victim {
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join(format!("worker-{number}")))
        .unwrap();
    let errors = log.try_clone().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["chaos", "--exact", "--nocapture"])
        .env(WORKER, url)
        .env(SPOOL, folder.join("spool"))
        .stdout(log)
        .stderr(errors)
        .spawn()
        .unwrap();
    Victim(child)
}

/// What the workers said, without the time of day.
fn said(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for number in 0..WORKERS {
        let text = std::fs::read_to_string(folder.join(format!("worker-{number}"))).unwrap();
        let timed = text.lines().filter_map(|line| line.split_once(' '));
        lines.extend(timed.map(|(_, words)| words.to_owned()));
    }
    lines
}

fn attack() {
    let seconds = setting("CHAOS_SECONDS", 8);
    let seed = setting("CHAOS_SEED", 20_261_118);
    let seeds = setting("CHAOS_SEEDS", 60);
    println!(
        "chaos with seed {seed} (CHAOS_SEED={seed} CHAOS_SECONDS={seconds} CHAOS_SEEDS={seeds} repeats it)"
    );
    let mut random = fastrand::Rng::with_seed(seed);
    let mut servers = support::cluster();
    let url = support::urls(&servers);
    let folder = tempfile::tempdir().unwrap().keep();
    let fleet = connect(url.clone());
    let terms = lease(setting("CHAOS_LEASE", 4));
    let spool = folder.join("beginner");
    drop(begin(&fleet, CAMPAIGN, &terms, &spool, Some(seeds)));
    let mut workers: Vec<Victim> = (0..WORKERS).map(|n| start(&url, &folder, n)).collect();
    let mut attacks = std::fs::File::create(folder.join("attacks")).unwrap();
    let mut note = |words: String| writeln!(attacks, "{} {words}", clock()).unwrap();
    let begun = Instant::now();
    let (mut worker_kills, mut server_kills) = (0, 0);
    let mut down: Option<(usize, Instant)> = None;
    while begun.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(Duration::from_millis(random.u64(200..1200)));
        if let Some((number, until)) = down
            && Instant::now() >= until
        {
            servers[number].restart();
            servers[number].wait();
            note(format!("server {number} is back"));
            down = None;
        }
        if random.u32(0..10) < 6 {
            let number = random.usize(0..WORKERS);
            // One that is done is not started again.
            if workers[number].0.try_wait().unwrap().is_none() {
                worker_kills += 1;
                workers[number].0.kill().unwrap();
                workers[number].0.wait().unwrap();
                note(format!("worker {number} killed"));
                workers[number] = start(&url, &folder, number);
            }
        } else if down.is_none() {
            let number = random.usize(0..servers.len());
            servers[number].kill();
            note(format!("server {number} killed"));
            server_kills += 1;
            let back = Duration::from_millis(random.u64(500..3000));
            down = Some((number, Instant::now() + back));
        }
    }
    if let Some((number, _)) = down {
        servers[number].restart();
        servers[number].wait();
    }
    note("no more attacks".to_owned());
    let calm = Instant::now();
    let held =
        settle(&mut workers, &url, &folder, &fleet).and_then(|()| verify(&fleet, &folder, seeds));
    if let Err(what) = held {
        keep_evidence(&servers, &folder);
        panic!(
            "chaos with seed {seed}: {what}; what everybody said is in {}",
            folder.display()
        );
    }
    let lines = said(&folder);
    let repeated = |what: &str| {
        let all = lines.iter().filter(|line| line.starts_with(what));
        all.filter(|line| !line.ends_with("attempt 1")).count()
    };
    println!(
        "chaos with seed {seed}: {seconds} s, {WORKERS} workers, 3 servers; {worker_kills} workers and {server_kills} \
         servers killed; {seeds} seeds judged ({} handed out again), {} findings, {SIGNATURES} signatures \
         ({} taken over); calm after {:.0} s",
        repeated("leased"),
        (1..=seeds).filter(|seed| has_finding(*seed)).count(),
        repeated("improved"),
        calm.elapsed().as_secs_f64()
    );
    if std::env::var_os("CHAOS_KEEP").is_some() {
        keep_evidence(&servers, &folder);
        println!("what everybody said is in {}", folder.display());
    } else {
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// Waits until all workers have gone because nothing is left to do.
fn settle(workers: &mut [Victim], url: &str, folder: &Path, fleet: &Fleet) -> Result<(), String> {
    let begun = Instant::now();
    for (number, worker) in workers.iter_mut().enumerate() {
        loop {
            match worker.0.try_wait().unwrap() {
                Some(status) if status.success() => break,
                Some(status) if status.code() == Some(UNDELIVERED) => {
                    *worker = start(url, folder, number);
                }
                Some(status) => return Err(format!("worker {number} failed: {status}")),
                None => {}
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!(
                    "workers do not end: {:?}",
                    fleet.standing(CAMPAIGN)
                ));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

/// Whether everything is as if nobody had been killed.
fn verify(fleet: &Fleet, folder: &Path, seeds: u64) -> Result<(), String> {
    let store = insist(|| fleet.look(CAMPAIGN));
    let counted = insist(|| store.seeds());
    let findings = insist(|| store.findings());
    let totals = insist(|| store.totals());
    let groups = insist(|| store.groups());
    let samples = insist(|| store.samples()).samples;
    let programs = samples.iter().filter(|s| s.metric == Metric::Programs);
    let stored: BTreeSet<String> = findings.iter().map(|f| f.id.0.clone()).collect();
    let told: BTreeSet<String> = said(folder)
        .iter()
        .filter_map(|line| line.strip_prefix("found "))
        .map(str::to_owned)
        .collect();
    let expected: BTreeSet<String> = (1..=seeds)
        .filter(|seed| has_finding(*seed))
        .map(|seed| finding(seed).id.0)
        .collect();
    let lost: Vec<&String> = told.difference(&stored).collect();
    let programs: u64 = programs.map(|sample| sample.count).sum();
    let mut wrong = Vec::new();
    let mut must = |held: bool, what: String| {
        if !held {
            wrong.push(what);
        }
    };
    must(
        lost.is_empty(),
        format!("acknowledged findings were lost: {lost:?}"),
    );
    must(
        (counted.judged, counted.rejected, counted.abandoned) == (seeds, 0, 0),
        format!("not every one of {seeds} seeds is judged: {counted:?}"),
    );
    must(
        stored == expected && stored.len() == findings.len(),
        format!("{} findings of {}", findings.len(), expected.len()),
    );
    must(
        (totals.unique, totals.isolated, totals.waiting) == (SIGNATURES, SIGNATURES, 0)
            && u64::try_from(groups.len()).unwrap() == SIGNATURES,
        format!("each signature is to be stored once and settled: {totals:?}"),
    );
    must(
        programs == seeds,
        format!("{programs} programs are counted"),
    );
    if wrong.is_empty() {
        return Ok(());
    }
    wrong.push(format!("read up to {:?}", store.revision()));
    Err(wrong.join("; "))
}

/// The servers' logs, the campaign's streams and consumers as they stand.
fn keep_evidence(servers: &[Server], folder: &Path) {
    for (number, server) in servers.iter().enumerate() {
        let to = folder.join(format!("server-{number}"));
        std::fs::copy(server.folder().join("log"), to).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(servers[0].url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        for sort in ["log", "queue"] {
            let mut out = std::fs::File::create(folder.join(sort)).unwrap();
            let name = format!("candor-{CAMPAIGN}-{sort}");
            let Ok(stream) = context.get_stream(&name).await else {
                writeln!(out, "the stream does not answer").unwrap();
                continue;
            };
            let state = stream.get_info().await.unwrap().state;
            writeln!(out, "{state:?}").unwrap();
            let mut consumers = stream.consumers();
            while let Some(Ok(consumer)) = consumers.next().await {
                writeln!(out, "{consumer:?}").unwrap();
            }
            for sequence in state.first_sequence..=state.last_sequence {
                if let Ok(message) = stream.get_raw_message(sequence).await {
                    let body = String::from_utf8_lossy(&message.payload);
                    let headers = format!("{:?}", message.headers);
                    writeln!(out, "{sequence} {} {headers} {body}", message.time).unwrap();
                }
            }
        }
    });
}
