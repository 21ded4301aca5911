//! Proofs in normal form against the same question with memory as arrays, in one run.
//!
//! `cargo run --release -p candor-prove --example bench_prove`: s000 (`a[i] = b[i] + 1`) is proved; then the heart of its loop edge,
//! k iterations of the source against one of the machine, is asked with memory as an array of words, of every solver that
//! is installed, with a limit of 60 s.
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use candor_prove::{Prover, Settings};
use candor_toolchain::sandbox::find_on_path;
use candor_toolchain::{Job, Limits};
use common::Bench;

/// Time one question may take.
const LIMIT: Duration = Duration::from_secs(60);

/// `k` iterations of `a[i] = b[i] + 1`, one after the other and all loads first, over one array of 32-bit words.
fn as_arrays(k: u32) -> String {
    let mut text = String::from(
        "(set-logic QF_ABV)\n(declare-const M (Array (_ BitVec 64) (_ BitVec 32)))\n(declare-const i (_ BitVec 32))\n\
         (assert (bvsle (_ bv0 32) i))\n(assert (bvslt i (_ bv31984 32)))\n",
    );
    let address = |base: u64, offset: u32| {
        format!(
            "(bvadd (_ bv{} 64) (bvmul (_ bv4 64) ((_ sign_extend 32) i)))",
            base + 4 * u64::from(offset)
        )
    };
    let (a, b) = (0x40_4040, 0x42_3440);
    let mut source = "M".to_owned();
    for step in 0..k {
        let _ = writeln!(
            text,
            "(define-fun s{step} () (Array (_ BitVec 64) (_ BitVec 32)) (store {source} {} (bvadd (select {source} {}) (_ bv1 32))))",
            address(a, step),
            address(b, step)
        );
        source = format!("s{step}");
    }
    let mut machine = "M".to_owned();
    for lane in 0..k {
        let _ = writeln!(
            text,
            "(define-fun m{lane} () (Array (_ BitVec 64) (_ BitVec 32)) (store {machine} {} (bvadd (select M {}) (_ bv1 32))))",
            address(a, lane),
            address(b, lane)
        );
        machine = format!("m{lane}");
    }
    let _ = writeln!(text, "(assert (not (= {source} {machine})))\n(check-sat)");
    text
}

fn main() {
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let module = bench.ir(&source, &[]);
    for (compiler, flags, k) in [
        ("gcc-12", ["-O3", "-msse4.2"], 4),
        ("clang-19", ["-O3", "-msse4.2"], 8),
        ("clang-19", ["-O3", "-mavx2"], 32),
    ] {
        let image = bench.object(compiler, &flags, &source, "bench.o");
        let prover = Prover::new(&bench.sandbox, &bench.scratch, Settings::default());
        let verdict = prover.prove(&image, &module, "s000").unwrap();
        println!(
            "{compiler} {}: whole proof in normal form {:.3} s ({} queries, {:.3} s in the solver), proved: {}",
            flags.join(" "),
            verdict.seconds,
            verdict.queries,
            verdict.solver_seconds,
            verdict.is_proved()
        );
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
            let answer = session.ask(&as_arrays(k), LIMIT).unwrap();
            let took = started.elapsed().as_secs_f64();
            println!(
                "    {solver}, one edge with arrays, k = {k}: {} after {took:.2} s, {:.1} times the whole proof",
                answer.as_deref().unwrap_or("no answer"),
                took / verdict.seconds
            );
        }
    }
}
