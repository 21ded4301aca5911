//! conform against spawning `opt`, and what the detours cost, on LLVM's own tests in one run.
//!
//! `cargo run --release -p candor-conform --example bench_conform -- VERSION TESTS [COUNT] [JOBS]`
//!
//! Prints tests per second of (a) conform, analysis included, and (b) one `opt` process per test without
//! any analysis, on the wall clock and by CPU time (which other work on the machine changes less); and the
//! time of the passes themselves (c) with and (d) without recording, by CPU time.

use std::path::Path;
use std::time::{Duration, Instant};

use candor_conform::input::{Selection, Test, from_directory};
use candor_conform::{Outcome, Session};
use candor_llvm::{Ending, Engine, Library, Limits, Loading, Pool, Run};
use candor_toolchain::{Confinement, Job, Sandbox, Scratch};

/// Rounds of the detour measurement; the shortest counts.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [version, directory, rest @ ..] = arguments.as_slice() else {
        return Err("give VERSION TESTS [COUNT] [JOBS]".into());
    };
    let version: u32 = version.parse()?;
    let count: usize = rest.first().map_or(Ok(200), |text| text.parse())?;
    let jobs: usize = rest.get(1).map_or(Ok(1), |text| text.parse())?;
    let library = Library::find(version)?;
    let plain = Pool::start(&library, 1, Limits::default(), Loading::Plain, time_plain)?;
    let watched = Pool::start(
        &library,
        1,
        Limits::default(),
        Loading::Watched,
        time_watched,
    )?;
    let session = Session::start_for_many(library, jobs, Limits::default())?;
    let known = session.pass_names()?;
    let selection = Selection::named(&["table6".to_owned()]);
    let all = from_directory(Path::new(directory), &selection, &known)?;
    // Evenly over all passes.
    let step = (all.len() / count.max(1)).max(1);
    let tests: Vec<Test> = all.into_iter().step_by(step).take(count).collect();
    let runs: Vec<Run> = tests.iter().map(|test| test.run.clone()).collect();

    // Once, so that the library's pages are in memory for both.
    session.judge_all(&runs, &|| false, &|_| {})?;
    let cpu = own_cpu() + workers_cpu();
    let started = Instant::now();
    let outcomes = session.judge_all(&runs, &|| false, &|_| {})?;
    let ours = started.elapsed();
    let ours_cpu = own_cpu() + workers_cpu() - cpu;
    let judged = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Outcome::Judged(_)))
        .count();

    let started = Instant::now();
    let opt_cpu = spawn_opt(version, &tests)?;
    let opt = started.elapsed();

    let (mut with, mut without) = (Duration::ZERO, Duration::ZERO);
    for run in &runs {
        if let (Some(a), Some(b)) = (shortest(&watched, run)?, shortest(&plain, run)?) {
            with += a;
            without += b;
        }
    }
    let per_second = |time: Duration| tests.len() as f64 / time.as_secs_f64();
    println!(
        "LLVM {version}, {} tests ({judged} judged), {jobs} workers",
        tests.len()
    );
    for (name, wall, cpu) in [("conform", ours, ours_cpu), ("opt", opt, opt_cpu)] {
        println!(
            "{name:8}      {:8.1} tests/s  {:6.2} ms/test  {:6.2} ms/test of CPU",
            per_second(wall),
            1e3 / per_second(wall),
            1e3 / per_second(cpu)
        );
    }
    println!(
        "ratio         {:8.1} on the wall, {:.1} by CPU",
        opt.as_secs_f64() / ours.as_secs_f64(),
        opt_cpu.as_secs_f64() / ours_cpu.as_secs_f64()
    );
    println!(
        "detours       {:+7.1} % of the passes' own time ({:.1} ms with, {:.1} ms without)",
        (with.as_secs_f64() / without.as_secs_f64() - 1.0) * 100.0,
        with.as_secs_f64() * 1e3,
        without.as_secs_f64() * 1e3
    );
    Ok(())
}

fn time_plain(engine: &Engine, request: &[u8]) -> Vec<u8> {
    time(engine, request, false)
}

fn time_watched(engine: &Engine, request: &[u8]) -> Vec<u8> {
    time(engine, request, true)
}

fn time(engine: &Engine, request: &[u8], watched: bool) -> Vec<u8> {
    let took = serde_json::from_slice::<Run>(request)
        .ok()
        .and_then(|run| engine.time(&run, watched).ok());
    serde_json::to_vec(&took.map(|took| took.as_nanos() as u64)).unwrap_or_default()
}

fn shortest(pool: &Pool, run: &Run) -> Result<Option<Duration>, Box<dyn std::error::Error>> {
    let request = serde_json::to_vec(run)?;
    let mut best: Option<u64> = None;
    for _ in 0..ROUNDS {
        if let Ending::Answered { answer } = pool.run(0, &request, &|| false)?
            && let Some(took) = serde_json::from_slice::<Option<u64>>(&answer)?
        {
            best = Some(best.map_or(took, |known| known.min(took)));
        }
    }
    Ok(best.map(Duration::from_nanos))
}

/// CPU time of this process.
fn own_cpu() -> Duration {
    cpu_of("/proc/self/stat").0
}

/// CPU time of the workers and what they have run. The loader's children are the workers, which reap theirs.
fn workers_cpu() -> Duration {
    let own = std::process::id();
    let all: Vec<(u32, u32, Duration)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let (time, parent) = cpu_of(&format!("/proc/{pid}/stat"));
            Some((pid, parent, time))
        })
        .collect();
    let children = |of: u32| all.iter().filter(move |(_, parent, _)| *parent == of);
    children(own)
        .flat_map(|(loader, _, _)| children(*loader))
        .map(|(_, _, time)| *time)
        .sum()
}

/// CPU time of a process with its reaped children, and its parent.
fn cpu_of(file: &str) -> (Duration, u32) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    let ticks: u64 = (11..15).filter_map(number).sum();
    let parent = number(1).and_then(|parent| u32::try_from(parent).ok());
    (Duration::from_millis(ticks * 10), parent.unwrap_or(0))
}

/// What a user would do otherwise; gives the CPU time. The sandbox's namespaces are not opt's fault, so it runs open.
fn spawn_opt(version: u32, tests: &[Test]) -> Result<Duration, Box<dyn std::error::Error>> {
    let mut cpu = Duration::ZERO;
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let directory = scratch.job()?;
    for test in tests {
        let mut job = Job::new(format!("opt-{version}"), directory.path())
            .arg(format!("-passes={}", test.run.pipeline))
            .arg("-disable-output")
            .args(&test.run.options)
            .confinement(Confinement::Open);
        if let Some(triple) = &test.run.triple {
            job = job.arg(format!("-mtriple={triple}"));
        }
        let finished = sandbox.run(
            &job.arg(std::path::absolute(&test.file)?),
            &candor_toolchain::Limits::compiler(),
        )?;
        cpu += finished.cpu;
    }
    Ok(cpu)
}
