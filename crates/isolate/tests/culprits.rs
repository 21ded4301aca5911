//! Known culprits on real compilers, compilers that are made to fail, and predicates that lie.
//!
//! The programs are in `tests/check/found/` and `tests/isolate/`; what is expected of each is here.

#![allow(clippy::unwrap_used)]

mod bench;

use std::time::Duration;

use bench::{Bench, debug_claim, script};
use candor_check::Kind;
use candor_isolate::{CureKind, Error, Outcome, Settings};
use candor_predicate::{Claim, Manner};

#[test]
fn the_counter_that_loop_strength_reduction_spoils_on_clang_19() {
    let bench = Bench::new();
    let claim = debug_claim(Kind::IllFormedLocation, "walk", "i");
    let case = bench.case("check/found/ill_typed_counter.c", "clang-19", "-O2", claim);
    let found = bench
        .isolate(&case, "clang-19", &Settings::default())
        .unwrap();
    let culprit = found
        .culprit()
        .unwrap_or_else(|| panic!("{}", found.headline()));
    assert_eq!(culprit.pass, "Loop Strength Reduction");
    assert_eq!(culprit.files, ["Transforms/Scalar/LoopStrengthReduce.cpp"]);
    assert_eq!(culprit.disable, ["-mllvm", "-disable-lsr"]);
    // the search itself ends at instruction selection, which never leads alone
    let selection = &found.suspects[1];
    assert!(
        selection.unspecific && selection.pass.ends_with("Instruction Selection"),
        "{selection:?}"
    );
    let run = selection.run.unwrap();
    assert_eq!(run.last_good + 1, run.number, "both sides are tested");
    assert!(run.number < run.total);
    let place = culprit.place.as_deref().unwrap();
    assert!(
        place.starts_with("loop at ill_typed_counter.c:") && place.ends_with(" in walk"),
        "{place}"
    );
    let change = found.change.as_ref().unwrap();
    let about_i = |line: &String| line.starts_with('+') && line.contains("\"i\"");
    assert!(change.lines.iter().any(about_i), "{:?}", change.lines);
    let releases = found.releases.as_ref().unwrap();
    assert!(
        releases.seen.len() >= 3 && releases.first_bad.is_some(),
        "{releases:?}"
    );
    let next = found.next.as_deref().unwrap();
    assert!(
        next.starts_with("candor conform ") && next.contains("loop-reduce"),
        "{next}"
    );

    let mut completed = case.clone();
    candor_isolate::complete(&mut completed, &found);
    assert_eq!(completed.pass.unwrap().name, "Loop Strength Reduction");
}

#[test]
fn the_multiple_that_loop_strength_reduction_spoils_is_bisected_to_its_run() {
    let bench = Bench::new();
    let claim = debug_claim(Kind::WrongValue, "sum", "j");
    let case = bench.case("isolate/scaled_counter.c", "clang-19", "-O2", claim);
    let found = bench
        .isolate(&case, "clang-19", &Settings::default())
        .unwrap();
    let culprit = found
        .culprit()
        .unwrap_or_else(|| panic!("{}", found.headline()));
    assert_eq!(culprit.pass, "Loop Strength Reduction");
    let run = culprit.run.unwrap();
    assert_eq!(run.last_good + 1, run.number, "both sides are tested");
    assert!(found.effort.builds < 40, "{:?}", found.effort);
    let place = culprit.place.as_deref().unwrap();
    assert!(
        place.starts_with("loop at scaled_counter.c:") && place.ends_with(" in sum"),
        "{place}"
    );
    // clang 14 gets it right
    let releases = found.releases.as_ref().unwrap();
    assert_eq!(
        releases.last_good.as_deref(),
        Some("14.0.6"),
        "{releases:?}"
    );
    assert!(
        found.headline().contains("first bad release 16"),
        "{}",
        found.headline()
    );
}

#[test]
fn the_index_that_ivopts_spoils_on_gcc_12() {
    let bench = Bench::new();
    let claim = debug_claim(Kind::WrongValue, "fill", "i");
    let case = bench.case("isolate/stepped_index.c", "gcc-12", "-O1", claim);
    let found = bench
        .isolate(&case, "gcc-12", &Settings::default())
        .unwrap();
    let culprit = found
        .culprit()
        .unwrap_or_else(|| panic!("{}", found.headline()));
    assert_eq!(culprit.pass, "tree-ivopts", "{:?}", found.cures);
    assert_eq!(culprit.files[0], "tree-ssa-loop-ivopts.cc");
    assert_eq!(culprit.place.as_deref(), Some("function fill"));
    assert_eq!(culprit.instance.as_ref().unwrap().counter, "ivopts_loop");
    let flags: Vec<String> = found
        .cures
        .iter()
        .map(|cure| cure.flags.join(" "))
        .collect();
    for wanted in ["-fno-ivopts", "-fdisable-tree-ivopts"] {
        assert!(
            flags.iter().any(|flag| flag == wanted),
            "{wanted} of {flags:?}"
        );
    }
    let change = found.change.as_ref().unwrap();
    assert!(
        change.lines.iter().any(|line| line.contains("DEBUG i =>")),
        "{:?}",
        change.lines
    );
    assert!(found.next.is_none(), "conform is for LLVM passes");
}

