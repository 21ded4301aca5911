//! The soundness run: mutants of proved machine code against the claims of the original, by the checker alone.
//!
//! `cargo run -p candor-prove --example mutants -- SOURCE OBJECT COUNT SEED FUNCTION...` changes the machine code, with `source:COUNT`
//! one operator or number of the source instead. Every mutant that is proved is printed: each must be equivalent, or
//! undefined on every input (docs/prove.md argues them).
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use candor_prove::image::Image;
use candor_prove::ir::Module;
use candor_prove::{Certificate, Prover, Settings};
use common::{Bench, mutants, source_mutants};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, object, count, seed, functions @ ..] = &arguments[..] else {
        println!("give SOURCE OBJECT COUNT SEED FUNCTION...");
        return;
    };
    let (count, of_source) = match count.strip_prefix("source:") {
        Some(count) => (count, true),
        None => (count.as_str(), false),
    };
    let (count, seed): (usize, u64) = (count.parse().unwrap(), seed.parse().unwrap());
    let bench = Bench::new();
    let text = std::fs::read_to_string(source).unwrap();
    let module = bench.ir(source.as_ref(), &[]);
    let image = Image::load(object.as_ref()).unwrap();
    let settings = Settings {
        time: std::time::Duration::from_secs(20),
        ..Settings::default()
    };
    let prover = Prover::new(&bench.sandbox, &bench.scratch, settings);
    let (mut all, mut proved_count, mut foreign) = (0, 0, 0);
    for function in functions {
        let verdict = prover.prove(&image, &module, function).unwrap();
        if !verdict.is_proved() {
            println!("{function}: the original is not proved");
            continue;
        }
        let certificate = Certificate::new(&image, &module, &[verdict]);
        let mut proved = |image: &Image, module: &Module| {
            let mut entry = certificate.entries[0].clone();
            if !entry.rebind(image, module) {
                foreign += 1;
                return false;
            }
            prover.recheck(image, module, &entry).unwrap().is_proved()
        };
        if of_source {
            for (what, text) in source_mutants(&text, function, count, seed) {
                all += 1;
                let module = bench.ir(&bench.source("mutant.c", &text), &[]);
                if proved(&image, &module) {
                    proved_count += 1;
                    println!("{function}: PROVED {what}");
                }
            }
            continue;
        }
        for mutant in mutants(object.as_ref(), function, count, seed) {
            all += 1;
            let path = bench.scratch.path().join("mutant.o");
            std::fs::write(&path, &mutant.bytes).unwrap();
            if Image::load(&path).is_ok_and(|image| proved(&image, &module)) {
                proved_count += 1;
                println!("{function}: PROVED {}", mutant.what);
            }
        }
    }
    println!("{all} mutants, {proved_count} proved, {foreign} no longer readable as functions");
}
