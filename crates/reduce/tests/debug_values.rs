//! Findings of real compilers, reduced: still the same variable, still wrong, confirmed by debuggers.

#![allow(clippy::unwrap_used)]

mod world;

use candor_check::{Kind, PointChoice, Request};
use candor_predicate::{Case, Claim};
use candor_reduce::Settings;
use candor_toolchain::{Compiler, Program};
use world::{compiler, reduced, with_tools};

/// Checks a program, takes its first finding of a kind and reduces that.
fn reduce_finding(file: &str, command: &str, level: &str, kind: Kind) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests")
        .join(file);
    let program = Program::load(&path).unwrap();
    with_tools(|tools| {
        let compiler = compiler(tools, command);
        let replay = |_: &Compiler, _: &str, _: &PointChoice| String::new();
        let request = Request {
            program: &program,
            points: PointChoice::All,
            builds: vec![(&compiler, level.to_owned())],
            settings: candor_check::Settings::default(),
            replay: &replay,
        };
        let report = candor_check::check(tools, &request, &|_| {}).unwrap();
        let finding = report
            .findings
            .iter()
            .find(|finding| finding.kind == kind)
            .unwrap_or_else(|| panic!("{file} has no {kind} with {command} {level}"));
        let case = Case::from_finding(&program, finding);
        let reduction = reduced(tools, &case, &compiler, &Settings::default()).unwrap();
        let text = &reduction.case.program.text;
        assert!(reduction.after.tokens < reduction.before.tokens, "{text}");
        assert!(reduction.after.lines <= 20, "{text}");
        let confirmed = reduction.case.finding.as_ref().unwrap();
        assert_eq!(confirmed.kind, kind);
        assert!(confirmed.confirmed_by.len() >= 2, "{confirmed:?}");
        // the result is a case of its own: reducing it again finds it again
        let Claim::Debug { subject, .. } = &reduction.case.claim else {
            panic!("{}", reduction.case.claim);
        };
        assert_eq!(subject.line, confirmed.line);
        assert!(text.lines().count() >= subject.line as usize);
    });
}

#[test]
fn a_wrong_value_of_gcc_12() {
    let file = "check/found/empty_loop_removed.c";
    reduce_finding(file, "gcc-12", "-O2", Kind::WrongValue);
}

#[test]
fn a_wrong_value_of_clang_19() {
    let file = "check/found/bit_field_before_its_store.c";
    reduce_finding(file, "clang-19", "-Os", Kind::WrongValue);
}
