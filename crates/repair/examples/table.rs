//! Repairs every function of a source that is proved in a file, and prints the paper's figures as a table.
//!
//! `cargo run --release -p candor-repair --example table -- SOURCE FILE [OUTPUT] [--ablation] [--debuggers] [--no-walk] [FUNCTION...]`
#[path = "../../prove/examples/processor/mod.rs"]
mod processor;

use std::path::PathBuf;
use std::time::Instant;

use candor_dwarf::rewrite::Rewriter;
use candor_prove::image::Image;
use candor_prove::{Outcome, Prover, Settings, source_ir};
use candor_repair::{Programs, Switches, Validation, accept, plan};
use candor_toolchain::{Sandbox, Scratch};
use candor_tracer::Debugger;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let ablation = arguments.iter().any(|one| one == "--ablation");
    let debuggers = arguments.iter().any(|one| one == "--debuggers");
    let walk = !arguments.iter().any(|one| one == "--no-walk");
    arguments.retain(|one| !["--ablation", "--debuggers", "--no-walk"].contains(&one.as_str()));
    let [source, file, rest @ ..] = &arguments[..] else {
        return Err("give SOURCE FILE [OUTPUT|-] [FUNCTION...]".into());
    };
    let output = rest.first().filter(|name| *name != "-").map(PathBuf::from);
    let wanted = rest.get(1..).unwrap_or_default();
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let module = source_ir(&sandbox, &scratch, source.as_ref(), &[])?;
    let image = Image::load(file.as_ref())?;
    let before = std::fs::read(file)?;
    let mut rewriter = Rewriter::new(before.clone())?;
    let settings = Settings {
        time: std::time::Duration::from_secs(60),
        ..Settings::default()
    };
    let prover = Prover::new(&sandbox, &scratch, settings);
    let only = |forward, reversible, backward, settled| Switches {
        forward,
        reversible,
        backward,
        settled,
        strict: false,
    };
    let mut proofs = Vec::new();
    let mut lacking = Vec::new();
    let watch = processor::Watch::start();
    println!("function T U V O M I M% I% removed exact lanes within none seconds");
    for name in image.functions() {
        if !module.functions.iter().any(|(known, _)| known == name)
            || !wanted.is_empty() && !wanted.iter().any(|one| one == name)
        {
            continue;
        }
        let begun = watch.totals().0;
        let verdict = prover.prove(&image, &module, name)?;
        let (ended, memory) = watch.totals();
        let word = match &verdict.outcome {
            Outcome::Proved(_) => "proved".to_owned(),
            Outcome::Different(difference) => format!("DIFFERENT {}", difference.what),
            Outcome::Undecided(reason) => format!("undecided {reason}"),
        };
        println!(
            "  proof {name} {:.2} s {:.2} s cpu {} queries {memory} MB {word}",
            verdict.seconds,
            ended - begun,
            verdict.queries
        );
        let Outcome::Proved(proof) = &verdict.outcome else {
            continue;
        };
        let started = Instant::now();
        let described = match rewriter.describe(name) {
            Ok(described) => described,
            Err(refused) => {
                println!("{name} refused: {refused}");
                continue;
            }
        };
        let relocatable = rewriter.is_relocatable();
        let planned = plan(
            &image,
            &module,
            proof,
            &described,
            relocatable,
            Switches::default(),
        )?;
        rewriter.apply(name, &planned.changes)?;
        proofs.push(proof.clone());
        let counts = planned.counts;
        let share = |part: usize| 100 * part / counts.instructions.max(1);
        println!(
            "{name} {} {} {} {} {} {} {} {} {} {} {} {} {} {:.3}",
            counts.instructions,
            counts.updated,
            counts.variables,
            counts.original,
            counts.missing,
            counts.constant,
            share(counts.missing_at),
            share(counts.constant_at),
            counts.removed,
            counts.exact,
            counts.lanes,
            counts.within,
            counts.none,
            started.elapsed().as_secs_f64()
        );
        lacking.push(share(counts.lacking_at));
        if ablation {
            for (word, switches) in [
                ("heads", only(false, false, false, false)),
                ("forward", only(true, false, false, false)),
                ("reversible", only(true, true, false, false)),
                ("backward", only(true, true, true, false)),
                ("edges", only(true, true, true, true)),
            ] {
                let planned = plan(&image, &module, proof, &described, relocatable, switches)?;
                let counts = planned.counts;
                println!(
                    "  ablation {name} {word} {} {} {}",
                    counts.updated, counts.missing, counts.constant
                );
            }
        }
    }
    println!(
        "lacking: something was missing at {} % of the instructions on average",
        lacking.iter().sum::<usize>() / lacking.len().max(1)
    );
    let relocatable = rewriter.is_relocatable();
    let after = rewriter.into_bytes();
    if !walk {
        proofs.clear();
    }
    let names: Vec<&str> = proofs.iter().map(|proof| proof.function.as_str()).collect();
    match Programs::new(
        &sandbox,
        &scratch,
        &module,
        &names,
        &before,
        &after,
        relocatable,
    )? {
        Err(why) => println!("not validated: {why}"),
        Ok(programs) => {
            println!(
                "function steps | before: right wrong none | after: right wrong none | unknown"
            );
            for proof in &proofs {
                let function = module
                    .functions
                    .iter()
                    .find(|(name, _)| *name == proof.function)
                    .and_then(|(_, function)| function.as_ref().ok())
                    .ok_or("no such function")?;
                let code = image.code(&proof.function)?;
                if debuggers {
                    let mut kinds = Vec::new();
                    for debugger in Debugger::discover(&sandbox) {
                        if kinds.contains(&debugger.kind) {
                            continue;
                        }
                        kinds.push(debugger.kind);
                        let asked = programs.ask(&sandbox, &debugger, &proof.function, 120);
                        println!("  {:?} {} {asked:?}", debugger.kind, proof.function);
                    }
                }
                match programs.validate(&sandbox, function, &code, proof)? {
                    Validation::NotRun(why) => println!("{} not run: {why}", proof.function),
                    Validation::Walked(seen) => {
                        let (b, a) = (seen.before, seen.after);
                        println!(
                            "{} {} | {} {} {} | {} {} {} | {} {}",
                            proof.function,
                            seen.steps,
                            b.right,
                            b.wrong,
                            b.none,
                            a.right,
                            a.wrong,
                            a.none,
                            seen.unknown,
                            seen.told.join("; ")
                        );
                    }
                }
            }
        }
    }
    match accept(&sandbox, &scratch, &before, &after) {
        Ok(accepted) => println!("{accepted:?}"),
        Err(error) => println!("not accepted, written all the same to be looked at: {error}"),
    }
    if let Some(output) = output {
        candor_repair::write(file.as_ref(), &output, &after)?;
    }
    Ok(())
}
