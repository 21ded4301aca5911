//! Discovery, probing, building and the sanitizer gate, against the compilers of this machine.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use candor_toolchain::{
    Build, Built, Compiler, Confinement, Error, Family, Gate, GateVerdict, Limits, Program,
    Sandbox, Sanitizer, Scratch, Stage, discover,
};

fn world() -> (Sandbox, Scratch) {
    (Sandbox::detect(), Scratch::new().unwrap())
}

#[test]
fn the_installed_compilers_are_found_each_once() {
    let (sandbox, scratch) = world();
    let (compilers, failures) = discover(&sandbox, &scratch).unwrap();
    assert!(failures.is_empty(), "{failures:?}");
    let names: Vec<&str> = compilers.iter().map(|c| c.name.as_str()).collect();
    for expected in [
        "gcc-11", "gcc-12", "clang-14", "clang-16", "clang-19", "tcc",
    ] {
        assert!(names.contains(&expected), "{expected} not in {names:?}");
    }
    assert!(!names.contains(&"gcc"), "gcc is gcc-12 here: {names:?}");
    let clang = compilers.iter().find(|c| c.name == "clang-19").unwrap();
    assert_eq!((clang.family, clang.version.major), (Family::Clang, 19));
    assert!(clang.target.contains("linux"), "{}", clang.target);
    assert!(
        compilers.iter().all(|c| c.confinement == Confinement::Full),
        "{compilers:#?}"
    );
}

#[test]
fn what_a_compiler_supports_is_asked() {
    let (sandbox, scratch) = world();
    let gcc11 = Compiler::probe(&sandbox, &scratch, "gcc-11").unwrap();
    let gcc12 = Compiler::probe(&sandbox, &scratch, "gcc-12").unwrap();
    // -ftrivial-auto-var-init came with gcc 12
    let flag = "-ftrivial-auto-var-init=zero";
    assert!(!gcc11.supports(&sandbox, &scratch, flag).unwrap());
    assert!(gcc12.supports(&sandbox, &scratch, flag).unwrap());
    assert!(gcc12.supports(&sandbox, &scratch, flag).unwrap());
}

#[test]
fn commands_that_are_no_compilers_are_refused_in_words() {
    let (sandbox, scratch) = world();
    let error = |command: &str| {
        Compiler::probe(&sandbox, &scratch, command)
            .unwrap_err()
            .to_string()
    };
    assert!(error("gcc-99").contains("`gcc-99` was not found on PATH"));
    assert!(error("/no/such/cc").contains("not found"));
    assert!(error("  ").contains("empty compiler command"));
    assert!(error("/bin/true").contains("does not behave like a C compiler"));
    assert!(error("/bin/bash").contains("does not behave like a C compiler"));
    assert!(error("sleep").contains("does not behave"));
}

#[test]
fn a_wrapper_is_a_compiler_too() {
    let (sandbox, scratch) = world();
    let wrapped = Compiler::probe(&sandbox, &scratch, "nice -n 5 gcc-12").unwrap();
    assert_eq!(wrapped.name, "nice -n 5 gcc-12");
    assert_eq!((wrapped.family, wrapped.version.major), (Family::Gcc, 12));
    assert_eq!(wrapped.confinement, Confinement::Full);

    // One that keeps its own files elsewhere (as a chroot wrapper does) works with the walls down.
    let elsewhere = tempfile::tempdir().unwrap();
    let script = elsewhere.path().join("mycc");
    std::fs::write(
        &script,
        format!(
            "#!/bin/sh\ncp /bin/true {}/scratch || exit 1\nexec gcc-12 \"$@\"\n",
            elsewhere.path().display()
        ),
    )
    .unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let open = Compiler::probe(&sandbox, &scratch, &script.display().to_string()).unwrap();
    assert_eq!(open.confinement, Confinement::Open);
}

#[test]
fn objects_and_executables_are_separate_steps() {
    let (sandbox, scratch) = world();
    for name in ["gcc-12", "clang-19"] {
        let compiler = Compiler::probe(&sandbox, &scratch, name).unwrap();
        let directory = scratch.job().unwrap();
        let part = directory
            .write("part.c", "int f(void) { return 4; }")
            .unwrap();
        let main = directory
            .write("main.c", "int f(void); int main(void) { return f(); }")
            .unwrap();
        let build = |stage, inputs: Vec<std::path::PathBuf>, output: &str| {
            Build {
                compiler: &compiler,
                stage,
                inputs,
                flags: vec!["-O2".into()],
                output: output.into(),
            }
            .run(&sandbox, directory.path(), &Limits::compiler())
            .unwrap()
        };
        let object = build(Stage::Object, vec![part], "part.o");
        let object = object.artefact().unwrap().to_owned();
        let binary = build(Stage::Executable, vec![main.clone(), object], "app");
        let job = candor_toolchain::Job::new(binary.artefact().unwrap(), directory.path());
        let run = sandbox.run(&job, &Limits::program()).unwrap();
        assert_eq!(run.ending, candor_toolchain::Ending::Exited(4));
        let lonely = build(Stage::Executable, vec![main], "lonely");
        assert!(matches!(lonely, Built::Rejected { .. }), "{lonely:?}");
    }
}

