//! Fully verified variants in numbers: `cargo run --release -p candor-mutate --example campaign -- --csmith 200 --ordinary tests/mutate/ordinary`.
//!
//! Each variant must print and end as its seed under gcc -O0 and clang -O0 and be clean under UBSan, ASan and MSan. Every
//! exception is written to `--bad DIR` with its sidecar. Csmith's options are those of the design, or smaller ones with
//! `--small`; programs that the gate or the profile refuses are counted and replaced by the next seed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use candor_mutate::{Choice, Settings, Verdict, Workbench, admit, profile, variant, verify};
use candor_source::Clang;
use candor_toolchain::{Program, Sandbox, Scratch, discover};

const DESIGN: &str =
    "--no-packed-struct --no-unions --max-funcs 5 --max-block-depth 4 --max-expr-complexity 6";
const SMALL: &str = "--no-packed-struct --no-unions --max-funcs 3 --max-block-depth 3 --max-expr-complexity 4 \
                     --max-array-dim 2 --max-array-len-per-dim 5";
/// Smaller Csmith programs do nothing worth mutating.
const SMALLEST: usize = 7 << 10;

#[derive(Default)]
struct Totals {
    seeds: u64,
    refused: BTreeMap<String, u64>,
    variants: u64,
    exceptions: Vec<String>,
    strategies: BTreeMap<&'static str, u64>,
    depths: BTreeMap<u32, u64>,
    live_snippets: u64,
    snippets: u64,
    points: u64,
    reached: u64,
    several_rows: u64,
    environments: u64,
    intervals: u64,
}

