//! The native engine on real programs: what it counts, what it sees, and how runs end.

mod common;

use std::time::{Duration, Instant};

use candor_dwarf::{Image, Observation, Value};
use candor_tracer::{
    Continue, Error, Input, Mode, Outcome, Sink, Stop, StopKind, TraceOptions, trace,
};
use common::{LOOPS, Workshop, barriers, one_barrier, record, sandbox};

#[test]
fn every_visit_with_its_values_in_all_sorts_of_builds() {
    let shop = Workshop::new();
    let mut seen_optimised = 0;
    for compiler in ["gcc-12", "clang-19"] {
        for flags in [
            "-O0 -gdwarf-4 -no-pie",
            "-O0 -gdwarf-5 -fPIE -pie",
            "-O2 -gdwarf-4 -fPIE -pie",
            "-O2 -gdwarf-5 -no-pie",
        ] {
            let at = format!("{compiler} {flags}");
            let program = shop.build(compiler, flags, "loops", LOOPS);
            let (summary, stops) = barriers(&shop.launch(&program));
            assert_eq!(summary.outcome, Outcome::Exited(3), "{at}");
            assert_eq!(stops.len(), 10, "{at}");
            assert!(summary.leaves > 0, "{at}");
            let mut total = 0;
            for (k, stop) in stops.iter().enumerate() {
                assert_eq!(stop.sequence, k as u64, "{at}");
                assert_eq!(stop.kind, StopKind::Call, "{at}");
                let i = (k / 2) as i128;
                // Stops alternate between the callee, inlined or not, and the loop.
                let wanted: &[(&str, i128)] = if k % 2 == 0 {
                    assert_eq!(stop.function, "weigh", "{at}");
                    &[
                        ("item", i),
                        ("factor", 7),
                        ("product", i * 7),
                        ("total", total),
                    ]
                } else {
                    assert_eq!(stop.function, "main", "{at}");
                    total += i * 8;
                    &[("i", i), ("total", total)]
                };
                for (name, value) in wanted {
                    let met = stop.int(name);
                    if flags.contains("-O0") {
                        assert_eq!(met, Some(*value), "{at}: {name} at stop {k}");
                    } else if let Some(met) = met {
                        assert_eq!(met, *value, "{at}: {name} at stop {k}");
                        seen_optimised += 1;
                    }
                }
            }
            if flags.contains("-O0") {
                assert_eq!(stops.iter().map(|stop| stop.visit).max(), Some(5), "{at}");
            }
        }
    }
    assert!(
        seen_optimised > 50,
        "{seen_optimised} values of optimised builds were seen"
    );
}

#[test]
fn recursion_shows_each_frame_in_turn() {
    let shop = Workshop::new();
    let source = "
void opt_me_not(void);
__attribute__((noinline)) int down(int n) {
    opt_me_not();
    if (n == 0) return 0;
    return down(n - 1) + n;
}
int main(void) { return down(6); }
";
    for (compiler, flags) in [
        ("gcc-12", "-O0"),
        ("clang-19", "-O0"),
        ("gcc-12", "-O1"),
        ("clang-19", "-O1"),
    ] {
        let program = shop.build(compiler, flags, "recursion", source);
        let (summary, stops) = barriers(&shop.launch(&program));
        assert_eq!(summary.outcome, Outcome::Exited(21), "{compiler} {flags}");
        let n: Vec<_> = stops.iter().map(|stop| stop.int("n")).collect();
        let wanted: Vec<_> = (0..=6).rev().map(Some).collect();
        assert_eq!(n, wanted, "{compiler} {flags}");
    }
}

#[test]
fn tail_calls_keep_their_place_in_the_sequence() {
    let shop = Workshop::new();
    let source = "
void opt_me_not(void);
int g;
__attribute__((noinline)) void last(int x) { g = x; opt_me_not(); }
int main(void) { last(4); opt_me_not(); g++; return 0; }
";
    for compiler in ["gcc-12", "clang-19"] {
        for flags in ["-O2 -no-pie", "-O2 -fno-plt -fPIE -pie"] {
            let program = shop.build(compiler, flags, "tail", source);
            let (summary, stops) = barriers(&shop.launch(&program));
            let kinds: Vec<_> = stops.iter().map(|stop| stop.kind).collect();
            assert_eq!(
                kinds,
                [StopKind::TailCall, StopKind::Call],
                "{compiler} {flags}"
            );
            assert!(stops[0].leaves.is_empty());
            assert_eq!(
                summary.outcome,
                Outcome::Exited(0),
                "the skipped callee returns to the right place"
            );
        }
        let program = shop.build(compiler, "-O2 -fno-optimize-sibling-calls", "tail", source);
        let (_, stops) = barriers(&shop.launch(&program));
        assert!(
            stops.iter().all(|stop| stop.kind == StopKind::Call),
            "{compiler}"
        );
        assert_eq!(stops[0].int("g"), Some(4), "{compiler}");
    }
}

