//! The rounds of a check: what a plain check finds of public reports, that it finds nothing where nothing is wrong, and
//! programs that are hard to look at.

#![allow(clippy::unwrap_used)]

mod world;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candor_check::{Effort, Kind, PointChoice, Round};
use candor_toolchain::Program;
use world::{Question, cases};

fn programs(folder: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(cases().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "c"))
        .collect();
    all.sort();
    assert!(!all.is_empty(), "no programs in {folder}");
    all
}

fn question(path: &Path, builds: &[(&str, &str)], points: PointChoice) -> Question {
    let mut question = Question::new(Program::load(path).unwrap(), builds);
    question.points = points;
    question
}

/// What gdb shows wrong of a program in `recall`: the variable's name, and the first build that shows it.
struct Shown {
    root: String,
    compiler: String,
    level: String,
}

impl Shown {
    /// From the line `// shows: VARIABLE line LINE expected VALUE shown VALUE in COMPILER:LEVEL ...`.
    fn read(text: &str) -> Option<Shown> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("// shows: "))?;
        let variable = line.split(' ').next()?;
        let build = line.split(" in ").last()?.split(' ').next()?;
        let (compiler, level) = build.split_once(':')?;
        Some(Shown {
            root: variable.split(['.', '[']).next()?.to_owned(),
            compiler: compiler.to_owned(),
            level: level.to_owned(),
        })
    }
}

/// The programs are written anew after public reports; `recall/gdb.py` shows each in gdb. A plain check finds nine of ten.
#[test]
fn what_was_reported_in_public_is_found() {
    let (mut missed, mut all) = (Vec::new(), 0);
    for path in programs("recall") {
        let shown = Shown::read(&std::fs::read_to_string(&path).unwrap()).expect("a `shows` line");
        let builds = [(shown.compiler.as_str(), shown.level.as_str())];
        let mut question = question(&path, &builds, PointChoice::Rounds(Effort::Normal));
        // gdb.py --sanitize has judged them
        question.settings.judged = true;
        let report = question.ask().unwrap();
        all += 1;
        let found = report.findings.iter().any(|finding| {
            let root = finding.variable.split(['.', '[']).next();
            root == Some(&shown.root)
        });
        if !found {
            missed.push(path.file_name().unwrap().to_owned());
        }
    }
    assert!(all >= 40, "{all} programs");
    assert!(missed.len() * 10 <= all, "missed of {all}: {missed:?}");
}

/// gdb shows an old value because a store comes late, or never: that is no fault of the debug information, and without a
/// barrier nothing may be said of it.
#[test]
fn late_stores_are_nobodys_fault_without_barriers() {
    for path in programs("late_stores") {
        let shown = Shown::read(&std::fs::read_to_string(&path).unwrap()).expect("a `shows` line");
        let builds = [(shown.compiler.as_str(), shown.level.as_str())];
        let report = question(&path, &builds, PointChoice::None).ask().unwrap();
        assert!(
            report.findings.is_empty(),
            "{}\n{report:#?}",
            path.display()
        );
    }
}

#[test]
fn nothing_is_found_without_barriers_where_nothing_is_wrong() {
    let builds = [("clang-19", "-O2"), ("gcc-12", "-O2"), ("gcc-12", "-Og")];
    for path in programs("clean") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut question = question(&path, &builds, PointChoice::None);
        for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
            match line.split_once(": ") {
                Some(("stdin", input)) => {
                    question.program.stdin = format!("{input}\n").into_bytes()
                }
                Some(("args", words)) => {
                    question.program.arguments = words.split(' ').map(str::to_owned).collect();
                }
                Some(("flags", words)) => {
                    question.program.flags = words.split(' ').map(str::to_owned).collect();
                }
                _ => {}
            }
        }
        let Ok(report) = question.ask() else {
            // a program that only one of the two takes is the matter of `cases`
            continue;
        };
        assert!(
            report.findings.is_empty(),
            "{}\n{report:#?}",
            path.display()
        );
        // gdb and lldb take some expressions that the standard does not allow
        let doubts = report
            .undecided
            .iter()
            .filter(|open| !open.reason.contains("ill-formed"));
        assert_eq!(doubts.count(), 0, "{}\n{report:#?}", path.display());
    }
}

/// The control: what is not optimised is right, in every round.
#[test]
fn nothing_is_found_in_unoptimised_builds() {
    let builds = [
        ("gcc-12", "-O0"),
        ("clang-19", "-O0"),
        ("clang-14", "-O0"),
        ("gcc-11", "-O0"),
    ];
    let mut compared = 0;
    let some = programs("recall").into_iter().step_by(6);
    let ordinary = programs("../mutate/ordinary").into_iter().step_by(8);
    for path in some.chain(programs("found")).chain(ordinary) {
        let report = question(&path, &builds, PointChoice::Rounds(Effort::Normal)).ask();
        let Ok(report) = report else { continue };
        let wrong: Vec<_> = report
            .findings
            .iter()
            // the debug information of clang 16 may be right and lldb's reading of it wrong, which is asked elsewhere
            .filter(|finding| finding.kind != Kind::DebuggerDisagrees)
            .collect();
        assert!(wrong.is_empty(), "{}\n{wrong:#?}", path.display());
        assert!(
            report.undecided.is_empty(),
            "{}\n{report:#?}",
            path.display()
        );
        let quiet = report.rounds.iter().filter(|row| row.round == Round::Quiet);
        compared += quiet.map(|row| row.counts.compared()).sum::<u64>();
    }
    // what is in memory is compared at calls of library functions only
    assert!(compared > 0);
}

