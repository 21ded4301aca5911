//! Judges a directory of LLVM's regression tests and prints the sites.
//!
//! `cargo run --release -p candor-conform --example survey -- VERSION TESTS PASSES [SOURCES]`, where a path may stand for the
//! version, and `all` for the passes.

use std::path::Path;
use std::time::Instant;

use candor_conform::input::{Selection, from_directory};
use candor_conform::{Session, Settings, examine};
use candor_llvm::attribute::{Lines, Names};
use candor_llvm::{Library, Limits};
use candor_toolchain::{Sandbox, Scratch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [version, tests, passes, rest @ ..] = arguments.as_slice() else {
        return Err("give VERSION TESTS PASSES [SOURCES]".into());
    };
    let started = Instant::now();
    let cache = std::env::temp_dir().join("candor-cache");
    let library = match version.parse() {
        Ok(version) => Library::find(version)?,
        Err(_) => Library::open(Path::new(version))?,
    };
    let read = started.elapsed();
    let names = Names::of(&library, Some(&cache))?;
    let named = started.elapsed();
    let session = Session::start_for_many(library.clone(), 1, Limits::default())?;
    let loaded = started.elapsed();
    let known = session.pass_names()?;
    let selection = match passes.as_str() {
        "all" => Selection::All,
        names => Selection::named(&names.split(',').map(str::to_owned).collect::<Vec<_>>()),
    };
    let tests = from_directory(Path::new(tests), &selection, &known)?;
    let parsed = started.elapsed();
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let lines = Lines {
        sandbox: &sandbox,
        scratch: &scratch,
        sources: rest.first().map(Path::new),
        cache: &cache,
    };
    let found = examine(
        &session,
        &names,
        Some(&lines),
        &tests,
        &Settings::default(),
        &|| false,
        &|_| {},
    )?;
    eprintln!(
        "read {read:?}, named {named:?}, loaded {loaded:?}, tests parsed {parsed:?}, {} tests, all {:?}",
        tests.len(),
        started.elapsed()
    );
    for site in &found.sites {
        println!(
            "{}\t{}\t{}\t{:?}\t{}\t{} tests\t{} updates\t{}\t{}\t{}",
            site.confidence,
            site.class,
            site.place(),
            site.rules,
            site.opcodes.iter().cloned().collect::<Vec<_>>().join("/"),
            site.tests,
            site.updates,
            site.frame.describe(),
            site.example.name.rsplit('/').next().unwrap_or_default(),
            site.example.update.text,
        );
    }
    println!(
        "{:?} judged, destinations {}, check {:?}, removed {:?}",
        found.tally.judged, found.tally.destinations, found.tally.check, found.tally.removed
    );
    for (test, reason) in found.tally.not_judged.iter().take(400) {
        println!("NOT JUDGED {test}: {reason}");
    }
    Ok(())
}
