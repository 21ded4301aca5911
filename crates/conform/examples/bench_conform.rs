//! conform against spawning `opt`, and what the detours cost, on LLVM's own tests in one run.
//!
//! `cargo run --release -p candor-conform --example bench_conform -- VERSION TESTS [COUNT] [JOBS]`
//!
//! Prints tests per second of (a) conform, analysis included, and (b) one `opt` process per test without
//! any analysis; and the time of the passes themselves (c) with and (d) without recording.

use std::path::Path;
use std::time::{Duration, Instant};

use candor_conform::input::{Selection, Test, from_directory};
use candor_conform::{Outcome, Session};
use candor_llvm::{Ending, Engine, Library, Limits, Pool, Run};
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
    let plain = Pool::start(&library, 1, Limits::default(), false, time_plain)?;
    let watched = Pool::start(&library, 1, Limits::default(), true, time_watched)?;
    let session = Session::start(library, jobs, Limits::default())?;
    let known = session.pass_names()?;
    let selection = Selection::named(&["table6".to_owned()]);
    let all = from_directory(Path::new(directory), &selection, &known)?;
    // Evenly over all passes.
    let step = (all.len() / count.max(1)).max(1);
    let tests: Vec<Test> = all.into_iter().step_by(step).take(count).collect();
    let runs: Vec<Run> = tests.iter().map(|test| test.run.clone()).collect();

    let started = Instant::now();
    let outcomes = session.judge_all(&runs, &|| false, &|_| {})?;
    let ours = started.elapsed();
    let judged = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Outcome::Judged(_)))
        .count();

    let started = Instant::now();
    spawn_opt(version, &tests)?;
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
    println!(
        "conform       {:8.1} tests/s  {:6.2} ms/test",
        per_second(ours),
        1e3 / per_second(ours)
    );
    println!(
        "opt           {:8.1} tests/s  {:6.2} ms/test",
        per_second(opt),
        1e3 / per_second(opt)
    );
    println!(
        "ratio         {:8.1}",
        opt.as_secs_f64() / ours.as_secs_f64()
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

/// What a user would do otherwise. The sandbox's namespaces are not opt's fault, so it runs open.
fn spawn_opt(version: u32, tests: &[Test]) -> Result<(), Box<dyn std::error::Error>> {
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
        sandbox.run(
            &job.arg(std::path::absolute(&test.file)?),
            &candor_toolchain::Limits::compiler(),
        )?;
    }
    Ok(())
}
