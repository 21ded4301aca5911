//! Whole-program cases: `tests/check/FOLDER/*.c`, where the folder is the expectation.
//!
//! A case begins with lines of the form `// key: value`:
//! - `builds: clang-19:-O2 gcc-12:-O1 ...` what is checked
//! - `at: 11:col` the single point and variable (else all points)
//! - `finds: KIND VARIABLE line LINE expected VALUE shown VALUE in BUILD BUILD ...` (folder `found`);
//!   every other build must find nothing, and so must `clean`
//! - `reason: WORDS` that the refusal contains (folder `rejected`)
//! - `not compared: REASON COUNT, REASON COUNT, ...` what is left out, exactly (folder `clean`)
//! - `notes: WORDS` that some note contains, `references: BUILD, BUILD, ...` exactly (folder `clean`)
//! - `audit: yes` debuggers are judged too
//! - `flags: A B` for every compiler
//! - `stdin: TEXT`, `args: A B` inputs of the program

#![allow(clippy::unwrap_used)]

mod world;

use std::collections::BTreeSet;
use std::path::Path;

use candor_check::{Finding, PointChoice};
use candor_toolchain::Program;
use world::{Question, cases};

fn headers<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    text.lines()
        .map_while(|line| line.strip_prefix("// "))
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
        .collect()
}

fn question(path: &Path) -> Question {
    let mut program = Program::load(path).unwrap();
    let text = program.text.clone();
    if let Some(input) = headers(&text, "stdin").first() {
        program.stdin = format!("{input}\n").into_bytes();
    }
    if let Some(words) = headers(&text, "args").first() {
        program.arguments = words.split(' ').map(str::to_owned).collect();
    }
    if let Some(words) = headers(&text, "flags").first() {
        program.flags.extend(words.split(' ').map(str::to_owned));
    }
    let builds = headers(&text, "builds");
    let builds = builds.first().expect("a `builds` line");
    let builds: Vec<(&str, &str)> = builds
        .split(' ')
        .map(|build| build.split_once(':').expect("COMPILER:LEVEL"))
        .collect();
    let mut question = Question::new(program, &builds);
    question.settings.audit = !headers(&text, "audit").is_empty();
    if let Some(at) = headers(&text, "at").first() {
        let (line, variable) = at.split_once(':').expect("LINE:VARIABLE");
        question.points = PointChoice::At {
            line: line.parse().unwrap(),
            variable: variable.into(),
        };
    }
    question
}

fn describe(finding: &Finding) -> String {
    format!(
        "{} {} line {} expected {} shown {}",
        finding.kind, finding.variable, finding.line, finding.expected, finding.shown
    )
}

fn files(folder: &str) -> Vec<std::path::PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(cases().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "c"))
        .collect();
    all.sort();
    assert!(!all.is_empty(), "no cases in {folder}");
    all
}

#[test]
fn wrong_debug_information_is_found_where_it_is_and_only_there() {
    for path in files("found") {
        let question = question(&path);
        let report = question.ask().unwrap();
        let mut expected = BTreeSet::new();
        for line in headers(&question.program.text, "finds") {
            let (what, builds) = line.split_once(" in ").expect("` in BUILD`");
            for build in builds.split(' ') {
                expected.insert(format!("{what} in {build}"));
            }
        }
        assert!(!expected.is_empty(), "{}", path.display());
        let found: BTreeSet<String> = report
            .findings
            .iter()
            .map(|f| format!("{} in {}:{}", describe(f), f.compiler, f.level))
            .collect();
        assert_eq!(found, expected, "{}\n{report:#?}", path.display());
        for finding in &report.findings {
            let by = &finding.confirmed_by;
            assert!(by.contains(&"native".to_owned()), "{finding:#?}");
            assert!(
                by.iter().any(|who| who == "gdb" || who == "lldb"),
                "{finding:#?}"
            );
            assert!(!finding.replay.is_empty());
        }
        assert!(report.undecided.is_empty(), "{:#?}", report.undecided);
    }
}

#[test]
fn nothing_is_found_in_clean_builds() {
    for path in files("clean") {
        let report = question(&path).ask().unwrap();
        assert!(
            report.findings.is_empty(),
            "{}\n{report:#?}",
            path.display()
        );
        assert!(
            report.undecided.is_empty(),
            "{}\n{report:#?}",
            path.display()
        );
        assert!(report.stops > 0, "{}", path.display());
        if let Some(expected) = headers(&question(&path).program.text, "not compared").first() {
            let counts: Vec<String> = report
                .not_compared
                .iter()
                .map(|(reason, count)| format!("{reason} {count}"))
                .collect();
            assert_eq!(counts.join(", "), *expected, "{}", path.display());
        }
        let text = &question(&path).program.text;
        for words in headers(text, "notes") {
            let said = report.notes.iter().any(|note| note.contains(words));
            assert!(said, "{}: {:#?}", path.display(), report.notes);
        }
        if let Some(expected) = headers(text, "references").first() {
            let references = report.references.join(", ");
            assert_eq!(references, *expected, "{}", path.display());
        }
        for row in &report.summary {
            assert!(row.note.is_none(), "{}: {row:?}", path.display());
            assert!(row.counts.equal > 0, "{}: {row:?}", path.display());
            assert_eq!(row.counts.wrong, 0, "{}: {row:?}", path.display());
        }
    }
}

#[test]
fn unfit_programs_are_refused_with_the_reason() {
    for path in files("rejected") {
        let question = question(&path);
        let reason = headers(&question.program.text, "reason");
        let reason = reason.first().expect("a `reason` line");
        let error = question.ask().expect_err(&path.display().to_string());
        let words = error.to_string();
        assert!(words.contains(reason), "{}: {words}", path.display());
    }
}
