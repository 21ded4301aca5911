//! Rust programs as a user meets them: a package, pages, a hunt with its report, conform, isolate's words.
//!
//! The findings are of a compiler that lies: rustc, and then one byte of a constant in the debug information changed. What
//! rustc itself does wrong today may be mended tomorrow.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn candor(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_candor"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

/// All that was said, with the exit code that is expected.
fn said(output: &Output, code: i32) -> String {
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

fn script(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const PROGRAM: &str =
    "fn main() {\n    let secret = 1592639215u32;\n    println!(\"a\");\n    println!(\"b\");\n}\n";

/// A folder with `liar/rustc` and `programs/planted.rs`. 1592639215 is EF FD B6 F7 05 as a LEB128 number; without
/// optimisation it is in the code instead, and stays.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["liar", "programs"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    script(
        &folder.path().join("liar/rustc"),
        "#!/bin/sh\nrustc \"$@\" || exit 1\ncase \"$*\" in *'-o program '*)\n\
         perl -0777 -pi -e 's/\\xef\\xfd\\xb6\\xf7\\x05/\\xee\\xfd\\xb6\\xf7\\x05/g' program;; esac\n",
    );
    std::fs::write(folder.path().join("programs/planted.rs"), PROGRAM).unwrap();
    folder
}

#[test]
fn a_finding_has_pages_and_files() {
    let folder = place();
    let output = candor(
        folder.path(),
        &[
            "check",
            "programs/planted.rs",
            "--rustc",
            "liar/rustc",
            "-O2",
            "--save",
            "saved",
            "--html",
            "pages",
        ],
    );
    let text = said(&output, 1);
    assert!(text.contains("true value 1592639215"), "{text}");
    let finding = std::fs::read_dir(folder.path().join("saved"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .next()
        .unwrap();
    for name in [
        "finding.json",
        "planted.rs",
        "opt_me_not.rs",
        "reproduce.sh",
        "gdb.cmds",
    ] {
        assert!(finding.join(name).is_file(), "{name}");
    }
    let mut pages = String::new();
    for entry in walk(&folder.path().join("pages")) {
        if entry.extension().is_some_and(|end| end == "html") {
            pages += &std::fs::read_to_string(entry).unwrap();
        }
    }
    for wanted in ["planted.rs", "secret", "1592639215", "1592639214"] {
        assert!(pages.contains(wanted), "{wanted} is on no page");
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(walk(&path)),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn a_hunt_of_rust_programs_is_reported() {
    let folder = place();
    let liar = folder.path().join("liar/rustc");
    let output = candor(
        folder.path(),
        &[
            "hunt",
            "--corpus",
            "programs",
            "--generator",
            "none",
            "--cc",
            &liar.display().to_string(),
            "-O2",
            "--oracles",
            "debug",
            "--share",
            "0",
            "--store",
            "store",
        ],
    );
    said(&output, 1);
    let output = candor(folder.path(), &["report", "--store", "store", "--json"]);
    said(&output, 1);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = report.to_string();
    assert!(
        text.contains("secret") && text.contains("wrong-value"),
        "{text}"
    );
    let output = candor(
        folder.path(),
        &["report", "--store", "store", "--html", "pages"],
    );
    said(&output, 1);
    let mut pages = String::new();
    for entry in walk(&folder.path().join("pages")) {
        if entry.extension().is_some_and(|end| end == "html") {
            pages += &std::fs::read_to_string(entry).unwrap();
        }
    }
    assert!(
        pages.contains("1592639215") && pages.contains("println!"),
        "no page shows the program"
    );
}

#[test]
fn a_package_s_release_build_is_compared_with_its_debug_build() {
    let output = candor(
        &root(),
        &[
            "check",
            "--package",
            "tests/rust/package",
            "--bin",
            "app",
            "--json",
            "--",
            "240",
        ],
    );
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{}", said(&output, 1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &report["summary"][0];
    assert!(row["equal"].as_u64().unwrap() > 0, "{report:#}");
    // whatever is found is confirmed by a debugger, and is about what the function's parameters were copied into
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(code == Some(1), !findings.is_empty());
    for finding in findings {
        assert!(
            finding["confirmed_by"].as_array().unwrap().len() > 1,
            "{finding:#}"
        );
        assert!(
            ["a", "b"].contains(&finding["variable"].as_str().unwrap()),
            "{finding:#}"
        );
    }
    // there are no points, and visits are not counted to the end
    let output = candor(
        &root(),
        &["check", "--package", "tests/rust/package", "--bin", "app"],
    );
    let text = said(&output, code.unwrap());
    assert!(text.contains("app (release): "), "{text}");
    for odd in ["0 points", " of 0", "(release)  shows"] {
        assert!(!text.contains(odd), "{odd}: {text}");
    }
    let output = candor(
        &root(),
        &[
            "check",
            "--package",
            "tests/rust/package",
            "--bin",
            "nobody",
        ],
    );
    let text = said(&output, 2);
    assert!(text.contains("nobody"), "{text}");
}

/// A rustc whose LLVM nobody has.
#[test]
fn without_a_library_that_reads_rust_s_ir_it_is_said_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("p.rs");
    std::fs::write(&program, PROGRAM).unwrap();
    script(
        &folder.path().join("rustc"),
        "#!/bin/sh\ncase \"$*\" in *-vV*) echo 'LLVM version: 39.1.0';; *) exit 1;; esac\n",
    );
    let path = std::env::var("PATH").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_candor"))
        .args(["conform", "--pass", "licm", "p.rs"])
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .env("XDG_CACHE_HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = said(&output, 2);
    for wanted in [
        "LLVM 39",
        "scripts/llvm-library.sh 39",
        "link-time optimisation",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
    // a version or a path, and what is neither is said to be
    let output = candor(
        folder.path(),
        &["conform", "--llvm", "nowhere.so", "--pass", "licm", "p.rs"],
    );
    assert!(said(&output, 2).contains("cannot read nowhere.so"));
}

/// On a libLLVM that is new enough. Debian 12 has none: scripts/install.sh --tests fetches it.
#[test]
fn conform_judges_what_rustc_emits() {
    let program = "tests/rust/corpus/gcd.rs";
    let output = candor(
        &root(),
        &[
            "conform",
            "--pass",
            "licm",
            "--pass",
            "loop-rotate",
            "--json",
            program,
        ],
    );
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tally = &report["tally"];
    assert_eq!(tally["judged"].as_u64(), Some(2), "{tally:#}");
    assert!(tally["destinations"].as_u64().unwrap() > 10, "{tally:#}");
    assert_eq!(tally["check"]["unknown"].as_u64(), Some(0), "{tally:#}");
    // the library can be named by its path, too
    let library = report["library"].as_str().unwrap();
    let output = candor(
        &root(),
        &["conform", "--llvm", library, "--pass", "licm", program],
    );
    assert!(matches!(output.status.code(), Some(0 | 1)));
    // a library crate without anything public has no code to look at
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.rs"), "fn f() -> i32 { 1 }\n").unwrap();
    let output = candor(folder.path(), &["conform", "--pass", "licm", "p.rs"]);
    assert!(said(&output, 2).contains("no function in its IR"));
}