/// clang stores several elements at once, so that one of them has its value before its statement is reached.
#[test]
fn elements_that_are_stored_together_are_not_wrong() {
    let text = "int buf[64];\n\
        static int sum(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) { int t = a[i] * 3; s += t; } return s; }\n\
        int main(void) { for (int i = 0; i < 64; i++) buf[i] = i * 7 % 13; int r = sum(buf, 64); __builtin_printf(\"%d\\n\", r); return 0; }\n";
    let program = Program::from_text(Path::new("together.c"), text.into());
    let mut question = Question::new(program, &[("clang-19", "-O2"), ("gcc-12", "-O2")]);
    question.points = PointChoice::None;
    let report = question.ask().unwrap();
    assert!(report.findings.is_empty(), "{report:#?}");
    for row in &report.summary {
        assert!(row.counts.compared() > 0, "{row:?}");
    }
}

/// The calls of library functions are moments that all builds share: at them the value must be the one it has then.
#[test]
fn at_a_call_of_a_library_function_the_moment_is_known() {
    let text = "#include <stdio.h>\n\
        int main(void) {\n  int a[7][8], b, j;\n  for (b = 0; b < 7; b++) {\n    for (j = 0; j < 8; j++)\n      a[b][j] = 0;\n  }\n\
          puts(\"here\");\n  return a[1][2];\n}\n";
    let program = Program::from_text(Path::new("moment.c"), text.into());
    let mut question = Question::new(
        program,
        &[("clang-19", "-O2"), ("clang-19", "-O0"), ("gcc-12", "-O0")],
    );
    question.points = PointChoice::None;
    let report = question.ask().unwrap();
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|f| {
            (
                f.variable.as_str(),
                f.line,
                f.expected.as_str(),
                f.shown.as_str(),
                f.level.as_str(),
            )
        })
        .collect();
    assert_eq!(found, [("j", 8, "8", "0", "-O2")], "{report:#?}");
    assert_eq!(report.findings[0].round, Round::Quiet);
}

/// A program may bring its barriers: reduction of a finding with few barriers rests on that.
#[test]
fn barriers_of_the_programs_own_are_used() {
    let text = "int a[7][8];\nint main() {\n  int b, j;\n  b = 0;\n  for (; b < 7; b++) {\n    j = 0;\n    for (; j < 8; j++)\n      a[b][j] = 0;\n  }\n\
          { extern void opt_me_not(void); opt_me_not(); } return 0;\n}\n";
    let program = Program::from_text(Path::new("own.c"), text.into());
    let mut question = Question::new(program, &[("clang-19", "-O2")]);
    for points in [PointChoice::Own, PointChoice::Rounds(Effort::Normal)] {
        question.points = points;
        let report = question.ask().unwrap();
        let j = report
            .findings
            .iter()
            .find(|finding| finding.variable == "j");
        assert_eq!(
            j.map(|j| (j.expected.as_str(), j.shown.as_str())),
            Some(("8", "0")),
            "{report:#?}"
        );
    }
}

#[test]
fn a_budget_is_kept_and_what_had_no_turn_is_said() {
    let path = cases().join("found/counter_left_at_start.c");
    let builds: Vec<(&str, &str)> = ["-Og", "-O1", "-O2", "-O3", "-Os"]
        .into_iter()
        .flat_map(|level| [("gcc-12", level), ("clang-19", level)])
        .collect();
    let mut question = question(&path, &builds, PointChoice::Rounds(Effort::Thorough));
    question.settings.budget = Some(Duration::from_millis(50));
    let report = question.ask().unwrap();
    let notes: Vec<_> = report
        .rounds
        .iter()
        .filter_map(|row| row.note.clone())
        .collect();
    assert!(
        notes.iter().any(|note| note.contains("--budget")),
        "{report:#?}"
    );
}

/// Programs that are hard to look at: bounded, said, nothing invented.
#[test]
fn odd_programs_are_looked_at_within_bounds() {
    let builds = [("gcc-12", "-O2"), ("clang-19", "-O2")];
    for path in programs("odd") {
        let started = Instant::now();
        let report = question(&path, &builds, PointChoice::Rounds(Effort::Quick)).ask();
        let name = path.display();
        // generous: it must end by itself, not be quick
        assert!(started.elapsed() < Duration::from_secs(180), "{name}");
        let report = report.unwrap_or_else(|error| panic!("{name}: {error}"));
        let invented: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.confirmed_by.len() < 2)
            .collect();
        assert!(invented.is_empty(), "{name}: {invented:#?}");
        assert!(!report.rounds.is_empty(), "{name}");
    }
}

#[test]
fn a_reference_that_takes_too_long_names_the_option() {
    let text = "int main(void) {\n  for (volatile long i = 0; i < 20000000000; i++) {\n  }\n  return 0;\n}\n";
    let program = Program::from_text(Path::new("long.c"), text.into());
    let mut question = Question::new(program, &[("gcc-12", "-O1")]);
    question.points = PointChoice::Rounds(Effort::Quick);
    question.settings.time = Duration::from_secs(1);
    let words = question.ask().unwrap_err().to_string();
    assert!(words.contains("--timeout"), "{words}");
}
