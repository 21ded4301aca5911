//! What it costs to open a program and to ask about its first address: `open_time FILE ADDRESS [TIMES]`, the address in
//! the file and in hexadecimal. Units load lazily; a Rust program carries the debug information of all of std.

use std::path::PathBuf;
use std::time::Instant;

use candor_dwarf::{Image, SiteOptions, Svma};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = PathBuf::from(arguments.next().expect("a file"));
    let address = arguments.next().expect("an address");
    let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("hexadecimal");
    let times: usize = arguments
        .next()
        .map_or(20, |word| word.parse().expect("a number"));
    let (mut open, mut first) = (Vec::new(), Vec::new());
    for _ in 0..times.max(1) {
        let start = Instant::now();
        let image = Image::open(&file).expect("an image");
        open.push(start.elapsed().as_secs_f64() * 1e3);
        let site = image.site(Svma(address), &SiteOptions::default());
        let site = site.expect("a site");
        first.push(start.elapsed().as_secs_f64() * 1e3);
        assert!(!site.function.is_empty());
    }
    open.sort_by(f64::total_cmp);
    first.sort_by(f64::total_cmp);
    println!(
        "open {:.1} ms, open and first site {:.1} ms (medians of {times})",
        open[open.len() / 2],
        first[first.len() / 2]
    );
}
