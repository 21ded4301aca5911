//! A thousand workers against a real cluster, without compiling: how many leases a second, how long one takes, what the
//! servers need.
//!
//! `cargo run --release -p candor-fleet --example simulate -- [WORKERS] [SECONDS] [CONNECTIONS] [SPEED-UP]`
//!
//! Each worker leases a seed, sleeps as long as judging it took in a real hunt (below) divided by SPEED-UP, says after each
//! program that it is judged, and completes the seed. Nine programs to a seed, as in a hunt with 8 variants.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use candor_fleet::{Fleet, Terms};
use candor_store::{Grant, Outcome, Store};
use support::campaign::{begin, connect, program};

/// Seconds of CPU time one program took in a hunt, on average: 86.4 s for 18 programs (docs/benchmarks.md, hunt).
const PROGRAM_SECONDS: f64 = 86.4 / 18.0;
const PROGRAMS: u64 = 9;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|text| text.parse::<u64>().unwrap());
    let workers = numbers.next().unwrap_or(1000);
    let seconds = numbers.next().unwrap_or(60);
    let connections = numbers.next().unwrap_or(20);
    let speed = numbers.next().unwrap_or(1) as f64;
    let servers = support::cluster();
    let fleets: Vec<Fleet> = (0..connections)
        .map(|_| connect(support::urls(&servers)))
        .collect();
    let place = tempfile::tempdir().unwrap();
    let terms = Terms::default();
    drop(begin(
        &fleets[0],
        "sim",
        &terms,
        &place.path().join("begin"),
        None,
    ));
    let over = Arc::new(AtomicBool::new(false));
    let latencies: Arc<Mutex<Vec<f64>>> = Arc::default();
    let (leases, programs, later) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let joined = AtomicU64::new(0);
    let begun = Instant::now();
    let mut measured = Duration::ZERO;
    std::thread::scope(|scope| {
        for number in 0..workers {
            let fleet = &fleets[usize::try_from(number % connections).unwrap()];
            let (over, latencies) = (Arc::clone(&over), Arc::clone(&latencies));
            let (leases, programs, later, joined) = (&leases, &programs, &later, &joined);
            let spool = place.path().join("spool");
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || {
                    let store = loop {
                        match fleet.open("sim", &spool) {
                            Ok(store) => break store,
                            Err(_) if over.load(Ordering::SeqCst) => return,
                            Err(_) => std::thread::sleep(Duration::from_millis(500)),
                        }
                    };
                    let me = loop {
                        match store.join(&format!("simulated {number}")) {
                            Ok(me) => break me,
                            Err(_) if over.load(Ordering::SeqCst) => return,
                            Err(_) => std::thread::sleep(Duration::from_millis(500)),
                        }
                    };
                    joined.fetch_add(1, Ordering::SeqCst);
                    let mut random = fastrand::Rng::with_seed(number);
                    while !over.load(Ordering::SeqCst) {
                        let asked = Instant::now();
                        let Ok(Grant::Seed(lease)) = store.grant(me, &[]) else {
                            later.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(100));
                            continue;
                        };
                        latencies
                            .lock()
                            .unwrap()
                            .push(asked.elapsed().as_secs_f64());
                        leases.fetch_add(1, Ordering::Relaxed);
                        for done in 1..=PROGRAMS {
                            // Half of it to one and a half: programs differ, and workers are not in step.
                            let took = PROGRAM_SECONDS * (0.5 + random.f64());
                            std::thread::sleep(Duration::from_secs_f64(took / speed));
                            if over.load(Ordering::SeqCst) {
                                break;
                            }
                            let _ = store.advance(&lease, done, &[program()]);
                            // What a real one asks for its status line, and for something to improve.
                            let _ = store.totals();
                            let _ = store.claim(me);
                            programs.fetch_add(1, Ordering::Relaxed);
                        }
                        let _ = store.complete(&lease, &Outcome::Judged, &[]);
                    }
                })
                .unwrap();
        }
        while joined.load(Ordering::SeqCst) < workers && begun.elapsed() < Duration::from_secs(300)
        {
            std::thread::sleep(Duration::from_millis(200));
        }
        println!(
            "{} of {workers} workers joined after {:.1} s",
            joined.load(Ordering::SeqCst),
            begun.elapsed().as_secs_f64()
        );
        // From here on: the rush of the beginning, when all want a seed at once, is not what is measured.
        while leases.load(Ordering::SeqCst) < workers && begun.elapsed() < Duration::from_secs(300)
        {
            std::thread::sleep(Duration::from_millis(100));
        }
        println!(
            "all had a seed after {:.1} s",
            begun.elapsed().as_secs_f64()
        );
        let rush = latencies.lock().unwrap().drain(..).count();
        leases.store(0, Ordering::SeqCst);
        programs.store(0, Ordering::SeqCst);
        let start = Instant::now();
        std::thread::sleep(Duration::from_secs(seconds));
        measured = start.elapsed();
        let mut all = latencies.lock().unwrap().clone();
        all.sort_by(f64::total_cmp);
        let at = |share: f64| {
            all.get((all.len() as f64 * share) as usize)
                .copied()
                .unwrap_or(f64::NAN)
        };
        let rate = |count: &AtomicU64| count.load(Ordering::SeqCst) as f64 / measured.as_secs_f64();
        println!(
            "{workers} workers on {connections} connections, {:.0} s (after {rush} leases): {:.1} leases/s, {:.1} programs/s; \
             lease latency: median {:.1} ms, 99 % {:.1} ms, largest {:.1} ms; {} times asked in vain",
            measured.as_secs_f64(),
            rate(&leases),
            rate(&programs),
            at(0.5) * 1000.0,
            at(0.99) * 1000.0,
            all.last().copied().unwrap_or(f64::NAN) * 1000.0,
            later.load(Ordering::SeqCst)
        );
        let memory: Vec<String> = servers
            .iter()
            .map(|server| format!("{} MB", server.memory() >> 20))
            .collect();
        println!("memory of the servers: {}", memory.join(", "));
        over.store(true, Ordering::SeqCst);
        // Threads asleep over their programs are not waited for.
        drop(servers);
        std::process::exit(0);
    });
}
