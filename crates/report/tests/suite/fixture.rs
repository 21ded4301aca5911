//! Invented findings: the same on every machine, and as hostile as they can be.

use candor_check::exhibit::{
    BuildName, BuildState, Exhibit, History, Moment, Reproduction, SourceLine, SourceView, State,
    Subject, Value,
};
use candor_check::{Class, Counts, Finding, Kind, Signature};
use candor_dwarf::{Instruction, Line, ListedLocation, Svma};
use candor_predicate::{Case, Claim, SavedProgram};
use candor_report::{
    Amounts, CompilerRow, Culprit, Dossier, Duplicate, Entry, KindMatrix, Overview, RatePoint,
    SCHEMA,
};
use candor_store::{Seeds, Timestamp};
use serde_json::json;

const BEGUN: i64 = 1_794_800_000_000;

const PROGRAM: &str = "int cells[8];\nvoid walk(int n) {\n  for (int i = n; i > 0; i -= 2)\n    cells[i] = 1;\n}\nint main(void) {\n  walk(4);\n  return 0;\n}\n";

fn counts(equal: u64, wrong: u64, out: u64) -> Counts {
    Counts {
        equal,
        wrong,
        optimised_out: out,
        ..Counts::default()
    }
}

fn value(variable: &str, class: Class, truth: &str, shown: &str, counts: Counts) -> Value {
    Value {
        variable: variable.into(),
        function: Some("walk".into()),
        parts: 1,
        class,
        truth: Some(truth.into()),
        shown: shown.into(),
        visit: 2,
        counts,
    }
}

fn build() -> BuildName {
    BuildName {
        compiler: "gcc-12".into(),
        version: "12.2.0".into(),
        level: "-O1".into(),
        identity: "Target: x86_64-linux-gnu\ngcc version 12.2.0 (Debian 12.2.0-14)".into(),
    }
}

fn source() -> SourceView {
    let lines = (1..).zip(PROGRAM.lines()).map(|(number, text)| SourceLine {
        number,
        text: text.into(),
        counts: Counts::default(),
        values: Vec::new(),
        more: 0,
    });
    let mut lines: Vec<SourceLine> = lines.collect();
    lines[3].counts = counts(3, 1, 2);
    lines[3].values = vec![
        value("i", Class::Wrong, "2", "1431655767", counts(1, 1, 0)),
        value(
            "n",
            Class::OptimisedOut,
            "4",
            "<optimised out>",
            counts(0, 0, 2),
        ),
        Value {
            parts: 8,
            truth: None,
            ..value("cells", Class::Equal, "", "equal", counts(16, 0, 0))
        },
    ];
    lines[6].counts = counts(8, 0, 0);
    SourceView {
        program: "walk.c".into(),
        build: build(),
        counts: counts(11, 1, 2),
        lines,
        note: None,
    }
}

fn entry() -> Entry {
    Entry {
        id: "00c0ffee00c0ffee".into(),
        kind: "wrong-value".into(),
        title: "`i` in walk is 2, shown as 1431655767".into(),
        compiler: "gcc-12".into(),
        version: "12.2.0".into(),
        family: "gcc".into(),
        level: "-O1".into(),
        state: candor_store::State::Isolated,
        culprit: Some("ivopts".into()),
        key: "wrong-value | gcc | ivopts".into(),
        findings: 3,
        found: Timestamp(BEGUN + 60_000),
        latest: Timestamp(BEGUN + 600_000),
    }
}

fn finding() -> Finding {
    Finding {
        kind: Kind::WrongValue,
        blame: "gcc-12".into(),
        function: Some("walk".into()),
        variable: "i".into(),
        declared: 3,
        line: 4,
        frame: 0,
        source_line: "cells[i] = 1;".into(),
        stop: 1,
        visit: 2,
        visits: 2,
        expected: "2".into(),
        shown: "1431655767".into(),
        compiler: "gcc-12".into(),
        version: "12.2.0".into(),
        level: "-O1".into(),
        confirmed_by: ["native", "print", "gdb"].map(String::from).to_vec(),
        debuggers: [("gdb".to_owned(), "1431655767".to_owned())].into(),
        location: "DW_OP_breg3 rbx+0, DW_OP_stack_value".into(),
        places: Vec::new(),
        signature: Signature {
            kind: Kind::WrongValue,
            family: "gcc".into(),
            variable: "local signed".into(),
            statement: "Expression".into(),
            relation: "other".into(),
            levels: vec!["-O1".into()],
            pass: None,
        },
        round: candor_check::Round::All,
        rounds: Vec::new(),
        barriers: Vec::new(),
        notes: Vec::new(),
        replay: "candor check walk.c --cc gcc-12 -O1".into(),
    }
}

