//! `candor reduce` as it is typed: the five forms' errors, and that nothing is lost.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

fn candor(directory: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_candor"))
        .current_dir(directory)
        .args(words)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const PROGRAM: &str =
    "int unused(int a) { return a * 2; }\nint main(void) { int keep = 3; return keep - 3; }\n";

/// A directory with a program and a script that finds `keep` interesting.
fn playground() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("prog.c"), PROGRAM).unwrap();
    let script = directory.path().join("interesting.sh");
    std::fs::write(
        &script,
        "#!/bin/sh\ngrep -q keep prog.c && gcc-12 -w -c prog.c\n",
    )
    .unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

#[test]
fn a_command_decides_and_the_original_stays() {
    let directory = playground();
    let here = directory.path();
    let words = [
        "reduce",
        "prog.c",
        "--command",
        "./interesting.sh",
        "--json",
        "--keep-names",
    ];
    let output = candor(here, &words);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = std::fs::read_to_string(here.join("prog.reduced.c")).unwrap();
    assert_eq!(report["text"], text.as_str());
    assert!(text.contains("keep") && !text.contains("unused"), "{text}");
    assert!(report["after"]["tokens"].as_u64() < report["before"]["tokens"].as_u64());
    assert_eq!(
        std::fs::read_to_string(here.join("prog.c")).unwrap(),
        PROGRAM
    );
    // the case beside it can be reduced again
    assert!(here.join("prog.reduced.json").exists());
    let again = candor(here, &["reduce", "prog.reduced.json", "-o", "again.c"]);
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
}

#[test]
fn what_cannot_be_reduced_is_refused_in_words() {
    let directory = playground();
    let here = directory.path();
    std::fs::write(here.join("letter.json"), "{ \"dear\": \"compiler\" }").unwrap();
    std::fs::write(here.join("letter.c"), "Dear compiler,\nthis is a letter.\n").unwrap();
    let refused = |words: &[&str], expected: &str| {
        let output = candor(here, words);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{words:?}: {}",
            said(&output)
        );
        assert!(
            said(&output).contains(expected),
            "{words:?}: {}",
            said(&output)
        );
        assert!(!here.join("prog.reduced.c").exists());
    };
    refused(&["reduce", "prog.c"], "say what is wrong with it");
    refused(&["reduce", "none.json"], "cannot read none.json");
    refused(&["reduce", "letter.json"], "is not a candor finding");
    refused(
        &["reduce", "prog.c", "--command", "./none.sh"],
        "cannot be the predicate",
    );
    refused(
        &["reduce", "prog.c", "--crashes", "--cc", "gcc-12", "-O2"],
        "no crash: built",
    );
    refused(
        &["reduce", "letter.c", "--crashes", "--cc", "gcc-12", "-O2"],
        "is not C",
    );
    refused(
        &[
            "reduce",
            "prog.c",
            "--miscompiles",
            "--cc",
            "gcc-12",
            "-O2",
            "--against",
            "-O0",
        ],
        "both builds end alike",
    );
    refused(
        &[
            "reduce",
            "prog.c",
            "--check",
            "wrong-value",
            "--cc",
            "gcc-12",
            "-O1",
        ],
        "shows no wrong-value; seen instead: nothing wrong",
    );
    refused(
        &["reduce", "prog.c", "--check", "sadness", "--cc", "gcc-12"],
        "no kind of finding",
    );
    refused(
        &[
            "reduce",
            "prog.c",
            "--command",
            "./interesting.sh",
            "-o",
            "prog.c",
        ],
        "stays untouched",
    );
    refused(
        &[
            "reduce",
            "prog.c",
            "--command",
            "./interesting.sh",
            "-o",
            "/proc/none/x.c",
        ],
        "cannot write into",
    );
    refused(
        &["reduce", "prog.c", "--crashes", "--with", "magic"],
        "--with takes `cvise`",
    );
}

/// Nothing can be written any more: that is said, and every file that was there stays as it was.
#[test]
fn a_full_disk_loses_nothing() {
    let directory = playground();
    let here = directory.path();
    std::fs::write(here.join("out.c"), "old\n").unwrap();
    // no file may grow beyond zero blocks, as on a full disk; pipes still work
    let line = format!(
        "ulimit -f 0; trap '' XFSZ; exec {} reduce prog.c --command /bin/true -o out.c",
        env!("CARGO_BIN_EXE_candor")
    );
    let output = Command::new("bash")
        .current_dir(here)
        .args(["-c", &line])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_eq!(
        std::fs::read_to_string(here.join("out.c")).unwrap(),
        "old\n"
    );
    assert_eq!(
        std::fs::read_to_string(here.join("prog.c")).unwrap(),
        PROGRAM
    );
}
