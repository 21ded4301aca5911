//! Exhibits of real findings: what a report shows is what the builds show.

#![allow(clippy::unwrap_used)]

mod world;

use candor_check::exhibit::{
    BehaviourRequest, DebugRequest, Exhibit, SourceRequest, State, behaviour, debug, truthfulness,
};
use candor_check::{Class, Finding, Kind, PointChoice, Settings};
use candor_toolchain::{Compiler, Program};
use world::{Question, cases, world};

fn load(name: &str) -> Program {
    Program::load(&cases().join(name)).unwrap()
}

fn compiler(name: &str) -> &'static Compiler {
    let found = world().compilers.iter().find(|c| c.name == name);
    found.unwrap()
}

/// The finding of a check, and the exhibit of it.
fn exhibited(
    name: &str,
    variable: &str,
    alone: Option<u32>,
    build: (&str, &str),
    matrix: &[(&str, &str)],
) -> (Finding, Exhibit) {
    let program = load(name);
    let mut question = Question::new(program, &[build]);
    if let Some(line) = alone {
        question.points = PointChoice::At {
            line,
            variable: variable.into(),
        };
    }
    question.with_tools(|tools, request| {
        let report = candor_check::check(tools, request, &|_| {}).unwrap();
        let finding = report.findings.iter().find(|f| f.variable == variable);
        let finding = finding.unwrap_or_else(|| panic!("{:?}", report.findings));
        let exhibit = debug(
            tools,
            &DebugRequest {
                program: request.program,
                original: None,
                compiler: compiler(build.0),
                level: build.1,
                kind: finding.kind,
                function: finding.function.as_deref(),
                variable: &finding.variable,
                line: finding.line,
                points: DebugRequest::usual_points(finding.line, &finding.variable),
                builds: matrix
                    .iter()
                    .map(|(name, level)| (compiler(name), (*level).to_owned()))
                    .collect(),
                settings: Settings::default(),
            },
        )
        .unwrap();
        (finding.clone(), exhibit)
    })
}

fn state(exhibit: &Exhibit, compiler: &str, level: &str) -> State {
    let found = exhibit
        .builds
        .iter()
        .find(|build| build.compiler == compiler && build.level == level);
    found.unwrap().state
}

#[test]
fn a_counter_left_at_its_start() {
    let (finding, exhibit) = exhibited(
        "found/counter_left_at_start.c",
        "col",
        Some(15),
        ("clang-19", "-O2"),
        &[("clang-19", "-O2"), ("clang-14", "-O2"), ("gcc-12", "-O0")],
    );
    let subject = exhibit.subject.as_ref().unwrap();
    assert_eq!(
        (subject.line, subject.stop, subject.truth.as_deref()),
        (finding.line, finding.stop, Some(finding.expected.as_str()))
    );
    assert_eq!(
        (&subject.shown, subject.class),
        (&finding.shown, Class::Wrong)
    );
    assert_eq!(subject.location, finding.location);

    // the finding's line shows the subject first, with both values
    let line = &exhibit.source.lines[finding.line as usize - 1];
    assert_eq!(line.text.trim(), finding.source_line);
    let value = &line.values[0];
    assert_eq!(value.variable, "col");
    assert_eq!(value.truth.as_deref(), Some(finding.expected.as_str()));
    assert_eq!(value.shown, finding.shown);
    // the array of 56 equal elements is one entry
    let grid = line
        .values
        .iter()
        .find(|value| value.variable == "grid")
        .unwrap();
    assert_eq!((grid.parts, grid.class), (56, Class::Equal));
    // only a barrier of its own shows it, and the reader is told
    assert!(exhibit.source.note.as_ref().unwrap().contains("line 15"));
    // per line and in all, the counts add up
    let sum: u64 = exhibit.source.lines.iter().map(|l| l.counts.total()).sum();
    assert_eq!(sum, exhibit.source.counts.total());
    assert!(exhibit.source.counts.wrong > 0);

    assert_eq!(state(&exhibit, "clang-19", "-O2"), State::Affected);
    assert_eq!(state(&exhibit, "gcc-12", "-O0"), State::Right);

    // one location of the list holds at the stop, and it is the finding's
    let here = candor_dwarf::Svma(subject.address);
    let holds: Vec<&str> = exhibit
        .locations
        .iter()
        .filter(|location| location.pc.as_ref().is_none_or(|pc| pc.contains(&here)))
        .map(|location| location.text.as_str())
        .collect();
    assert_eq!(holds, [finding.location.as_str()]);
    // the stop is a call of the barrier
    let stop = exhibit.code.iter().find(|i| i.at == here).unwrap();
    assert!(
        stop.text.starts_with("call") && stop.text.contains("opt_me_not"),
        "{stop:?}"
    );
    assert_eq!(stop.line.map(|line| line.0), Some(finding.line));
    assert!(exhibit.code.len() > 3);
    assert!(
        exhibit.build.identity.contains("clang version 19"),
        "{}",
        exhibit.build.identity
    );

    let names: Vec<&str> = exhibit
        .reproduction
        .files
        .iter()
        .map(|(n, _)| n.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "counter_left_at_start.c",
            "opt_me_not.c",
            "gdb.cmds",
            "lldb.cmds"
        ]
    );
    let json = serde_json::to_string(&exhibit).unwrap();
    assert_eq!(serde_json::from_str::<Exhibit>(&json).unwrap(), exhibit);
}