fn case() -> Case {
    let finding = finding();
    Case {
        schema: 1,
        program: SavedProgram {
            name: "walk.c".into(),
            text: PROGRAM.into(),
            flags: Vec::new(),
            arguments: Vec::new(),
            stdin: Vec::new(),
        },
        compiler: "gcc-12".into(),
        version: "12.2.0".into(),
        family: "gcc".into(),
        flags: vec!["-O1".into()],
        claim: Claim::Debug {
            kind: Kind::WrongValue,
            subject: candor_predicate::Subject {
                function: Some("walk".into()),
                variable: "i".into(),
                declared: 3,
                line: 4,
            },
            round: candor_check::Round::All,
        },
        signature: Some(finding.signature.clone()),
        replay: finding.replay.clone(),
        finding: Some(finding),
        variant: None,
        pass: None,
    }
}

fn state(compiler: &str, version: &str, level: &str, state: State, note: &str) -> BuildState {
    BuildState {
        compiler: compiler.into(),
        version: version.into(),
        level: level.into(),
        state,
        note: note.into(),
    }
}

fn exhibit() -> Exhibit {
    let moment = |visit: u32, truth: &str, shown: &str, class| Moment {
        stop: u64::from(visit) - 1,
        line: 4,
        visit,
        truth: Some(truth.into()),
        shown: shown.into(),
        class,
    };
    let instruction = |at, text: &str, line| Instruction {
        at: Svma(at),
        bytes: "90".into(),
        text: text.into(),
        line: Some(Line(line)),
    };
    Exhibit {
        schema: 1,
        build: build(),
        subject: Some(Subject {
            function: Some("walk".into()),
            variable: "i".into(),
            declared: 3,
            line: 4,
            visit: 2,
            stop: 1,
            truth: Some("2".into()),
            shown: "1431655767".into(),
            class: Class::Wrong,
            location: "DW_OP_breg3 rbx+0, DW_OP_stack_value".into(),
            address: 0x401156,
        }),
        source: source(),
        history: History {
            line: Some(4),
            total: 2,
            moments: vec![
                moment(1, "4", "4", Class::Equal),
                moment(2, "2", "1431655767", Class::Wrong),
            ],
        },
        builds: vec![
            state("gcc-12", "12.2.0", "-O0", State::Right, "shows 2"),
            state(
                "gcc-12",
                "12.2.0",
                "-O1",
                State::Affected,
                "shows 1431655767",
            ),
            state("gcc-11", "11.3.0", "-O0", State::Right, "shows 2"),
            state(
                "gcc-11",
                "11.3.0",
                "-O1",
                State::Failed,
                "the compiler crashed",
            ),
            state(
                "clang-19",
                "19.1.7",
                "-O1",
                State::OptimisedOut,
                "optimised out",
            ),
        ],
        locations: vec![
            ListedLocation {
                pc: Some(Svma(0x401140)..Svma(0x401150)),
                text: "DW_OP_reg5 rdi".into(),
            },
            ListedLocation {
                pc: Some(Svma(0x401150)..Svma(0x401170)),
                text: "DW_OP_breg3 rbx+0, DW_OP_stack_value".into(),
            },
        ],
        code: vec![
            instruction(0x401150, "sub $24, %rbx", 3),
            instruction(0x401156, "call opt_me_not", 4),
        ],
        runs: Vec::new(),
        reproduction: Reproduction {
            files: vec![
                ("walk.c".into(), PROGRAM.into()),
                ("opt_me_not.c".into(), "void opt_me_not(void) {}\n".into()),
            ],
            commands: vec![
                "gcc-12 -g -w -O1 -c walk.c -o program.o".into(),
                "gcc-12 -c opt_me_not.c -o opt_me_not.o".into(),
            ],
        },
        whole: Some(source()),
    }
}

/// One finding with everything.
pub fn dossier() -> Dossier {
    Dossier {
        entry: entry(),
        signature: "wrong-value | gcc | local signed".into(),
        origin: "csmith 17, variant 2".into(),
        case: Some(case()),
        reduced: true,
        original_lines: 1204,
        culprit: Some(Culprit {
            pass: "ivopts".into(),
            files: vec!["gcc/tree-ssa-loop-ivopts.cc".into()],
            place: Some("the loop at walk.c:3".into()),
            disable: vec!["-fno-ivopts".into()],
            why: vec!["the finding vanishes without it".into()],
            ..Culprit::default()
        }),
        builds: exhibit().builds,
        exhibit: Some(exhibit()),
        duplicates: vec![Duplicate {
            id: "feed00000000feed".into(),
            compiler: "gcc-11".into(),
            level: "-O1".into(),
            title: "`j` in step".into(),
            origin: "csmith 19".into(),
        }],
        unreadable: Vec::new(),
    }
}

