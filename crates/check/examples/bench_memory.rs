//! What a large program costs in memory: candor's own peak (VmHWM, without compilers and programs) through a whole
//! check of a source of two megabytes, three references and two optimised builds.
//!
//! `cargo run --release -p candor-check --example bench_memory -- [KILOBYTES] [FRACTION OF POINTS]`

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use candor_check::{PointChoice, Request, Settings, Toolset, Workshop, check};
use candor_source::Clang;
use candor_toolchain::{Compiler, Gate, Program, Sandbox, Scratch};
use candor_tracer::Debugger;

fn main() {
    let words: Vec<f64> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let kilobytes = words.first().copied().unwrap_or(2000.0);
    let fraction = words.get(1).copied().unwrap_or(1.0);
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().expect("scratch");
    let compilers: Vec<Compiler> = ["gcc-12", "clang-19"]
        .iter()
        .map(|name| Compiler::probe(&sandbox, &scratch, name).expect(name))
        .collect();
    let clang = Clang::find().expect("libclang");
    let debuggers = Debugger::discover(&sandbox);
    let workshop = Workshop::new(&sandbox, &scratch).expect("workshop");
    let gate = Gate::find(&compilers, &sandbox, &scratch)
        .expect("gate")
        .expect("a clang with sanitizers");
    let program = Program::from_text(Path::new("large.c"), source((kilobytes * 1024.0) as usize));
    println!("{} bytes of source; {}", program.text.len(), memory());
    let tools = Toolset {
        workshop: &workshop,
        clang: &clang,
        compilers: &compilers,
        gate,
        debuggers: &debuggers,
    };
    let request = Request {
        program: &program,
        points: PointChoice::Share { fraction, seed: 1 },
        builds: compilers
            .iter()
            .map(|compiler| (compiler, "-O2".to_owned()))
            .collect(),
        settings: Settings {
            time: Duration::from_secs(60),
            // by construction nothing is undefined, and the sanitizers take minutes for it
            judged: true,
            ..Settings::default()
        },
        replay: &|_, _, _| String::new(),
    };
    let report = check(&tools, &request, &|progress| {
        println!("{progress:?}: {}", memory())
    })
    .expect("check");
    for row in &report.summary {
        println!("{} {}: {:?}", row.compiler, row.level, row.counts);
    }
    println!(
        "{} points, {} stops, {} findings; {}",
        report.points,
        report.stops,
        report.findings.len(),
        memory()
    );
}

/// The peak so far, and what memory is now: the process's own, mapped files, and mapped files of the scratch
/// directory, which lives in memory.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let wanted = ["VmHWM", "RssAnon", "RssFile", "RssShmem"];
    status
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| wanted.contains(name))
        .map(|(name, value)| format!("{name} {}", value.trim()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Functions without undefined behaviour over shared globals, at least so many bytes of them, each called once.
fn source(bytes: usize) -> String {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = move |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    let mut text = String::from("#include <stdio.h>\n");
    for i in 0..300 {
        let _ = writeln!(
            text,
            "static int g{i} = {}; unsigned short h{i}[3] = {{{}, 2, {}}};",
            i * 7 % 101,
            i % 50,
            i % 9
        );
    }
    let mut functions = 0;
    while text.len() < bytes {
        let _ = writeln!(
            text,
            "int f{functions}(int a, unsigned b) {{\n  int x = a & 255, y = {};\n  unsigned z = b;",
            below(99)
        );
        for _ in 0..20 + below(20) {
            let (g, n) = (below(300), 1 + below(5));
            let _ = match below(7) {
                0 => writeln!(text, "  x = (x * {n} + y) & 1023;"),
                1 => writeln!(text, "  z ^= z << {n};"),
                2 => writeln!(text, "  g{g} = (g{g} + x) & 4095;"),
                3 => writeln!(text, "  h{g}[{}] += z;", n % 3),
                4 => writeln!(text, "  y = (y + h{g}[1]) & 511;"),
                5 => writeln!(text, "  if (x > {}) {{ y = x - y; g{g} ^= 3; }}", n * 90),
                _ => writeln!(text, "  for (int i = 0; i < {n}; i++) {{ z += i * x; }}"),
            };
        }
        text.push_str("  return (x + y + (int)(z & 255)) & 1023;\n}\n");
        functions += 1;
    }
    text.push_str("int main(void) {\n  int r = 1;\n");
    for i in 0..functions {
        let _ = writeln!(text, "  r = f{i}(r, {i}u) & 1023;");
    }
    text.push_str("  printf(\"%d\\n\", r);\n  return 0;\n}\n");
    text
}
