//! Building small programs with real compilers, and tracing them.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use candor_dwarf::{Image, LeafKey, Observation, Svma, Value};
use candor_toolchain::Sandbox;
use candor_tracer::{Continue, Launch, Mode, RunSummary, Stop, StopKind, TraceOptions, trace};

pub const BARRIER_C: &str = "void opt_me_not(void) { __asm__ volatile(\"\" ::: \"memory\"); }\n";

/// Two barriers per turn of a loop of five; ends with code 3.
pub const LOOPS: &str = "
void opt_me_not(void);
int total;
volatile int sink;
static int weigh(int item, int factor) {
    int product = item * factor;
    opt_me_not();
    sink = product;
    return product + item;
}
int main(void) {
    for (int i = 0; i < 5; i++) {
        total += weigh(i, 7);
        opt_me_not();
        sink = i;
    }
    return 3;
}
";

pub fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(Sandbox::detect)
}

/// A folder with programs that goes away with the value.
pub struct Workshop {
    folder: tempfile::TempDir,
}

impl Workshop {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("barrier.c"), BARRIER_C).unwrap();
        Workshop { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Compiles `source` together with the barrier; `flags` are separated by blanks.
    pub fn build(&self, compiler: &str, flags: &str, name: &str, source: &str) -> PathBuf {
        let file = self.path().join(format!("{name}.c"));
        std::fs::write(&file, source).unwrap();
        self.build_file(compiler, flags, name, &file)
    }

    pub fn build_file(&self, compiler: &str, flags: &str, name: &str, file: &Path) -> PathBuf {
        let output = self.path().join(name);
        let made = Command::new(compiler)
            .current_dir(self.path())
            .args(flags.split_whitespace())
            .args(["-g", "-w"])
            .arg(file)
            .args(["barrier.c", "-o"])
            .arg(&output)
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{compiler} {flags} {name}: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        output
    }

    pub fn launch(&self, program: &Path) -> Launch {
        let mut launch = Launch::new(program, self.path());
        launch.limits = launch.limits.with_time(Duration::from_secs(20));
        launch
    }

    /// A csmith program; the seed is in its name.
    pub fn csmith(&self, seed: u64, options: &[&str]) -> PathBuf {
        let file = self.path().join(format!("csmith{seed}.c"));
        let made = Command::new("csmith")
            .current_dir(self.path())
            .args(["--seed", &seed.to_string(), "--output"])
            .arg(&file)
            .args(options)
            .status()
            .unwrap();
        assert!(made.success(), "csmith --seed {seed}");
        file
    }
}

/// A stop that outlives the run.
#[derive(Clone, Debug)]
pub struct Seen {
    pub sequence: u64,
    pub kind: StopKind,
    pub pc: Svma,
    pub visit: u32,
    pub function: String,
    pub leaves: Vec<(LeafKey, Observation)>,
}

impl Seen {
    pub fn of(stop: &Stop<'_>) -> Self {
        let keys = stop.site.map(|site| site.leaves()).unwrap_or_default();
        assert!(stop.observations.is_empty() || stop.observations.len() == keys.len());
        Seen {
            sequence: stop.sequence,
            kind: stop.kind,
            pc: stop.pc,
            visit: stop.visit,
            function: stop
                .site
                .map(|site| site.function.to_string())
                .unwrap_or_default(),
            leaves: keys
                .iter()
                .map(|leaf| leaf.key.clone())
                .zip(stop.observations.iter().cloned())
                .collect(),
        }
    }

    /// The variable's observation, by its expression.
    pub fn get(&self, expression: &str) -> Option<&Observation> {
        self.leaves
            .iter()
            .find(|(key, _)| key.to_string() == expression)
            .map(|(_, observation)| observation)
    }

    pub fn int(&self, expression: &str) -> Option<i128> {
        match self.get(expression)?.value()? {
            Value::Signed(value) => Some(*value),
            Value::Unsigned(value) => i128::try_from(*value).ok(),
            _ => None,
        }
    }
}

/// Traces and keeps everything.
pub fn record(launch: &Launch, mode: &Mode, options: &TraceOptions) -> (RunSummary, Vec<Seen>) {
    let image = Image::open(&launch.program).unwrap();
    let mut seen = Vec::new();
    let summary = trace(
        sandbox(),
        &image,
        launch,
        mode,
        options,
        &mut |stop: &Stop<'_>| {
            seen.push(Seen::of(stop));
            Continue::Yes
        },
    )
    .unwrap();
    assert_eq!(summary.stops, seen.len() as u64);
    (summary, seen)
}

pub fn barriers(launch: &Launch) -> (RunSummary, Vec<Seen>) {
    record(launch, &Mode::barrier(), &TraceOptions::default())
}

/// Numbers of the processes below this one.
pub fn children() -> Vec<String> {
    let mut all = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(list.split_whitespace().map(str::to_owned));
    }
    all
}

pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A program with one barrier and then `body`.
pub fn one_barrier(body: &str) -> String {
    format!(
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         #include <sys/wait.h>\n#include <unistd.h>\nvoid opt_me_not(void);\nvolatile int x;\n\
         static void *idle(void *p) {{ sleep(60); return p; }}\nstatic void on(int s) {{ x = s; }}\n\
         int main(void) {{ opt_me_not(); pthread_t t; (void)t; {body}\nopt_me_not(); return 0; }}\n"
    )
}
