//! `candor prove` and `candor repair` as a user runs them.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const SOURCE: &str = "\
int a[4096], b[4096];
int g(int);
__attribute__((noinline)) void f(void) {
    for (int i = 0; i < 4000; i++)
        a[i] = b[i] + 1;
}
int through(int (*p)(int), int x) { return p(x); }
#ifndef NO_MAIN
int main(void) { f(); return 0; }
#endif
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.c"), SOURCE).unwrap();
    folder
}

fn build(folder: &Path, command: &str) {
    let mut words = command.split_whitespace();
    let status = Command::new(words.next().unwrap())
        .args(words)
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success(), "{command}");
}

/// Standard output and standard error; the exit code must be the one expected.
fn candor(folder: &Path, arguments: &str, code: i32) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_candor"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments}\n{out}{err}");
    (out, err)
}

#[test]
fn a_program_is_proved_repaired_run_and_shown() {
    let folder = folder();
    let at = folder.path();
    build(at, "clang-19 -O2 -g k.c -o app");
    let (out, _) = candor(
        at,
        "prove k.c app -f f --explain --certificate f.cert --timeout 600",
        0,
    );
    assert!(out.contains("f: proved"), "{out}");
    assert!(
        out.contains("source iterations per machine iteration"),
        "{out}"
    );
    assert!(out.contains("store at"), "{out}");
    candor(at, "prove k.c app --recheck f.cert --timeout 600", 0);

    let (out, err) = candor(
        at,
        "repair app -o fixed --source k.c -f f --certificate f.cert --validate --html out --explain --timeout 600",
        0,
    );
    assert!(out.contains("code unchanged"), "{out}");
    assert!(
        out.contains("a constant over the whole scope is removed"),
        "{out}"
    );
    let run = out
        .lines()
        .find(|line| line.contains("instructions run"))
        .unwrap();
    let (before, after) = run.split_once(" before, ").unwrap();
    // the two counts in the middle: wrong values
    assert!(!before.contains(" / 0 / "), "{run}");
    assert!(after.contains(" / 0 / "), "{run}");
    assert!(err.contains("written to fixed"), "{err}");
    let page = std::fs::read_to_string(at.join("out/01-f.html")).unwrap();
    for part in [
        "for (int i = 0; i &#60; 4000; i++)",
        "head of the loop of line 4",
        "i after",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(at.join("out/index.html").exists());
    // the mode is kept, and it still runs
    assert!(Command::new(at.join("fixed")).status().unwrap().success());

    let (out, _) = candor(
        at,
        "repair app --source k.c -f f --certificate f.cert --dry-run --validate --json --timeout 600",
        0,
    );
    let report: Value = serde_json::from_str(&out).unwrap();
    let walked = &report["functions"][0]["validation"]["walked"];
    assert_eq!(walked["after"]["wrong"], 0, "{out}");
    assert!(walked["before"]["wrong"].as_u64().unwrap() > 900, "{out}");
}

#[test]
fn what_cannot_be_proved_stays_byte_by_byte_as_it_was() {
    let folder = folder();
    let at = folder.path();
    build(at, "gcc-12 -O2 -g -DNO_MAIN -c k.c -o k.o");
    let (out, _) = candor(at, "repair k.o -o out.o --source k.c -f through", 1);
    assert!(out.contains("left as it is: not proved"), "{out}");
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert_eq!(bytes("k.o"), bytes("out.o"));
    let (_, err) = candor(at, "repair k.o -o k.o --source k.c -f through", 2);
    assert!(err.contains("the output is the input"), "{err}");
    let (_, err) = candor(at, "prove k.c k.o -f ff", 2);
    assert!(err.contains("did you mean `f`"), "{err}");
}

#[test]
fn a_wrong_program_is_different_and_the_processor_says_so() {
    let folder = folder();
    let at = folder.path();
    let wrong = SOURCE.replace("b[i] + 1", "b[i] + 1 + (i == 77)");
    std::fs::write(at.join("wrong.c"), wrong).unwrap();
    build(at, "gcc-12 -O2 -g -DNO_MAIN -c wrong.c -o wrong.o");
    let (out, _) = candor(at, "prove k.c wrong.o -f f -- -DNO_MAIN", 1);
    assert!(out.contains("f: DIFFERENT"), "{out}");
    assert!(
        out.contains("confirmed on the processor, with the source at -O0: at `a` + 308"),
        "{out}"
    );
}
