//! Bad input: each a clear verdict or error, never a panic, never a proof.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use candor_prove::image::Image;
use candor_prove::{Error, Outcome, Prover, Settings, SolverSettings, source_ir};
use common::Bench;

const SUM: &str =
    "int a[100];\nint f(void) { int s = 0; for (int i = 0; i < 100; i++) s += a[i]; return s; }\n";

/// The reason why `f` of a source is undecided in an object built from (possibly another) source.
fn reason(bench: &Bench, source: &str, built: &str, flags: &[&str]) -> String {
    let module = bench.ir(&bench.source("asked.c", source), &[]);
    let image = bench.object("gcc-12", flags, &bench.source("built.c", built), "built.o");
    let prover = Prover::new(&bench.sandbox, &bench.scratch, Settings::default());
    match prover.prove(&image, &module, "f").unwrap().outcome {
        Outcome::Undecided(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_proved_says_why() {
    let bench = Bench::new();
    let other = "static int f(void) { return 1; } int g(void) { return f(); }";
    let why = reason(&bench, SUM, other, &["-O2"]);
    assert!(why.contains("holds no function `f`"), "{why}");
    let smaller = SUM.replace("100", "50");
    let why = reason(&bench, SUM, &smaller, &["-O2"]);
    assert!(why.contains("do not belong together"), "{why}");
    let float = "double f(double x) { return x + 1; }";
    let why = reason(&bench, float, float, &["-O2"]);
    assert!(why.contains("floating-point"), "{why}");
    let local = "int g(int *); int f(void) { int x = 1; return g(&x); }";
    let why = reason(&bench, local, local, &["-O2"]);
    assert!(why.contains("address of a local"), "{why}");
    let volatile = "volatile int v; int f(void) { return v; }";
    let why = reason(&bench, volatile, volatile, &["-O2"]);
    assert!(why.contains("volatile"), "{why}");
    let exotic =
        "int f(int x) { int r; __asm__(\"bsr %1, %0\" : \"=r\"(r) : \"r\"(x)); return r; }";
    let plain = "int f(int x) { return x; }";
    let why = reason(&bench, plain, exotic, &["-O2"]);
    assert!(why.contains("bsr"), "{why}");
}

#[test]
fn a_function_that_was_split_says_so() {
    let bench = Bench::new();
    // gcc moves what is never expected to `f.cold`
    let source = "int a[100]; void stop(void) __attribute__((noreturn, cold));\n\
                  int f(int n) { if (n > 99) { a[0] = n; stop(); } return a[n & 63]; }";
    let why = reason(&bench, source, source, &["-O2"]);
    assert!(why.contains(".cold"), "{why}");
}

#[test]
fn a_stripped_program_is_known_as_such() {
    let bench = Bench::new();
    let source = bench.source("sum.c", &format!("{SUM}int main(void) {{ return f(); }}\n"));
    let plain = bench.build("gcc-12", &["-O2"], &source, "plain");
    assert!(!Image::load(&plain).unwrap().is_stripped());
    let stripped = bench.build("gcc-12", &["-O2", "-s"], &source, "stripped");
    let image = Image::load(&stripped).unwrap();
    assert!(image.is_stripped());
    let module = bench.ir(&source, &[]);
    let prover = Prover::new(&bench.sandbox, &bench.scratch, Settings::default());
    assert!(!prover.prove(&image, &module, "f").unwrap().is_proved());
}

#[test]
fn files_that_are_no_programs_are_refused() {
    let bench = Bench::new();
    let text = bench.source("text.o", "not an object\n");
    assert!(matches!(Image::load(&text), Err(Error::NotAnImage { .. })));
    assert!(matches!(
        Image::load(&PathBuf::from("/nowhere/at/all.o")),
        Err(Error::File { .. })
    ));
    let source = bench.source("sum.c", SUM);
    let small = bench.build("gcc-12", &["-c", "-m32"], &source, "small.o");
    assert!(matches!(Image::load(&small), Err(Error::NotAnImage { .. })));
    // the same file as one for another processor (EM_AARCH64)
    let object = bench.build("gcc-12", &["-c"], &source, "object.o");
    let mut foreign = std::fs::read(&object).unwrap();
    foreign[18] = 183;
    std::fs::write(&object, &foreign).unwrap();
    assert!(matches!(
        Image::load(&object),
        Err(Error::NotAnImage { .. })
    ));
    let wrong = bench.source("wrong.c", "int f(void) { return }");
    let refused = source_ir(&bench.sandbox, &bench.scratch, &wrong, &[]);
    assert!(matches!(refused, Err(Error::Source { .. })));
}

#[test]
fn an_object_that_lies_is_no_panic() {
    let bench = Bench::new();
    let source = bench.source("sum.c", SUM);
    let path = bench.build("gcc-12", &["-c", "-O2"], &source, "sum.o");
    let module = bench.ir(&source, &[]);
    let prover = Prover::new(&bench.sandbox, &bench.scratch, Settings::default());
    let bytes = std::fs::read(&path).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut read = 0;
    for _ in 0..60 {
        let mut lying = bytes.clone();
        // headers and tables are behind the code
        for _ in 0..4 {
            let at = random.usize(0..lying.len());
            lying[at] = random.u8(..);
        }
        let file = bench.scratch.path().join("lying.o");
        std::fs::write(&file, &lying).unwrap();
        if let Ok(image) = Image::load(&file) {
            read += 1;
            let _ = prover.prove(&image, &module, "f").unwrap();
        }
    }
    assert!(
        read > 10,
        "most files should still be readable, {read} were"
    );
}

#[test]
fn a_solver_that_is_none_is_told() {
    let bench = Bench::new();
    let source = bench.source("sum.c", SUM);
    let module = bench.ir(&source, &[]);
    let image = bench.object("gcc-12", &["-O2"], &source, "sum.o");
    for command in ["/nowhere/z3", "true"] {
        let settings = Settings {
            solver: SolverSettings {
                command: PathBuf::from(command),
                ..SolverSettings::default()
            },
            ..Settings::default()
        };
        let prover = Prover::new(&bench.sandbox, &bench.scratch, settings);
        assert!(prover.prove(&image, &module, "f").is_err(), "{command}");
    }
    // a run-time distance, which takes more than intervals
    let shifted = bench.source(
        "shifted.c",
        "int a[1000]; void f(int m) { for (int i = 0; i < m; i++) a[i + m] = a[i] + 1; }\n",
    );
    let module = bench.ir(&shifted, &[]);
    let image = bench.object("gcc-12", &["-O3"], &shifted, "shifted.o");
    // one that answers the first question and then nothing sensible
    let odd = bench.source("odd", "#!/bin/sh\nread x\necho sat\nwhile read x; do case $x in *check-sat*) echo unknown;; esac; done\n");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&odd, std::fs::Permissions::from_mode(0o755)).unwrap();
    // and one that hangs after the first
    let hanging = bench.source(
        "hanging",
        "#!/bin/sh\nread x\necho sat\nwhile :; do sleep 1; done\n",
    );
    std::fs::set_permissions(&hanging, std::fs::Permissions::from_mode(0o755)).unwrap();
    for command in [odd, hanging] {
        let settings = Settings {
            solver: SolverSettings {
                command,
                timeout: std::time::Duration::from_millis(300),
            },
            time: std::time::Duration::from_secs(8),
            ..Settings::default()
        };
        let prover = Prover::new(&bench.sandbox, &bench.scratch, settings);
        let verdict = prover.prove(&image, &module, "f").unwrap();
        assert!(
            matches!(&verdict.outcome, Outcome::Undecided(why) if why.contains("unanswered")),
            "{:?}",
            verdict.outcome
        );
    }
}
