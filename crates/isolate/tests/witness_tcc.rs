//! Bugs planted in Tiny C, one line each: the planted file must be ranked first.
//!
//! tcc's sources come from Debian by `scripts/tcc-source.sh`; each test builds the changed compiler for
//! coverage, shows that it miscompiles (against gcc) or crashes, and asks where the bug is.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use candor_check::{Toolset, Workshop};
use candor_coverage::prepare::{self, Recipe, Request};
use candor_coverage::ranking::{Choice, Formula};
use candor_coverage::{CoverageCompiler, Voter};
use candor_isolate::witness::{Ended, Location, Settings, Sources, locate};
use candor_predicate::{Case, Claim, Options};
use candor_source::Clang;
use candor_toolchain::{Compiler, Gate, Program, Sandbox, Scratch};

/// A one-line change of tcc, and a program that suffers.
struct Plant {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    program: &'static str,
    crashes: bool,
}

const PLANTS: [Plant; 4] = [
    Plant {
        name: "sar-becomes-shr",
        file: "x86_64-gen.c",
        from: "    case TOK_SAR:\n        opc = 7;",
        to: "    case TOK_SAR:\n        opc = 5;",
        program: "int printf(const char *, ...);\nint a = -64, b = 3, c = 7;\n\
                  int f(int x) { return x + c; }\n\
                  int main(void) {\n  int r = 0;\n  for (int i = 0; i < 4; i++) r += f(i) * b;\n  \
                  r = r - (a >> b);\n  printf(\"%d\\n\", r);\n  return 0;\n}\n",
        crashes: false,
    },
    Plant {
        name: "constant-xor-is-or",
        file: "tccgen.c",
        from: "        case '^': l1 ^= l2; break;",
        to: "        case '^': l1 |= l2; break;",
        program: "int printf(const char *, ...);\nint t[4] = { 1, 2, 3, 0x35 ^ 0x27 };\n\
                  int main(void) {\n  int s = 0;\n  for (int i = 0; i < 4; i++) s = s * 3 + t[i];\n  \
                  printf(\"%d\\n\", s);\n  return 0;\n}\n",
        crashes: false,
    },
    Plant {
        name: "float-division-swapped",
        file: "x86_64-gen.c",
        from: "            case '/':\n                a = 6;\n                if (swapped)\n                    a++;\n                break;\n            }\n            ft = vtop->type.t;\n            fc = vtop->c.i;\n            o(0xde);",
        to: "            case '/':\n                a = 6;\n                if (!swapped)\n                    a++;\n                break;\n            }\n            ft = vtop->type.t;\n            fc = vtop->c.i;\n            o(0xde);",
        program: "int printf(const char *, ...);\nlong double x = 8, y = 2;\nint k = 3;\n\
                  int main(void) {\n  long double q = x / y;\n  int r = (int)q + k;\n  \
                  printf(\"%d\\n\", r);\n  return 0;\n}\n",
        crashes: false,
    },
    Plant {
        name: "crash-on-alignof",
        file: "tccgen.c",
        from: "    case TOK_ALIGNOF3:\n",
        to: "    case TOK_ALIGNOF3: if (tok != TOK_SIZEOF) *(volatile int *)16 = 0;\n",
        program: "struct s { char c; long l; } v;\nint a = 3;\n\
                  int main(void) {\n  int r = 11;\n  r = __alignof__(struct s) + a;\n  return r - 11;\n}\n",
        crashes: true,
    },
];

/// tcc's source tree, fetched once for all tests of this target directory.
fn source() -> PathBuf {
    static ONCE: Mutex<()> = Mutex::new(());
    let _guard = ONCE.lock().unwrap_or_else(PoisonError::into_inner);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tcc-source");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/tcc-source.sh");
    let run = std::process::Command::new("bash")
        .arg(&script)
        .arg(&target)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    target
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

struct Ready {
    _directory: tempfile::TempDir,
    coverage: CoverageCompiler,
    compiler: Compiler,
}

/// Builds the changed compiler.
fn build(plant: &Plant, sandbox: &Sandbox, scratch: &Scratch) -> Ready {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tcc");
    copy(&source(), &tree);
    let path = tree.join(plant.file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        text.matches(plant.from).count(),
        1,
        "{}: the planted line is not unique",
        plant.name
    );
    std::fs::write(&path, text.replace(plant.from, plant.to)).unwrap();
    let output = directory.path().join("cov");
    let request = Request {
        recipe: Recipe::Tcc,
        source: tree,
        output: output.clone(),
        jobs: 2,
        command: None,
        suite: None,
    };
    let plan = prepare::plan(&request).unwrap();
    let coverage = prepare::prepare(sandbox, &plan, &|_| {}).unwrap();
    let command = format!("{}/tcc -B{}/", output.display(), output.display());
    let compiler = Compiler::probe(sandbox, scratch, &command).unwrap();
    Ready {
        _directory: directory,
        coverage,
        compiler,
    }
}

fn case(plant: &Plant, compiler: &Compiler) -> Case {
    let program = Program {
        path: "program.c".into(),
        text: plant.program.to_owned(),
        flags: Vec::new(),
        arguments: Vec::new(),
        stdin: Vec::new(),
    };
    let claim = match plant.crashes {
        true => Claim::Crash {
            site: String::new(),
        },
        false => Claim::Miscompilation {
            against: vec!["-O0".into()],
            reference: Some("gcc-12".into()),
            manner: None,
        },
    };
    Case::new(&program, compiler, Vec::new(), claim)
}

