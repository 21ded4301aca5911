//! How long a binary takes to open, and to show what is visible at one function's entry:
//! `cargo run --release -p candor-dwarf --example open -- BINARY FUNCTION`

use std::path::Path;
use std::time::Instant;

use candor_dwarf::{Image, SiteOptions};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(binary), Some(function)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: open BINARY FUNCTION");
        std::process::exit(2);
    };
    let started = Instant::now();
    let image = Image::open(Path::new(&binary)).expect("open");
    let opened = started.elapsed();
    let symbol = image.symbol(&function).expect("function");
    let started = Instant::now();
    let site = image
        .site(symbol.address, &SiteOptions::default())
        .expect("site");
    println!(
        "{:.1} MB opened in {opened:.1?}; {} leaves at {function} in {:.1?}",
        std::fs::metadata(&binary).map_or(0, |data| data.len()) as f64 / 1e6,
        site.leaves().len(),
        started.elapsed()
    );
}