#[test]
fn indirect_calls_are_calls() {
    let shop = Workshop::new();
    let source = "
void opt_me_not(void);
struct table { long before; void (*entry[4])(void); } table;
int g;
int main(int argc, char **argv) {
    void (*volatile pointer)(void) = opt_me_not;
    void (*held)(void) = pointer;
    table.entry[2] = opt_me_not;
    __asm__ volatile(\"\" ::: \"memory\");
    for (g = 0; g < 3; g++) { held(); table.entry[argc + 1](); opt_me_not(); }
    return g;
}
";
    // Without relaxable relocations the linker has to keep `call *GOT`; with them it writes `67 e8`.
    for (compiler, flags) in [
        ("gcc-12", "-O2 -fno-plt -fPIE -pie"),
        (
            "gcc-12",
            "-O2 -fno-plt -fPIE -pie -Wa,-mrelax-relocations=no",
        ),
        ("clang-19", "-O2 -fno-plt -fPIE -pie"),
        (
            "clang-19",
            "-O2 -fno-plt -fPIE -pie -Wa,-mrelax-relocations=no",
        ),
        ("gcc-12", "-O0 -no-pie"),
        ("clang-19", "-O0 -no-pie"),
    ] {
        let program = shop.build(compiler, flags, "indirect", source);
        let (summary, stops) = barriers(&shop.launch(&program));
        assert_eq!(summary.outcome, Outcome::Exited(3), "{compiler} {flags}");
        assert_eq!(stops.len(), 9, "{compiler} {flags}");
        for (k, stop) in stops.iter().enumerate() {
            assert_eq!(stop.kind, StopKind::Call, "{compiler} {flags}: stop {k}");
            assert_eq!(stop.function, "main");
            assert_eq!(
                stop.int("g"),
                Some(k as i128 / 3),
                "{compiler} {flags}: stop {k}"
            );
        }
        // Three call instructions, each visited three times.
        assert!(
            stops
                .iter()
                .all(|stop| stop.visit == 1 + (stop.sequence / 3) as u32),
            "{compiler} {flags}"
        );
    }
}

#[test]
fn line_mode_stops_at_statements_as_often_as_asked() {
    let shop = Workshop::new();
    let source = "int main(void) {
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += i * 3;
    return sum;
}
";
    for compiler in ["gcc-12", "clang-19"] {
        let program = shop.build(compiler, "-O0", "lines", source);
        let launch = shop.launch(&program);
        let at_line = |visits_per_line| {
            let mode = Mode::Lines { visits_per_line };
            let (summary, stops) = record(&launch, &mode, &TraceOptions::default());
            assert_eq!(summary.outcome, Outcome::Exited(18), "{compiler}");
            let image = Image::open(&program).unwrap();
            let line_of = |pc| image.line_at(pc).unwrap().unwrap().line.map(|line| line.0);
            // A line may have several statements; the first one stands for it here.
            let first = stops
                .iter()
                .find(|stop| line_of(stop.pc) == Some(4))
                .unwrap()
                .pc;
            stops
                .iter()
                .filter(|stop| stop.pc == first)
                .map(|stop| (stop.int("i").unwrap(), stop.int("sum").unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!(at_line(1), [(0, 0)], "{compiler}");
        assert_eq!(at_line(3), [(0, 0), (1, 0), (2, 3)], "{compiler}");
        assert_eq!(
            at_line(u32::MAX),
            [(0, 0), (1, 0), (2, 3), (3, 9)],
            "{compiler}"
        );
    }
}

#[test]
fn visits_and_stops_are_limited_and_the_observer_may_end_the_run() {
    let shop = Workshop::new();
    let program = shop.build("gcc-12", "-O0", "loops", LOOPS);
    let launch = shop.launch(&program);
    let options = TraceOptions {
        per_site_visits: 2,
        ..TraceOptions::default()
    };
    let (_, stops) = record(&launch, &Mode::barrier(), &options);
    assert_eq!(stops.len(), 10);
    assert!(
        stops
            .iter()
            .all(|stop| stop.leaves.is_empty() == (stop.visit > 2))
    );

    let options = TraceOptions {
        max_stops: 4,
        ..TraceOptions::default()
    };
    let (summary, stops) = record(&launch, &Mode::barrier(), &options);
    assert_eq!((summary.outcome, stops.len()), (Outcome::StopLimit, 4));

    let image = Image::open(&program).unwrap();
    let mut enough = |stop: &Stop<'_>| {
        if stop.sequence == 6 {
            Continue::No
        } else {
            Continue::Yes
        }
    };
    let summary = trace(
        sandbox(),
        &image,
        &launch,
        &Mode::barrier(),
        &TraceOptions::default(),
        &mut enough,
    )
    .unwrap();
    assert_eq!((summary.outcome, summary.stops), (Outcome::Enough, 7));
}

#[test]
fn input_arguments_environment_and_output() {
    let shop = Workshop::new();
    let source = "
#include <stdio.h>
#include <stdlib.h>
extern char **environ;
void opt_me_not(void);
int main(int argc, char **argv) {
    int c, sum = 0, variables = 0;
    while ((c = getchar()) != EOF) sum += c;
    while (environ[variables]) variables++;
    opt_me_not();
    printf(\"%d %s %d %s\\n\", sum, argv[1], variables, getenv(\"NAME\"));
    fprintf(stderr, \"complaint\");
    return 0;
}
";
    let program = shop.build("gcc-12", "-O0", "input", source);
    let mut launch = shop.launch(&program);
    launch.input = Input::Bytes(b"abc".to_vec());
    launch.arguments = vec!["first word".into()];
    launch.environment = vec![("NAME".into(), "value".into())];
    launch.stdout = Sink::Capture;
    launch.stderr = Sink::Capture;
    let (summary, stops) = barriers(&launch);
    assert_eq!(
        String::from_utf8_lossy(&summary.stdout),
        "294 first word 1 value\n"
    );
    assert_eq!(summary.stderr, b"complaint");
    assert_eq!(
        (stops[0].int("sum"), stops[0].int("variables")),
        (Some(294), Some(1))
    );
    let again = barriers(&launch).1;
    assert_eq!(
        stops[0].get("argv"),
        again[0].get("argv"),
        "the stack is where it was"
    );
}

#[test]
fn how_runs_end() {
    let shop = Workshop::new();
    let signalled = Outcome::Signalled;
    for (name, body, outcome, stops) in [
        ("exit", "exit(77);", Outcome::Exited(77), 1),
        (
            "segv",
            "*(volatile int *)8 = 1;",
            signalled(libc::SIGSEGV),
            1,
        ),
        ("abort", "abort();", signalled(libc::SIGABRT), 1),
        ("fpe", "x = 5 / x;", signalled(libc::SIGFPE), 1),
        ("ownkill", "raise(SIGKILL);", signalled(libc::SIGKILL), 1),
        (
            "trap",
            "__asm__ volatile(\"int3\");",
            signalled(libc::SIGTRAP),
            1,
        ),
        (
            "handled",
            "signal(SIGUSR1, on); raise(SIGUSR1); if (x != SIGUSR1) return 9;",
            Outcome::Exited(0),
            2,
        ),
        (
            "caught",
            "signal(SIGTRAP, on); __asm__ volatile(\"int3\"); if (x != SIGTRAP) return 9;",
            Outcome::Exited(0),
            2,
        ),
        ("stopped", "raise(SIGSTOP);", Outcome::Exited(0), 2),
        (
            "fork",
            "if (fork() == 0) sleep(60); sleep(60);",
            Outcome::Forked,
            1,
        ),
        ("vfork", "if (vfork() == 0) _exit(0);", Outcome::Forked, 1),
        ("system", "system(\"sleep 60\");", Outcome::Forked, 1),
        (
            "thread",
            "pthread_create(&t, 0, idle, 0); pthread_join(t, 0);",
            Outcome::Threaded,
            1,
        ),
        (
            "exec",
            "execl(\"/bin/sleep\", \"sleep\", \"60\", (char *)0);",
            Outcome::Executed,
            1,
        ),
        (
            "stack",
            "__asm__ volatile(\"xor %%esp, %%esp\\n jmp opt_me_not\" ::: \"memory\");",
            signalled(libc::SIGSEGV),
            1,
        ),
    ] {
        let program = shop.build("gcc-12", "-O0 -no-pie -pthread", name, &one_barrier(body));
        let start = Instant::now();
        let (summary, seen) = barriers(&shop.launch(&program));
        assert_eq!((summary.outcome, seen.len()), (outcome, stops), "{name}");
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{name} took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn limits_end_runs() {
    let shop = Workshop::new();
    for (name, body, outcome) in [
        ("spin", "for (;;) x++;", Outcome::WallTime),
        ("sleep", "for (;;) pause();", Outcome::WallTime),
        (
            "deaf",
            "for (int s = 1; s < 32; s++) signal(s, SIG_IGN); for (;;) pause();",
            Outcome::WallTime,
        ),
        ("calls", "for (;;) opt_me_not();", Outcome::WallTime),
        ("flood", "for (;;) puts(\"flood\");", Outcome::OutputLimit),
    ] {
        let program = shop.build("gcc-12", "-O0 -no-pie -pthread", name, &one_barrier(body));
        let mut launch = shop.launch(&program);
        launch.limits.wall = Duration::from_millis(if name == "flood" { 15_000 } else { 300 });
        launch.limits.output = 100_000;
        launch.stdout = Sink::Capture;
        let options = TraceOptions {
            max_stops: u64::MAX,
            per_site_visits: 2,
            ..TraceOptions::default()
        };
        let start = Instant::now();
        let (summary, _) = record(&launch, &Mode::barrier(), &options);
        assert_eq!(summary.outcome, outcome, "{name}");
        assert!(
            start.elapsed() < launch.limits.wall + Duration::from_secs(5),
            "{name}"
        );
        assert!(summary.stdout.len() <= 100_000, "{name}");
        assert_eq!(name == "flood", summary.stdout.len() > 50_000, "{name}");
    }
    let program = shop.build(
        "gcc-12",
        "-O0 -no-pie -pthread",
        "cpu",
        &one_barrier("for (;;) x++;"),
    );
    let mut launch = shop.launch(&program);
    launch.limits.cpu = Duration::from_secs(1);
    assert_eq!(barriers(&launch).0.outcome, Outcome::CpuTime);
}

#[test]
fn what_cannot_be_traced_is_an_error_with_advice() {
    let shop = Workshop::new();
    let program = shop.build("gcc-12", "-O0", "loops", LOOPS);
    let image = Image::open(&program).unwrap();
    let run = |launch: &candor_tracer::Launch, mode: &Mode| {
        let mut observer = |_: &Stop<'_>| Continue::Yes;
        trace(
            sandbox(),
            &image,
            launch,
            mode,
            &TraceOptions::default(),
            &mut observer,
        )
        .unwrap_err()
    };
    let launch = shop.launch(&program);
    let error = run(
        &launch,
        &Mode::Barrier {
            symbol: "nowhere".into(),
        },
    );
    assert!(matches!(error, Error::NoBarrier { .. }) && error.to_string().contains("line by line"));
    let error = run(&shop.launch(&shop.path().join("absent")), &Mode::barrier());
    assert!(matches!(error, Error::Start { .. }), "{error}");
    let text = shop.path().join("barrier.c");
    let error = run(&shop.launch(&text), &Mode::barrier());
    assert!(matches!(error, Error::Start { .. }), "{error}");
}

#[test]
fn vector_registers_and_floats() {
    let shop = Workshop::new();
    let source = "
volatile double out;
__attribute__((noinline)) double scale(double x, float y) {
    out = x * y;
    return out;
}
int main(void) { return (int)scale(1.5, 4.0f); }
";
    for compiler in ["gcc-12", "clang-19"] {
        // Optimised, the arguments are in xmm0 and xmm1 only.
        for flags in ["-O0", "-O2"] {
            let program = shop.build(compiler, flags, "floats", source);
            let (_, stops) = record(
                &shop.launch(&program),
                &Mode::lines(),
                &TraceOptions::default(),
            );
            let image = Image::open(&program).unwrap();
            let line_of = |pc| image.line_at(pc).unwrap().unwrap().line.map(|line| line.0);
            let stop = stops
                .iter()
                .find(|stop| line_of(stop.pc) == Some(4))
                .unwrap();
            let float = |bits, size| Some(Observation::Value(Value::Float { bits, size }));
            let (x, y) = (1.5f64.to_bits().into(), 4.0f32.to_bits().into());
            assert_eq!(stop.get("y").cloned(), float(y, 4), "{compiler} {flags}");
            assert_eq!(stop.get("x").cloned(), float(x, 8), "{compiler} {flags}");
        }
    }
}