/// A wrapper around a real compiler, as a user's `--cc`, that crashes unless a pass is off.
const CRASHES: &str = r#"#!/bin/sh
case " $* " in
  *" -fdisable-tree-dse2 "*|*" -fno-tree-dse "*|*" -O0 "*|*--version*|*-dumpmachine*|*-fdump-passes*|*--help*) exec gcc-12 "$@";;
  *sums.c*) echo "during GIMPLE pass: dse" >&2
            echo "sums.c:5:1: internal compiler error: in planted, at tree-ssa-dse.cc:7" >&2; exit 1;;
esac
exec gcc-12 "$@"
"#;

#[test]
fn a_crash_of_a_wrapped_gcc_is_traced_to_its_pass() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let command = script(folder.path(), "my-gcc", CRASHES);
    let claim = Claim::Crash {
        site: String::new(),
    };
    let case = bench.case("isolate/sums.c", &command, "-O2", claim);
    let found = bench.isolate(&case, &command, &bench::quick()).unwrap();
    let culprit = found
        .culprit()
        .unwrap_or_else(|| panic!("{}", found.headline()));
    assert_eq!(culprit.pass, "tree-dse2", "{:?}", found.suspects);
    assert_eq!(culprit.files[0], "tree-ssa-dse.cc");
    assert_eq!(culprit.disable, ["-fdisable-tree-dse2"]);
    let diagnosis = found.diagnosis.as_ref().unwrap();
    assert_eq!(diagnosis.file.as_deref(), Some("tree-ssa-dse.cc"));
    let one_by_one = found.effort.options + found.effort.passes + found.effort.counters;
    assert!(found.effort.builds * 3 <= one_by_one, "{:?}", found.effort);
}

/// Miscompiles unless the pass limit is below 60.
const MISCOMPILES: &str = r#"#!/bin/sh
limit=none
for word in "$@"; do
  case $word in -opt-bisect-limit=*) limit=${word#*=};; -O0) limit=0;; esac
done
case " $* " in
  *sums.c*) if [ "$limit" = none ] || [ "$limit" = -1 ] || [ "$limit" -ge 60 ]; then
              exec clang-19 "$@" -DEXTRA=1
            fi;;
esac
exec clang-19 "$@"
"#;

#[test]
fn wrong_code_of_a_wrapped_clang_is_traced_to_its_run() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let command = script(folder.path(), "my-clang", MISCOMPILES);
    let claim = Claim::Miscompilation {
        against: vec!["-O0".into()],
        reference: Some("clang-19".into()),
        manner: Some(Manner::Output),
    };
    let case = bench.case("isolate/sums.c", &command, "-O2", claim);
    let found = bench.isolate(&case, &command, &bench::quick()).unwrap();
    let culprit = found
        .culprit()
        .unwrap_or_else(|| panic!("{}", found.headline()));
    let run = culprit.run.unwrap();
    assert_eq!((run.last_good, run.number), (59, 60));
    assert_eq!(found.cures[0].kind, CureKind::Limit);
    assert!(found.effort.builds < 30, "{:?}", found.effort);
}

fn command_case(bench: &Bench, path: String) -> candor_predicate::Case {
    let claim = Claim::Command { path: path.into() };
    bench.case("isolate/scale.c", "clang-19", "-O2", claim)
}

#[test]
fn a_command_is_told_the_build_and_the_pass_is_found_by_it() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    // interesting while the loop is vectorised
    let path = script(
        folder.path(),
        "vectorised.sh",
        "#!/bin/sh\n$CANDOR_CC $CANDOR_FLAGS -S -o out.s \"$1\" 2>/dev/null && grep -q pmuludq out.s\n",
    );
    let case = command_case(&bench, path);
    let found = bench.isolate(&case, "clang-19", &bench::quick()).unwrap();
    let culprit = found
        .culprit()
        .unwrap_or_else(|| panic!("{}", found.headline()));
    assert_eq!(culprit.pass, "LoopVectorizePass");
    assert_eq!(culprit.disable, ["-fno-vectorize"]);
}

