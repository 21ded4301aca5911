//! What is not equivalent must not be proved: planted differences that no trace shows, and mutants of proved machine code
//! against which the claims of the original are checked, so that traces cannot help. `examples/mutants.rs` runs the full number.
#![allow(clippy::unwrap_used)]

mod common;

use candor_prove::image::Image;
use candor_prove::{Certificate, Prover, Settings};
use common::{Bench, mutants, patient, source_mutants};

#[test]
fn planted_differences_are_never_proved() {
    let bench = Bench::new();
    let directory = Bench::program("planted");
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".c"))
        .collect();
    names.sort();
    assert!(names.len() >= 10);
    let settings = Settings {
        time: std::time::Duration::from_secs(8),
        ..Settings::default()
    };
    let prover = Prover::new(&bench.sandbox, &bench.scratch, settings);
    let able = Prover::new(&bench.sandbox, &bench.scratch, patient());
    for name in names {
        let source = directory.join(&name);
        let module = bench.ir(&source, &[]);
        for (compiler, flags) in [
            ("gcc-12", ["-O2", "-DPLANTED"]),
            ("clang-19", ["-O2", "-DPLANTED"]),
        ] {
            let image = bench.object(compiler, &flags, &source, "planted.o");
            let verdict = prover.prove(&image, &module, "f").unwrap();
            assert!(
                !verdict.is_proved(),
                "{name} with {compiler} is a false proof"
            );
        }
        // a prover that never proves anything would pass what is above
        let image = bench.object("gcc-12", &["-O2"], &source, "plain.o");
        let verdict = able.prove(&image, &module, "f").unwrap();
        assert!(
            verdict.is_proved(),
            "{name} without the planted difference: {:?}",
            verdict.outcome
        );
    }
}

/// Mutants that compute the same, each argued; met with the seed below.
const EQUIVALENT: &[(&str, &str)] = &[
    // the counter stays below 2^32, so the low half tells as much as the whole
    ("add rax", "add eax"),
    ("cmp rax", "cmp eax"),
];

#[test]
fn a_slice_of_mutants_is_rejected_by_the_checker_alone() {
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let module = bench.ir(&source, &[]);
    let path = bench.build("gcc-12", &["-c", "-O3", "-msse4.2"], &source, "t.o");
    let image = Image::load(&path).unwrap();
    let prover = Prover::new(&bench.sandbox, &bench.scratch, patient());
    let mut rejected = 0;
    for function in ["s000", "s271", "s311"] {
        let verdict = prover.prove(&image, &module, function).unwrap();
        assert!(verdict.is_proved(), "{function}: {:?}", verdict.outcome);
        let certificate = Certificate::new(&image, &module, &[verdict]);
        for mutant in mutants(&path, function, 12, 20_261_116) {
            let mutated = bench.scratch.path().join("mutant.o");
            std::fs::write(&mutated, &mutant.bytes).unwrap();
            let Ok(image) = Image::load(&mutated) else {
                continue;
            };
            let mut entry = certificate.entries[0].clone();
            if !entry.rebind(&image, &module) {
                rejected += 1;
                continue;
            }
            let verdict = prover.recheck(&image, &module, &entry).unwrap();
            if verdict.is_proved() {
                let known = EQUIVALENT.iter().any(|(old, new)| {
                    let (before, after) = mutant.what.split_once("  ->  ").unwrap();
                    before.contains(old) && after.contains(new)
                });
                assert!(known, "{function}: {} is proved", mutant.what);
            } else {
                rejected += 1;
            }
        }
    }
    assert!(rejected >= 25, "only {rejected} mutants were rejected");
}

#[test]
fn a_slice_of_changed_sources_is_rejected_by_the_checker_alone() {
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let text = std::fs::read_to_string(&source).unwrap();
    let module = bench.ir(&source, &[]);
    let image = bench.object("gcc-12", &["-O2"], &source, "t.o");
    let prover = Prover::new(&bench.sandbox, &bench.scratch, patient());
    let mut rejected = 0;
    for function in ["s000", "s311"] {
        let verdict = prover.prove(&image, &module, function).unwrap();
        assert!(verdict.is_proved(), "{function}: {:?}", verdict.outcome);
        let certificate = Certificate::new(&image, &module, &[verdict]);
        for (what, text) in source_mutants(&text, function, 6, 20_261_116) {
            let module = bench.ir(&bench.source("mutant.c", &text), &[]);
            let mut entry = certificate.entries[0].clone();
            let proved = entry.rebind(&image, &module)
                && prover.recheck(&image, &module, &entry).unwrap().is_proved();
            assert!(!proved, "{function}: {what} is proved");
            rejected += 1;
        }
    }
    assert!(rejected >= 6, "only {rejected} changes were made");
}
