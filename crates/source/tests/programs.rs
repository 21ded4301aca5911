//! Whole programs: Csmith's, through both compilers; many threads; broken and hostile input.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use candor_source::{Clang, Error, candidates, includes_csmith, instrument};
use common::*;

const CSMITH: &str = "-I/usr/include/csmith";

fn csmith(seed: u32) -> String {
    let output = Command::new("csmith")
        .current_dir(std::env::temp_dir())
        .args(["--seed", &seed.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(includes_csmith(&text));
    text
}

/// Seeds whose programs end soon; found by running them.
const SEEDS: [u32; 3] = [2, 3, 4];

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn build_and_run(folder: &Path, compiler: &str, level: &str, file: &str, extra: &[&str]) -> String {
    let binary: PathBuf = folder.join(format!("{file}.{compiler}{level}"));
    run(Command::new(compiler)
        .current_dir(folder)
        .args([level, "-w", CSMITH, "-o"])
        .arg(&binary)
        .args(extra)
        .arg(file));
    run(Command::new("timeout").arg("20").arg(&binary))
}

#[test]
fn instrumented_csmith_programs_do_what_they_did() {
    for seed in SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let text = csmith(seed);
        let unit = try_parse(&text, &[CSMITH]).unwrap();
        let points: Vec<_> = unit.points().points.iter().collect();
        assert!(points.len() > 50, "seed {seed}: {} points", points.len());
        let instrumented = instrument::barriers(&unit, &points).unwrap();
        assert_eq!(instrumented.matches("opt_me_not();").count(), points.len());
        assert_eq!(instrumented.lines().count(), text.lines().count());

        for (name, content) in [
            ("plain.c", text.as_str()),
            ("barriers.c", &instrumented),
            ("barrier.h", instrument::BARRIER_HEADER),
            ("barrier.c", instrument::BARRIER_DEFINITION),
        ] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let expected = build_and_run(folder.path(), "gcc-12", "-O0", "plain.c", &[]);
        assert!(expected.contains("checksum"), "seed {seed}: {expected}");
        for compiler in ["gcc-12", "clang-19"] {
            for level in ["-O0", "-O2"] {
                let extra = ["-include", "barrier.h", "barrier.c"];
                let got = build_and_run(folder.path(), compiler, level, "barriers.c", &extra);
                assert_eq!(got, expected, "seed {seed}, {compiler} {level}");
            }
        }
    }
}

/// The compiler is the judge of `visible_at`: taking the address of everything visible at every point compiles.
#[test]
fn everything_visible_can_be_named() {
    for seed in SEEDS {
        let text = csmith(seed);
        let unit = try_parse(&text, &[CSMITH]).unwrap();
        let mut edits = candor_source::EditSet::new();
        let mut named = 0;
        for point in &unit.points().points {
            let names: Vec<String> = unit
                .visible_at(point)
                .iter()
                .map(|v| format!("(void)&{};", v.name))
                .collect();
            named += names.len();
            edits.insert(point.offset, names.concat());
        }
        assert!(named > 1000, "seed {seed}: {named}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.c");
        std::fs::write(&file, edits.apply(&text).unwrap()).unwrap();
        run(Command::new("gcc-12")
            .args(["-fsyntax-only", "-w", CSMITH])
            .arg(&file));
    }
}

#[test]
fn line_numbers_in_debug_information_stay() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <stdio.h>\nint main(void) {\n  int a = 1;\n  a += 2; a *= 3;\n  printf(\"%d\\n\", a);\n  return 0;\n}\n";
    let unit = parse(text);
    let points: Vec<_> = unit.points().points.iter().collect();
    let instrumented = instrument::barriers(&unit, &points).unwrap();
    std::fs::write(folder.path().join("t.c"), instrumented).unwrap();
    std::fs::write(folder.path().join("barrier.h"), instrument::BARRIER_HEADER).unwrap();
    for compiler in ["gcc-12", "clang-19"] {
        let assembly = run(Command::new(compiler).current_dir(folder.path()).args([
            "-g",
            "-O0",
            "-S",
            "-o-",
            "-include",
            "barrier.h",
            "t.c",
        ]));
        let mut call_lines = Vec::new();
        let mut line = 0;
        for text in assembly.lines() {
            let words: Vec<&str> = text.split_whitespace().collect();
            if let [".loc", _, number, ..] = words.as_slice() {
                line = number.parse().unwrap();
            } else if text.contains("call") && text.contains("opt_me_not") {
                call_lines.push(line);
            }
        }
        let expected: Vec<u32> = points.iter().map(|p| p.line).collect();
        assert_eq!(call_lines, expected, "{compiler}");
    }
}

#[test]
fn one_library_serves_many_threads() {
    let text = csmith(SEEDS[0]);
    let unit = try_parse(&text, &[CSMITH]).unwrap();
    let expected: Vec<usize> = unit.points().points.iter().map(|p| p.offset).collect();
    let clang: Clang = clang().clone();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (clang, text, expected) = (clang.clone(), &text, &expected);
            scope.spawn(move || {
                let flags = [CSMITH.to_string()];
                for _ in 0..2 {
                    let path = PathBuf::from(format!("/nowhere/{number}.c"));
                    let unit = clang.parse(&path, Some(text), &flags).unwrap();
                    let offsets: Vec<usize> =
                        unit.points().points.iter().map(|p| p.offset).collect();
                    assert_eq!(&offsets, expected);
                }
            });
        }
    });
}

