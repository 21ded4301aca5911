//! `candor conform` as a user runs it: every form of the manual, and what it says when something is wrong.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conform/table6")
}

/// `arguments` as one would type them.
fn conform(directory: &Path, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_candor"))
        .arg("conform")
        .args(arguments.split_whitespace())
        .current_dir(directory)
        .output()
        .unwrap()
}

/// Output and exit code, which must be the one expected.
fn said(directory: &Path, arguments: &str, code: i32) -> String {
    let output = conform(directory, arguments);
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{arguments}\n{text}");
    text
}

fn json(directory: &Path, arguments: &str) -> Value {
    let output = conform(directory, arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{arguments}: {error}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

const RECURSION: &str =
    "int fact(int n) {\n  if (n <= 1)\n    return 1;\n  return n * fact(n - 1);\n}\n";

#[test]
fn one_pass_on_ir_files() {
    let text = said(
        &inputs(),
        "--llvm 16 --pass tailcallelim 03-tailcallelim-branch.ll 19-tailcallelim-accumulator.ll",
        1,
    );
    assert!(
        text.contains("TailRecursionEliminator::eliminate+"),
        "{text}"
    );
    assert!(
        text.contains("incorrect location, should be Drop"),
        "{text}"
    );
    assert!(text.contains("LLVM 16: 2 of 2 tests judged"), "{text}");
}

#[test]
fn c_programs_and_pipelines_pass_by_pass() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("fact.c"), RECURSION).unwrap();
    let text = said(directory.path(), "--llvm 16 --pass tailcallelim fact.c", 1);
    assert!(text.contains("of @fact"), "{text}");
    // The same pass inside -O2, on what the passes before it made.
    let text = said(
        directory.path(),
        "--llvm 16 --pipeline default<O2> fact.c --per-pass",
        1,
    );
    assert!(
        text.contains("TailRecursionEliminator::eliminate+"),
        "{text}"
    );
    // Not pass by pass, verdicts are kept back, and that is said.
    let text = said(
        directory.path(),
        "--llvm 16 --pipeline sroa,tailcallelim fact.c",
        0,
    );
    assert!(text.contains("--per-pass"), "{text}");
}

#[test]
fn versions_are_compared() {
    let text = said(
        &inputs(),
        "--compare 16 19 --passes tailcallelim,div-rem-pairs --tests .",
        1,
    );
    let fixed = text.split("new:").next().unwrap();
    assert!(
        fixed.contains("TailRecursionEliminator::eliminate"),
        "{text}"
    );
    let still = text.split("still there:").nth(1).unwrap();
    assert!(still.contains("select lost"), "{text}");
}

