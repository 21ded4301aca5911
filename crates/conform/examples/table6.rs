//! The errors of the paper's Table 6 on any libLLVM, by our own inputs.
//!
//! `cargo run --release -p candor-conform --example table6 -- LIBRARY`
//!
//! Prints per error the site that is reported, then what the library's self-check says about all inputs.

#![allow(clippy::unwrap_used)]

#[path = "../tests/common/errors.rs"]
mod errors;

use candor_conform::{Session, Settings, examine};
use candor_llvm::attribute::Names;
use candor_llvm::{Library, Limits};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give LIBRARY")?;
    let library = Library::open(path.as_ref())?;
    let session = Session::start(library, 1, Limits::default())?;
    let cache = std::env::temp_dir().join("candor-cache");
    let names = Names::of(&session.library, Some(&cache))?;
    let settings = Settings::default();
    let reported = errors::reported(&session, &names, &settings);
    for (id, site) in &reported {
        let place = site.as_ref().map_or("-".to_owned(), |site| site.place());
        println!("{id}\t{place}");
    }
    let tests = errors::tests();
    let found = examine(
        &session,
        &names,
        None,
        &tests,
        &settings,
        &|| false,
        &|_| {},
    )?;
    println!(
        "LLVM {}: {} of {} reported; {} of {} inputs judged, {:?}",
        session.library.version,
        reported.values().flatten().count(),
        errors::rows().len(),
        found.tally.judged,
        tests.len(),
        found.tally.check
    );
    Ok(())
}
