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

/// What only the compiler under test can read is its own sort of C (a crash of gcc, PR 108522, is on such a program).
#[test]
fn a_dialect_of_the_compiler_is_c_too() {
    let directory = playground();
    let here = directory.path();
    let dialect = "#define ARGUMENTS (int n)\nint keep ARGUMENTS { struct { char s[n]; } x; return sizeof x; }\n";
    std::fs::write(here.join("prog.c"), dialect).unwrap();
    let words = [
        "reduce",
        "prog.c",
        "--command",
        "./interesting.sh",
        "--cc",
        "gcc-12",
        "-O0",
        "--keep-names",
    ];
    let output = candor(here, &words);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = std::fs::read_to_string(here.join("prog.reduced.c")).unwrap();
    assert!(text.contains("keep") && !text.contains("struct"), "{text}");
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

/// A program with much to drop, and a script that only looks for `keep`.
fn long_playground(script: &str) -> tempfile::TempDir {
    let directory = playground();
    let here = directory.path();
    let mut text: String = (0..30)
        .map(|number| format!("int f{number}(int a) {{ return a * {number}; }}\n"))
        .collect();
    text += PROGRAM;
    std::fs::write(here.join("prog.c"), text).unwrap();
    std::fs::write(
        here.join("interesting.sh"),
        format!("#!/bin/sh\n{script}\n"),
    )
    .unwrap();
    directory
}

/// Whether `text` is what is left of the long program on the way: smaller, and still of interest.
fn is_progress(text: &str) -> bool {
    text.contains("keep") && text.lines().count() < 30
}

/// The disk fills while candidates are kept on it. The best so far is written where there is room for
/// it, and printed where there is none.
#[test]
fn a_disk_that_fills_in_the_middle_keeps_the_best() {
    let directory = long_playground("grep -q keep prog.c");
    let here = directory.path();
    std::fs::create_dir(here.join("small")).unwrap();
    let run = |output: &str| {
        // a file system of five pages that nobody else sees
        let line = format!(
            "mount -t tmpfs -o size=20k tmpfs small && exec {} reduce prog.c --command ./interesting.sh \
             --keep-tried small/tried -o {output}",
            env!("CARGO_BIN_EXE_candor")
        );
        use std::os::unix::fs::MetadataExt;
        let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        Command::new("unshare")
            .current_dir(here)
            .args([if root { "-m" } else { "-rm" }, "sh", "-c", &line])
            .output()
            .unwrap()
    };
    let elsewhere = run("out.c");
    assert_eq!(elsewhere.status.code(), Some(2), "{}", said(&elsewhere));
    assert!(
        said(&elsewhere).contains("best so far"),
        "{}",
        said(&elsewhere)
    );
    let text = std::fs::read_to_string(here.join("out.c")).unwrap();
    assert!(is_progress(&text), "{text}");

    let there = run("small/out.c");
    assert_eq!(there.status.code(), Some(2), "{}", said(&there));
    assert!(said(&there).contains("printed above"), "{}", said(&there));
    let text = String::from_utf8_lossy(&there.stdout);
    assert!(is_progress(&text), "{text}");
    assert!(!here.join("small/out.c").exists());
}

#[test]
fn ctrl_c_keeps_the_best_so_far() {
    let directory = long_playground("sleep 0.1; grep -q keep prog.c");
    let here = directory.path();
    let mut child = Command::new(env!("CARGO_BIN_EXE_candor"))
        .current_dir(here)
        .args(["reduce", "prog.c", "--command", "./interesting.sh"])
        .args(["--keep-tried", "tried", "--keep-names", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // in the middle: a smaller program holds
    let smaller = || {
        let entries = std::fs::read_dir(here.join("tried")).ok()?;
        entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().ends_with("holds.c"))
            .find(|entry| {
                std::fs::read_to_string(entry.path()).is_ok_and(|text| is_progress(&text))
            })
    };
    while smaller().is_none() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        report["stopped"].as_str().unwrap().contains("interrupted"),
        "{report}"
    );
    assert!(report["verified"].is_null());
    let text = std::fs::read_to_string(here.join("prog.reduced.c")).unwrap();
    assert!(text.contains("keep") && text.len() < 1000, "{text}");
}

/// A second reducer gets our result and a script that asks candor. This one stands in for cvise: it
/// knows one thing we do not do with --keep-names.
#[test]
fn another_reducer_goes_on_from_our_result() {
    let directory = long_playground("grep -q kee prog.c");
    let here = directory.path();
    let fake = here.join("cvise");
    std::fs::write(
        &fake,
        "#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\ncp $2 before\nsed -i s/keep/lost/ $2\n\
         if $1; then exit 1; fi\ncp before $2; sed -i s/keep/kee/ $2\n$1\n",
    )
    .unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", here.display(), std::env::var("PATH").unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_candor"))
        .current_dir(here)
        .env("PATH", path)
        .args(["reduce", "prog.c", "--command", "./interesting.sh"])
        .args(["--with", "cvise", "--keep-names"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = std::fs::read_to_string(here.join("prog.reduced.c")).unwrap();
    assert!(text.contains("kee") && !text.contains("keep"), "{text}");
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
