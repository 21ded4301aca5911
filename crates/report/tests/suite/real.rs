//! A store with real findings: programs of tests/check/found, checked and exhibited, made once.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use candor_check::exhibit::{BehaviourRequest, DebugRequest, behaviour, debug};
use candor_check::{PointChoice, Request, Settings, Toolset, Workshop, check};
use candor_predicate::{Case, Claim};
use candor_source::Clang;
use candor_store::{
    Campaign, Count, FindingId, Improvement, Metric, NewFinding, Outcome, Signature, SqliteStore,
    Store, Stream, Timestamp, Wish,
};
use candor_toolchain::{Compiler, Gate, Program, Sandbox, Scratch};
use candor_tracer::Debugger;
use serde_json::json;

pub struct Made {
    pub store: Arc<SqliteStore>,
    _directory: tempfile::TempDir,
}

type Sample = (
    &'static str,
    Option<(u32, &'static str)>,
    &'static str,
    &'static str,
);

/// Program, single point if it needs one, compiler, level.
const CASES: [Sample; 4] = [
    (
        "counter_left_at_start.c",
        Some((15, "col")),
        "clang-19",
        "-O2",
    ),
    ("counter_by_division.c", None, "gcc-12", "-O1"),
    ("ill_typed_counter.c", None, "clang-19", "-O2"),
    ("bit_field_before_its_store.c", None, "clang-19", "-Os"),
];
const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-Os"];

/// Exits differently when it is optimised: what a miscompilation looks like from outside.
const TWO_FACED: &str = "#include <stdio.h>\n\nint main(void) {\n#ifdef __OPTIMIZE__\n  puts(\"7 <b>\");\n  return 3;\n#endif\n  puts(\"42\");\n  return 0;\n}\n";

pub fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(make)
}

fn make() -> Made {
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().unwrap();
    let compilers: Vec<Compiler> = ["gcc-11", "gcc-12", "clang-14", "clang-19"]
        .iter()
        .map(|name| Compiler::probe(&sandbox, &scratch, name).unwrap())
        .collect();
    let debuggers = Debugger::discover(&sandbox);
    let clang = Clang::find().unwrap();
    let workshop = Workshop::new(&sandbox, &scratch).unwrap();
    let gate = Gate::find(&compilers, &sandbox, &scratch)
        .unwrap()
        .expect("clang with sanitizers");
    let tools = Toolset {
        workshop: &workshop,
        clang: &clang,
        compilers: &compilers,
        gate,
        debuggers: &debuggers,
    };
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(&directory.path().join("store")).unwrap();
    begin(&store, &compilers);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/check/found");
    for (number, (file, alone, compiler, level)) in CASES.into_iter().enumerate() {
        let program = Program::load(&folder.join(file)).unwrap();
        let compiler = named(&compilers, compiler);
        add_debug(
            &tools,
            &store,
            number as u64,
            &program,
            alone,
            compiler,
            level,
        );
    }
    add_duplicate(&store);
    add_behaviour(&tools, &store, &compilers);
    Made {
        store: Arc::new(store),
        _directory: directory,
    }
}

fn named<'a>(compilers: &'a [Compiler], name: &str) -> &'a Compiler {
    compilers.iter().find(|c| c.name == name).unwrap()
}

fn matrix(compilers: &[Compiler]) -> Vec<(&Compiler, String)> {
    let pair = |c| LEVELS.iter().map(move |level| (c, (*level).to_owned()));
    compilers.iter().flat_map(pair).collect()
}

fn begin(store: &SqliteStore, compilers: &[Compiler]) {
    let tested: Vec<_> = compilers
        .iter()
        .map(|c| json!({"command": c.name, "family": c.family, "version": c.version}))
        .collect();
    store
        .begin(&Campaign {
            created: Timestamp::now(),
            candor: "0.1.0".into(),
            settings: json!({"generator": "none", "levels": LEVELS, "compilers": tested, "variants": 0}),
        })
        .unwrap();
    let worker = store.join("test").unwrap();
    let wish = Wish {
        stream: Stream("corpus/found".into()),
        first: 0,
        step: 1,
        end: Some(CASES.len() as u64),
        file: None,
    };
    while let Some(lease) = store.lease(worker, &wish).unwrap() {
        let mut counts = vec![Count {
            metric: Metric::Programs,
            compiler: String::new(),
            more: 1,
        }];
        counts.extend(compilers.iter().map(|c| Count {
            metric: Metric::Builds,
            compiler: c.name.clone(),
            more: LEVELS.len() as u64,
        }));
        store.complete(&lease, &Outcome::Judged, &counts).unwrap();
    }
    store.leave(worker).unwrap();
}

