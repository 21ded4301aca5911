//! Variants as texts and records: sameness outside the snippets, determinism, replay, subsets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use candor_mutate::{Choice, Profile, Strategy, Variant, Verdict, profile, variant, verify};
use candor_toolchain::Program;

use crate::bench::{bench, settings};

fn ordinary(name: &str) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mutate/ordinary");
    let path = folder.join(name);
    let mut program = Program::load(&path).unwrap();
    program.stdin = std::fs::read(path.with_extension("stdin")).unwrap_or_default();
    program
}

/// The calculator: loops, recursion, dead branches, standard input.
fn calculator() -> &'static (Program, Profile) {
    static CALCULATOR: OnceLock<(Program, Profile)> = OnceLock::new();
    CALCULATOR.get_or_init(|| {
        let program = ordinary("calc.c");
        let profile = profile(bench(), &program, &settings(1)).unwrap();
        (program, profile)
    })
}

fn many(choice: &Choice) -> Vec<Variant> {
    let (program, profile) = calculator();
    (1..=30)
        .map(|number| variant(program, profile, choice, number))
        .collect()
}

fn only(strategy: Strategy) -> Choice {
    Choice {
        strategies: vec![strategy],
        ..Choice::default()
    }
}

#[test]
fn each_strategy_occurs_and_alone_when_asked_alone() {
    let mixed = many(&Choice::default());
    let occurring: BTreeSet<Strategy> = mixed
        .iter()
        .flat_map(|v| &v.snippets)
        .map(|s| s.strategy)
        .collect();
    assert_eq!(occurring, Strategy::ALL.into_iter().collect());
    for strategy in Strategy::ALL {
        let alone = many(&only(strategy));
        let snippets: Vec<_> = alone.iter().flat_map(|v| &v.snippets).collect();
        assert!(!snippets.is_empty(), "{strategy:?}");
        assert!(snippets.iter().all(|s| s.strategy == strategy));
    }
    let text: String = mixed
        .iter()
        .flat_map(|v| &v.snippets)
        .map(|s| s.text.as_str())
        .collect();
    // FCB in both forms, bodies broadly: loops, ifs, switch, arrays, calls, pointers, jumps.
    for part in [
        "if (", "while (", "for (", "do {", "switch (", "line[", "factor()", "*at", "return",
        "break;",
    ] {
        assert!(text.contains(part), "`{part}` never occurs");
    }
}

#[test]
fn the_text_outside_the_snippets_and_the_lines_stay() {
    let (program, _) = calculator();
    for variant in many(&Choice::default()) {
        let text = variant.text(&program.text).unwrap();
        assert_eq!(
            text.lines().count(),
            program.text.lines().count(),
            "variant {}",
            variant.number
        );
        let mut rest = text.as_str();
        let mut done = 0;
        for snippet in &variant.snippets {
            let kept = &program.text[done..snippet.range.start];
            rest = rest
                .strip_prefix(kept)
                .and_then(|rest| rest.strip_prefix(&snippet.text))
                .unwrap();
            done = snippet.range.end;
            let added_lines = snippet.text.matches('\n').count();
            let removed_lines = program.text[snippet.range.clone()].matches('\n').count();
            assert_eq!(added_lines, removed_lines);
        }
        assert_eq!(rest, &program.text[done..]);
    }
}

#[test]
fn predicates_reach_every_depth_and_guards_cite_their_evidence() {
    let variants = many(&Choice::default());
    let snippets = || variants.iter().flat_map(|v| &v.snippets);
    let depths: BTreeSet<u32> = snippets()
        .flat_map(|s| &s.predicates)
        .map(|p| p.depth)
        .collect();
    assert_eq!(depths, [0, 1, 2].into());
    let cited = snippets().filter(|s| !s.relies_on.is_empty()).count();
    assert!(cited * 2 > snippets().filter(|s| s.strategy.is_live()).count());
}

