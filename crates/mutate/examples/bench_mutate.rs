//! What a mutation costs, in one run over Csmith seeds: profile and ten variants against one `gcc -O2 -c` of the seed.
//!
//! `cargo run --release -p candor-mutate --example bench_mutate -- 20`. CPU time of this process and its children, and
//! time on the wall for comparison (two of the builds are made side by side); peak memory of this process. The sanitizer gate and verification are not part of it: a campaign gates its seeds once.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use candor_mutate::{Choice, Settings, Workbench, profile, variant};
use candor_source::Clang;
use candor_toolchain::{Build, Limits, Program, Sandbox, Scratch, Stage, discover};
use nix::sys::resource::{Usage, UsageWho, getrusage};

const OPTIONS: &str =
    "--no-packed-struct --no-unions --max-funcs 5 --max-block-depth 4 --max-expr-complexity 6";
const SMALLEST: usize = 7 << 10;
const VARIANTS: u64 = 10;

fn seconds(usage: &Usage) -> f64 {
    let part = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    part(usage.user_time()) + part(usage.system_time())
}

fn cpu() -> f64 {
    let of = |who| getrusage(who).map_or(0.0, |usage| seconds(&usage));
    of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN)
}

fn csmith(seed: u64) -> Option<Program> {
    let output = Command::new("csmith")
        .current_dir(std::env::temp_dir())
        .args(OPTIONS.split_whitespace())
        .args(["--seed", &seed.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let path = format!("csmith{seed}.c");
    (text.len() >= SMALLEST).then(|| Program::from_text(Path::new(&path), text))
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench_mutate: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted: usize = words
        .first()
        .map_or(Ok(20), |word| word.parse())
        .map_err(|_| "expected a number of seeds")?;
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().map_err(|e| text(&e))?;
    let clang = Clang::find().map_err(|e| text(&e))?;
    let (compilers, _) = discover(&sandbox, &scratch).map_err(|e| text(&e))?;
    let bench = Workbench::new(&sandbox, &scratch, &clang, &compilers).map_err(|e| text(&e))?;

    let (mut mutating, mut compiling, mut synthesis) = (0.0, 0.0, 0.0);
    let (mut mutating_wall, mut compiling_wall) = (0.0, 0.0);
    let (mut seeds, mut bytes, mut snippets, mut seed) = (0, 0, 0, 1000);
    println!(
        "{:>6} {:>7} {:>7} {:>6} {:>10} {:>10} {:>6} {:>9}",
        "seed", "KB", "points", "live", "mutate s", "gcc -O2 s", "ratio", "synth ms"
    );
    while seeds < wanted {
        seed += 1;
        let Some(program) = csmith(seed) else {
            continue;
        };
        let (before, clock) = (cpu(), Instant::now());
        let settings = Settings {
            seed,
            ..Settings::default()
        };
        let Ok(profile) = profile(&bench, &program, &settings) else {
            continue;
        };
        let choice = Choice {
            seed,
            ..Choice::default()
        };
        let started = cpu();
        for number in 1..=VARIANTS {
            let variant = variant(&program, &profile, &choice, number);
            snippets += variant.snippets.len();
            variant.text(&program.text).map_err(|e| text(&e))?;
        }
        let (middle, mutate_wall) = (cpu(), clock.elapsed());
        let spent = middle - started;
        let directory = scratch.job().map_err(|e| text(&e))?;
        directory
            .write(&program.file_name(), &program.text)
            .map_err(|e| text(&e))?;
        let mut flags = vec!["-O2".to_owned(), "-w".to_owned()];
        flags.extend(program.flags.iter().cloned());
        let build = Build {
            compiler: bench.gcc(),
            stage: Stage::Object,
            inputs: vec![program.file_name().into()],
            flags,
            output: "seed.o".into(),
        };
        let (started, clock) = (cpu(), Instant::now());
        build
            .run(&sandbox, directory.path(), &Limits::compiler())
            .map_err(|e| text(&e))?;
        let (after, compile_wall) = (cpu(), clock.elapsed());
        let (mutate, compile) = (middle - before, after - started);
        println!(
            "{seed:>6} {:>7.1} {:>7} {:>6} {mutate:>10.3} {compile:>10.3} {:>6.2} {:>9.2}",
            program.text.len() as f64 / 1024.0,
            profile.points,
            profile.reached,
            mutate / compile,
            spent * 1e3 / VARIANTS as f64
        );
        seeds += 1;
        bytes += program.text.len();
        mutating += mutate;
        compiling += compile;
        mutating_wall += mutate_wall.as_secs_f64();
        compiling_wall += compile_wall.as_secs_f64();
        synthesis += spent;
    }
    let variants = (seeds as u64 * VARIANTS) as f64;
    println!(
        "{seeds} seeds, {:.0} KB on average, {:.1} snippets per variant",
        bytes as f64 / 1024.0 / seeds as f64,
        snippets as f64 / variants
    );
    println!(
        "profile + {VARIANTS} variants: {:.3} s CPU per seed; gcc -O2 -c: {:.3} s; ratio {:.2}",
        mutating / seeds as f64,
        compiling / seeds as f64,
        mutating / compiling
    );
    println!(
        "on the wall: {:.3} s and {:.3} s; ratio {:.2}",
        mutating_wall / seeds as f64,
        compiling_wall / seeds as f64,
        mutating_wall / compiling_wall
    );
    println!(
        "synthesis: {:.2} ms per variant",
        synthesis * 1e3 / variants
    );
    let peak = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss());
    println!(
        "peak memory of this process: {:.0} MB",
        peak as f64 / 1024.0
    );
    Ok(())
}