fn with_tools<R>(work: impl FnOnce(&Toolset<'_>) -> R) -> R {
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().unwrap();
    let (found, _) = candor_toolchain::discover(&sandbox, &scratch).unwrap();
    let clang = Clang::find().unwrap();
    let workshop = Workshop::new(&sandbox, &scratch).unwrap();
    let gate = Gate::find(&found, &sandbox, &scratch).unwrap().unwrap();
    work(&Toolset {
        workshop: &workshop,
        clang: &clang,
        compilers: &found,
        gate,
        debuggers: &[],
    })
}

fn settings() -> Settings {
    Settings {
        time: Duration::from_secs(60),
        most: 160,
        wanted: 16,
        options: Options::default(),
        ..Settings::default()
    }
}

fn show(location: &Location) -> String {
    let rows = location.ranking.files.iter().map(|file| {
        let votes: Vec<String> = file
            .votes
            .iter()
            .map(|vote| format!("{:?} {}", vote.voter, vote.rank))
            .collect();
        format!(
            "{} {} {:.4} ({}) [{}]\n",
            file.rank,
            file.file,
            file.score,
            file.reached,
            votes.join(", ")
        )
    });
    format!(
        "{}{:?} {:?}\n{:?}",
        rows.collect::<String>(),
        location.outcome,
        location.tries,
        location.notes
    )
}

fn planted_file_ranks_first(plant: &Plant) {
    with_tools(|tools| {
        let ready = build(plant, tools.workshop.sandbox, tools.workshop.scratch);
        let case = case(plant, &ready.compiler);
        let location = locate(
            tools,
            &case,
            &ready.compiler,
            &ready.coverage,
            None,
            &settings(),
            &|_| {},
        )
        .unwrap();
        assert_eq!(
            location.outcome,
            Ended::Located,
            "{}: {}",
            plant.name,
            show(&location)
        );
        assert_eq!(
            location.ranking.position(plant.file),
            Some(1),
            "{} (seed 1):\n{}",
            plant.name,
            show(&location)
        );
        // The evidence: mutants among the witnesses, masked ones refused, a nearest one with its change.
        assert!(
            location
                .witnesses
                .iter()
                .any(|one| one.source == Voter::Mutants),
            "{}",
            show(&location)
        );
        assert!(!location.nearest.is_empty(), "{}", show(&location));
        let first = &location.ranking.files[0];
        assert!(
            !first.functions.is_empty() && !first.avoided_by.is_empty(),
            "{first:?}"
        );
    });
}

#[test]
fn a_wrong_shift_is_in_the_code_generator() {
    planted_file_ranks_first(&PLANTS[0]);
}

#[test]
fn a_wrong_division_is_in_the_code_generator() {
    planted_file_ranks_first(&PLANTS[2]);
}

#[test]
fn a_crash_is_found_although_the_compiler_dies() {
    planted_file_ranks_first(&PLANTS[3]);
}

#[test]
fn what_cannot_be_located_says_why() {
    with_tools(|tools| {
        let plant = &PLANTS[1];
        let ready = build(plant, tools.workshop.sandbox, tools.workshop.scratch);
        let ask = |case: &Case, settings: &Settings| {
            locate(
                tools,
                case,
                &ready.compiler,
                &ready.coverage,
                None,
                settings,
                &|_| {},
            )
        };
        // A finding that does not reproduce.
        let mut fine = case(plant, &ready.compiler);
        fine.program.text = "int main(void) { return 0; }\n".into();
        let location = ask(&fine, &settings()).unwrap();
        assert!(
            matches!(location.outcome, Ended::NotReproduced(_)),
            "{:?}",
            location.outcome
        );
        // No witness: nothing may be mutated, and no other source is asked.
        let nothing = Settings {
            most: 0,
            sources: Sources::diwi(),
            ..settings()
        };
        let location = ask(&case(plant, &ready.compiler), &nothing).unwrap();
        assert!(
            matches!(&location.outcome, Ended::NoWitness(tried) if tried.contains("0 mutants")),
            "{:?}",
            location.outcome
        );
        // The paper's formula ranks by mutants alone.
        let diwi = Settings {
            most: 60,
            sources: Sources::diwi(),
            choice: Choice {
                formula: Formula::Diwi,
                headers: true,
            },
            ..settings()
        };
        let location = ask(&case(plant, &ready.compiler), &diwi).unwrap();
        assert!(
            location
                .ranking
                .files
                .iter()
                .all(|file| file.votes.iter().all(|vote| vote.voter == Voter::Mutants))
        );
        assert!(
            location
                .ranking
                .files
                .iter()
                .any(|file| file.file == "tcc.h" || file.file == "tccgen.c")
        );
        // A coverage compiler of another version than the one that fails.
        let other = tools
            .compilers
            .iter()
            .find(|one| one.name == "gcc-12")
            .unwrap();
        let error = locate(
            tools,
            &case(plant, other),
            other,
            &ready.coverage,
            None,
            &settings(),
            &|_| {},
        )
        .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("is tcc 0.9.27, but the bug is of gcc 12.2.0"),
            "{error}"
        );
    });
}