#[test]
fn predicates_that_lie_are_told_so() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let ask = |name: &str, text: &str| {
        let path = script(folder.path(), name, text);
        bench.isolate(&command_case(&bench, path), "clang-19", &bench::quick())
    };
    let never = ask("never.sh", "#!/bin/sh\nexit 1\n").unwrap();
    assert!(
        matches!(never.outcome, Outcome::NotReproduced(_)),
        "{:?}",
        never.outcome
    );
    assert!(
        never.headline().contains("does not reproduce"),
        "{}",
        never.headline()
    );

    let always = ask("always.sh", "#!/bin/sh\nexit 0\n").unwrap();
    assert!(
        matches!(always.outcome, Outcome::Unoptimised(_)),
        "{:?}",
        always.outcome
    );
    assert!(always.headline().contains("-O0"), "{}", always.headline());

    // every second answer is no
    let count = folder.path().join("count");
    let flaky = format!(
        "#!/bin/sh\necho x >> {0}\n[ $(( $(wc -l < {0}) % 2 )) = 1 ]\n",
        count.display()
    );
    let flaky = ask("flaky.sh", &flaky).unwrap();
    let Outcome::Flaky(rate) = flaky.outcome else {
        panic!("{:?}", flaky.outcome)
    };
    assert_eq!((rate.held, rate.of), (5, 10));
    assert!(flaky.headline().contains("5 of 10"), "{}", flaky.headline());
    assert!(flaky.suspects.is_empty());
}

#[test]
fn compilers_that_cannot_leave_passes_out_are_refused_in_words() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let claim = || Claim::Hang { seconds: 1 };
    let case = bench.case("isolate/sums.c", "tcc", "-O2", claim());
    let error = bench.isolate(&case, "tcc", &bench::quick()).unwrap_err();
    assert!(matches!(error, Error::Family { .. }));
    assert!(error.to_string().contains("tcc"), "{error}");

    // wrappers that do not let the flags through
    for (real, flag) in [("clang-19", "-mllvm"), ("gcc-12", "-fdump-passes")] {
        let wrapper = format!(
            "#!/bin/sh\ncase \" $* \" in *\" {flag} \"*) echo \"wrapper: unknown argument {flag}\" >&2; exit 1;; esac\nexec {real} \"$@\"\n"
        );
        let command = script(folder.path(), &format!("no{real}"), &wrapper);
        let path = script(
            folder.path(),
            "optimised.sh",
            "#!/bin/sh\ncase $CANDOR_FLAGS in *-O0*) exit 1;; esac\n",
        );
        let mut case = command_case(&bench, path);
        case.compiler.clone_from(&command);
        let error = bench.isolate(&case, &command, &bench::quick()).unwrap_err();
        let words = error.to_string();
        assert!(
            words.contains(flag) && words.contains("unknown argument"),
            "{words}"
        );
    }
}

#[test]
fn limits_end_everything_that_was_started() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    // a marker that no other process has
    let marker = format!("31.{}", std::process::id());
    let path = script(
        folder.path(),
        "slow.sh",
        &format!(
            "#!/bin/sh\ncase $CANDOR_FLAGS in *-O0*) exit 1;; *bisect*) sleep {marker} & sleep {marker};; esac\n"
        ),
    );
    let case = command_case(&bench, path);
    let mut settings = bench::quick();
    settings.options.command = Duration::from_secs(1);
    let one = bench.isolate(&case, "clang-19", &settings).unwrap();
    assert!(
        matches!(one.outcome, Outcome::NoCure(_)),
        "{:?}",
        one.outcome
    );

    settings.options.command = Duration::from_secs(60);
    settings.budget = Some(Duration::ZERO);
    let none = bench.isolate(&case, "clang-19", &settings).unwrap();
    assert_eq!(none.outcome, Outcome::Interrupted);
    assert!(
        none.notes
            .iter()
            .any(|note| note.contains("time was used up")),
        "{:?}",
        none.notes
    );

    let left: Vec<String> = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|words| String::from_utf8_lossy(&words).replace('\0', " "))
        .filter(|words| words.starts_with("sleep ") && words.contains(&marker))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_finding_that_is_gone_is_said_to_be_gone() {
    let bench = Bench::new();
    let claim = debug_claim(Kind::WrongValue, "fill", "i");
    let case = bench.case("isolate/stepped_index.c", "gcc-12", "-O0", claim);
    let found = bench.isolate(&case, "gcc-12", &bench::quick()).unwrap();
    let Outcome::NotReproduced(seen) = &found.outcome else {
        panic!("{:?}", found.outcome)
    };
    assert!(seen.contains("shown right or not at all"), "{seen}");
}
