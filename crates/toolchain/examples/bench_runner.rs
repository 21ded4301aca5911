//! What the sandbox costs: runs per second against plain `std::process::Command`, and compile+run
//! throughput on all cores against a bare shell loop with `xargs -P`. Ratios of one run only:
//! absolute times do not compare between machines.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use candor_toolchain::{Build, Compiler, Job, Limits, Sandbox, Scratch, Stage};

const SHORT_RUNS: usize = 1500;
const COMPILES: usize = 120;
const ROUNDS: usize = 3;

const PROGRAM: &str = r#"#include <stdio.h>
unsigned crc(const unsigned char *p, int n) { unsigned c = ~0u;
  for (int i = 0; i < n; i++) { c ^= p[i]; for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1; }
  return ~c; }
int main(void) { unsigned char b[256]; for (int i = 0; i < 256; i++) b[i] = i; printf("%x\n", crc(b, 256)); return 0; }
"#;

fn main() {
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().expect("scratch");
    let directory = scratch.job().expect("job directory");
    let gcc = Compiler::probe(&sandbox, &scratch, "gcc-12").expect("gcc-12");
    let source = directory.write("small.c", PROGRAM).expect("write");
    let small = Build {
        compiler: &gcc,
        stage: Stage::Executable,
        inputs: vec![source],
        flags: vec!["-O2".into()],
        output: "small".into(),
    }
    .run(&sandbox, directory.path(), &Limits::compiler())
    .expect("build");
    let small = small.artefact().expect("small program").to_owned();

    for (name, program) in [
        ("/bin/true", Path::new("/bin/true")),
        ("a small program", &small),
    ] {
        let (mut plain, mut boxed) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            plain = plain.min(time(|| {
                let output = Command::new(program).stdin(Stdio::null()).output();
                assert!(output.expect("run").status.success());
            }));
            let job = Job::new(program, directory.path());
            boxed = boxed.min(time(|| {
                let run = sandbox.run(&job, &Limits::program()).expect("run");
                assert!(run.ending.success());
            }));
        }
        println!(
            "{name}: plain {:.0} runs/s, sandboxed {:.0} runs/s, the sandbox adds {:.2} ms a run",
            SHORT_RUNS as f64 / plain.as_secs_f64(),
            SHORT_RUNS as f64 / boxed.as_secs_f64(),
            (boxed.as_secs_f64() - plain.as_secs_f64()) * 1000.0 / SHORT_RUNS as f64
        );
    }

    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let (mut shell, mut ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        shell = shell.min(shell_loop(directory.path(), cores));
        ours = ours.min(our_loop(&sandbox, &scratch, &gcc, cores));
    }
    println!(
        "compile+run on {cores} cores: xargs -P {:.1}/s, candor {:.1}/s, overhead {:+.1} %",
        COMPILES as f64 / shell.as_secs_f64(),
        COMPILES as f64 / ours.as_secs_f64(),
        (ours.as_secs_f64() / shell.as_secs_f64() - 1.0) * 100.0
    );
}

fn time(mut action: impl FnMut()) -> Duration {
    let started = Instant::now();
    for _ in 0..SHORT_RUNS {
        action();
    }
    started.elapsed()
}

/// What a user would do otherwise.
fn shell_loop(directory: &Path, cores: usize) -> Duration {
    let script = format!(
        "seq {COMPILES} | xargs -P {cores} -I N sh -c 'mkdir N && cp small.c N/a.c && cd N && gcc-12 -O2 -c a.c -o a.o && gcc-12 a.o -o a && ./a > out && cd .. && rm -r N'"
    );
    let started = Instant::now();
    let status = Command::new("sh")
        .args(["-c", &script])
        .current_dir(directory)
        .status();
    assert!(status.expect("shell").success());
    started.elapsed()
}

fn our_loop(sandbox: &Sandbox, scratch: &Scratch, gcc: &Compiler, cores: usize) -> Duration {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < COMPILES {
                    let directory = scratch.job().expect("job directory");
                    let source = directory.write("a.c", PROGRAM).expect("write");
                    let step = |stage, inputs, output: &str| {
                        Build {
                            compiler: gcc,
                            stage,
                            inputs,
                            flags: vec!["-O2".into()],
                            output: output.into(),
                        }
                        .run(sandbox, directory.path(), &Limits::compiler())
                        .expect("build")
                    };
                    let object = step(Stage::Object, vec![source], "a.o");
                    let object = object.artefact().expect("object").to_owned();
                    let binary = step(Stage::Executable, vec![object], "a");
                    let job = Job::new(binary.artefact().expect("binary"), directory.path());
                    let run = sandbox.run(&job, &Limits::program()).expect("run");
                    assert!(run.ending.success());
                }
            });
        }
    });
    started.elapsed()
}
