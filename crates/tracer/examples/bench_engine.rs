//! How much faster is the native engine than gdb, and do they agree?
//!
//! `cargo run --release -p candor-tracer --example bench_engine -- [PROGRAMS] [FIRST-SEED] [--no-gdb]`
//!
//! For each csmith program and each of gcc-12 and clang-19 at -O2: one native run in line mode, then one gdb
//! session that is asked for the very same (address, variable) pairs, then a few gdb sessions with one pair
//! each, extrapolated. Prints times, ratios and the leaves on which the two agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_dwarf::{Image, LeafKey, Observation, Svma};
use candor_toolchain::Sandbox;
use candor_tracer::{
    Answer, Continue, Debugger, Launch, Mode, Query, SessionOutcome, Stop, TraceOptions, trace,
};

type Failure = Box<dyn std::error::Error>;

const SAMPLED_PAIRS: usize = 10;
const GDB_LIMIT: Duration = Duration::from_secs(600);

/// What one native run saw.
struct Record {
    queries: Vec<Query>,
    observations: Vec<Vec<Observation>>,
    pairs: u64,
    leaves: u64,
    seconds: f64,
    cpu: f64,
}

#[derive(Default)]
struct Totals {
    stops: usize,
    pairs: u64,
    leaves: u64,
    native: f64,
    native_cpu: f64,
    gdb: f64,
    gdb_cpu: f64,
    single: Vec<f64>,
    agree: u64,
    incomparable: u64,
    differ: BTreeMap<&'static str, u64>,
    examples: Vec<String>,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let with_gdb = !arguments.iter().any(|word| word == "--no-gdb");
    let mut numbers = arguments.iter().filter_map(|word| word.parse::<u64>().ok());
    let programs = numbers.next().unwrap_or(5);
    let first_seed = numbers.next().unwrap_or(1);
    let sandbox = Sandbox::detect();
    let gdb = Debugger::at(&sandbox, Path::new("/usr/bin/gdb"))?;
    let folder = tempfile::tempdir()?;
    let mut totals = Totals::default();
    println!(
        "{}; line mode, one visit per line, globals, at most 16 leaves per variable",
        gdb.version
    );
    let mut made = 0;
    for seed in first_seed.. {
        if made == programs {
            break;
        }
        let Some(source) = csmith(folder.path(), seed)? else {
            continue;
        };
        let mut counted = false;
        for compiler in ["gcc-12", "clang-19"] {
            let program = build(folder.path(), compiler, &source, seed)?;
            let launch = Launch::new(&program, folder.path());
            let Some(record) = native(&sandbox, &launch)? else {
                continue;
            };
            counted = true;
            measure(&sandbox, &gdb, &launch, &record, with_gdb, &mut totals)?;
            println!(
                "seed {seed:4} {compiler:9} stops {:5} pairs {:7} leaves {:7} native {:.4} s",
                record.queries.len(),
                record.pairs,
                record.leaves,
                record.seconds
            );
        }
        made += u64::from(counted);
    }
    report(&totals, with_gdb);
    Ok(())
}

fn csmith(folder: &Path, seed: u64) -> Result<Option<PathBuf>, Failure> {
    let file = folder.join(format!("p{seed}.c"));
    let made = Command::new("csmith")
        .current_dir(folder)
        .args(["--seed", &seed.to_string(), "--max-funcs", "5", "--output"])
        .arg(&file)
        .status()?;
    Ok(made.success().then_some(file))
}

fn build(folder: &Path, compiler: &str, source: &Path, seed: u64) -> Result<PathBuf, Failure> {
    let program = folder.join(format!("p{seed}.{compiler}"));
    let made = Command::new(compiler)
        .args(["-O2", "-g", "-w", "-no-pie", "-I/usr/include/csmith"])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .status()?;
    if made.success() {
        Ok(program)
    } else {
        Err(format!("{compiler} failed on seed {seed}").into())
    }
}

/// One native run, from opening the file to its end; `None` if it is too short or does not end.
fn native(sandbox: &Sandbox, launch: &Launch) -> Result<Option<Record>, Failure> {
    let mut options = TraceOptions {
        max_stops: 5000,
        ..TraceOptions::default()
    };
    options.site.leaf_cap = 16;
    options.site.globals = true;
    // Timed without keeping anything but the values; what gdb is to be asked is collected in a second run.
    let mut observations = Vec::new();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let image = Image::open(&launch.program)?;
    let summary = trace(
        sandbox,
        &image,
        launch,
        &Mode::lines(),
        &options,
        &mut |stop: &Stop<'_>| {
            observations.push(stop.observations.to_vec());
            Continue::Yes
        },
    )?;
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    if observations.len() < 20 {
        return Ok(None);
    }
    let mut lists: BTreeMap<Svma, (Arc<[LeafKey]>, u64)> = BTreeMap::new();
    let mut queries = Vec::new();
    let mut pairs = 0;
    trace(
        sandbox,
        &image,
        launch,
        &Mode::lines(),
        &options,
        &mut |stop: &Stop<'_>| {
            let (leaves, variables) = lists.entry(stop.pc).or_insert_with(|| {
                let keys: Arc<[LeafKey]> = stop
                    .site
                    .iter()
                    .flat_map(|site| site.leaves().iter())
                    .map(|leaf| leaf.key.clone())
                    .collect();
                let variables: BTreeSet<_> = keys
                    .iter()
                    .map(|key| (&key.function, &key.variable, key.decl_line, key.depth))
                    .collect();
                let count = variables.len() as u64;
                (keys, count)
            });
            queries.push(Query {
                pc: stop.pc,
                visit: stop.visit,
                leaves: leaves.clone(),
            });
            pairs += *variables;
            Continue::Yes
        },
    )?;
    Ok(Some(Record {
        queries,
        observations,
        pairs,
        leaves: summary.leaves,
        seconds,
        cpu,
    }))
}

