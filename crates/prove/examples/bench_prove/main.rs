//! Proofs in normal form against the same edges with memory as arrays, in one run.
//!
//! `cargo run --release -p candor-prove --example bench_prove [FUNCTION...]`: functions are proved; then the loop edge of each proof (the proof's
//! own claims at the loop head, the machine code once around, the source k times) is asked with memory as an array of words, of
//! every solver that is installed, with a limit of 60 s. The arrays see the same semantics, but no normal form.
#![allow(clippy::unwrap_used)]

mod arrays;
#[path = "../../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use candor_prove::{Outcome, Prover, Settings};
use candor_toolchain::sandbox::find_on_path;
use candor_toolchain::{Job, Limits};
use common::Bench;

/// Time one question may take.
const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.is_empty() {
        wanted = ["s000", "s111", "s1221", "vpvtv"]
            .map(str::to_owned)
            .to_vec();
    }
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let module = bench.ir(&source, &[]);
    for (compiler, flags) in [
        ("gcc-12", ["-O3", "-msse4.2"]),
        ("clang-19", ["-O3", "-msse4.2"]),
        ("clang-19", ["-O3", "-mavx2"]),
    ] {
        let image = bench.object(compiler, &flags, &source, "bench.o");
        let prover = Prover::new(&bench.sandbox, &bench.scratch, Settings::default());
        for name in &wanted {
            let verdict = prover.prove(&image, &module, name).unwrap();
            println!(
                "{compiler} {} {name}: whole proof in normal form {:.3} s ({} queries, {:.3} s in the solver), proved: {}",
                flags.join(" "),
                verdict.seconds,
                verdict.queries,
                verdict.solver_seconds,
                verdict.is_proved()
            );
            let Outcome::Proved(proof) = &verdict.outcome else {
                continue;
            };
            let code = image.code(name).unwrap();
            let function = module
                .functions
                .iter()
                .find(|(known, _)| known == name)
                .and_then(|(_, function)| function.as_ref().ok())
                .unwrap();
            let (script, k) = match arrays::question(&image, &code, function, proof) {
                Ok(found) => found,
                Err(why) => {
                    println!("    no question with arrays: {why}");
                    continue;
                }
            };
            for (solver, arguments) in [
                ("z3", &["-in", "-smt2"][..]),
                ("cvc5", &["--lang=smt2"][..]),
                ("bitwuzla", &[][..]),
            ] {
                if find_on_path(solver).is_none() {
                    println!("    {solver}: not installed");
                    continue;
                }
                let job = Job::new(solver, bench.scratch.path()).args(arguments.iter().copied());
                let limits = Limits {
                    memory: Some(2 << 30),
                    cpu: 2 * LIMIT,
                    ..Limits::program()
                };
                let started = Instant::now();
                let mut session = bench.sandbox.session(&job, &limits).unwrap();
                let answer = session.ask(&script, LIMIT).unwrap();
                let took = started.elapsed().as_secs_f64();
                println!(
                    "    {solver}, the loop edge with arrays, k = {k}: {} after {took:.2} s, {:.1} times the whole proof",
                    answer.as_deref().unwrap_or("no answer"),
                    took / verdict.seconds
                );
            }
        }
    }
}
