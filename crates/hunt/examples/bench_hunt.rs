//! How much of the machine a hunt gives to compilers: builds per hour of a hunt against a bare loop in the shell
//! (`xargs -P`) that compiles and runs the same programs with the same compilers and levels.
//!
//! `cargo run --release -p candor-hunt --example bench_hunt -- [SEEDS] [ROUNDS] [ORACLES]`
//!
//! Seeds are judged to their end, so that what a seed costs before its first build (generated, gated, profiled) weighs
//! as much as in a long hunt. Both take turns in one process run, so that a loaded machine is loaded for both; the CPU
//! time of a build (our own and that of everything we started) does not depend on how busy the machine is, wall time does.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use candor_hunt::{Event, Means, Oracle, Run, Settings, generate, hunt};
use candor_mutate::{Choice, Workbench, profile, variant};
use candor_source::Clang;
use candor_store::SqliteStore;
use candor_toolchain::{Program, Sandbox, Scratch, discover, program::csmith_include};
use candor_tracer::Debugger;
use nix::sys::resource::{UsageWho, getrusage};

type Failure = Box<dyn std::error::Error>;

/// What something took.
#[derive(Clone, Copy, Default)]
struct Cost {
    builds: u64,
    wall: f64,
    cpu: f64,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.builds += other.builds;
        self.wall += other.wall;
        self.cpu += other.cpu;
    }

    fn per_hour(self) -> f64 {
        self.builds as f64 * 3600.0 / self.wall
    }

    /// CPU milliseconds of one build.
    fn each(self) -> f64 {
        self.cpu * 1000.0 / self.builds as f64
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} builds in {:.1} s ({:.1} s of CPU, {:.0} ms a build)",
            self.builds,
            self.wall,
            self.cpu,
            self.each()
        )
    }
}

/// CPU seconds of this process and of all children it has waited for.
fn cpu() -> Result<f64, Failure> {
    let mut sum = 0.0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who)?;
        for time in [usage.user_time(), usage.system_time()] {
            sum += time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        }
    }
    Ok(sum)
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| -> u64 {
        let given = arguments.next().and_then(|word| word.parse().ok());
        given.unwrap_or(default)
    };
    let (seeds, rounds) = (number(4), number(2));
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
    let (mut hunted, mut bare) = (Cost::default(), Cost::default());
    for round in 0..rounds {
        let settings = Settings {
            seed: 1000 + 100 * round,
            seeds: Some(seeds),
            oracles: oracles.clone(),
            ..Settings::default()
        };
        let run = Run {
            jobs,
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
            only: Vec::new(),
        };
        let compilers: Vec<String> = means.tested().into_iter().map(|one| one.command).collect();
        let begun: Mutex<Option<(Instant, f64)>> = Mutex::new(None);
        let judged: Mutex<Vec<(u64, u64)>> = Mutex::default();
        let watch = |event: &Event| match event {
            Event::Started { .. } => {
                *begun.lock().expect("begun") = cpu().ok().map(|cpu| (Instant::now(), cpu));
            }
            Event::Judged { seed, variant, .. } => {
                judged.lock().expect("judged").push((*seed, *variant));
            }
            _ => {}
        };
        let status = hunt(&store, means, settings.clone(), &run, &watch)?;
        let (begun, cpu_before) = begun.into_inner()?.ok_or("the hunt did not start")?;
        let hunt_cost = Cost {
            builds: status.builds,
            wall: begun.elapsed().as_secs_f64(),
            cpu: cpu()? - cpu_before,
        };
        let judged = judged.into_inner()?;
        if judged.is_empty() {
            println!("round {round}: every seed was rejected, nothing to compare");
            continue;
        }
        hunted.add(hunt_cost);

        let folder = scratch.job()?;
        write_programs(&sandbox, &scratch, &clang, &judged, folder.path())?;
        let bare_cost = bare_loop(folder.path(), &compilers, &settings.levels, jobs)?;
        bare.add(bare_cost);
        println!(
            "round {round}: {} programs; hunt {hunt_cost}; bare loop {bare_cost}",
            judged.len()
        );
    }
    println!(
        "hunt {:.0} builds/h, bare xargs -P{jobs} {:.0} builds/h: {:.1} % by wall clock, {:.1} % by CPU time of a build",
        hunted.per_hour(),
        bare.per_hour(),
        100.0 * hunted.per_hour() / bare.per_hour(),
        100.0 * bare.each() / hunted.each()
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
        let wants_variants = judged.iter().any(|(of, number)| *of == seed && *number > 0);
        let profile = match wants_variants {
            true => Some(profile(&bench, &program, &settings)?),
            false => None,
        };
        for (_, number) in judged.iter().filter(|(of, _)| *of == seed) {
            let text = match &profile {
                None => program.text.clone(),
                Some(_) if *number == 0 => program.text.clone(),
                Some(profile) => {
                    let choice = Choice {
                        seed,
                        ..Choice::default()
                    };
                    variant(&program, profile, &choice, *number).text(&program.text)?
                }
            };
            std::fs::write(folder.join(format!("p{seed}-{number}.c")), text)?;
        }
    }
    Ok(())
}

/// What somebody without candor would type.
fn bare_loop(
    folder: &Path,
    compilers: &[String],
    levels: &[String],
    jobs: usize,
) -> Result<Cost, Failure> {
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
        "out=$(mktemp -p {}) && $0 -w $1 -I{} $2 -o $out && timeout 10 $out > $out.txt; rm -f $out $out.txt",
        folder.display(),
        include.display()
    );
    let (begun, cpu_before) = (Instant::now(), cpu()?);
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
    Ok(Cost {
        builds,
        wall: begun.elapsed().as_secs_f64(),
        cpu: cpu()? - cpu_before,
    })
}
