//! How many variants of a seed are worth the debug oracle's time: checks the debug information of every variant and
//! says what would have been found, and what it would have taken, had only the first few been looked at.
//!
//! `cargo run --release -p candor-hunt --example debug_variants -- [SECONDS] [VARIANTS]`
//!
//! The time is that of building and checking; generating, gating and mutating are the same for all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use candor_hunt::{Event, Means, Oracle, Run, Settings, hunt};
use candor_source::Clang;
use candor_store::{SqliteStore, Store as _};
use candor_toolchain::{Sandbox, Scratch, discover};
use candor_tracer::Debugger;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| -> u64 {
        let given = arguments.next().and_then(|word| word.parse().ok());
        given.unwrap_or(default)
    };
    let (seconds, variants) = (number(600), number(4));
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let clang = Clang::find()?;
    let debuggers = Debugger::discover(&sandbox);
    let folder = scratch.job()?;
    let store = SqliteStore::create(folder.path())?;
    let (found, _) = discover(&sandbox, &scratch)?;
    let settings = Settings {
        seed: 5000,
        variants,
        debug_variants: variants,
        oracles: [Oracle::Debug].into(),
        ..Settings::default()
    };
    let run = Run {
        time: Some(Duration::from_secs(seconds)),
        share: 0.0,
        ..Run::default()
    };
    let means = Means {
        sandbox: &sandbox,
        scratch: &scratch,
        clang: &clang,
        debuggers: &debuggers,
        found,
        given: Vec::new(),
        only: Vec::new(),
    };
    // seed → variant → seconds
    let judged: Mutex<BTreeMap<u64, BTreeMap<u64, f64>>> = Mutex::default();
    hunt(&store, means, settings, &run, &|event| {
        if let Event::Judged {
            seed,
            variant,
            seconds,
            ..
        } = event
        {
            let mut judged = judged.lock().expect("judged");
            judged.entry(*seed).or_default().insert(*variant, *seconds);
        }
    })?;
    // Seeds that were judged to their end, so that every row is about the same ones.
    let mut judged = judged.into_inner()?;
    judged.retain(|_, programs| programs.len() as u64 == variants + 1);
    let findings = store.findings()?;
    println!(
        "{} seeds with {variants} variants each; of them looked at:",
        judged.len()
    );
    println!("looked at       seconds  findings  signatures  signatures per 1000 s");
    for most in 0..=variants {
        let time: f64 = judged
            .values()
            .flat_map(|programs| programs.range(..=most))
            .map(|(_, seconds)| seconds)
            .sum();
        let among: Vec<_> = findings
            .iter()
            .filter(|one| judged.contains_key(&one.seed) && one.variant.unwrap_or(0) <= most)
            .collect();
        let signatures: BTreeSet<_> = among.iter().map(|one| &one.signature).collect();
        println!(
            "seed + {most}      {time:9.0} {:9} {:11} {:22.1}",
            among.len(),
            signatures.len(),
            signatures.len() as f64 * 1000.0 / time
        );
    }
    Ok(())
}
