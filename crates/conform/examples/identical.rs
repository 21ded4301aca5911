//! Is a pass's output the same with and without detours?
//!
//! `cargo run --release -p candor-conform --example identical -- VERSION TESTS PASSES`, where a path may stand for the version.
//!
//! A pass may order by addresses, and then its output varies from process to process without any detour. So where
//! the outputs differ, further processes without detours are asked: a test is *unstable* if those differ among
//! themselves, and *different* only if they all agree on something else than the watched run.

use std::collections::BTreeSet;
use std::path::Path;

use candor_conform::Session;
use candor_conform::input::{Selection, from_directory};
use candor_llvm::{Ending, Engine, Library, Limits, Loading, Pool, Run};

/// Processes that are asked where the outputs differ.
const WITNESSES: usize = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [version, directory, passes] = arguments.as_slice() else {
        return Err("give VERSION TESTS PASSES".into());
    };
    let library = match version.parse() {
        Ok(version) => Library::find(version)?,
        Err(_) => Library::open(Path::new(version))?,
    };
    let plain = Pool::start(&library, 1, Limits::default(), Loading::Plain, run_plain)?;
    let watched = Pool::start(
        &library,
        1,
        Limits::default(),
        Loading::Resident,
        run_watched,
    )?;
    let known = Session::start(library.clone(), 1, Limits::default())?.pass_names()?;
    let names: Vec<String> = passes.split(',').map(str::to_owned).collect();
    let tests = from_directory(Path::new(directory), &Selection::named(&names), &known)?;
    let (mut equal, mut refused, mut neither) = (0, 0, 0);
    let mut suspects = Vec::new();
    for test in &tests {
        let request = serde_json::to_vec(&test.run)?;
        let a = plain.run(0, &request, &|| false)?;
        let b = watched.run(0, &request, &|| false)?;
        match (a, b) {
            (Ending::Answered { answer: a }, Ending::Answered { answer: b }) if a == b => {
                match a.first() {
                    Some(&RAN) => equal += 1,
                    _ => refused += 1,
                }
            }
            (Ending::Answered { .. }, b) | (_, b @ Ending::Answered { .. }) => {
                suspects.push((test, request, b));
            }
            _ => neither += 1,
        }
    }
    let (mut unstable, mut different) = (0, 0);
    if !suspects.is_empty() {
        let mut witnesses = Vec::new();
        for _ in 0..WITNESSES {
            witnesses.push(Pool::start(
                &library,
                1,
                Limits::default(),
                Loading::Plain,
                run_shuffled,
            )?);
        }
        for (test, request, watched) in &suspects {
            let mut outputs = BTreeSet::new();
            for witness in &witnesses {
                if let Ending::Answered { answer } = witness.run(0, request, &|| false)? {
                    outputs.insert(answer);
                }
            }
            let ours = match watched {
                Ending::Answered { answer } => answer.clone(),
                _ => Vec::new(),
            };
            match outputs.len() > 1 || outputs.contains(&ours) {
                true => {
                    unstable += 1;
                    println!(
                        "unstable: {} ({} outputs without detours, the watched one {})",
                        test.name(),
                        outputs.len(),
                        match outputs.contains(&ours) {
                            true => "among them",
                            false => "not among them",
                        }
                    );
                }
                false => {
                    different += 1;
                    println!("different: {}", test.name());
                }
            }
        }
    }
    println!(
        "LLVM {version}: {equal} identical, {different} different, {unstable} unstable without detours; \
         {refused} refused by the library, {neither} crash with and without"
    );
    match different {
        0 => Ok(()),
        _ => Err("the detours change the output".into()),
    }
}

/// The first byte of a run's answer if it ran.
const RAN: u8 = b'+';

/// As `run_plain`, on a heap with holes in an order that differs from process to process: what the
/// allocator gives out next is in no order of addresses.
fn run_shuffled(engine: &Engine, request: &[u8]) -> Vec<u8> {
    let mut state = u64::from(std::process::id()).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let mut blocks: Vec<Option<Vec<u8>>> = (0..20_000)
        .map(|_| Some(vec![1; 24 + random() % 300]))
        .collect();
    for _ in 0..blocks.len() / 2 {
        let at = random() % blocks.len();
        if let Some(block) = blocks.get_mut(at) {
            *block = None;
        }
    }
    let answer = run_plain(engine, request);
    drop(blocks);
    answer
}

fn run_plain(engine: &Engine, request: &[u8]) -> Vec<u8> {
    text(
        serde_json::from_slice(request)
            .ok()
            .map(|run: Run| engine.transform(&run)),
    )
}

fn run_watched(engine: &Engine, request: &[u8]) -> Vec<u8> {
    text(
        serde_json::from_slice(request)
            .ok()
            .map(|run: Run| engine.transform_watched(&run)),
    )
}

fn text(result: Option<Result<(String, String), candor_llvm::Refusal>>) -> Vec<u8> {
    match result {
        Some(Ok((_, after))) => format!("{}{after}", char::from(RAN)).into_bytes(),
        Some(Err(refusal)) => format!("-{refusal}").into_bytes(),
        None => Vec::new(),
    }
}
