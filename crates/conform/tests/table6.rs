#![allow(clippy::unwrap_used)]
//! The paper's Table 6 on the stock libraries: 42 of its 46 errors are visible on LLVM 16, and all are
//! fixed in 19. `tests/conform/table6.tsv` says for each which destination shows it in our own input,
//! and in which function of LLVM 16 the site is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use candor_conform::input::{Selection, from_run_lines, plain, read};
use candor_conform::{
    Budget, Class, Confidence, Findings, Outcome, Required, Rule, Session, Settings, Site, Test,
    detail, examine, filters, findings,
};
use candor_llvm::attribute::Names;
use candor_llvm::{Library, Limits};

struct Row {
    id: u32,
    file: String,
    function: String,
    destination: String,
    required: Required,
    site: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conform")
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("table6.tsv")).unwrap();
    let rows: Vec<Row> = text
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            Row {
                id: fields[0].parse().unwrap(),
                file: fields[2].to_owned(),
                function: fields[3].to_owned(),
                destination: fields[4].to_owned(),
                required: match fields[5] {
                    "Preserve" => Required::Preserve,
                    "Merge" => Required::Merge,
                    "Drop" => Required::Drop,
                    other => panic!("{other}"),
                },
                site: fields[6].to_owned(),
            }
        })
        .collect();
    assert_eq!(rows.len(), 42);
    rows
}

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

fn tests() -> Vec<Test> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("table6"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| {
            let input = read(file).unwrap();
            let tests = from_run_lines(file, &input, &Selection::All, &Default::default());
            assert_eq!(tests.len(), 1, "{}", file.display());
            tests
        })
        .collect()
}

fn found(version: u32, tests: &[Test], settings: &Settings) -> Findings {
    let Bench { session, names } = bench(version);
    let found = examine(session, names, None, tests, settings, &|| false, &|_| {}).unwrap();
    let not_judged = &found.tally.not_judged;
    assert!(not_judged.is_empty(), "LLVM {version}: {not_judged:?}");
    assert_eq!(found.tally.check.unknown, 0);
    found
}

/// Per error, the site that is reported for the very destination that `row` names.
fn reported(version: u32, settings: &Settings) -> BTreeMap<u32, Option<Site>> {
    let Bench { session, names } = bench(version);
    let tests = tests();
    let mut result = BTreeMap::new();
    for row in rows() {
        let of_row: Vec<Test> = tests
            .iter()
            .filter(|test| test.file.ends_with(&row.file))
            .cloned()
            .collect();
        assert_eq!(of_row.len(), 1, "{}", row.file);
        let outcome = session.judge(0, &of_row[0].run, &|| false).unwrap();
        let Outcome::Judged(mut judgement) = outcome else {
            panic!("{outcome:?}");
        };
        judgement.updates.retain(|update| {
            update.function == row.function && update.text.contains(&row.destination)
        });
        let outcomes = [Outcome::Judged(judgement)];
        let found = findings(&session.library, names, &of_row, &outcomes, settings);
        let shows = |site: &Site| {
            let name = site.frame.name.as_ref();
            site.confidence > Confidence::Low
                && (site.required == Some(row.required)
                    // A merge of all arms' locations is what upstream does; dropping is as conforming.
                    || row.id == 2 && site.class == Class::ShouldDrop)
                && name.is_some_and(|name| name.plain == row.site)
        };
        result.insert(row.id, found.sites.into_iter().find(shows));
    }
    result
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
