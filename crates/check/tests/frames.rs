//! Lines, functions and callers: what is wrong is found, what only looks so is not; and the variables of callers.

#![allow(clippy::unwrap_used)]

mod world;

use std::path::Path;

use candor_check::{Kind, Report, Settings};
use candor_toolchain::Program;
use world::{Question, cases};

const LEVELS: [(&str, &str); 12] = [
    ("gcc-12", "-O0"),
    ("gcc-12", "-Og"),
    ("gcc-12", "-O1"),
    ("gcc-12", "-O2"),
    ("gcc-12", "-O3"),
    ("gcc-12", "-Os"),
    ("clang-19", "-O0"),
    ("clang-19", "-Og"),
    ("clang-19", "-O1"),
    ("clang-19", "-O2"),
    ("clang-19", "-O3"),
    ("clang-14", "-O2"),
];

fn ask(text: &str, builds: &[(&str, &str)]) -> Report {
    let program = Program::from_text(Path::new("frames.c"), text.into());
    let mut question = Question::new(program, builds);
    question.settings = Settings {
        globals: false,
        ..Settings::default()
    };
    question.ask().unwrap()
}

/// What is said of lines, frames, and variables further up.
fn about_frames(report: &Report) -> Vec<String> {
    let ours =
        |finding: &&candor_check::Finding| finding.kind.is_about_place() || finding.frame > 0;
    let found = report.findings.iter().filter(ours);
    found
        .map(|finding| {
            format!(
                "{} {} {}: {} in {:?}, {} shown {}",
                finding.compiler,
                finding.level,
                finding.kind,
                finding.variable,
                finding.function,
                finding.expected,
                finding.shown
            )
        })
        .collect()
}

