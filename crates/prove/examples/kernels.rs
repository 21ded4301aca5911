//! Proves every function of a source in an object and prints a line per function: for looking at many at once.
//!
//! `cargo run --release -p candor-prove --example kernels -- SOURCE OBJECT [SECONDS] [FUNCTION...]`; SECONDS is the limit for one function on the
//! wall. Seconds that are printed: wall, then processor time of the prover and its solver, which does not depend on who else uses the
//! machine; then the most memory that either had.
mod processor;

use std::path::PathBuf;
use std::time::Duration;

use candor_prove::image::Image;
use candor_prove::{Outcome, Prover, Settings, source_ir};
use candor_toolchain::{Sandbox, Scratch};
use processor::Watch;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let source = PathBuf::from(arguments.next().ok_or("give a source")?);
    let object = PathBuf::from(arguments.next().ok_or("give an object")?);
    let mut wanted: Vec<String> = arguments.collect();
    let mut settings = Settings::default();
    if let Some(seconds) = wanted.first().and_then(|word| word.parse().ok()) {
        settings.time = Duration::from_secs(seconds);
        // a question may wait for the machine, too
        settings.solver.timeout = Duration::from_secs((seconds / 6).max(10));
        wanted.remove(0);
    }
    let watch = Watch::start();
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let module = source_ir(&sandbox, &scratch, &source, &[])?;
    let image = Image::load(&object)?;
    let prover = Prover::new(&sandbox, &scratch, settings);
    for (name, _) in &module.functions {
        if !wanted.is_empty() && !wanted.contains(name) {
            continue;
        }
        let before = watch.totals().0;
        let verdict = prover.prove(&image, &module, name)?;
        let (after, memory) = watch.totals();
        let (word, detail) = match &verdict.outcome {
            Outcome::Proved(proof) => (
                "proved",
                format!("{} rounds, {} tried", proof.rounds, proof.tried),
            ),
            Outcome::Different(difference) => ("DIFFERENT", difference.what.clone()),
            Outcome::Undecided(reason) => ("undecided", reason.clone()),
        };
        println!(
            "{name:12} {word:10} {:6.2} s {:6.2} s cpu {:5} queries {:6.2} s solver {:4} MB  {detail}",
            verdict.seconds,
            after - before,
            verdict.queries,
            verdict.solver_seconds,
            memory
        );
    }
    Ok(())
}
