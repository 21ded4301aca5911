//! What looking costs: the engine's time on an optimised build (load, run, read every variable and
//! global at every barrier) against the time the compiler took to make it, in one run; and the same with the
//! comparison of all that with what the reference recorded. Processor time: a loaded machine stretches the many
//! short waits of tracing more than one long compile.
//!
//! `cargo run --release -p candor-check --example bench_check -- PROGRAMS [locals]`

use std::path::Path;
use std::time::{Duration, Instant};

use candor_check::{Plan, PointChoice, Settings, Truth, Workshop, look};
use candor_dwarf::Image;
use candor_source::Clang;
use candor_toolchain::{Compiler, Job, Limits, Program, Sandbox, Scratch};
use candor_tracer::{Continue, Launch, Mode, Stop, TraceOptions, trace};

fn main() {
    let programs: u64 = std::env::args()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(10);
    let globals = std::env::args().nth(2).as_deref() != Some("locals");
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().expect("scratch");
    let clang = Clang::find().expect("libclang");
    let workshop = Workshop::new(&sandbox, &scratch).expect("workshop");
    let (mut compile, mut reading, mut comparing) =
        (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let settings = Settings {
        globals,
        ..Settings::default()
    };
    let (mut stops, mut leaves) = (0, 0);
    for name in ["gcc-12", "clang-19"] {
        let compiler = Compiler::probe(&sandbox, &scratch, name).expect(name);
        for seed in 1..=programs {
            let directory = scratch.job().expect("directory");
            let job = Job::new("csmith", directory.path()).args([
                "--seed",
                &seed.to_string(),
                "--no-packed-struct",
            ]);
            let run = sandbox.run(&job, &Limits::compiler()).expect("csmith");
            let program = Program::from_text(Path::new("bench.c"), run.stdout_text());
            let choice = PointChoice::Share {
                fraction: 0.3,
                seed,
            };
            let plan = Plan::new(&clang, &program, &choice).expect("plan");
            let started = processor_time();
            let built = workshop.build(&compiler, &program, &plan.text, &["-O2".into()]);
            let compiled = processor_time() - started;
            let Ok(Ok(executable)) = built else { continue };
            let (started, clock) = (processor_time(), Instant::now());
            let image = Image::open(&executable.path).expect("image");
            let launch = Launch::new(&executable.path, executable.directory.path());
            let options = TraceOptions {
                max_stops: 20_000,
                site: candor_dwarf::SiteOptions {
                    globals,
                    ..candor_dwarf::SiteOptions::default()
                },
                ..TraceOptions::default()
            };
            let summary = trace(
                &sandbox,
                &image,
                &launch,
                &Mode::barrier(),
                &options,
                &mut |_: &Stop<'_>| Continue::Yes,
            )
            .expect("trace");
            // programs that run for seconds are the gate's matter, not a measure of the engine
            if clock.elapsed() > Duration::from_secs(10) {
                continue;
            }
            let read = processor_time() - started;
            let zero = ["-O0".into(), "-ftrivial-auto-var-init=zero".into()];
            let reference = workshop.build(&compiler, &program, &plan.text, &zero);
            let Ok(Ok(reference)) = reference else {
                continue;
            };
            let Ok(truth) = Truth::record(&workshop, &program, &plan, &reference, &settings) else {
                continue;
            };
            let started = processor_time();
            let seen = look(
                &workshop,
                &program,
                &plan,
                &truth,
                &executable,
                &settings,
                None,
            );
            if !matches!(seen, Ok(Ok(_))) {
                continue;
            }
            comparing += processor_time() - started;
            reading += read;
            compile += compiled;
            stops += summary.stops;
            leaves += summary.leaves;
        }
    }
    println!(
        "compile {:.2} s, engine {:.2} s ({:.1} %), with comparison {:.2} s ({:.1} %), {stops} stops, {leaves} scalars",
        compile.as_secs_f64(),
        reading.as_secs_f64(),
        100.0 * reading.as_secs_f64() / compile.as_secs_f64(),
        comparing.as_secs_f64(),
        100.0 * comparing.as_secs_f64() / compile.as_secs_f64(),
    );
}

/// Of this process and the children it waited for.
fn processor_time() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    let mut sum = Duration::ZERO;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who).expect("getrusage");
        for time in [usage.user_time(), usage.system_time()] {
            sum += Duration::from_micros(time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64);
        }
    }
    sum
}