/// Recursion in every form: into a loop, in part, into itself, with the help of others, and too deep to be walked.
const RECURSION: &str = "\
#include <stdio.h>
volatile int sink;
static int factorial(int n) {
  sink = n;
  if (n < 2) {
    return 1;
  }
  return n * factorial(n - 1);
}
static int fibonacci(int n) {
  sink = n;
  if (n < 2) {
    return n;
  }
  return fibonacci(n - 1) + fibonacci(n - 2);
}
static int odd(int n);
static int even(int n) {
  sink = n;
  return n == 0 ? 1 : odd(n - 1);
}
static int odd(int n) {
  sink = n;
  return n == 0 ? 0 : even(n - 1);
}
__attribute__((noinline)) static int deep(int n, int *steps) {
  int before = *steps;
  ++*steps;
  if (n > 0) {
    deep(n - 1, steps);
  }
  sink = *steps;
  return before;
}
int main(void) {
  int steps = 0;
  int total = factorial(5) + fibonacci(6);
  total += even(7);
  total += deep(500, &steps);
  printf(\"%d %d\\n\", total, steps);
  return 0;
}
";

#[test]
fn recursion_is_no_wrong_frame() {
    let report = ask(RECURSION, &LEVELS);
    assert_eq!(about_frames(&report), [""; 0], "{:#?}", report.undecided);
    for row in &report.summary {
        assert!(row.frames.same > 0, "{row:?}");
    }
}

#[test]
fn unoptimised_builds_show_every_line_and_frame_right() {
    let folder = cases().join("../mutate/ordinary");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "c"))
        .collect();
    files.sort();
    let mut compared = 0;
    for path in files.iter().take(14) {
        let program = Program::load(path).unwrap();
        let mut question = Question::new(program, &[("gcc-12", "-O0"), ("clang-19", "-O0")]);
        question.settings.globals = false;
        let report = question.ask().unwrap();
        assert!(
            report.findings.is_empty(),
            "{}\n{report:#?}",
            path.display()
        );
        for row in &report.summary {
            let frames = row.frames;
            let others = frames.wrong_line + frames.wrong_frame + frames.no_line + frames.undecided;
            assert_eq!(others, 0, "{}: {row:?}", path.display());
            compared += frames.same;
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// The same code at the end of a branch of two inlined functions.
#[test]
fn a_call_that_stands_for_two_is_told_apart() {
    let path = cases().join("found/branches_that_share_a_tail.c");
    let question = Question::new(Program::load(&path).unwrap(), &[("gcc-12", "-O2")]);
    let report = question.ask().unwrap();
    let [finding] = report.findings.as_slice() else {
        panic!("{report:#?}");
    };
    assert_eq!(finding.kind, Kind::WrongLine);
    assert_eq!(finding.signature.relation, "merged");
    assert_eq!(finding.confirmed_by, ["native", "gdb", "lldb"]);
    assert!(!finding.notes.is_empty());
    let row = &report.summary[0];
    assert_eq!(row.frames.wrong_line, 5, "{row:?}");
    assert!(
        row.counts.misplaced > 0 && row.counts.unaligned == 0,
        "{row:?}"
    );
}

/// clang keeps `i` as the negative of itself, and forgets the sign where the loop is left: seen from the inlined callee.
const NEGATED: &str = "\
#include <stdio.h>
#include <stdlib.h>
static int balance = 10;
static void spend(int amount) {
  balance -= amount;
  if (balance < 0) { fflush(stdout); exit(0); }
}
int main(void) {
  for (int i = 1; i < 10; i++) {
    printf(\"%d\\n\", balance);
    spend(i);
  }
  return 0;
}
";

#[test]
fn a_wrong_variable_of_the_function_around_an_inlined_one_is_found() {
    let report = ask(NEGATED, &[("clang-19", "-O0"), ("clang-19", "-Og")]);
    let [finding] = report.findings.as_slice() else {
        panic!("{report:#?}");
    };
    assert_eq!(finding.kind, Kind::WrongValue);
    assert_eq!((finding.variable.as_str(), finding.frame), ("i", 1));
    assert_eq!(finding.function.as_deref(), Some("main"));
    assert_eq!(
        (finding.expected.as_str(), finding.shown.as_str()),
        ("5", "-4")
    );
    assert_eq!(finding.confirmed_by, ["native", "gdb", "lldb"]);
}

/// A constant that only the debug information has, in a caller whose own barriers come before it is declared.
const CALLER: &str = "\
volatile int sink;
__attribute__((noinline)) static int callee(int n) {
  sink = n;
  return n + 1;
}
__attribute__((noinline)) static int caller(int n) {
  int secret = 1592639215;
  return callee(n + 1);
}
int main(void) {
  sink = caller(3);
  return 0;
}
";

#[test]
fn a_falsified_constant_of_a_caller_is_caught_in_its_own_frame() {
    let directory = tempfile::tempdir().unwrap();
    // 0x5eedbeef; nothing in the code uses it
    let (from, to) = (r"\xef\xbe\xed\x5e", r"\xee\xbe\xed\x5e");
    let liar = world::liar(directory.path(), "liar", "gcc-12", from, to);
    let program = Program::from_text(Path::new("caller.c"), CALLER.into());
    let mut question = Question::new(program, &[("gcc-12", "-O1")]);
    question
        .builds
        .push((liar.name.clone(), "-O1 -fno-optimize-sibling-calls".into()));
    question.extra.push(liar);
    // barriers in the callee alone: the caller's own would show it too
    let points = question.with_tools(|tools, request| {
        let all = candor_check::PointChoice::All;
        let plan = candor_check::Plan::new(tools.clang, request.program, &all).unwrap();
        let callee = plan
            .unit
            .functions()
            .iter()
            .position(|f| f.name == "callee");
        let points = plan.points().iter();
        points
            .filter(|point| Some(point.function) == callee || point.line == 8)
            .map(|point| point.id)
            .collect()
    });
    question.points = candor_check::PointChoice::Only(points);
    let report = question.ask().unwrap();
    let upper: u64 = report.summary.iter().map(|row| row.counts.wrong).sum();
    assert!(upper >= 3, "{report:#?}");
    world::assert_caught(&report, &question.builds[1].0);
}