/// A regression test must fail on the version with the error and pass on the one without.
#[test]
fn regression_tests_tell_the_versions_apart() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("tests");
    let pages = directory.path().join("pages");
    let report = json(
        &inputs(),
        &format!(
            "--llvm 16 --pass tailcallelim 19-tailcallelim-accumulator.ll --json --reduce -o {} --html {}",
            out.display(),
            pages.display()
        ),
    );
    let sites = report["sites"].as_array().unwrap();
    let site = sites
        .iter()
        .find(|site| {
            site["site"]["required"] == "Drop"
                && site["place"]
                    .as_str()
                    .is_some_and(|place| place.contains("eliminate+"))
        })
        .unwrap();
    assert_eq!(site["bug"], "incorrect");
    let detail = &site["detail"];
    assert!(
        detail["skeleton"]["call"]
            .as_str()
            .unwrap()
            .ends_with("->dropLocation();")
    );
    assert!(
        !detail["explanation"]["extra"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let test = detail["regression_test"].as_str().unwrap();
    assert_eq!(
        std::fs::read_dir(&out).unwrap().count(),
        sites.len(),
        "one file per site"
    );
    let file = directory.path().join("test.ll");
    std::fs::write(&file, test).unwrap();
    let passes = |version: u32| {
        let run = test.lines().next().unwrap().trim_start_matches("; RUN: ");
        let run = run
            .replace("opt ", &format!("opt-{version} "))
            .replace("FileCheck", &format!("FileCheck-{version}"))
            .replace("%s", file.to_str().unwrap());
        Command::new("sh")
            .args(["-c", &run])
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(!passes(16), "{test}");
    assert!(passes(19), "{test}");
    let index = std::fs::read_to_string(pages.join("index.html")).unwrap();
    assert!(index.contains("What LLVM 16"), "{index}");
    assert_eq!(
        index.matches(".html\">TailRecursion").count(),
        sites.len(),
        "{index}"
    );
    let first = std::fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("01-"))
        .unwrap();
    let page = std::fs::read_to_string(first).unwrap();
    assert!(
        page.contains("L_src") && page.contains("; RUN: opt"),
        "{page}"
    );
}

#[test]
fn one_bad_test_does_not_stop_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    let function = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n";
    put("good.ll", &format!("; RUN: opt -passes=gvn %s\n{function}"));
    put(
        "abort.ll",
        &format!("; RUN: opt -passes=trigger-crash-function %s\n{function}"),
    );
    put(
        "broken.ll",
        "; RUN: opt -passes=gvn %s\ndefine i32 @f() {\n  ret void\n}\n",
    );
    put(
        "option.ll",
        &format!("; RUN: opt -passes=gvn -no-such-option %s\n{function}"),
    );
    let text = said(directory.path(), "--llvm 19 --tests .", 0);
    assert!(text.contains("1 of 4 tests judged"), "{text}");
    assert!(text.contains("broken.ll:3:"), "{text}");
    assert!(
        text.contains("crashed") || text.contains("ended the process"),
        "{text}"
    );
    assert!(text.contains("no-such-option"), "{text}");
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(
        here.join("bad.ll"),
        "define void @f() {\nentry:\n  %x = add i32 1, true\n  ret void\n}\n",
    )
    .unwrap();
    std::fs::write(here.join("ok.ll"), "define void @f() {\n  ret void\n}\n").unwrap();
    std::fs::write(here.join("notes.txt"), "no IR").unwrap();
    std::fs::copy(
        "/lib/x86_64-linux-gnu/libm.so.6",
        here.join("libLLVM-16.so.1"),
    )
    .unwrap();
    let cases: [(&str, &str); 12] = [
        ("--llvm 16 --pass gvn bad.ll", "bad.ll:3:"),
        (
            "--llvm 16 --pass tailcalelim ok.ll",
            "did you mean tailcallelim",
        ),
        ("--llvm 16 --pipeline gvn,lcim ok.ll", "did you mean licm"),
        ("--llvm 16 --pipeline gvn( ok.ll", "is not a pipeline"),
        ("--llvm 16 ok.ll", "give --pass or --pipeline"),
        ("--llvm 16 --passes scalar ok.ll", "name a pass by --pass"),
        ("--llvm 16 --pass gvn missing.ll", "cannot read"),
        ("--llvm 16 --pass gvn notes.txt", "expected LLVM IR"),
        ("--llvm 3 --pass gvn ok.ll", "apt-get install"),
        ("--lib libLLVM-16.so.1 --pass gvn ok.ll", "libLLVM"),
        (
            "--pass gvn --without noise ok.ll",
            "there is no filter `noise`",
        ),
        ("--llvm 16", "give IR files"),
    ];
    for (arguments, expected) in cases {
        let text = said(here, arguments, 2);
        assert!(text.contains(expected), "{arguments}\n{text}");
        assert!(
            !text.contains("(os error 2): No such"),
            "said twice: {text}"
        );
    }
}

#[test]
fn lists_are_complete() {
    let directory = tempfile::tempdir().unwrap();
    let names = json(directory.path(), "--list-passes --llvm 19 --json");
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(names.contains(&"tailcallelim") && names.contains(&"simple-loop-unswitch"));
    let filters = json(directory.path(), "--list-filters --json");
    assert!(filters["one-pass"].is_string() && filters["same-function"].is_string());
}
