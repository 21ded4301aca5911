//! What recording costs: the programs of a coverage compiler's suite, compiled by the stock compiler and by
//! the recording one, CPU time of both, in turns.
//!
//!     bench_coverage COMMAND COVERAGE [COVERAGE ...]      e.g. bench_coverage gcc-12 covgcc
//!
//! Several coverage directories (one by trace-pc, one by gcov) are measured side by side. CPU time is that of
//! the compiler with recording; reading the coverage back (mapping a bitmap, or running gcov) is the
//! difference in wall-clock time, shown apart.

use std::path::Path;
use std::time::{Duration, Instant};

use candor_coverage::CoverageCompiler;
use candor_toolchain::{Build, Compiler, Limits, Sandbox, Scratch, Stage};

/// The best of so many: noise only adds.
const TURNS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: bench_coverage COMMAND COVERAGE [COVERAGE ...]";
    let command = words.next().ok_or(usage)?;
    let directories: Vec<String> = words.collect();
    let first = directories.first().ok_or(usage)?;
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let stock = Compiler::probe(&sandbox, &scratch, &command)?;
    let programs = CoverageCompiler::open(Path::new(first))?.suite()?;
    let flags = vec!["-O2".to_owned()];
    let mut compilers = Vec::new();
    for directory in &directories {
        compilers.push(CoverageCompiler::open(Path::new(directory))?);
    }
    let mut plain = Duration::ZERO;
    let mut recording = vec![(Duration::ZERO, Duration::ZERO); compilers.len()];
    let mut count = 0u32;
    for program in &programs {
        let mut best = Duration::MAX;
        let mut bests = vec![(Duration::MAX, Duration::MAX); compilers.len()];
        for _ in 0..TURNS {
            let directory = scratch.job()?;
            directory.write(&program.file_name(), &program.text)?;
            let build = Build {
                compiler: &stock,
                stage: Stage::Object,
                inputs: vec![program.file_name().into()],
                flags: [flags.clone(), program.flags.clone()].concat(),
                output: "program.o".into(),
            };
            if let candor_toolchain::Built::Ok { cpu, .. } =
                build.run(&sandbox, directory.path(), &Limits::compiler())?
            {
                best = best.min(cpu);
            }
            for (compiler, slot) in compilers.iter().zip(&mut bests) {
                let started = Instant::now();
                let covered = compiler.compile(
                    &sandbox,
                    &scratch,
                    &stock,
                    program,
                    &flags,
                    Duration::from_secs(60),
                )?;
                let wall = started.elapsed();
                if !covered.cover.is_empty() {
                    *slot = (slot.0.min(covered.cpu), slot.1.min(wall));
                }
            }
        }
        if best == Duration::MAX || bests.iter().any(|(cpu, _)| *cpu == Duration::MAX) {
            continue;
        }
        count += 1;
        plain += best;
        for (total, (cpu, wall)) in recording.iter_mut().zip(bests) {
            total.0 += cpu;
            total.1 += wall;
        }
    }
    let each = |total: Duration| total.as_secs_f64() * 1000.0 / f64::from(count.max(1));
    println!("{count} programs at -O2, best of {TURNS}");
    println!("| compiler | CPU per program, ms | ratio | wall with reading, ms |");
    println!("| --- | --- | --- | --- |");
    println!("| {command} | {:.1} | 1.00 | |", each(plain));
    for (directory, (cpu, wall)) in directories.iter().zip(recording) {
        let ratio = cpu.as_secs_f64() / plain.as_secs_f64().max(1e-9);
        println!(
            "| {directory} | {:.1} | {ratio:.2} | {:.1} |",
            each(cpu),
            each(wall)
        );
    }
    Ok(())
}
