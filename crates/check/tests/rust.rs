//! Rust programs: every class of value, a planted lie, moves, and the counter of the paper's Figure 10.

#![allow(clippy::unwrap_used)]

mod world;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use candor_check::{Kind, PointChoice, Report};
use candor_toolchain::{Compiler, Program};
use world::{Question, world};

fn rustc() -> Compiler {
    let world = world();
    Compiler::probe(&world.sandbox, &world.scratch, "rustc").unwrap()
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

/// rustc, and then one byte of a constant in the debug information of the linked file changed. 1592639215 is
/// EF FD B6 F7 05 as a LEB128 number; without optimisation it is in the code instead, and stays.
fn liar(directory: &Path) -> Compiler {
    let real = rustc().path.display().to_string();
    let script = directory.join("rustc");
    let text = format!(
        "#!/bin/sh\n{real} \"$@\" || exit 1\ncase \"$*\" in *'-o program '*)\n\
         perl -0777 -pi -e 's/\\xef\\xfd\\xb6\\xf7\\x05/\\xee\\xfd\\xb6\\xf7\\x05/g' program;; esac\n"
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let world = world();
    Compiler::probe(
        &world.sandbox,
        &world.scratch,
        &script.display().to_string(),
    )
    .unwrap()
}

#[test]
fn a_falsified_constant_is_caught() {
    let directory = tempfile::tempdir().unwrap();
    let liar = liar(directory.path());
    let text = "fn main() {\n    let secret = 1592639215u32;\n    println!(\"a\");\n    println!(\"b\");\n}\n";
    let mut question = Question::new(
        Program::from_text(Path::new("planted.rs"), text.into()),
        &[("rustc", "-O2")],
    );
    question.builds.push((liar.name.clone(), "-O2".into()));
    question.extra.extend([rustc(), liar]);
    let report = question.ask().unwrap();
    let [finding] = report.findings.as_slice() else {
        panic!("{report:#?}");
    };
    assert_eq!(finding.kind, Kind::WrongValue);
    assert_ne!(finding.compiler, "rustc");
    assert_eq!(
        (finding.expected.as_str(), finding.shown.as_str()),
        ("1592639215", "1592639214")
    );
    assert_eq!(finding.confirmed_by, ["native", "print", "gdb", "lldb"]);
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