fn measure(
    sandbox: &Sandbox,
    gdb: &Debugger,
    launch: &Launch,
    record: &Record,
    with_gdb: bool,
    totals: &mut Totals,
) -> Result<(), Failure> {
    totals.stops += record.queries.len();
    totals.pairs += record.pairs;
    totals.leaves += record.leaves;
    totals.native += record.seconds;
    totals.native_cpu += record.cpu;
    if !with_gdb {
        return Ok(());
    }
    let image = Image::open(&launch.program)?;
    let session = gdb.ask(sandbox, &image, launch, &record.queries, GDB_LIMIT)?;
    if session.outcome != SessionOutcome::Finished {
        return Err(format!("gdb on {}: {:?}", launch.program.display(), session.outcome).into());
    }
    totals.gdb += session.wall.as_secs_f64();
    totals.gdb_cpu += session.cpu.as_secs_f64();
    for ((query, answers), seen) in record
        .queries
        .iter()
        .zip(&session.answers)
        .zip(&record.observations)
    {
        for ((key, answer), seen) in query.leaves.iter().zip(answers).zip(seen) {
            match answer.agrees(seen) {
                Some(true) => totals.agree += 1,
                None => totals.incomparable += 1,
                Some(false) => {
                    let class = match (answer, seen) {
                        (Answer::Value(_), Observation::OptimisedOut) => {
                            "gdb has a value, native none"
                        }
                        (Answer::OptimisedOut, Observation::Value(_)) => {
                            "native has a value, gdb none"
                        }
                        (Answer::Error(_), _) => "gdb reports an error",
                        (_, Observation::IllFormed(_)) => "native reports ill-formed DWARF",
                        _ => "different values",
                    };
                    let count = totals.differ.entry(class).or_default();
                    *count += 1;
                    if *count <= 5 {
                        let at = format!(
                            "{} {} visit {}",
                            launch.program.display(),
                            query.pc,
                            query.visit
                        );
                        totals
                            .examples
                            .push(format!("{at}: {key} native {seen}, gdb {answer}"));
                    }
                }
            }
        }
    }
    // One session per pair, as a user or a script around `gdb -batch` does it.
    let with_leaves: Vec<_> = record
        .queries
        .iter()
        .filter(|query| !query.leaves.is_empty())
        .collect();
    let step = (with_leaves.len() / 2).max(1);
    for query in with_leaves.into_iter().step_by(step) {
        if totals.single.len() < SAMPLED_PAIRS {
            let one = Query {
                leaves: query.leaves.iter().take(1).cloned().collect(),
                ..query.clone()
            };
            let session = gdb.ask(sandbox, &image, launch, &[one], GDB_LIMIT)?;
            totals.single.push(session.wall.as_secs_f64());
        }
    }
    Ok(())
}

/// Processor time of this process and the children it has reaped.
fn cpu_seconds() -> f64 {
    let of = |who| {
        // SAFETY: all-zero bytes are a value of this plain C structure, which the kernel fills.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

fn report(totals: &Totals, with_gdb: bool) {
    let pairs = totals.pairs as f64;
    println!(
        "\n{} stops, {} (address, variable) pairs, {} leaves",
        totals.stops, totals.pairs, totals.leaves
    );
    println!(
        "native, loading included: {:.3} s ({:.3} s cpu), {:.0} pairs/s, {:.0} leaves/s",
        totals.native,
        totals.native_cpu,
        pairs / totals.native,
        totals.leaves as f64 / totals.native
    );
    if !with_gdb {
        return;
    }
    println!(
        "one gdb session each:     {:.3} s ({:.3} s cpu), {:.0} pairs/s",
        totals.gdb,
        totals.gdb_cpu,
        pairs / totals.gdb
    );
    let single = totals.single.iter().sum::<f64>() / totals.single.len().max(1) as f64;
    println!(
        "one gdb session per pair: {single:.3} s/pair ({} sampled)",
        totals.single.len()
    );
    println!(
        "native is {:.1} times as fast as one session ({:.1} by cpu time), {:.0} times as fast as one session per pair",
        totals.gdb / totals.native,
        totals.gdb_cpu / totals.native_cpu,
        single * pairs / totals.native
    );
    println!(
        "agreement: {} leaves agree, {} incomparable, {} differ",
        totals.agree,
        totals.incomparable,
        totals.differ.values().sum::<u64>()
    );
    for (class, count) in &totals.differ {
        println!("  {count:8} {class}");
    }
    for example in &totals.examples {
        println!("    {example}");
    }
}
