//! RUN lines of LLVM's regression tests: which pipeline, for which target, with which options.

use std::collections::BTreeSet;

use super::words::split;

/// One `opt` command of a RUN line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Which RUN line, counted from 1.
    pub number: usize,
    /// `-passes=`.
    pub pipeline: String,
    /// `-mtriple=`, or what `-march=` means.
    pub triple: Option<String>,
    /// `-mcpu=`.
    pub cpu: String,
    /// `-mattr=`.
    pub features: String,
    /// `-data-layout=`.
    pub layout: Option<String>,
    /// What the library itself understands.
    pub options: Vec<String>,
}

/// Options of `opt` itself, which the library does not have, and those that only change what is
/// printed.
const OPT_ONLY: [&str; 46] = [
    "S",
    "f",
    "o",
    "p",
    "passes",
    "disable-output",
    "verify",
    "verify-each",
    "disable-verify",
    "enable-new-pm",
    "stats",
    "debug",
    "debug-only",
    "time-passes",
    "strip-debug",
    "strip-named-metadata",
    "debugify",
    "check-debugify",
    "enable-debugify",
    "debugify-each",
    "debugify-quiet",
    "debugify-level",
    "verify-debuginfo-preserve",
    "verify-each-debuginfo-preserve",
    "preserve-ll-uselistorder",
    "preserve-bc-uselistorder",
    "discard-value-names",
    "aa-pipeline",
    "basic-aa",
    "tbaa",
    "scoped-noalias-aa",
    "globals-aa",
    "pass-remarks-output",
    "pass-remarks-format",
    "pass-remarks-filter",
    "pass-remarks-with-hotness",
    "pass-remarks-hotness-threshold",
    "print-changed",
    "print-after-all",
    "print-passes",
    "codegen-opt-level",
    "try-experimental-debuginfo-iterators",
    "experimental-debuginfo-iterators",
    "asan",
    "analyze",
    "thinlto-bc",
];

/// Options that take the next word when they have no `=`.
const WITH_VALUE: [&str; 8] = [
    "mtriple",
    "mcpu",
    "mattr",
    "march",
    "data-layout",
    "passes",
    "p",
    "o",
];

/// The `opt` commands of a test that read the test itself. `known` are the library's passes.
pub fn commands(text: &str, known: &BTreeSet<String>) -> Vec<Command> {
    let mut found = Vec::new();
    for (index, line) in run_lines(text).iter().enumerate() {
        let Some(words) = split(line) else { continue };
        let parts = words.split(|word| matches!(word.as_str(), "|" | "||" | "&&" | ";"));
        for (position, part) in parts.enumerate() {
            // What is not first in a pipe reads another command's output.
            let reads_test = part.iter().any(|word| word == "%s");
            if part.first().is_some_and(|word| word == "opt")
                && (reads_test || position > 0 && words.iter().any(|word| word == "%s"))
                && let Some(command) = command(part, index + 1, known)
            {
                found.push(command);
            }
        }
    }
    found
}

/// RUN lines with their continuations joined.
fn run_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for line in text.lines() {
        let Some((_, rest)) = line.split_once("RUN:") else {
            continue;
        };
        match rest.trim_end().strip_suffix('\\') {
            Some(part) => current.push_str(part),
            None => {
                current.push_str(rest);
                lines.push(std::mem::take(&mut current).trim().to_owned());
            }
        }
    }
    lines
}

fn command(words: &[String], number: usize, known: &BTreeSet<String>) -> Option<Command> {
    let mut command = Command {
        number,
        ..Command::default()
    };
    let mut legacy = Vec::new();
    let mut rest = words.iter().skip(1).peekable();
    while let Some(word) = rest.next() {
        if matches!(word.as_str(), "<" | ">" | ">>") {
            let file = rest.next()?;
            // Another file is the input.
            if word == "<" && file != "%s" {
                return None;
            }
            continue;
        }
        let Some(option) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
            // `-` and `%s` are the test; anything else is another file.
            if word != "%s" && word != "-" {
                return None;
            }
            continue;
        };
        let option = option.trim_start_matches('-');
        let (name, mut value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        if value.is_none() && WITH_VALUE.contains(&name) {
            value = rest.next().cloned();
        }
        let given = value.clone().unwrap_or_default();
        match name {
            "passes" | "p" => command.pipeline = given,
            "mtriple" => command.triple = Some(given),
            "march" => {
                command.triple.get_or_insert_with(|| triple_of(&given));
            }
            "mcpu" => command.cpu = given,
            "mattr" => command.features = given,
            "data-layout" => command.layout = Some(given),
            _ if OPT_ONLY.contains(&name) || is_level(name) || name.starts_with("passes-ep-") => {}
            _ if value.is_none() && known.contains(name) => legacy.push(name.to_owned()),
            _ => {
                // `-unroll-count 4` is `-unroll-count=4`.
                let number = rest
                    .peek()
                    .filter(|next| value.is_none() && next.chars().all(|c| c.is_ascii_digit()));
                match number {
                    Some(number) => {
                        command.options.push(format!("{word}={number}"));
                        rest.next();
                    }
                    None => command.options.push(word.clone()),
                }
            }
        }
    }
    if command.pipeline.is_empty() {
        command.pipeline = legacy.join(",");
    }
    let texts = [&command.pipeline].into_iter().chain(&command.options);
    let substituted = texts.into_iter().any(|text| text.contains('%'));
    (!command.pipeline.is_empty() && !substituted).then_some(command)
}

/// `O2`.
fn is_level(name: &str) -> bool {
    name.len() == 2 && name.starts_with('O')
}

/// The triple that stands for an architecture.
fn triple_of(architecture: &str) -> String {
    match architecture {
        "x86-64" => "x86_64",
        "x86" => "i386",
        "ppc32" => "powerpc",
        "ppc64" => "powerpc64",
        "ppc64le" => "powerpc64le",
        "systemz" => "s390x",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Command> {
        let known = ["loop-reduce", "licm"].map(str::to_owned).into();
        commands(text, &known)
    }

    #[test]
    fn the_usual_line() {
        let found = of(
            "; RUN: opt -S -passes='loop(licm)' -mtriple=x86_64-linux -mcpu skylake -licm-max 3 -x=y < %s | FileCheck %s",
        );
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!(
            (one.pipeline.as_str(), one.cpu.as_str()),
            ("loop(licm)", "skylake")
        );
        assert_eq!(one.triple.as_deref(), Some("x86_64-linux"));
        assert_eq!(one.options, ["-licm-max=3", "-x=y"]);
    }

    #[test]
    fn continuations_and_legacy_passes() {
        let found =
            of("; RUN: opt -loop-reduce -march=x86-64 \\\n; RUN:   -S %s -o - | FileCheck %s");
        assert_eq!(found[0].pipeline, "loop-reduce");
        assert_eq!(found[0].triple.as_deref(), Some("x86_64"));
        assert_eq!(found[0].number, 1);
    }

    #[test]
    fn other_commands_are_left_alone() {
        assert!(of("; RUN: not opt -passes=licm %s").is_empty());
        assert!(of("; RUN: llc < %s").is_empty());
        assert!(of("; RUN: opt -passes=licm %t").is_empty());
        assert!(of("; RUN: opt -passes=licm %S/Inputs/a.ll").is_empty());
        assert!(of("; RUN: opt -passes='%{passes}' %s").is_empty());
        assert!(of("; RUN: opt -S < %s").is_empty());
        assert_eq!(of("; RUN: cat %s | opt -passes=licm -S").len(), 1);
    }
}