fn judge(text: &str) -> GateVerdict {
    let (sandbox, scratch) = world();
    let compilers = vec![Compiler::probe(&sandbox, &scratch, "clang-19").unwrap()];
    let gate = Gate::find(&compilers, &sandbox, &scratch).unwrap().unwrap();
    let program = Program::from_text(Path::new("prog.c"), text.to_owned());
    gate.judge(&program, Duration::from_secs(3)).unwrap()
}

#[test]
fn clean_programs_pass_the_gate() {
    let verdict = judge(
        "#include <stdio.h>\nint main(void) { unsigned x = ~0u; x++; printf(\"%u\", x); return 3; }",
    );
    let GateVerdict::Clean { stdout, ending, .. } = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(stdout, b"0");
    assert_eq!(ending, candor_toolchain::Ending::Exited(3));
}

#[test]
fn undefined_programs_are_stopped_with_the_sanitizers_words() {
    let cases = [
        (
            "int main(int c, char **v) { int x = 2147483647; return x + c > 0; }",
            Sanitizer::UndefinedAndAddress,
            "signed integer overflow",
        ),
        (
            "int main(int c, char **v) { int a[3] = {0}; volatile int i = 3; return a[i]; }",
            Sanitizer::UndefinedAndAddress,
            "out of bounds",
        ),
        (
            "#include <stdlib.h>\nint main(void) { char *p = malloc(3); volatile int i = 3; p[i] = 1; return 0; }",
            Sanitizer::UndefinedAndAddress,
            "heap-buffer-overflow",
        ),
        (
            "int *g; void f(void) { int x = 1; g = &x; } int main(void) { f(); return *g; }",
            Sanitizer::UndefinedAndAddress,
            "stack-use-after",
        ),
        (
            "int main(int c, char **v) { int x; if (c > 5) x = 1; return x ? 1 : 2; }",
            Sanitizer::Memory,
            "use-of-uninitialized-value",
        ),
        (
            "int main(int c, char **v) { return 1 << (c + 40); }",
            Sanitizer::UndefinedAndAddress,
            "shift exponent",
        ),
    ];
    for (text, expected, words) in cases {
        let verdict = judge(text);
        let GateVerdict::Undefined { sanitizer, message } = &verdict else {
            panic!("{text}: {verdict:?}");
        };
        assert_eq!(*sanitizer, expected, "{message}");
        assert!(message.contains(words), "{message}");
        assert!(!message.contains("/job-"), "{message}");
    }
}

#[test]
fn what_does_not_end_or_build_is_neither_clean_nor_undefined() {
    let endless = judge("int main(void) { for (volatile int i = 0;; i = 1 - i); }");
    assert!(
        matches!(&endless, GateVerdict::Unfit { reason } if reason.contains("does not end")),
        "{endless:?}"
    );
    let broken = judge("int main(void) { return x; }");
    assert!(
        matches!(&broken, GateVerdict::Undecided { reason } if reason.contains("undeclared")),
        "{broken:?}"
    );
    // prints what looks like a sanitizer's message, and is clean
    let liar = judge(
        "#include <stdio.h>\nint main(void) { fprintf(stderr, \"a.c:1: runtime error: x\\n\"); return 93; }",
    );
    assert!(!matches!(&liar, GateVerdict::Undefined { .. }), "{liar:?}");
}

#[test]
fn no_sanitizers_means_no_gate() {
    let (sandbox, scratch) = world();
    let compilers = vec![Compiler::probe(&sandbox, &scratch, "gcc-12").unwrap()];
    assert!(
        Gate::find(&compilers, &sandbox, &scratch)
            .unwrap()
            .is_none()
    );
    let interrupted: Result<_, Error> = {
        sandbox.interrupt();
        Compiler::probe(&sandbox, &scratch, "gcc-12")
    };
    assert!(matches!(interrupted, Err(Error::Interrupted)));
}
