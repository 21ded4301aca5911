//! The soundness run: mutants of proved machine code against the claims of the original, by the checker alone.
//!
//! `cargo run -p candor-prove --example mutants -- SOURCE OBJECT COUNT SEED FUNCTION...` prints every mutant that is proved: each
//! must be equivalent (docs/prove.md argues them).
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use candor_prove::image::Image;
use candor_prove::{Certificate, Prover, Settings};
use common::{Bench, mutants};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, object, count, seed, functions @ ..] = &arguments[..] else {
        println!("give SOURCE OBJECT COUNT SEED FUNCTION...");
        return;
    };
    let bench = Bench::new();
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
        for mutant in mutants(
            object.as_ref(),
            function,
            count.parse().unwrap(),
            seed.parse().unwrap(),
        ) {
            all += 1;
            let path = bench.scratch.path().join("mutant.o");
            std::fs::write(&path, &mutant.bytes).unwrap();
            let Ok(image) = Image::load(&path) else {
                foreign += 1;
                continue;
            };
            let mut entry = certificate.entries[0].clone();
            if !entry.rebind(&image, &module) {
                foreign += 1;
                continue;
            }
            if prover.recheck(&image, &module, &entry).unwrap().is_proved() {
                proved_count += 1;
                println!("{function}: PROVED {}", mutant.what);
            }
        }
    }
    println!("{all} mutants, {proved_count} proved, {foreign} no longer readable as functions");
}