/// Every installed libclang, old ones too, sees the same points in the same program.
#[test]
fn all_installed_libclangs_agree() {
    let text = csmith(SEEDS[1]);
    let flags = [CSMITH.to_string()];
    let found = candidates();
    assert!(!found.is_empty());
    let mut results = Vec::new();
    for path in found {
        let clang = Clang::load_from(&path).unwrap();
        assert!(clang.version().contains("clang version"), "{clang:?}");
        let unit = clang
            .parse(Path::new("/nowhere/t.c"), Some(&text), &flags)
            .unwrap();
        let kinds: Vec<_> = unit
            .points()
            .points
            .iter()
            .map(|p| (p.span.clone(), p.statement))
            .collect();
        let visible: usize = unit
            .points()
            .points
            .iter()
            .map(|p| unit.visible_at(p).len())
            .sum();
        results.push((path, kinds, unit.points().skipped.clone(), visible));
    }
    for result in &results {
        assert_eq!(
            (&result.1, &result.2, result.3),
            (&results[0].1, &results[0].2, results[0].3),
            "{:?}",
            result.0
        );
    }
}

#[test]
fn a_file_that_is_not_libclang_is_refused_with_a_reason() {
    let error = Clang::load_from(Path::new("/nowhere/libclang.so"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/nowhere/libclang.so") && error.contains("apt-get install"),
        "{error}"
    );
    let libc = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
    let error = Clang::load_from(libc).unwrap_err().to_string();
    assert!(error.contains("clang_getClangVersion"), "{error}");
}

#[test]
fn truncated_and_damaged_programs_are_errors_or_units() {
    let text = csmith(SEEDS[2]);
    let mut parsed = 0;
    let mut refused = 0;
    let mut try_one = |text: &str| match try_parse(text, &[CSMITH]) {
        Ok(unit) => {
            parsed += 1;
            let points: Vec<_> = unit.points().points.iter().collect();
            instrument::barriers(&unit, &points).unwrap();
        }
        Err(Error::Syntax { diagnostics, .. }) => {
            assert!(!diagnostics.is_empty());
            refused += 1;
        }
        Err(other) => panic!("{other}"),
    };
    // A small generator of our own: the cuts must be the same on every machine.
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..20 {
        try_one(&text[..random(text.len())]);
        let (from, to) = (random(text.len()), random(40));
        let to = (from + to).min(text.len());
        try_one(&format!("{}{}", &text[..from], &text[to..]));
    }
    try_one(&text);
    assert!(
        parsed > 0 && refused > 10,
        "{parsed} parsed, {refused} refused"
    );
}

#[test]
fn deep_and_large_programs() {
    // Nesting that would need megabytes of a caller's stack, on a thread that has few.
    let chain = |n: usize| {
        let ifs: String = (0..n)
            .map(|i| format!("if (a == {i}) {{ a = 1; }} else "))
            .collect();
        format!("int f(int a) {{ {ifs} a = 2; return a; }}")
    };
    let sum = |n: usize| {
        format!(
            "int f(int a) {{ a = 1{}; return ({{ a; a; }}); }}",
            " + a".repeat(n)
        )
    };
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(move || {
            assert_eq!(parse(&chain(1000)).points().points.len(), 1002);
            assert_eq!(parse(&sum(5_000)).points().points.len(), 3);
        })
        .unwrap()
        .join()
        .unwrap();
    assert!(try_parse(&format!("int f(void) {{ {} }}", "{".repeat(5000)), &[]).is_err());

    // Two megabytes: many functions of a Csmith program's density.
    let function = |n: usize| {
        let body: String = (0..40)
            .map(|i| format!("  if (a > {i}) {{ b = (a ^ b) + {i}; g[{i}] = b; }}\n"))
            .collect();
        format!("static int f{n}(int a, int b) {{\n{body}  return a + b;\n}}\n")
    };
    let text = format!(
        "int g[40];\n{}",
        (0..1100).map(function).collect::<String>()
    );
    assert!(text.len() > 2_000_000, "{}", text.len());
    let unit = parse(&text);
    assert_eq!(unit.points().points.len(), 1100 * 121);
    assert_eq!(unit.points().skipped.len(), 0);
}

#[test]
fn latin_1_strings_compile_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = b"/* \xe9t\xe9 */\nint main(void) { const char *s = \"\xe91\"; return (unsigned char)s[0] != 0xe9 || s[1] != '1'; }\n";
    let file = folder.path().join("latin.c");
    std::fs::write(&file, bytes).unwrap();
    let unit = clang().parse(&file, None, &[]).unwrap();
    assert_eq!(unit.points().points.len(), 2);
    std::fs::write(&file, unit.text()).unwrap();
    let binary = folder.path().join("latin");
    run(Command::new("gcc-12").arg("-o").arg(&binary).arg(&file));
    run(&mut Command::new(&binary));
}

