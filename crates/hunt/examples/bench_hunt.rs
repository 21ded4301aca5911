//! How much of the machine a hunt gives to compilers: builds per hour of a hunt against a bare loop in the shell
//! (`xargs -P`) that compiles and runs the same programs with the same compilers and levels.
//!
//! `cargo run --release -p candor-hunt --example bench_hunt -- [SECONDS] [ROUNDS] [ORACLES]`
//!
//! Both take turns in one process run, so that a loaded machine is loaded for both.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use candor_hunt::{Event, Means, Oracle, Run, Settings, generate, hunt};
use candor_mutate::{Choice, Workbench, profile, variant};
use candor_source::Clang;
use candor_store::SqliteStore;
use candor_toolchain::{Program, Sandbox, Scratch, discover, program::csmith_include};
use candor_tracer::Debugger;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| -> u64 {
        let given = arguments.next().and_then(|word| word.parse().ok());
        given.unwrap_or(default)
    };
    let (seconds, rounds) = (number(60), number(3));
    let oracles: BTreeSet<Oracle> = match std::env::args().nth(3) {
        Some(names) => names
            .split(',')
            .map(Oracle::parse)
            .collect::<Result<_, _>>()?,
        None => [Oracle::Output, Oracle::Crash, Oracle::Hang].into(),
    };
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let clang = Clang::find()?;
    let debuggers = Debugger::discover(&sandbox);
    let jobs = std::thread::available_parallelism()?.get();
    let (mut hunted, mut bare) = ((0_u64, 0.0), (0_u64, 0.0));
    for round in 0..rounds {
        let settings = Settings {
            seed: 1000 + 100 * round,
            oracles: oracles.clone(),
            ..Settings::default()
        };
        let run = Run {
            jobs,
            time: Some(Duration::from_secs(seconds)),
            share: 0.0,
            ..Run::default()
        };
        let store_folder = scratch.job()?;
        let store = SqliteStore::create(store_folder.path())?;
        // Ending a hunt interrupts its sandbox, so each round has its own.
        let own = Sandbox::detect();
        let (found, _) = discover(&own, &scratch)?;
        let means = Means {
            sandbox: &own,
            scratch: &scratch,
            clang: &clang,
            debuggers: &debuggers,
            found,
            given: Vec::new(),
        };
        let compilers: Vec<String> = means.tested().into_iter().map(|one| one.command).collect();
        let begun: Mutex<Option<Instant>> = Mutex::new(None);
        let judged: Mutex<Vec<(u64, u64)>> = Mutex::default();
        let watch = |event: &Event| match event {
            Event::Started { .. } => {
                *begun.lock().expect("begun") = Some(Instant::now());
            }
            Event::Judged { seed, variant, .. } => {
                judged.lock().expect("judged").push((*seed, *variant));
            }
            _ => {}
        };
        let status = hunt(&store, means, settings.clone(), &run, &watch)?;
        let begun = begun.into_inner()?.ok_or("the hunt did not start")?;
        let hunting = begun.elapsed().as_secs_f64();
        hunted = (hunted.0 + status.builds, hunted.1 + hunting);

        let folder = scratch.job()?;
        let judged = judged.into_inner()?;
        write_programs(&sandbox, &scratch, &clang, &judged, folder.path())?;
        let (builds, took) = bare_loop(folder.path(), &compilers, &settings.levels, jobs)?;
        bare = (bare.0 + builds, bare.1 + took);
        println!(
            "round {round}: hunt {} builds in {hunting:.1} s, bare loop {builds} builds of {} programs in {took:.1} s",
            status.builds,
            judged.len()
        );
    }
    let rate = |(builds, seconds): (u64, f64)| builds as f64 * 3600.0 / seconds;
    println!(
        "hunt {:.0} builds/h, bare xargs -P{jobs} {:.0} builds/h: {:.1} %",
        rate(hunted),
        rate(bare),
        100.0 * rate(hunted) / rate(bare)
    );
    Ok(())
}

/// The judged programs as files, made again from their seeds.
fn write_programs(
    sandbox: &Sandbox,
    scratch: &Scratch,
    clang: &Clang,
    judged: &[(u64, u64)],
    folder: &Path,
) -> Result<(), Failure> {
    let (found, _) = discover(sandbox, scratch)?;
    let bench = Workbench::new(sandbox, scratch, clang, &found)?;
    let seeds: BTreeSet<u64> = judged.iter().map(|(seed, _)| *seed).collect();
    for seed in seeds {
        let program: Program = generate::csmith(sandbox, scratch, seed)??;
        let settings = candor_mutate::Settings {
            seed,
            ..candor_mutate::Settings::default()
        };
        let profile = profile(&bench, &program, &settings)?;
        for (_, number) in judged.iter().filter(|(of, _)| *of == seed) {
            let text = match number {
                0 => program.text.clone(),
                _ => {
                    let choice = Choice {
                        seed,
                        ..Choice::default()
                    };
                    variant(&program, &profile, &choice, *number).text(&program.text)?
                }
            };
            std::fs::write(folder.join(format!("p{seed}-{number}.c")), text)?;
        }
    }
    Ok(())
}

/// What somebody without candor would type; builds and seconds.
fn bare_loop(
    folder: &Path,
    compilers: &[String],
    levels: &[String],
    jobs: usize,
) -> Result<(u64, f64), Failure> {
    let include = csmith_include().ok_or("csmith is not installed")?;
    let mut lines = String::new();
    let mut builds = 0;
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    for file in files {
        for compiler in compilers {
            for level in levels {
                lines += &format!("{compiler} {level} {}\n", file.display());
                builds += 1;
            }
        }
    }
    let script = format!(
        "out=$(mktemp {}/XXXXXX) && $0 -w $1 -I{} $2 -o $out && timeout 10 $out > $out.txt; rm -f $out $out.txt",
        folder.display(),
        include.display()
    );
    let begun = Instant::now();
    let mut child = Command::new("xargs")
        .args(["-P", &jobs.to_string(), "-L", "1", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .spawn()?;
    child
        .stdin
        .take()
        .ok_or("xargs takes no input")?
        .write_all(lines.as_bytes())?;
    child.wait()?;
    Ok((builds, begun.elapsed().as_secs_f64()))
}