struct Options {
    csmith: u64,
    start: u64,
    variants: u64,
    threads: usize,
    small: bool,
    minutes: u64,
    ordinary: Option<PathBuf>,
    bad: PathBuf,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        csmith: 0,
        start: 1,
        variants: 10,
        threads: 2,
        small: false,
        minutes: 600,
        ordinary: None,
        bad: "/tmp/mutate-bad".into(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--small" {
            options.small = true;
            continue;
        }
        let value = words.next().ok_or(format!("{word} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|error| format!("{word} {value}: {error}"))
        };
        match word.as_str() {
            "--csmith" => options.csmith = number()?,
            "--start" => options.start = number()?,
            "--variants" => options.variants = number()?,
            "--threads" => options.threads = number()? as usize,
            "--minutes" => options.minutes = number()?,
            "--ordinary" => options.ordinary = Some(value.into()),
            "--bad" => options.bad = value.into(),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(options)
}

fn csmith(seed: u64, small: bool) -> Option<Program> {
    let output = Command::new("csmith")
        .current_dir(std::env::temp_dir())
        .args(if small { SMALL } else { DESIGN }.split_whitespace())
        .args(["--seed", &seed.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (text.len() >= SMALLEST)
        .then(|| Program::from_text(Path::new(&format!("csmith{seed}.c")), text))
}

/// The C files of a folder, each with `NAME.args` (one per line) and `NAME.stdin` where there are such.
fn ordinary(folder: &Path) -> Vec<Program> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    paths.sort();
    let load = |path: &PathBuf| {
        let mut program = Program::load(path).ok()?;
        if let Ok(text) = std::fs::read_to_string(path.with_extension("args")) {
            program.arguments = text.lines().map(str::to_owned).collect();
        }
        program.stdin = std::fs::read(path.with_extension("stdin")).unwrap_or_default();
        Some(program)
    };
    paths.iter().filter_map(load).collect()
}

/// Whether the program was a seed.
fn campaign(
    bench: &Workbench<'_>,
    program: &Program,
    options: &Options,
    seed: u64,
    totals: &Mutex<Totals>,
) -> bool {
    let time = Duration::from_secs(5);
    let settings = Settings {
        seed,
        time,
        ..Settings::default()
    };
    // The profile first: it is cheaper than the gate and refuses most of what the gate would.
    let profiled = profile(bench, program, &settings)
        .and_then(|profile| admit(bench, program, time).map(|()| profile));
    let lock = || {
        totals
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    };
    let profile = match profiled {
        Ok(profile) => profile,
        Err(error) => {
            let reason: String = error.to_string().chars().take(150).collect();
            *lock().refused.entry(reason).or_default() += 1;
            return false;
        }
    };
    {
        let mut totals = lock();
        totals.seeds += 1;
        totals.points += profile.points as u64;
        totals.reached += profile.reached as u64;
        totals.environments += profile.live.len() as u64;
        let many = |live: &&candor_mutate::LivePoint| live.environment.rows > 1;
        totals.several_rows += profile.live.iter().filter(many).count() as u64;
        let bounded = |live: &&candor_mutate::LivePoint| !live.environment.intervals.is_empty();
        totals.intervals += profile.live.iter().filter(bounded).count() as u64;
    }
    let choice = Choice {
        seed,
        ..Choice::default()
    };
    for number in 1..=options.variants {
        let variant = variant(program, &profile, &choice, number);
        let verdict = variant
            .text(&program.text)
            .and_then(|text| verify(bench, program, &profile, &text, time));
        let reason = match verdict {
            Ok(Verdict::Equal) => None,
            Ok(Verdict::Different { reason }) => Some(reason),
            Err(error) => Some(error.to_string()),
        };
        let mut totals = lock();
        totals.variants += 1;
        for snippet in &variant.snippets {
            totals.snippets += 1;
            totals.live_snippets += u64::from(snippet.strategy.is_live());
            *totals
                .strategies
                .entry(snippet.strategy.name())
                .or_default() += 1;
            for predicate in &snippet.predicates {
                *totals.depths.entry(predicate.depth).or_default() += 1;
            }
        }
        if let Some(reason) = reason {
            let written = candor_mutate::save::save(&variant, program, &options.bad);
            let seed_file = options.bad.join(program.file_name());
            let kept = std::fs::write(&seed_file, &program.text);
            let line = format!(
                "{} variant {number} (seed {seed}): {reason} [{written:?} {kept:?}]",
                program.file_name()
            );
            eprintln!("EXCEPTION {line}");
            totals.exceptions.push(line);
        }
    }
    true
}

fn report(totals: &Totals, since: Instant) {
    println!(
        "{} seeds, {} variants, {} exceptions, {:.0} s",
        totals.seeds,
        totals.variants,
        totals.exceptions.len(),
        since.elapsed().as_secs_f64()
    );
    println!(
        "points {}, reached {} ({} usable environments, {} with several rows, {} with intervals)",
        totals.points, totals.reached, totals.environments, totals.several_rows, totals.intervals
    );
    let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    println!(
        "snippets {} ({:.1} per variant), live {:.1} %",
        totals.snippets,
        totals.snippets as f64 / totals.variants.max(1) as f64,
        share(totals.live_snippets, totals.snippets)
    );
    for (name, count) in &totals.strategies {
        println!(
            "  {name:8} {count:8} {:5.1} %",
            share(*count, totals.snippets)
        );
    }
    let predicates: u64 = totals.depths.values().sum();
    for (depth, count) in &totals.depths {
        println!(
            "  predicates of depth {depth}: {count:8} {:5.1} %",
            share(*count, predicates)
        );
    }
    for (reason, count) in &totals.refused {
        println!("  refused {count}: {reason}");
    }
    for exception in &totals.exceptions {
        println!("  EXCEPTION {exception}");
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("campaign: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<usize, String> {
    let options = options()?;
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().map_err(|e| text(&e))?;
    let clang = Clang::find().map_err(|e| text(&e))?;
    let (compilers, _) = discover(&sandbox, &scratch).map_err(|e| text(&e))?;
    let bench = Workbench::new(&sandbox, &scratch, &clang, &compilers).map_err(|e| text(&e))?;
    let since = Instant::now();
    let mut exceptions = 0;
    if options.csmith > 0 {
        let totals = Mutex::new(Totals::default());
        let next = AtomicU64::new(options.start);
        let wanted = AtomicU64::new(options.csmith);
        let late = || since.elapsed() > Duration::from_secs(60 * options.minutes);
        std::thread::scope(|scope| {
            for _ in 0..options.threads {
                scope.spawn(|| {
                    let take = || {
                        wanted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                            left.checked_sub(1)
                        })
                    };
                    while !late() && take().is_ok() {
                        let done = loop {
                            let seed = next.fetch_add(1, Ordering::SeqCst);
                            match csmith(seed, options.small) {
                                Some(program) => {
                                    break campaign(&bench, &program, &options, seed, &totals);
                                }
                                None => continue,
                            }
                        };
                        if !done {
                            wanted.fetch_add(1, Ordering::SeqCst);
                        }
                        let totals = totals
                            .lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner);
                        if totals.seeds.is_multiple_of(10) {
                            eprintln!(
                                "{} seeds, {} variants, {} exceptions",
                                totals.seeds,
                                totals.variants,
                                totals.exceptions.len()
                            );
                        }
                    }
                });
            }
        });
        let totals = totals
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        println!("== Csmith ({})", if options.small { SMALL } else { DESIGN });
        report(&totals, since);
        exceptions += totals.exceptions.len();
    }
    if let Some(folder) = &options.ordinary {
        let since = Instant::now();
        let programs = ordinary(folder);
        let totals = Mutex::new(Totals::default());
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..options.threads {
                scope.spawn(|| {
                    while let Some((index, program)) =
                        usize::try_from(next.fetch_add(1, Ordering::SeqCst))
                            .ok()
                            .and_then(|index| Some((index, programs.get(index)?)))
                    {
                        campaign(&bench, program, &options, index as u64 + 1, &totals);
                    }
                });
            }
        });
        let totals = totals
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        println!("== ordinary programs ({})", programs.len());
        report(&totals, since);
        exceptions += totals.exceptions.len();
    }
    Ok(exceptions)
}