/// A campaign with that finding.
pub fn overview() -> Overview {
    let amounts = Amounts {
        programs: 1200,
        rejected: 31,
        builds: 24_000,
        checks: 24_000,
        values: 480_123_456,
        findings: 3,
        undecided: 1,
    };
    let row = |compiler: &str, version: &str, findings, unique| CompilerRow {
        compiler: compiler.into(),
        version: version.into(),
        family: "gcc".into(),
        amounts: Amounts {
            builds: 12_000,
            checks: 12_000,
            ..Amounts::default()
        },
        findings,
        unique,
    };
    Overview {
        schema: SCHEMA,
        candor: "0.1.0".into(),
        begun: Some(Timestamp(BEGUN)),
        seen: Some(Timestamp(BEGUN + 3_600_000)),
        running: false,
        workers: 1,
        settings: json!({"generator": "csmith", "levels": ["-O0", "-O1"], "variants": 4}),
        seeds: Seeds {
            judged: 240,
            rejected: 31,
            leased: 0,
            abandoned: 0,
        },
        amounts,
        compilers: vec![row("gcc-11", "11.3.0", 1, 0), row("gcc-12", "12.2.0", 2, 1)],
        levels: vec!["-O0".into(), "-O1".into()],
        interval: 600,
        rates: (0..7)
            .map(|interval| RatePoint {
                time: Timestamp(BEGUN + interval * 600_000),
                amounts: Amounts {
                    programs: 150 + 10 * interval as u64,
                    ..Amounts::default()
                },
            })
            .collect(),
        matrix: vec![KindMatrix {
            kind: "wrong-value".into(),
            cells: [
                ("gcc-11".to_owned(), [("-O1".to_owned(), 1)].into()),
                ("gcc-12".to_owned(), [("-O1".to_owned(), 2)].into()),
            ]
            .into(),
        }],
        findings: vec![entry()],
        revision: 7,
    }
}

/// What a program, a compiler or a damaged store could hold to break a page.
pub const ATTACKS: [&str; 6] = [
    "<script>document.title='pwned'</script>",
    "\"><img src=x onerror=document.title='pwned'>",
    "</pre></textarea><script>document.title='pwned'</script>",
    "'\"`;javascript:document.title='pwned'//",
    "{{ frame.root }}{% raw %}",
    "\u{1b}]0;pwned\u{7}\u{202e}\u{0}&amp;",
];

fn attack(number: usize) -> String {
    ATTACKS[number % ATTACKS.len()].to_owned()
}

/// The finding with an attack wherever there is room for text.
pub fn hostile() -> Dossier {
    let mut dossier = dossier();
    let mut number = 0;
    let mut next = || {
        number += 1;
        attack(number)
    };
    let entry = &mut dossier.entry;
    entry.id = next();
    entry.title = next();
    entry.kind = next();
    entry.compiler = next();
    entry.version = next();
    entry.level = next();
    entry.culprit = Some(next());
    entry.key = next();
    dossier.origin = next();
    dossier.signature = next();
    dossier.unreadable = vec![next()];
    let case = dossier.case.as_mut().unwrap();
    case.program.name = "../../<x>\".c".into();
    case.program.text = super::fixture::ATTACKS.join("\n");
    case.replay = next();
    let finding = case.finding.as_mut().unwrap();
    finding.confirmed_by = vec![next()];
    finding.debuggers = [(next(), next())].into();
    let exhibit = dossier.exhibit.as_mut().unwrap();
    exhibit.build.identity = next();
    let subject = exhibit.subject.as_mut().unwrap();
    subject.variable = next();
    subject.function = Some(next());
    subject.truth = Some(next());
    subject.shown = next();
    subject.location = next();
    for view in [&mut exhibit.source, exhibit.whole.as_mut().unwrap()] {
        view.program = next();
        view.build.compiler = next();
        view.note = Some(next());
        for (line, attack) in view.lines.iter_mut().zip(ATTACKS.iter().cycle()) {
            line.text = (*attack).to_owned();
            for value in &mut line.values {
                value.variable = next();
                value.truth = Some(next());
                value.shown = next();
            }
        }
    }
    for moment in &mut exhibit.history.moments {
        moment.shown = next();
    }
    for build in exhibit.builds.iter_mut().chain(&mut dossier.builds) {
        build.note = next();
        build.version = next();
        build.compiler = next();
        build.level = next();
    }
    for location in &mut exhibit.locations {
        location.text = next();
    }
    for instruction in &mut exhibit.code {
        instruction.text = next();
    }
    exhibit.runs = vec![candor_check::exhibit::Run {
        build: next(),
        command: next(),
        ending: next(),
        output: next(),
        expected: false,
    }];
    exhibit.reproduction.files = vec![
        ("../../../etc/passwd".into(), next()),
        ("\"><script>.c".into(), next()),
    ];
    exhibit.reproduction.commands = vec![next()];
    let culprit = dossier.culprit.as_mut().unwrap();
    culprit.pass = next();
    culprit.files = vec![next()];
    culprit.place = Some(next());
    culprit.why = vec![next()];
    culprit.cures = vec![next()];
    culprit.diagnosis = Some(next());
    culprit.change = serde_json::from_value(json!({"of": next(), "lines": [next(), "+x"]})).ok();
    dossier.duplicates[0].title = next();
    dossier.duplicates[0].id = next();
    dossier
}

/// A campaign with that.
pub fn hostile_overview() -> Overview {
    let mut overview = overview();
    overview.findings = vec![hostile().entry];
    overview.candor = attack(0);
    overview.settings = json!({"generator": attack(1), attack(2): attack(3)});
    overview.levels = vec![attack(0), attack(1)];
    for (number, row) in overview.compilers.iter_mut().enumerate() {
        row.compiler = attack(number);
        row.version = attack(number + 1);
    }
    overview.matrix[0].kind = attack(2);
    overview
}