fn add_debug(
    tools: &Toolset<'_>,
    store: &SqliteStore,
    seed: u64,
    program: &Program,
    alone: Option<(u32, &str)>,
    compiler: &Compiler,
    level: &str,
) {
    let points = match alone {
        Some((line, variable)) => PointChoice::At {
            line,
            variable: variable.into(),
        },
        None => PointChoice::All,
    };
    let file = program.file_name();
    let request = Request {
        program,
        points,
        builds: vec![(compiler, level.to_owned())],
        settings: Settings::default(),
        replay: &|c, level, _| format!("candor check tests/check/found/{file} --cc {c} {level}"),
    };
    let report = check(tools, &request, &|_| {}).unwrap();
    let finding = report
        .findings
        .first()
        .unwrap_or_else(|| panic!("{file} {} {level}: nothing found", compiler.name));
    let case = Case::from_finding(program, finding);
    let exhibit = debug(
        tools,
        &DebugRequest {
            program,
            original: Some(program),
            compiler,
            level,
            kind: finding.kind,
            function: finding.function.as_deref(),
            variable: &finding.variable,
            line: finding.line,
            points: DebugRequest::usual_points(finding.line, &finding.variable),
            builds: matrix(tools.compilers),
            settings: Settings::default(),
        },
    )
    .unwrap();
    let id = FindingId::of(&[&file, &compiler.name, level]);
    let case = serde_json::to_value(&case).unwrap();
    let is_ivopts = file == "counter_by_division.c";
    store
        .add(&NewFinding {
            id: id.clone(),
            stream: Stream("corpus/found".into()),
            seed,
            variant: None,
            kind: finding.kind.to_string(),
            compiler: compiler.name.clone(),
            version: compiler.version.to_string(),
            family: compiler.family.to_string(),
            level: level.to_owned(),
            signature: Signature(if is_ivopts {
                "wrong-value | gcc | local signed | ivopts".into()
            } else {
                finding.signature.to_string()
            }),
            priority: 1,
            title: format!(
                "`{}` in {} is {}, shown as {}",
                finding.variable,
                finding.function.as_deref().unwrap_or("the globals"),
                finding.expected,
                finding.shown
            ),
            case: case.clone(),
            affected: json!({compiler.name.as_str(): [level]}),
        })
        .unwrap();
    let culprit = is_ivopts.then(|| {
        json!({
            "outcome": {"is": "found"},
            "suspects": [{
                "pass": "ivopts", "files": ["gcc/tree-ssa-loop-ivopts.cc"], "place": "walk",
                "disable": ["-fno-ivopts"], "unspecific": false,
                "why": ["the finding vanishes without it, and with nothing else"],
            }],
            "cures": [{"kind": "option", "name": "-fivopts", "flags": ["-fno-ivopts"]}],
        })
    });
    store
        .improve(
            &id,
            &Improvement {
                reduced: Some(case),
                culprit,
                exhibit: Some(serde_json::to_value(&exhibit).unwrap()),
                ..Improvement::default()
            },
        )
        .unwrap();
}

/// The first finding that was isolated, once more, as another compiler shows it.
fn add_duplicate(store: &SqliteStore) {
    let all = store.findings().unwrap();
    let known = all.iter().find(|f| f.culprit.is_some()).unwrap();
    store
        .add(&NewFinding {
            id: FindingId::of(&["duplicate"]),
            stream: known.stream.clone(),
            seed: 99,
            variant: Some(1),
            kind: known.kind.clone(),
            compiler: "gcc-11".into(),
            version: "11.3.0".into(),
            family: known.family.clone(),
            level: known.level.clone(),
            signature: known.signature.clone(),
            priority: 0,
            title: known.title.clone(),
            case: store.case(&known.case).unwrap(),
            affected: json!({"gcc-11": ["-O1"]}),
        })
        .unwrap();
}

fn add_behaviour(tools: &Toolset<'_>, store: &SqliteStore, compilers: &[Compiler]) {
    let program = Program::from_text(std::path::Path::new("two_faced.c"), TWO_FACED.into());
    let compiler = named(compilers, "gcc-12");
    let exhibit = behaviour(
        tools,
        &BehaviourRequest {
            program: &program,
            original: None,
            compiler,
            level: "-O2",
            reference: Some((compiler, "-O0".into())),
            builds: matrix(compilers),
            settings: Settings::default(),
        },
    )
    .unwrap();
    let case = Case::new(
        &program,
        compiler,
        vec!["-O2".into()],
        Claim::Miscompilation {
            against: vec!["-O0".into()],
            reference: None,
            manner: None,
        },
    );
    let id = FindingId::of(&["two_faced"]);
    store
        .add(&NewFinding {
            id: id.clone(),
            stream: Stream("csmith".into()),
            seed: 1,
            variant: Some(3),
            kind: "miscompilation".into(),
            compiler: "gcc-12".into(),
            version: compiler.version.to_string(),
            family: "gcc".into(),
            level: "-O2".into(),
            signature: Signature("miscompilation | gcc".into()),
            priority: 9,
            title: "two_faced.c ends with exit code 3 instead of 0".into(),
            case: serde_json::to_value(&case).unwrap(),
            affected: json!({"gcc-12": ["-O1", "-O2"]}),
        })
        .unwrap();
    store
        .improve(
            &id,
            &Improvement {
                exhibit: Some(serde_json::to_value(&exhibit).unwrap()),
                ..Improvement::default()
            },
        )
        .unwrap();
}