#[test]
fn a_history_over_visits() {
    let (finding, exhibit) = exhibited(
        "found/counter_by_division.c",
        "i",
        None,
        ("gcc-12", "-O1"),
        &[("gcc-11", "-O1"), ("clang-19", "-O2")],
    );
    assert_eq!(exhibit.history.line, Some(finding.line));
    let truth: Vec<&str> = exhibit
        .history
        .moments
        .iter()
        .filter_map(|moment| moment.truth.as_deref())
        .collect();
    assert_eq!(truth, ["12", "10", "8", "6", "4", "2"]);
    assert_eq!(exhibit.history.total, 6);
    let seen = &exhibit.history.moments[finding.visit as usize - 1];
    assert_eq!((&seen.shown, seen.class), (&finding.shown, Class::Wrong));
    assert_eq!(state(&exhibit, "gcc-11", "-O1"), State::Affected);
    assert_ne!(state(&exhibit, "clang-19", "-O2"), State::Affected);
}

#[test]
fn an_ill_formed_location() {
    let (finding, exhibit) = exhibited(
        "found/ill_typed_counter.c",
        "i",
        None,
        ("clang-19", "-O2"),
        &[("clang-14", "-O2"), ("gcc-12", "-O2")],
    );
    assert_eq!(finding.kind, Kind::IllFormedLocation);
    let subject = exhibit.subject.as_ref().unwrap();
    assert_eq!(subject.class, Class::IllFormed);
    assert!(
        subject.location.contains("DW_OP_mul"),
        "{}",
        subject.location
    );
    assert_eq!(state(&exhibit, "clang-14", "-O2"), State::Affected);
    assert_ne!(state(&exhibit, "gcc-12", "-O2"), State::Affected);
}

#[test]
fn what_no_build_shows_has_no_exhibit() {
    let question = Question::new(load("clean/loop.c"), &[("gcc-12", "-O1")]);
    let error = question.with_tools(|tools, request| {
        debug(
            tools,
            &DebugRequest {
                program: request.program,
                original: None,
                compiler: compiler("gcc-12"),
                level: "-O1",
                kind: Kind::WrongValue,
                function: Some("main"),
                variable: "nothing",
                line: 0,
                points: DebugRequest::usual_points(0, "nothing"),
                builds: Vec::new(),
                settings: Settings::default(),
            },
        )
        .unwrap_err()
    });
    assert!(
        error
            .to_string()
            .contains("no longer shows a wrong-value of `nothing`"),
        "{error}"
    );
}

#[test]
fn lines_of_a_whole_program() {
    let question = Question::new(load("found/empty_loop_removed.c"), &[]);
    let views = question.with_tools(|tools, request| {
        let builds = [("gcc-12", "-O0"), ("gcc-12", "-O2")];
        truthfulness(
            tools,
            &SourceRequest {
                program: request.program,
                points: PointChoice::All,
                builds: builds
                    .iter()
                    .map(|(name, level)| (compiler(name), (*level).to_owned()))
                    .collect(),
                settings: Settings::default(),
            },
        )
        .unwrap()
    });
    assert_eq!(views[0].counts.wrong + views[0].counts.optimised_out, 0);
    assert!(views[0].counts.equal > 0);
    let wrong: Vec<u32> = views[1]
        .lines
        .iter()
        .filter(|line| line.counts.wrong > 0)
        .map(|line| line.number)
        .collect();
    assert!(wrong.contains(&12), "{wrong:?}");
    assert_eq!(views[1].lines[11].values[0].variable, "inner");
}

#[test]
fn builds_that_behave_differently() {
    // __OPTIMIZE__ plays the wrong compiler: everything but -O0 prints something else
    let text = "#include <stdio.h>\nint main(void) {\n#ifdef __OPTIMIZE__\n  puts(\"wrong\");\n  return 3;\n#else\n  puts(\"right\");\n  return 0;\n#endif\n}\n";
    let program = Program::from_text(std::path::Path::new("two.c"), text.into());
    let question = Question::new(program, &[]);
    let exhibit = question.with_tools(|tools, request| {
        behaviour(
            tools,
            &BehaviourRequest {
                program: request.program,
                original: None,
                compiler: compiler("gcc-12"),
                level: "-O2",
                reference: Some((compiler("gcc-12"), "-O0".into())),
                builds: vec![
                    (compiler("clang-19"), "-O0".into()),
                    (compiler("clang-19"), "-O1".into()),
                ],
                settings: Settings::default(),
            },
        )
        .unwrap()
    });
    let [right, wrong] = exhibit.runs.as_slice() else {
        panic!("{:?}", exhibit.runs)
    };
    assert!(right.expected && !wrong.expected);
    assert_eq!(
        (right.output.as_str(), wrong.output.as_str()),
        ("right\n", "wrong\n")
    );
    assert_eq!(wrong.ending, "exit code 3");
    let states: Vec<State> = exhibit.builds.iter().map(|build| build.state).collect();
    assert_eq!(states, [State::Right, State::Affected]);
    assert_eq!(
        exhibit.reproduction.commands[2],
        "gcc-12 -w -O2 two.c -o program"
    );
}
