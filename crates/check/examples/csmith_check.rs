//! The evidence behind docs/check.md: many Csmith programs, both compiler families, every finding
//! confirmed, and nothing found where nothing can be (the -O0 builds themselves).
//!
//! `cargo run --release -p candor-check --example csmith_check -- PROGRAMS FIRST_SEED OUT.jsonl`

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use candor_check::{Counts, PointChoice, Report, Request, Settings, Toolset, Workshop, check};
use candor_source::Clang;
use candor_toolchain::{Compiler, Gate, Job, Limits, Program, Sandbox, Scratch};
use candor_tracer::Debugger;

const COMPILERS: [&str; 2] = ["gcc-12", "clang-19"];
const LEVELS: [&str; 5] = ["-O0", "-Og", "-O1", "-O2", "-O3"];
const CSMITH: [&str; 7] = [
    "--no-packed-struct",
    "--max-funcs",
    "5",
    "--max-block-depth",
    "4",
    "--max-expr-complexity",
    "6",
];

#[derive(Default)]
struct Totals {
    rejected: BTreeMap<String, usize>,
    counts: BTreeMap<(String, String), Counts>,
    kinds: BTreeMap<String, usize>,
    undecided: BTreeMap<String, usize>,
    checked: usize,
    with_findings: usize,
    stops: usize,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        arguments
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(default)
    };
    let wanted = number(200) as usize;
    let next_seed = AtomicU64::new(number(1));
    let output = std::env::args().nth(3).unwrap_or("campaign.jsonl".into());
    let output = Mutex::new(std::fs::File::create(&output).expect("output file"));

    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().expect("scratch");
    let compilers: Vec<Compiler> = COMPILERS
        .iter()
        .map(|name| Compiler::probe(&sandbox, &scratch, name).expect(name))
        .collect();
    let clang = Clang::find().expect("libclang");
    let gate = Gate::find(&compilers, &sandbox, &scratch)
        .expect("gate")
        .expect("sanitizers");
    let debuggers = Debugger::discover(&sandbox);
    let totals = Mutex::new(Totals::default());
    let accepted = AtomicUsize::new(0);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let workshop = Workshop::new(&sandbox, &scratch).expect("workshop");
                let tools = Toolset {
                    workshop: &workshop,
                    clang: &clang,
                    compilers: &compilers,
                    gate,
                    debuggers: &debuggers,
                };
                while accepted.load(Ordering::Relaxed) < wanted {
                    let seed = next_seed.fetch_add(1, Ordering::Relaxed);
                    let Some(text) = csmith(&sandbox, &scratch, seed) else {
                        continue;
                    };
                    let program =
                        Program::from_text(Path::new(&format!("seed{seed}.c")), text.clone());
                    let replay = |compiler: &Compiler, level: &str, _: &PointChoice| {
                        format!(
                            "csmith --seed {seed} {} > seed{seed}.c && candor check seed{seed}.c --cc {compiler} {level} --points 0.3 --seed {seed}",
                            CSMITH.join(" ")
                        )
                    };
                    let request = Request {
                        program: &program,
                        points: PointChoice::Share {
                            fraction: 0.3,
                            seed,
                        },
                        builds: compilers
                            .iter()
                            .flat_map(|c| LEVELS.iter().map(move |level| (c, (*level).to_owned())))
                            .collect(),
                        settings: Settings {
                            jobs: 1,
                            ..Settings::default()
                        },
                        replay: &replay,
                    };
                    let result = check(&tools, &request, &|_| {});
                    let mut totals = totals.lock().expect("totals");
                    match result {
                        Ok(report) if report.stops == 0 => {
                            *totals.rejected.entry("no barrier reached".into()).or_default() += 1;
                        }
                        Ok(report) => {
                            accepted.fetch_add(1, Ordering::Relaxed);
                            totals.add(&report);
                            let line = serde_json::json!({"seed": seed, "report": report});
                            writeln!(output.lock().expect("output"), "{line}").expect("write");
                            eprintln!(
                                "[{:5.0} s] {} programs, seed {seed}: {} stops, {} findings, {} undecided",
                                started.elapsed().as_secs_f64(),
                                totals.checked,
                                report.stops,
                                report.findings.len(),
                                report.undecided.len()
                            );
                        }
                        Err(error) => {
                            let words = error.to_string();
                            eprintln!("seed {seed}: {words}");
                            let class = words.split(':').take(2).collect::<Vec<_>>().join(":");
                            *totals.rejected.entry(class).or_default() += 1;
                        }
                    }
                }
            });
        }
    });
    let totals = totals.into_inner().expect("totals");
    println!(
        "{} programs, {} stops, {} with findings, {:.0} s",
        totals.checked,
        totals.stops,
        totals.with_findings,
        started.elapsed().as_secs_f64()
    );
    for ((compiler, level), c) in &totals.counts {
        println!(
            "{compiler} {level}: equal {} optimised out {} wrong {} ill-formed {} unaligned {} unreadable {}",
            c.equal, c.optimised_out, c.wrong, c.ill_formed, c.unaligned, c.unreadable
        );
    }
    println!("findings: {:#?}", totals.kinds);
    println!("undecided: {:#?}", totals.undecided);
    println!("programs not used: {:#?}", totals.rejected);
}

impl Totals {
    fn add(&mut self, report: &Report) {
        self.checked += 1;
        self.stops += report.stops;
        self.with_findings += usize::from(!report.findings.is_empty());
        for row in &report.summary {
            let sum = self
                .counts
                .entry((row.compiler.clone(), row.level.clone()))
                .or_default();
            sum.equal += row.counts.equal;
            sum.optimised_out += row.counts.optimised_out;
            sum.wrong += row.counts.wrong;
            sum.ill_formed += row.counts.ill_formed;
            sum.unaligned += row.counts.unaligned;
            sum.unreadable += row.counts.unreadable;
            if let Some(note) = &row.note {
                *self
                    .rejected
                    .entry(format!("{} {}: {note}", row.compiler, row.level))
                    .or_default() += 1;
            }
        }
        for finding in &report.findings {
            let who = format!("{} {} {}", finding.kind, finding.compiler, finding.level);
            *self.kinds.entry(who).or_default() += 1;
        }
        for open in &report.undecided {
            let class: String = open
                .reason
                .chars()
                .filter(|c| !c.is_ascii_digit())
                .collect();
            *self.undecided.entry(class).or_default() += 1;
        }
    }
}

fn csmith(sandbox: &Sandbox, scratch: &Scratch, seed: u64) -> Option<String> {
    let directory = scratch.job().ok()?;
    let job = Job::new("csmith", directory.path())
        .args(["--seed", &seed.to_string()])
        .args(CSMITH);
    let run = sandbox.run(&job, &Limits::compiler()).ok()?;
    (run.ending.success() && run.stdout.len() > 7000).then(|| run.stdout_text())
}
