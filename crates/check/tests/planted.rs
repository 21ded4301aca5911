//! Violations planted on purpose: debug information falsified byte by byte must be caught.

#![allow(clippy::unwrap_used)]

mod world;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use candor_check::{Kind, Settings, Toolset, check, lines, save};
use candor_dwarf::Image;
use candor_toolchain::{Compiler, Program};
use candor_tracer::Debugger;
use world::{Question, assert_caught, script, world};

const PROGRAM: &str = "\
volatile int sink;
int main(void) {
  int secret = 1592639215;
  sink = 1;
  sink = 2;
  return 0;
}
";

/// 1592639215 is 0x5eedbeef; nothing in the code uses it.
fn liar(directory: &Path) -> Compiler {
    let (from, to) = (r"\xef\xbe\xed\x5e", r"\xee\xbe\xed\x5e");
    world::liar(directory, "liar", "gcc-12", from, to)
}

#[test]
fn a_falsified_constant_is_caught() {
    let directory = tempfile::tempdir().unwrap();
    let liar = liar(directory.path());
    let name = liar.name.clone();
    let program = Program::from_text(Path::new("planted.c"), PROGRAM.into());
    let mut question = Question::new(program, &[("gcc-12", "-O2")]);
    question.builds.push((name.clone(), "-O2".into()));
    question.extra.push(liar);
    assert_caught(&question.ask().unwrap(), &name);
}

/// A build whose statics start otherwise than the references': one of them is read somewhere, the other never.
#[test]
fn a_static_that_is_read_is_no_write_only_static() {
    let text = "#ifndef START\n#define START 4\n#endif\n\
         static volatile int written = START;\nstatic volatile int read_once = START;\nint g;\n\
         int main(int argc, char **argv) {\n  g = 1;\n\
         \x20 if (argc > 3) g = read_once + argv[0][0];\n  written = 6;\n  g = 2;\n  return 0;\n}\n";
    let program = Program::from_text(Path::new("statics.c"), text.into());
    let mut question = Question::new(program, &[]);
    for (start, shown) in [(0, "0"), (7, "7")] {
        let compiler = world::probe(&format!("gcc-12 -DSTART={start}"));
        question.builds = vec![(compiler.name.clone(), "-O2".into())];
        question.extra = vec![compiler];
        let report = question.ask().unwrap();
        let mut found: Vec<_> = report
            .findings
            .iter()
            .map(|f| {
                (
                    f.variable.as_str(),
                    f.kind,
                    f.expected.as_str(),
                    f.shown.as_str(),
                )
            })
            .collect();
        found.sort_unstable();
        let expected = [
            ("read_once", Kind::WrongValue, "4", shown),
            ("written", Kind::WriteOnlyStatic, "4", shown),
        ];
        assert_eq!(found, expected, "{report:#?}");
    }
}

/// gdb, but for a death of `when`'s choosing (a shell command that decides, in the session's folder).
fn mortal_gdb(directory: &Path, when: &str) -> Debugger {
    let path = directory.join("gdb");
    let text = format!(
        "case \"$*\" in *--version*) exec gdb --version;; esac\n\
         if {when}; then kill -SEGV $$; fi\nexec gdb \"$@\"\n"
    );
    script(&path, &text);
    Debugger::at(&world().sandbox, &path).unwrap()
}

/// A debugger that dies of a value is to blame; one that never gets anywhere shows nothing about values.
#[test]
fn a_debugger_crash_is_told_from_a_debugger_that_does_not_work() {
    let directory = tempfile::tempdir().unwrap();
    let liar = liar(directory.path());
    let program = Program::from_text(Path::new("planted.c"), PROGRAM.into());
    let mut question = Question::new(program, &[]);
    question.builds.push((liar.name.clone(), "-O2".into()));
    question.extra.push(liar);
    let ask = |when: &str| {
        question.with_tools(|tools, request| {
            let debuggers = [mortal_gdb(directory.path(), when)];
            let tools = Toolset {
                debuggers: &debuggers,
                ..*tools
            };
            check(&tools, request, &|_| {}).unwrap()
        })
    };
    let report = ask("grep -q secret request.json");
    let kinds: Vec<Kind> = report.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::DebuggerCrash], "{report:#?}");
    assert_eq!(report.findings[0].blame, "gdb");
    let report = ask("true");
    assert!(report.findings.is_empty(), "{report:#?}");
    let reasons: Vec<&str> = report
        .undecided
        .iter()
        .map(|undecided| undecided.reason.as_str())
        .collect();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("does not work on this build at all")),
        "{reasons:?}"
    );
}

fn build(directory: &Path, text: &str, flags: &[&str], name: &str) -> PathBuf {
    let source = directory.join("lines.c");
    std::fs::write(&source, text).unwrap();
    let binary = directory.join(name);
    let status = Command::new("gcc-12")
        .args(["-g", "-no-pie", "-o"])
        .arg(&binary)
        .args(flags)
        .arg(&source)
        .status()
        .unwrap();
    assert!(status.success());
    binary
}

fn compare(binary: &Path, reference: &Path) -> Result<candor_check::Report, candor_check::Error> {
    let world = world();
    let request = lines::Request {
        binary,
        reference,
        arguments: &[],
        stdin: &[],
        settings: Settings::default(),
        debuggers: &world.debuggers,
        name: None,
        replay: None,
    };
    lines::check(&world.sandbox, &world.scratch, &request)
}

