//! Damaged debug information: whatever bytes it has, there is no panic and an end.

#![allow(clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};

use candor_dwarf::{Image, SiteOptions};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use support::{Anything, debug_build};

const PROGRAM: &str = r#"
struct point { int x, y : 5; unsigned char z[2]; };
_Thread_local int thread = 1;
struct point origin = {1, 2, {3, 4}};
volatile int sink;
static inline int square(int n) { int twice = n + n; sink = twice; return n * n; }
__attribute__((noinline)) static int f(int a, int unused, double d) { int b = a * 3; sink = b; for (int i = 0; i < a; i++) sink += square(i); return b + d; }
int main(int argc, char **argv) { struct point p = origin; p.x += argc; sink = f(p.x, 2, argc); __int128 w = argc; sink = w << 3; return p.y + thread; }
"#;

/// Opens damaged bytes and asks for everything.
fn exercise(bytes: Vec<u8>, pcs: &[u64]) {
    let Ok(image) = Image::from_bytes(bytes) else {
        return;
    };
    let options = SiteOptions {
        globals: true,
        leaf_cap: 16,
        all_frames: true,
    };
    let mut out = Vec::new();
    let stops = image.statement_stops().unwrap_or_default();
    for pc in pcs
        .iter()
        .copied()
        .chain(stops.iter().take(40).map(|stop| stop.pc.0))
    {
        let _ = image.line_at(candor_dwarf::Svma(pc));
        let Ok(site) = image.site(candor_dwarf::Svma(pc), &options) else {
            continue;
        };
        image.observe(&site, &Anything, &mut out);
        assert_eq!(out.len(), site.leaves().len());
        for leaf in 0..out.len() {
            let _ = image.describe_location(&site, leaf);
        }
    }
    let _ = image.functions();
    let _ = image.location_spans("main", "p");
}

/// Where the debug sections of an ELF file are.
fn debug_sections(bytes: &[u8]) -> Vec<(String, usize, usize)> {
    let word = |at: usize, size: usize| {
        bytes[at..at + size]
            .iter()
            .rev()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte)) as usize
    };
    let (start, count, names) = (word(40, 8), word(60, 2), word(62, 2));
    let names = word(start + names * 64 + 24, 8);
    let sections = (0..count).map(|index| start + index * 64).map(|at| {
        let name: Vec<u8> = bytes[names + word(at, 4)..]
            .iter()
            .copied()
            .take_while(|byte| *byte != 0)
            .collect();
        (
            String::from_utf8(name).unwrap(),
            word(at + 24, 8),
            word(at + 32, 8),
        )
    });
    sections
        .filter(|(name, _, _)| name.starts_with(".debug_") || name == ".eh_frame")
        .collect()
}

fn damage(compiler: &str, level: &str, dwarf: u8, cases: u32, seed: u8) {
    let built = debug_build(compiler, level, dwarf, PROGRAM);
    let good = built.bytes();
    let image = built.image();
    let pcs: Vec<u64> = image
        .statement_stops()
        .unwrap()
        .iter()
        .map(|stop| stop.pc.0)
        .collect();
    assert!(pcs.len() > 5);
    let sections: Vec<_> = debug_sections(&good)
        .into_iter()
        .filter(|(_, _, size)| *size > 0)
        .collect();
    assert!(sections.len() >= 4, "{sections:?}");
    exercise(good.clone(), &pcs);
    let change = (
        0..sections.len(),
        any::<prop::sample::Index>(),
        any::<u8>(),
        0..4u8,
    );
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        },
        TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
    );
    let outcome = runner.run(&prop::collection::vec(change, 1..6), |changes| {
        let mut bytes = good.clone();
        for (section, at, byte, how) in changes {
            let (_, start, size) = &sections[section];
            let at = start + at.index(*size);
            match how {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => bytes[at] = 0xff,
                // A section that ends early: zeros to its end.
                _ => bytes[at..start + size].fill(0),
            }
        }
        let begun = Instant::now();
        exercise(bytes, &pcs);
        prop_assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{compiler} {level} dwarf {dwarf} seed {seed}: {error}"));
}

#[test]
fn damaged_gcc_debug_information() {
    damage("gcc-12", "-O2", 5, 150, 1);
    damage("gcc-12", "-O2", 4, 150, 2);
}

#[test]
fn damaged_clang_debug_information() {
    damage("clang-19", "-O2", 5, 150, 3);
    damage("clang-14", "-O2", 4, 150, 4);
}

#[test]
fn files_that_end_early() {
    let built = debug_build("clang-16", "-O1", 5, PROGRAM);
    let good = built.bytes();
    for eighths in 1..8 {
        exercise(good[..good.len() * eighths / 8].to_vec(), &[]);
    }
    for (name, start, size) in debug_sections(&good) {
        for keep in [0, size / 2, size.saturating_sub(1)] {
            let mut bytes = good.clone();
            bytes[start + keep..start + size].fill(0xff);
            let begun = Instant::now();
            exercise(bytes, &[]);
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{name} from {keep}"
            );
        }
    }
}
