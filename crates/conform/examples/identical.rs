//! Is a pass's output the same with and without detours?
//!
//! `cargo run --release -p candor-conform --example identical -- VERSION TESTS PASSES`

use std::path::Path;

use candor_conform::Session;
use candor_conform::input::{Selection, from_directory};
use candor_llvm::{Ending, Engine, Library, Limits, Pool, Run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [version, directory, passes] = arguments.as_slice() else {
        return Err("give VERSION TESTS PASSES".into());
    };
    let library = Library::find(version.parse()?)?;
    let plain = Pool::start(&library, 1, Limits::default(), false, run_plain)?;
    let watched = Pool::start(&library, 1, Limits::default(), true, run_watched)?;
    let known = Session::start(library, 1, Limits::default())?.pass_names()?;
    let names: Vec<String> = passes.split(',').map(str::to_owned).collect();
    let tests = from_directory(Path::new(directory), &Selection::named(&names), &known)?;
    let (mut equal, mut different, mut neither) = (0, 0, 0);
    for test in &tests {
        let request = serde_json::to_vec(&test.run)?;
        let a = plain.run(0, &request, &|| false)?;
        let b = watched.run(0, &request, &|| false)?;
        match (a, b) {
            (Ending::Answered { answer: a }, Ending::Answered { answer: b }) if a == b => {
                equal += 1
            }
            (Ending::Answered { .. }, _) | (_, Ending::Answered { .. }) => {
                different += 1;
                println!("different: {}", test.name());
            }
            _ => neither += 1,
        }
    }
    println!(
        "LLVM {version}: {equal} identical, {different} different, {neither} run with neither"
    );
    match different {
        0 => Ok(()),
        _ => Err("the detours change the output".into()),
    }
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
        Some(Ok((_, after))) => after.into_bytes(),
        Some(Err(refusal)) => refusal.to_string().into_bytes(),
        None => Vec::new(),
    }
}