/// gcc and clang compute with a bit-field wider than `int` in different types (see `integers.rs`).
#[test]
fn wide_bit_fields_are_read_through_a_cast_only() {
    let program = crate::bench::program(
        "#include <stdio.h>\nstatic struct { unsigned long wide : 40; } s;\n\
         int main(void) { s.wide = 5; for (int i = 0; i < 9; i++) { s.wide += 1; puts(\"a\"); puts(\"b\"); }\n\
         printf(\"%lu\\n\", (unsigned long)s.wide); return 0; }",
    );
    let profile = profile(bench(), &program, &settings(1)).unwrap();
    let choice = Choice {
        strategies: vec![Strategy::Fcb, Strategy::Tg, Strategy::Tcb],
        rate: 1.0,
        ..Choice::default()
    };
    let cast = "((unsigned long)(s.wide))";
    let (mut reads, mut writes) = (0, 0);
    for number in 1..=30 {
        for snippet in variant(&program, &profile, &choice, number).snippets {
            reads += snippet.text.matches(cast).count();
            writes += snippet.text.matches("s.wide = ").count();
            let rest = snippet.text.replace(cast, "").replace("s.wide = ", "");
            assert!(!rest.contains("s.wide"), "a bare read: {}", snippet.text);
        }
    }
    assert!(reads > 30 && writes > 0, "{reads} reads, {writes} writes");
}

#[test]
fn a_seed_decides_everything_and_a_sidecar_rebuilds_it() {
    let (program, profile) = calculator();
    let choice = Choice {
        seed: 7,
        ..Choice::default()
    };
    let first = variant(program, profile, &choice, 3);
    assert_eq!(first, variant(program, profile, &choice, 3));
    assert_ne!(
        first.snippets,
        variant(program, profile, &choice, 4).snippets
    );

    let folder = tempfile::tempdir().unwrap();
    let path = candor_mutate::save::save(&first, program, folder.path()).unwrap();
    let sidecar = path.with_extension("json");
    let loaded = Variant::load(&sidecar).unwrap();
    assert_eq!(loaded, first);
    let seed = loaded.seed_program(&sidecar).unwrap();
    assert_eq!(
        loaded.text(&seed.text).unwrap(),
        std::fs::read_to_string(&path).unwrap()
    );
    let files: BTreeSet<PathBuf> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(
        files,
        [path, sidecar.clone()].into(),
        "nothing temporary stays"
    );

    let none = loaded.text_with(&seed.text, |_| false).unwrap();
    assert_eq!(none, seed.text);
    let one = loaded
        .text_with(&seed.text, |snippet| snippet.id == 0)
        .unwrap();
    assert!(one != seed.text && one.contains(&loaded.snippets[0].text));

    let mut stale = first.clone();
    stale.fingerprint = "0".into();
    std::fs::write(&sidecar, serde_json::to_vec(&stale).unwrap()).unwrap();
    let error = Variant::load(&sidecar)
        .unwrap()
        .seed_program(&sidecar)
        .unwrap_err();
    assert!(error.to_string().contains("another text"), "{error}");
    std::fs::write(&sidecar, "{}").unwrap();
    assert!(
        Variant::load(&sidecar)
            .unwrap_err()
            .to_string()
            .contains("expected the JSON")
    );
}

#[test]
fn verification_notices_a_broken_variant() {
    let (program, profile) = calculator();
    let time = settings(1).time;
    let wrong = program.text.replace("value += term()", "value -= term()");
    let verdict = verify(bench(), program, profile, &wrong, time).unwrap();
    assert!(
        matches!(&verdict, Verdict::Different { reason } if reason.contains("-O0")),
        "{verdict:?}"
    );
    let undefined = program.text.replace(
        "int errors = 0;",
        "int errors = 0; int u; (void)(2147483647 + (errors + 1));",
    );
    let verdict = verify(bench(), program, profile, &undefined, time).unwrap();
    assert!(
        matches!(&verdict, Verdict::Different { reason } if reason.contains("UBSan")),
        "{verdict:?}"
    );
}
