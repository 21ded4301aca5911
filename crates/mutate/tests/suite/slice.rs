//! The slice of the campaign that runs every time: fixed seeds, every variant fully verified.

use std::path::Path;
use std::process::Command;

use candor_mutate::{Choice, Verdict, profile, variant, verify};
use candor_toolchain::Program;

use crate::bench::{bench, settings};

fn all_equal(program: &Program, seed: u64, variants: u64) {
    let settings = settings(seed);
    let profile = profile(bench(), program, &settings).unwrap();
    assert!(!profile.live.is_empty());
    let choice = Choice {
        seed,
        ..Choice::default()
    };
    for number in 1..=variants {
        let variant = variant(program, &profile, &choice, number);
        assert!(!variant.snippets.is_empty());
        let text = variant.text(&program.text).unwrap();
        let verdict = verify(bench(), program, &profile, &text, settings.time).unwrap();
        let name = program.file_name();
        assert_eq!(
            verdict,
            Verdict::Equal,
            "{name}, seed {seed}, variant {number}:\n{text}"
        );
    }
}

#[test]
fn variants_of_csmith_programs_are_equal_and_clean() {
    let options =
        "--no-packed-struct --no-unions --max-funcs 3 --max-block-depth 3 --max-expr-complexity 4";
    for seed in [101_u64, 102] {
        let output = Command::new("csmith")
            .current_dir(std::env::temp_dir())
            .args(options.split_whitespace())
            .args(["--seed", &seed.to_string()])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let program = Program::from_text(Path::new(&format!("csmith{seed}.c")), text);
        all_equal(&program, seed, 2);
    }
}

/// One program per hazard: unions, wide bit-fields, va_list, setjmp, restrict, pure, volatile, statement expressions.
#[test]
fn variants_of_hazardous_programs_are_equal_and_clean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mutate/ordinary");
    let names = [
        "unions",
        "bitfields",
        "varargs",
        "jump",
        "restrict",
        "pure",
        "volatile",
        "stmtexpr",
        "duff",
    ];
    for (seed, name) in names.iter().enumerate() {
        let program = Program::load(&folder.join(format!("{name}.c"))).unwrap();
        all_equal(&program, seed as u64 + 1, 2);
    }
}
