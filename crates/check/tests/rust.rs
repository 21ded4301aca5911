//! Rust programs: every class of value, a planted lie, moves, and the counter of the paper's Figure 10.

#![allow(clippy::unwrap_used)]

mod world;

use std::path::{Path, PathBuf};

use candor_check::{PointChoice, Report};
use candor_toolchain::{Compiler, Program};
use world::{Question, assert_caught, probe, script};

fn rustc() -> Compiler {
    probe("rustc")
}

fn ask(name: &str, text: &str, points: PointChoice, levels: &[&str]) -> Report {
    let builds: Vec<(&str, &str)> = levels.iter().map(|level| ("rustc", *level)).collect();
    let mut question = Question::new(Program::from_text(Path::new(name), text.into()), &builds);
    question.points = points;
    question.extra.push(rustc());
    question.ask().unwrap()
}

fn corpus(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/rust/corpus");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

const ZOO: &str = "\
enum Shape { Circle(i32), Rect { w: i32, h: i64 }, Unit }
struct Named { id: u16, name: String }
fn main() {
    let number: i128 = -5;
    let letter = 'x';
    let flag = true;
    let text = \"hello\";
    let pair = (1u8, (2i64, 3.5f32));
    let shapes = [Shape::Circle(3), Shape::Rect { w: 1, h: 2 }, Shape::Unit];
    let named = Named { id: 9, name: String::from(\"abc\") };
    let some: Option<&i32> = Some(&5);
    let none: Option<&i32> = None;
    let boxed = Box::new(7i32);
    let list = vec![10u8, 20, 30];
    let slice = &list[1..];
    let result: Result<u8, i64> = Err(-1);
    let mut counter = 0u32;
    let mut step = || {
        counter += 1;
    };
    step();
    println!(\"{number} {letter} {flag} {text} {pair:?} {} {} {some:?} {none:?} {boxed} {slice:?} {result:?}\", shapes.len(), named.id);
    println!(\"{} {counter}\", named.name);
}
";

/// How many scalars of a variable are compared at line 22, all of them equal without optimisation.
fn parts(variable: &str) -> u64 {
    let points = PointChoice::At {
        line: 22,
        variable: variable.into(),
    };
    let report = ask("zoo.rs", ZOO, points, &["-O0"]);
    let counts = report.summary[0].counts;
    assert_eq!(counts.equal, counts.total(), "{variable}: {report:#?}");
    counts.equal
}

#[test]
fn every_class_of_value_is_read() {
    for (variable, count) in [
        ("number", 1),
        ("letter", 1),
        // the length and the letters
        ("text", 1 + 5),
        ("pair", 3),
        // which variant each is, and the fields of that one
        ("shapes", (1 + 1) + (1 + 2) + 1),
        ("some", 1 + 1),
        ("none", 1),
        ("boxed", 1),
        ("list", 1 + 3),
        ("slice", 1 + 2),
        ("result", 1 + 1),
    ] {
        assert_eq!(parts(variable), count, "{variable}");
    }
    // a number, and of the string length, capacity and letters
    assert!(parts("named") >= 5);
}

#[test]
fn debuggers_read_every_class_alike() {
    let mut question = Question::new(
        Program::from_text(Path::new("zoo.rs"), ZOO.into()),
        &[("rustc", "-O0")],
    );
    question.extra.push(rustc());
    question.settings.audit = true;
    let report = question.ask().unwrap();
    let gdb: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.blame == "gdb")
        .collect();
    assert!(gdb.is_empty(), "{gdb:#?}");
    assert_eq!(report.summary[0].counts.wrong, 0);
}

#[test]
fn a_falsified_constant_is_caught() {
    let directory = tempfile::tempdir().unwrap();
    // 1592639215 is EF FD B6 F7 05 as a LEB128 number; without optimisation it is in the code instead, and stays
    let (from, to) = (r"\xef\xfd\xb6\xf7\x05", r"\xee\xfd\xb6\xf7\x05");
    let real = rustc().path.display().to_string();
    let liar = world::liar(directory.path(), "rustc", &real, from, to);
    let name = liar.name.clone();
    let text = "fn main() {\n    let secret = 1592639215u32;\n    println!(\"a\");\n    println!(\"b\");\n}\n";
    let mut question = Question::new(
        Program::from_text(Path::new("planted.rs"), text.into()),
        &[("rustc", "-O2")],
    );
    question.builds.push((name.clone(), "-O2".into()));
    question.extra.extend([rustc(), liar]);
    assert_caught(&question.ask().unwrap(), &name);
}

/// The closure counter of paper 000, Figure 10: rustc showed it wrong in 2019.
#[test]
fn the_closure_counter_is_right_today() {
    let text = corpus("closure_counter.rs");
    let report = ask(
        "closure_counter.rs",
        &text,
        PointChoice::All,
        &["-O0", "-O1", "-O2"],
    );
    let control = &report.summary[0];
    assert_eq!(control.counts.equal, control.counts.total(), "{report:#?}");
    assert!(control.counts.equal > 20);
    let about: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.variable == "counter")
        .collect();
    assert!(about.is_empty(), "{about:#?}");
    assert!(!report.findings.iter().any(|f| f.level == "-O0"));
}

/// What was moved away is not compared, and what rustc refuses to borrow is no evidence.
#[test]
fn moved_values_prove_nothing() {
    let text = corpus("moves.rs");
    let report = ask("moves.rs", &text, PointChoice::All, &["-O0", "-O2"]);
    assert_eq!(report.summary[0].counts.wrong, 0, "{report:#?}");
    for finding in &report.findings {
        assert!(!["first", "second"].contains(&finding.variable.split('.').next().unwrap()));
    }
}

/// What is left out is counted: what a macro makes, what may be moved, what shares name and line, raw pointers.
#[test]
fn what_is_not_compared_is_counted() {
    let text = "\
macro_rules! two { () => {{ let inner = 1; inner + 1 }} }
fn main() {
    let owned = String::from(\"a\");
    let number = two!();
    let raw = &raw const number;
    let same = 1; let same = same + 1;
    let taken = owned;
    println!(\"{taken} {same}\");
    println!(\"{number} {}\", raw.is_null());
}
";
    let report = ask("left_out.rs", text, PointChoice::All, &["-O0"]);
    assert_eq!(report.skipped["MacroExpansion"], 1, "{:?}", report.skipped);
    let left_out = &report.not_compared;
    // `owned` behind line 7, both of `same` behind line 6, `raw` behind line 5
    assert!(left_out["MaybeMoved"] >= 2, "{left_out:?}");
    assert!(left_out["SameNameAndLine"] >= 2, "{left_out:?}");
    assert!(left_out["TypeNotCompared"] >= 2, "{left_out:?}");
    let counts = report.summary[0].counts;
    assert!(counts.equal > 0 && counts.equal == counts.total());
    let clean = "fn main() {\n    let number = 1;\n    println!(\"{number}\");\n}\n";
    let report = ask("all_in.rs", clean, PointChoice::All, &["-O0"]);
    assert!(report.not_compared.is_empty(), "{:?}", report.not_compared);
}

/// Where no barrier is called, not even in the reference, there is nothing to compare, and that is said.
#[test]
fn a_program_without_a_reached_point_is_no_error() {
    let text = "fn idle(n: i32) -> i32 {\n    let m = n;\n    m\n}\nfn main() {}\n";
    let report = ask("idle.rs", text, PointChoice::All, &["-O2"]);
    assert_eq!((report.stops, report.findings.len()), (0, 0));
    let notes = report.notes.join("; ");
    assert!(notes.contains("no chosen point is ever reached"), "{notes}");
}

/// A program with `unsafe`, with a stand-in for Miri beside rustc that says something.
fn with_miri(says: &str, code: u8) -> Result<Report, candor_check::Error> {
    let directory = tempfile::tempdir().unwrap();
    let real = rustc().path.display().to_string();
    script(
        &directory.path().join("rustc"),
        &format!("exec {real} \"$@\"\n"),
    );
    script(
        &directory.path().join("miri"),
        // it gets the program and its edition, as Miri would
        &format!(
            "case \"$*\" in *--edition=2021*unsafe_pointers.rs*) ;; *) echo \"error: called with $*\" >&2; exit 1;; esac\n\
             echo '{says}' >&2; exit {code}\n"
        ),
    );
    let rustc = probe(&directory.path().join("rustc").display().to_string());
    let text = corpus("unsafe_pointers.rs");
    let mut question = Question::new(
        Program::from_text(Path::new("unsafe_pointers.rs"), text),
        &[],
    );
    question.builds.push((rustc.name.clone(), "-O0".into()));
    question.extra.push(rustc);
    question.ask()
}

#[test]
fn miri_has_a_say_on_unsafe_code() {
    let notes = |report: Report| report.notes.join("; ");
    let report = with_miri("", 0).unwrap();
    assert!(notes(report).contains("Miri finds no undefined behaviour"));
    let error = with_miri("error: Undefined Behavior: dangling reference", 1).unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains("undefined behaviour (Miri)") && words.contains("dangling reference"),
        "{words}"
    );
    let report = with_miri("error: unsupported operation: foreign function", 1).unwrap();
    let notes = notes(report);
    assert!(
        notes.contains("Miri could not judge") && notes.contains("foreign function"),
        "{notes}"
    );
}

#[test]
fn unsafe_code_is_said() {
    let report = ask(
        "unsafe_pointers.rs",
        &corpus("unsafe_pointers.rs"),
        PointChoice::All,
        &["-O0"],
    );
    assert!(
        report.notes.iter().any(|note| note.contains("unsafe")),
        "{:?}",
        report.notes
    );
    assert!(report.findings.is_empty());
}