const LINES: &str = "\
volatile int sink;
__attribute__((noinline)) int scale(int by) {
  int factor = 3;
  sink = by;
  factor = 7;
  sink = by + 1;
  sink = by + 2;
  return by;
}
int main(void) {
  return scale(4) - 4;
}
";

#[test]
fn a_falsified_location_list_is_caught_in_line_mode() {
    let directory = tempfile::tempdir().unwrap();
    let reference = build(directory.path(), LINES, &["-O0"], "reference");
    let honest = build(directory.path(), LINES, &["-O2"], "honest");
    let report = compare(&honest, &reference).unwrap();
    assert!(report.findings.is_empty(), "{report:#?}");
    assert!(report.summary[0].counts.equal > 0);

    // factor's list has DW_OP_lit7 (0x37) for its second half: make it DW_OP_lit9
    let image = Image::open(&honest).unwrap();
    let mut bytes = std::fs::read(&honest).unwrap();
    let mut changed = 0;
    for span in image.location_spans("scale", "factor").unwrap() {
        let from = span.file_offset as usize;
        let expression = &mut bytes[from..from + span.len as usize];
        if expression.first() == Some(&0x37) {
            expression[0] = 0x39;
            changed += 1;
        }
    }
    assert!(changed > 0);
    let forged = directory.path().join("forged");
    std::fs::write(&forged, bytes).unwrap();
    std::fs::set_permissions(&forged, std::fs::Permissions::from_mode(0o755)).unwrap();
    let report = compare(&forged, &reference).unwrap();
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|f| (f.variable.as_str(), f.expected.as_str(), f.shown.as_str()))
        .collect();
    assert_eq!(
        found,
        [("factor", "one of 3, 7 in this run", "9")],
        "{report:#?}"
    );
}

#[test]
fn builds_that_cannot_be_compared_are_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let reference = build(directory.path(), LINES, &["-O0"], "reference");
    let stripped = build(directory.path(), LINES, &["-O2", "-s"], "stripped");
    let words = compare(&stripped, &reference).unwrap_err().to_string();
    assert!(words.contains("-g"), "{words}");
    let split = build(directory.path(), LINES, &["-O2", "-gsplit-dwarf"], "split");
    std::fs::remove_file(directory.path().join("split-lines.dwo")).unwrap();
    let words = compare(&split, &reference).unwrap_err().to_string();
    assert!(words.contains("split"), "{words}");
    let compressed = build(directory.path(), LINES, &["-O2", "-gz"], "compressed");
    let report = compare(&compressed, &reference).unwrap();
    assert!(report.summary[0].counts.equal > 0);
    let text = directory.path().join("text");
    std::fs::write(&text, "not a program").unwrap();
    assert!(compare(&text, &reference).is_err());
    let other = build(
        directory.path(),
        "int main(void) {\n  return 3;\n}\n",
        &["-O2"],
        "other",
    );
    let report = compare(&other, &reference).unwrap();
    let note = report.summary[0].note.clone().unwrap();
    assert!(note.contains("behaves differently"), "{note}");
}

#[test]
fn a_saved_finding_reproduces_without_candor() {
    let path = world::cases().join("found/counter_left_at_start.c");
    let program = Program::load(&path).unwrap();
    let mut question = Question::new(program, &[("clang-19", "-O2")]);
    question.points = candor_check::PointChoice::At {
        line: 15,
        variable: "col".into(),
    };
    let directory = tempfile::tempdir().unwrap();
    let folders = question.with_tools(|tools, request| {
        let report = candor_check::check(tools, request, &|_| {}).unwrap();
        assert_eq!(report.findings.len(), 1);
        let json = |finding: &candor_check::Finding| serde_json::to_string(finding).unwrap();
        save::save(tools, request, &report, directory.path(), &json).unwrap()
    });
    assert_eq!(folders.len(), 1);
    let run = Command::new(folders[0].join("reproduce.sh"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(
        text.contains("expected col = 8") && text.contains("$1 = 0"),
        "{text}\n{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let lldb = Command::new("lldb-19")
        .args(["--no-lldbinit", "--batch", "-s", "lldb.cmds", "program"])
        .current_dir(&folders[0])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&lldb.stdout);
    assert!(text.contains("col = 0"), "{text}");
    let json = std::fs::read_to_string(folders[0].join("finding.json")).unwrap();
    let finding: candor_check::Finding = serde_json::from_str(&json).unwrap();
    assert_eq!(finding.expected, "8");
}

#[test]
fn a_compiler_that_rejects_the_program_is_a_note_not_the_end() {
    let text = "#if __clang_major__ == 14\n#error not this one\n#endif\nint g;\nint main(void) {\n  g = 3;\n  return 0;\n}\n";
    let program = Program::from_text(Path::new("picky.c"), text.into());
    let question = Question::new(program, &[("clang-14", "-O1"), ("gcc-12", "-O1")]);
    let report = question.ask().unwrap();
    let note = report.summary[0].note.clone().unwrap();
    assert!(note.contains("not this one"), "{note}");
    assert!(report.summary[1].note.is_none());
    assert!(report.summary[1].counts.equal > 0);
}
