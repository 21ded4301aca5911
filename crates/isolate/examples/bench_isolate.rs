//! Group testing and bisection against asking one by one, in one run on the same questions.
//!
//!     bench_isolate PROGRAM.c COMPILER LEVEL FUNCTION VARIABLE [KIND]
//!
//! The claim is a wrong debug value (or KIND). candor's isolation runs first; then every option,
//! pass and counter (gcc) or every pass limit (clang) is asked about alone, by the same predicate. Prints
//! builds, seconds and ratios, and whether the same single cures were found.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use candor_check::{Kind, Round, Toolset, Workshop};
use candor_isolate::culprit::{clang, gcc};
use candor_isolate::probe::{Bench, Parts, Seen};
use candor_isolate::{CureKind, Settings, isolate};
use candor_predicate::{Case, Claim, Subject, predicate_for};
use candor_source::Clang;
use candor_toolchain::{Compiler, Family, Gate, Program, Sandbox, Scratch};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, command, level, function, variable, rest @ ..] = words.as_slice() else {
        return Err(
            "usage: bench_isolate PROGRAM.c COMPILER LEVEL FUNCTION VARIABLE [KIND]".into(),
        );
    };
    let kind: Kind = match rest.first() {
        Some(kind) => serde_json::from_value(kind.clone().into())?,
        None => Kind::WrongValue,
    };
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let (found, _) = candor_toolchain::discover(&sandbox, &scratch)?;
    let compiler = Compiler::probe(&sandbox, &scratch, command)?;
    let libclang = Clang::find()?;
    let workshop = Workshop::new(&sandbox, &scratch)?;
    let tools = Toolset {
        workshop: &workshop,
        clang: &libclang,
        compilers: &found,
        gate: Gate::find(&found, &sandbox, &scratch)?.ok_or("no clang with sanitizers")?,
        debuggers: &[],
    };
    let program = Program::load(Path::new(file))?;
    let claim = Claim::Debug {
        kind,
        subject: Subject {
            function: Some(function.clone()),
            variable: variable.clone(),
            declared: 0,
            line: 0,
        },
        round: Round::All,
    };
    let case = Case::new(&program, &compiler, vec![level.clone()], claim);
    let settings = Settings::default();
    let answer = isolate(&tools, &case, &compiler, &settings, &|_| {})?;
    println!("{}", answer.headline());
    let effort = answer.effort;
    println!(
        "isolate    {:4} builds  {:6.1} s (releases and dumps included)",
        effort.builds, effort.seconds
    );

    let mut predicate = predicate_for(&case, &tools, settings.options.clone())?;
    predicate.accept_warnings_of(&program)?;
    let prepared = predicate
        .prepare(&program)?
        .map_err(|no| format!("{no:?}"))?;
    let built = Program {
        text: prepared.text().unwrap_or(&program.text).to_owned(),
        ..program.clone()
    };
    let started = Instant::now();
    let bench = Bench::new(Parts {
        workshop: &workshop,
        compiler: &compiler,
        program: &built,
        flags: &case.flags,
        claim: &case.claim,
        prepared: prepared.as_ref(),
        settings: &settings,
        started,
        progress: &|_| {},
    });
    let sets: Vec<Vec<String>> = match compiler.family {
        Family::Clang => {
            let runs = clang::list(&bench)?;
            runs.iter().map(|run| clang::limit(run.number)).collect()
        }
        _ => gcc_switches(&bench)?,
    };
    let answers = bench.test_all(&sets)?;
    let seconds = started.elapsed().as_secs_f64();
    println!("one by one {:4} builds  {seconds:6.1} s", bench.asked());
    println!(
        "ratio      {:.1} times fewer builds, {:.1} times faster",
        bench.asked() as f64 / effort.builds.max(1) as f64,
        seconds / effort.seconds.max(0.001)
    );
    let alone: BTreeSet<String> = sets
        .iter()
        .zip(&answers)
        .filter(|(_, seen)| **seen == Seen::Good)
        .map(|(flags, _)| flags.join(" "))
        .collect();
    if compiler.family == Family::Clang {
        let last = sets
            .iter()
            .zip(&answers)
            .rev()
            .find(|(_, seen)| **seen == Seen::Good);
        println!(
            "last good, one by one: {}",
            last.map_or("none".into(), |(flags, _)| flags.join(" "))
        );
        return Ok(());
    }
    let single = |kind| matches!(kind, CureKind::Option | CureKind::Pass);
    let grouped: BTreeSet<String> = answer
        .cures
        .iter()
        .filter(|cure| single(cure.kind))
        .map(|cure| cure.flags.join(" "))
        .collect();
    let alone: BTreeSet<String> = alone
        .into_iter()
        .filter(|flag| !flag.starts_with("-fdbg-cnt"))
        .collect();
    println!(
        "cures: {} one by one, {} by groups; missed {:?}, extra {:?}",
        alone.len(),
        grouped.len(),
        alone.difference(&grouped).collect::<Vec<_>>(),
        grouped.difference(&alone).collect::<Vec<_>>()
    );
    Ok(())
}

/// Every option, pass and counter off, one at a time.
fn gcc_switches(bench: &Bench<'_>) -> Result<Vec<Vec<String>>, Failure> {
    let said = bench.compile_nothing(&["-Q".into(), "--help=optimizers".into()])?;
    let options = gcc::options::enabled(&said.stdout_text());
    let mut sets: Vec<Vec<String>> = options
        .iter()
        .map(|option| vec![gcc::options::off(option)])
        .collect();
    let pipeline = gcc::passes::Pipeline::list(bench)?;
    sets.extend(
        pipeline
            .candidates()
            .iter()
            .map(|pass| vec![gcc::passes::disable(&pass.name)]),
    );
    let flags = ["-fdbg-cnt-list", "-S", "-o", "program.s"].map(str::to_owned);
    let (said, _) = bench.compile(&flags)?;
    let counters = gcc::counters::listed(&(said.stdout_text() + &said.stderr_text()));
    for (name, count) in counters {
        if count > 0 {
            sets.push(vec![format!("-fdbg-cnt={name}:0")]);
        }
    }
    Ok(sets)
}
