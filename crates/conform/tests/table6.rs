#![allow(clippy::unwrap_used)]
//! The paper's Table 6 on the stock libraries: 42 of its 46 errors are visible on LLVM 16, and all are
//! fixed in 19. `tests/conform/table6.tsv` says for each which destination shows it in our own input,
//! and in which function of LLVM 16 the site is.

#[path = "common/errors.rs"]
mod errors;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use candor_conform::input::{plain, read};
use candor_conform::{
    Budget, Class, Confidence, Findings, Outcome, Rule, Session, Settings, Site, Test, detail,
    examine, filters,
};
use candor_llvm::attribute::Names;
use candor_llvm::{Library, Limits};
use errors::{root, tests};

/// One version with its names, started once for all tests of this file.
struct Bench {
    session: Session,
    names: Names,
}

fn bench(version: u32) -> &'static Bench {
    static BENCHES: [OnceLock<Bench>; 2] = [OnceLock::new(), OnceLock::new()];
    BENCHES[usize::from(version == 19)].get_or_init(|| {
        let library = Library::find(version).unwrap();
        let names = Names::of(&library, None).unwrap();
        assert!(
            names.complete,
            "install llvm-{version}-dev: its archives name the passes' functions"
        );
        let session = Session::start(library, 2, Limits::default()).unwrap();
        Bench { session, names }
    })
}

fn found(version: u32, tests: &[Test], settings: &Settings) -> Findings {
    let Bench { session, names } = bench(version);
    let found = examine(session, names, None, tests, settings, &|| false, &|_| {}).unwrap();
    let not_judged = &found.tally.not_judged;
    assert!(not_judged.is_empty(), "LLVM {version}: {not_judged:?}");
    assert_eq!(found.tally.check.unknown, 0);
    found
}

fn reported(version: u32, settings: &Settings) -> BTreeMap<u32, Option<Site>> {
    let Bench { session, names } = bench(version);
    errors::reported(session, names, settings)
}

#[test]
fn llvm_16_has_the_42_visible_errors() {
    let reported = reported(16, &Settings::default());
    for (id, site) in &reported {
        let rules = site.as_ref().map(|site| (site.place(), &site.rules));
        println!("{id}: {rules:?}");
    }
    let missed: Vec<u32> = reported
        .iter()
        .filter(|(_, site)| site.is_none())
        .map(|(id, _)| *id)
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn llvm_19_has_none_of_them() {
    let reported = reported(19, &Settings::default());
    let left: Vec<(u32, String)> = reported
        .into_iter()
        .filter_map(|(id, site)| Some((id, site?.place())))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// How many of the 42 each source rule finds by itself, filters on.
#[test]
fn the_paper_s_own_sources_find_half() {
    let count = |rules: &[Rule]| {
        let settings = Settings {
            rules: rules.to_vec(),
            ..Settings::default()
        };
        reported(16, &settings)
            .values()
            .filter(|site| site.is_some())
            .count()
    };
    let counts = [Rule::P, Rule::T, Rule::N, Rule::S].map(|rule| count(&[rule]));
    let [p, t, n, s] = counts;
    println!("each rule alone: P {p}, T {t}, N {n}, S {s}");
    assert!((18..=26).contains(&p), "{counts:?}");
    assert!(t >= 8 && n >= 8 && s >= 3, "{counts:?}");
}

/// Filters make the report shorter, and say by name what they left out.
#[test]
fn filters_remove_and_are_counted() {
    let tests = tests();
    let shown = |found: &Findings| {
        let sure = |site: &&Site| site.confidence > Confidence::Low;
        found.sites.iter().filter(sure).count()
    };
    let filtered = found(16, &tests, &Settings::default());
    let raw = Settings {
        filters: filters::Filters::none(),
        ..Settings::default()
    };
    let raw = found(16, &tests, &raw);
    assert!(
        shown(&raw) > shown(&filtered),
        "{} {}",
        shown(&raw),
        shown(&filtered)
    );
    assert!(raw.tally.removed.is_empty());
    assert!(
        filtered.tally.removed.contains_key("evidence"),
        "{:?}",
        filtered.tally.removed
    );
}

/// Figure 2 and Example 3.5 of the paper: the location sets, and the path that carries the extra line.
#[test]
fn the_paper_s_example_is_explained_and_reduced() {
    let Bench { session, names } = bench(16);
    let settings = Settings::default();
    let file = root().join("table6/19-tailcallelim-accumulator.ll");
    let tests = vec![plain(&file, read(&file).unwrap(), "tailcallelim")];
    let found = found(16, &tests, &settings);
    let site = found
        .sites
        .iter()
        .find(|site| site.class == Class::ShouldDrop && site.opcodes.contains("add"))
        .unwrap();
    let whole = detail(session, names, &tests, site, &settings, None, None).unwrap();
    let explanation = whole.explanation.unwrap();
    assert!(!explanation.extra.is_empty());
    assert!(
        explanation
            .extra
            .iter()
            .all(|line| !explanation.l_src.contains(line))
    );
    assert!(
        explanation
            .extra
            .iter()
            .all(|line| explanation.l_dst.contains(line))
    );
    assert!(
        explanation.carrier.contains(&"times".to_owned()),
        "{:?}",
        explanation.carrier
    );
    assert!(
        whole.skeleton.call.ends_with("->dropLocation();"),
        "{:?}",
        whole.skeleton
    );
    assert!(
        whole
            .regression_test
            .starts_with("; RUN: opt -S -passes='tailcallelim'")
    );
    let reduced = |tests: &[Test]| {
        let budget = Some(Budget::default());
        detail(session, names, tests, site, &settings, None, budget).unwrap()
    };
    let small = reduced(&tests);
    assert!(
        small.input.len() < whole.input.len() * 2 / 3,
        "{}",
        small.input
    );
    // Bitcode is reduced as text.
    let bitcode = std::process::Command::new("llvm-as-16")
        .args(["-o", "-"])
        .arg(&file)
        .output()
        .unwrap()
        .stdout;
    assert!(bitcode.starts_with(b"BC"), "{} bytes", bitcode.len());
    let from_bitcode = reduced(&[plain(&file, bitcode, "tailcallelim")]);
    assert!(
        from_bitcode.input.contains("define") && from_bitcode.input.len() < whole.input.len(),
        "{}",
        from_bitcode.input
    );
}

#[test]
fn what_cannot_be_judged_says_why() {
    let session = &bench(16).session;
    let judge = |input: &str, pipeline: &str| {
        let test = plain(Path::new("bad.ll"), input.into(), pipeline);
        session.judge(0, &test.run, &|| false).unwrap()
    };
    let broken = judge("define void @f() {\n  ret i32 0\n}\n", "gvn");
    assert!(format!("{broken:?}").contains("bad.ll:2:"), "{broken:?}");
    let unknown = judge("define void @f() {\n  ret void\n}\n", "gvnn");
    assert!(format!("{unknown:?}").contains("gvnn"), "{unknown:?}");
    let invalid = judge(
        "define i32 @f() {\nentry:\n  %x = add i32 %y, 1\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n",
        "gvn",
    );
    assert!(format!("{invalid:?}").contains("dominate"), "{invalid:?}");
    let fine = judge("define void @f() {\n  ret void\n}\n", "gvn");
    assert!(matches!(fine, Outcome::Judged(_)), "{fine:?}");
}
