//! Proofs of real code: compilers, levels, kinds of files, certificates. A slice of the table in docs/prove.md.
#![allow(clippy::unwrap_used)]

mod common;

use candor_prove::image::Image;
use candor_prove::{Certificate, Differs, Native, Outcome, Prover};
use common::{Bench, patient};

/// Every function named must be proved, in this object.
fn all_proved(bench: &Bench, source: &str, image: &Image, functions: &[&str]) {
    let module = bench.ir(&Bench::program(source), &[]);
    let prover = Prover::new(&bench.sandbox, &bench.scratch, patient());
    for name in functions {
        let verdict = prover.prove(image, &module, name).unwrap();
        assert!(
            verdict.is_proved(),
            "{name} in {}: {:?}",
            image.path.display(),
            verdict.outcome
        );
    }
}

#[test]
fn kernels_are_proved_for_both_compilers() {
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let few = ["s000", "s112", "s1221", "s271", "s311", "vpvtv"];
    for (compiler, flags, name) in [
        ("gcc-12", &["-O1"][..], "gcc1.o"),
        ("gcc-12", &["-O3", "-msse4.2"][..], "gccsse.o"),
        ("clang-19", &["-O3", "-mavx2"][..], "clangavx.o"),
    ] {
        let image = bench.object(compiler, flags, &source, name);
        all_proved(&bench, "tsvc.c", &image, &few);
    }
}

#[test]
fn another_solver_comes_to_the_same() {
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let module = bench.ir(&source, &[]);
    let image = bench.object("gcc-12", &["-O3", "-msse4.2"], &source, "t.o");
    let mut settings = patient();
    settings.solver.command = "cvc5".into();
    let prover = Prover::new(&bench.sandbox, &bench.scratch, settings);
    let mut asked = Vec::new();
    for name in ["s271", "s2233", "s162"] {
        let verdict = prover.prove(&image, &module, name).unwrap();
        assert!(verdict.is_proved(), "{name}: {:?}", verdict.outcome);
        asked.push(verdict.queries);
    }
    // most loops need no solver at all
    assert!(asked.iter().sum::<u64>() > 0, "nothing was asked");
}

#[test]
fn executables_are_proved_wherever_they_are_loaded() {
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let main = bench.source(
        "main.c",
        "void s000(void); int main(void) { s000(); return 0; }",
    );
    for (flags, name) in [
        (&["-O2", "-no-pie", "-fno-pie"][..], "fixed"),
        (&["-O2", "-pie", "-fPIE"][..], "pie"),
    ] {
        let mut all = flags.to_vec();
        let main = main.to_str().unwrap();
        all.push(main);
        let path = bench.build("gcc-12", &all, &source, name);
        let image = Image::load(&path).unwrap();
        assert_eq!(image.fixed, name == "fixed");
        all_proved(&bench, "tsvc.c", &image, &["s000", "s311"]);
    }
}

#[test]
fn a_certificate_is_rechecked_and_tampering_is_found() {
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let image = bench.object("gcc-12", &["-O2"], &source, "t.o");
    let module = bench.ir(&source, &[]);
    let prover = Prover::new(&bench.sandbox, &bench.scratch, patient());
    let verdict = prover.prove(&image, &module, "s000").unwrap();
    let certificate = Certificate::new(&image, &module, &[verdict]);
    let path = bench.scratch.path().join("s000.cert");
    certificate.save(&path).unwrap();
    let mut entry = Certificate::load(&path).unwrap().entries.remove(0);
    assert!(prover.recheck(&image, &module, &entry).unwrap().is_proved());

    // one source iteration too many on an edge
    let honest = entry.clone();
    let edge = entry
        .proof
        .edges
        .iter_mut()
        .find(|edge| edge.from.is_some())
        .unwrap();
    edge.edge.steps = edge.edge.steps.iter().map(|steps| steps + 1).collect();
    assert!(!prover.recheck(&image, &module, &entry).unwrap().is_proved());
    // an edge left out
    entry = honest.clone();
    entry.proof.edges.pop();
    assert!(!prover.recheck(&image, &module, &entry).unwrap().is_proved());
    // a claim too many
    entry = honest.clone();
    let node = &mut entry.proof.nodes[0];
    let column = node.hypotheses[0].columns()[0];
    node.hypotheses
        .push(candor_prove::Hypothesis::AtMost(column, 3));
    assert!(!prover.recheck(&image, &module, &entry).unwrap().is_proved());
    // another build
    let other = bench.object("clang-19", &["-O2"], &source, "other.o");
    assert!(
        !prover
            .recheck(&other, &module, &honest)
            .unwrap()
            .is_proved()
    );
}

/// The input of a difference, shown on the processor too.
fn confirmed(verdict: &candor_prove::Verdict) -> (Differs, String) {
    match &verdict.outcome {
        Outcome::Different(difference) => match &difference.native {
            Native::Confirmed(what) => (difference.kind, what.clone()),
            Native::NotShown(why) => panic!("{} is not shown: {why}", difference.what),
        },
        other => panic!("not different: {other:?}"),
    }
}

