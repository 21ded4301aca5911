//! Bad input: each refusal names its reason.

use std::time::Duration;

use crate::bench::{bench, profiled, program};

#[test]
fn programs_that_cannot_be_seeds_are_refused_with_the_reason() {
    let printing =
        "#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\n";
    let cases = [
        ("int f(void) { return 0; }", "no function main"),
        (
            "int main(void) { int x; printf(\"%p\\n\", (void *)&x); return 0; }",
            "not deterministic",
        ),
        (
            "int main(void) { long t = time(0); return t == 1; }",
            "reads the clock (it calls `time`)",
        ),
        (
            "int main(void) { return getpid() == 1; }",
            "process numbers",
        ),
        (
            "int main(void) { return fork() > 0 ? 0 : 0; }",
            "threads or processes",
        ),
        (
            "int main(void) { int x[2]; x[0] = 1; if (x[1]) { puts(\"a\"); } return 0; }",
            "MemorySanitizer",
        ),
        (
            "#define if while\nint main(void) { return 0; }",
            "macro called `if`",
        ),
        (
            "#define BODY int x = 0; return x;\nint main(void) { BODY }",
            "preprocess it first",
        ),
        (
            "int g; int s(void) { return g++; } int main(void) { printf(\"%d %d\\n\", s(), s()); return 0; }",
            "order of evaluation",
        ),
        ("int main(void) { return undeclared; }", "undeclared"),
    ];
    for (text, reason) in cases {
        let error = profiled(&format!("{printing}{text}")).err();
        let message = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(
            message.contains(reason),
            "{text}: expected `{reason}`, got `{message}`"
        );
    }
}

#[test]
fn programs_without_end_are_refused_at_the_first_time_out() {
    let endless = program("int main(void) { volatile int i = 0; while (1) { i = 1; } }");
    let settings = candor_mutate::Settings {
        time: Duration::from_secs(1),
        ..crate::bench::settings(1)
    };
    let error = candor_mutate::profile(bench(), &endless, &settings)
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("does not end within 1 s"),
        "{error}"
    );
}

#[test]
fn a_profile_that_reaches_no_sampled_point_gives_no_snippets() {
    let never =
        program("#include <stdlib.h>\nint main(void) { exit(3); int x = 0; x++; return x; }");
    let profile = candor_mutate::profile(bench(), &never, &crate::bench::settings(1)).unwrap();
    assert!(profile.live.is_empty() && profile.reached == 1);
    let choice = candor_mutate::Choice {
        strategies: vec![candor_mutate::Strategy::Tg],
        ..candor_mutate::Choice::default()
    };
    let variant = candor_mutate::variant(&never, &profile, &choice, 1);
    assert!(variant.snippets.is_empty());
}

#[test]
fn threads_are_refused() {
    let mut threaded = program(
        "#include <pthread.h>\nstatic void *work(void *p) { return p; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); return 0; }",
    );
    threaded.flags.push("-pthread".into());
    let settings = crate::bench::settings(1);
    let error = candor_mutate::profile(bench(), &threaded, &settings)
        .err()
        .unwrap();
    assert!(error.to_string().contains("pthread_create"), "{error}");
}

#[test]
fn undefined_behaviour_is_refused_with_the_sanitizers_message() {
    let overflow = program(
        "int main(int argc, char **argv) { int big = 2147483647; big += argc; return big == 0; }",
    );
    let error = candor_mutate::admit(bench(), &overflow, Duration::from_secs(20)).unwrap_err();
    assert!(
        error.to_string().contains("signed integer overflow"),
        "{error}"
    );
    let clean = program("int main(void) { return 0; }");
    candor_mutate::admit(bench(), &clean, Duration::from_secs(20)).unwrap();
}
