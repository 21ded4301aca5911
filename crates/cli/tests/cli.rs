//! What candor prints, word for word: `tests/cmd/*.trycmd` (TRYCMD=overwrite renews them), and the
//! commands that the README and the manual promise.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn printed_texts() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lines `$ candor ...` inside the `console` blocks of a page.
fn promised(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut commands = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line.starts_with("```console");
        } else if let Some(command) = line.strip_prefix("$ candor ").filter(|_| inside) {
            commands.push(command.to_owned());
        }
    }
    commands
}

#[test]
fn the_commands_of_readme_and_manual_run() {
    let mut pages = vec![root().join("README.md")];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    let scratch = tempfile::tempdir().unwrap();
    let mut ran = 0;
    for page in pages {
        for command in promised(&page) {
            let output = Command::new("sh")
                .args(["-c", &format!("{} {command}", env!("CARGO_BIN_EXE_candor"))])
                .current_dir(root())
                .env("OUT", scratch.path())
                .output()
                .unwrap();
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 1)),
                "{}: `candor {command}` ended with {code:?}\n{}{}",
                page.display(),
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            for written in command
                .split_whitespace()
                .filter_map(|word| word.strip_prefix("$OUT/"))
            {
                let path = scratch.path().join(written);
                assert!(path.exists(), "`candor {command}` wrote no {written}");
            }
            ran += 1;
        }
    }
    assert!(ran >= 5, "only {ran} commands found in the manual");
}

#[test]
fn doctor_speaks_json() {
    let output = Command::new(env!("CARGO_BIN_EXE_candor"))
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = json["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for expected in [
        "gcc-12", "clang-19", "gdb", "native", "csmith", "z3", "MSan",
    ] {
        assert!(names.contains(&expected), "{expected} not in {names:?}");
    }
    assert!(json["sandbox"]["pid_namespace"].is_boolean());
}

#[test]
fn doctor_without_anything_says_so_and_fails() {
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_candor"))
        .arg("doctor")
        .env("PATH", empty.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("apt-get install gdb"), "{text}");
    assert!(text.contains("candor check   cannot run"), "{text}");
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::new(env!("CARGO_BIN_EXE_candor"))
            .args(["completions", shell])
            .output()
            .unwrap();
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("candor") && text.contains("check"));
    }
}