/// Both would take libclang for hours or for all of the memory.
#[test]
fn programs_that_would_exhaust_the_front_end_are_refused() {
    let started = std::time::Instant::now();
    let huge = "static const int a[1L << 33] = {[(1L << 33) - 1] = 1};\n\
                _Static_assert(1, \"\");\nconstexpr int x = a[0];\n";
    let mut bomb = String::from("#define A0 x;x;x;x;x;x;x;x;x;x;\n");
    for level in 1..9 {
        let below = format!("A{} ", level - 1);
        bomb += &format!("#define A{level} {}\n", below.repeat(10));
    }
    bomb += "void f(int x) { A8 }\n";
    for (text, flags) in [(huge, vec!["-std=c2x"]), (bomb.as_str(), vec![])] {
        match try_parse(text, &flags) {
            Err(Error::Frontend { reason, .. }) => {
                assert!(reason.contains("clang"), "{reason}");
            }
            // Where the front end is wise enough to refuse it itself, nothing is lost.
            Err(Error::Syntax { .. }) if text == huge => {}
            other => panic!(
                "{:?} after {:?}",
                other.map(|_| "parsed"),
                started.elapsed()
            ),
        }
    }
    // The library is as good as before.
    assert!(try_parse("int main(void) { return 0; }\n", &[]).is_ok());
}