#[test]
fn a_wrong_compiler_is_caught_and_the_processor_agrees() {
    let bench = Bench::new();
    let source = bench.source(
        "right.c",
        "int a[100], b[100];\nvoid f(void) { for (int i = 0; i < 100; i++) a[i] = b[i] + 1; }\n",
    );
    let wrong = bench.source(
        "wrong.c",
        "int a[100], b[100];\nvoid f(void) { for (int i = 0; i < 100; i++) a[i] = b[i] + 1 + (i == 42); }\n",
    );
    let module = bench.ir(&source, &[]);
    let prover = Prover::new(&bench.sandbox, &bench.scratch, patient());
    for compiler in ["gcc-12", "tcc"] {
        let image = bench.object(compiler, &["-O2"], &wrong, &format!("{compiler}.o"));
        let verdict = prover.prove(&image, &module, "f").unwrap();
        let (kind, what) = confirmed(&verdict);
        assert_eq!(kind, Differs::Memory);
        assert!(what.contains("`a` + 168"), "{compiler}: {what}");
    }
    let main = bench.source("main.c", "void f(void); int main(void) { f(); return 0; }");
    for flags in [["-O2", "-pie", "-fPIE"], ["-O2", "-no-pie", "-fno-pie"]] {
        let mut all = flags.to_vec();
        all.push(main.to_str().unwrap());
        let image = Image::load(&bench.build("gcc-12", &all, &wrong, "app")).unwrap();
        let verdict = prover.prove(&image, &module, "f").unwrap();
        assert!(confirmed(&verdict).1.contains("`a` + 168"));
    }
}

#[test]
fn differences_in_results_traps_and_endless_loops_are_run() {
    let bench = Bench::new();
    let source = bench.source(
        "f.c",
        "#ifdef PLANTED\n#define P(x) x\n#else\n#define P(x)\n#endif\n\
         int sum(const int *p, int n) { unsigned s = 0; for (int i = 0; i < n; i++) s += p[i]; return s P(+ (n == 7)); }\n\
         unsigned trap(unsigned *p, int n) { P(if (n == 8) *p /= n - 8u;) return *p + n; }\n\
         int stay(int n) { P(while (n == 7) __asm__(\"\");) return n + 1; }\n\
         int g(int);\nvoid h(int);\n\
         int call(int n) { return g(n P(+ (n == 7))); }\n\
         void tell(int n) { h(n P(+ (n == 7))); }\n",
    );
    let module = bench.ir(&source, &[]);
    let prover = Prover::new(&bench.sandbox, &bench.scratch, patient());
    let image = bench.object("gcc-12", &["-O1", "-DPLANTED"], &source, "planted.o");
    let verdict = |name: &str| prover.prove(&image, &module, name).unwrap();
    let (kind, what) = confirmed(&verdict("sum"));
    assert_eq!(kind, Differs::Result, "{what}");
    let (kind, what) = confirmed(&verdict("stay"));
    assert_eq!(kind, Differs::Endless);
    assert!(what.contains("does not within"), "{what}");
    let (kind, what) = confirmed(&verdict("trap"));
    assert_eq!(kind, Differs::Trap);
    assert!(what.ends_with("SIGFPE"), "{what}");
    // what a missing function would answer is made up: said so
    for (name, expected) in [("call", Differs::Result), ("tell", Differs::Calls)] {
        match verdict(name).outcome {
            Outcome::Different(difference) => {
                assert_eq!(difference.kind, expected);
                assert!(matches!(difference.native, Native::NotShown(_)));
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_proof_tells_which_source_iteration_a_store_makes() {
    let bench = Bench::new();
    let source = Bench::program("tsvc.c");
    let module = bench.ir(&source, &[]);
    let prover = Prover::new(&bench.sandbox, &bench.scratch, patient());
    let steps = |flags: &[&str], name: &str| -> Vec<Vec<u64>> {
        let image = bench.object("clang-19", flags, &source, name);
        let verdict = prover.prove(&image, &module, "s000").unwrap();
        let Outcome::Proved(proof) = verdict.outcome else {
            panic!("{:?}", verdict.outcome);
        };
        proof
            .stores
            .iter()
            .filter(|store| store.from.is_some())
            .map(|store| {
                assert!(store.realised.complete);
                store.realised.steps.iter().copied().collect()
            })
            .collect()
    };
    // one at a time; unrolled: each store another iteration; vectors: four lanes each
    assert_eq!(steps(&["-O1", "-fno-unroll-loops"], "one.o"), [[1]]);
    let unrolled = steps(
        &["-O2", "-fno-vectorize", "-fno-slp-vectorize"],
        "unrolled.o",
    );
    assert!(unrolled.len() > 1, "{unrolled:?}");
    for (number, store) in unrolled.iter().enumerate() {
        assert_eq!(*store, [number as u64 + 1], "{unrolled:?}");
    }
    let vectors = steps(&["-O3", "-msse4.2"], "vectors.o");
    assert_eq!(vectors[0], [1, 2, 3, 4], "{vectors:?}");
}
