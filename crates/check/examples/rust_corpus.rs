//! The evidence behind docs/rust.md: every program of a folder at every level, with the references against themselves.
//!
//! `cargo run -p candor-check --example rust_corpus -- FOLDER OUT.jsonl [COMPILER [NAME...]]`
//!
//! The compiler is `rustc` unless given; with a C compiler the folder's C programs are taken, for comparison. Names
//! choose programs by a part of their file name.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use candor_check::{Counts, Plan, PointChoice, Request, Settings, Toolset, Workshop, check};
use candor_source::Clang;
use candor_toolchain::{Compiler, Family, Gate, Program, Sandbox, Scratch, discover};
use candor_tracer::Debugger;

const LEVELS: [&str; 5] = ["-O0", "-O1", "-O2", "-O3", "-Os"];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder"));
    let output = arguments.next().expect("an output file");
    let command = arguments.next().unwrap_or("rustc".into());
    let names: Vec<String> = arguments.collect();
    let mut output = std::fs::File::create(output).expect("output file");

    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().expect("scratch");
    let compiler = Compiler::probe(&sandbox, &scratch, &command).expect("compiler");
    let (found, _) = discover(&sandbox, &scratch).expect("compilers");
    let clang = Clang::find().expect("libclang");
    let gate = Gate::find(&found, &sandbox, &scratch)
        .expect("gate")
        .expect("sanitizers");
    let debuggers = Debugger::discover(&sandbox);
    let workshop = Workshop::new(&sandbox, &scratch).expect("workshop");
    let tools = Toolset {
        workshop: &workshop,
        clang: &clang,
        compilers: &found,
        gate,
        debuggers: &debuggers,
    };
    let ending = match compiler.family {
        Family::Rustc => "rs",
        _ => "c",
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("folder")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .filter(|path| {
            let path = path.to_string_lossy();
            names.is_empty() || names.iter().any(|name| path.contains(name.as_str()))
        })
        .collect();
    files.sort();
    let started = Instant::now();
    let mut totals: BTreeMap<String, Counts> = BTreeMap::new();
    let (mut findings, mut undecided, mut checked, mut stops) = (0, 0, 0, 0);
    for file in &files {
        let program = Program::load(file).expect("program");
        let replay = |compiler: &Compiler, level: &str, _: &PointChoice| {
            format!("candor check {} --rustc {compiler} {level}", file.display())
        };
        let request = Request {
            program: &program,
            points: PointChoice::All,
            builds: LEVELS.map(|level| (&compiler, level.to_owned())).to_vec(),
            settings: Settings::default(),
            replay: &replay,
        };
        let report = match check(&tools, &request, &|_| {}) {
            Ok(report) => report,
            Err(error) => {
                println!("{}: {error}", file.display());
                continue;
            }
        };
        checked += 1;
        stops += report.stops;
        findings += report.findings.len();
        undecided += report.undecided.len();
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        println!(
            "[{:4.0} s] {name}: {} points, {} stops, {} findings, {} undecided",
            started.elapsed().as_secs_f64(),
            report.points,
            report.stops,
            report.findings.len(),
            report.undecided.len()
        );
        for row in &report.summary {
            let sum = totals.entry(row.level.clone()).or_default();
            let c = &row.counts;
            for (to, from) in [
                (&mut sum.equal, c.equal),
                (&mut sum.optimised_out, c.optimised_out),
                (&mut sum.wrong, c.wrong),
                (&mut sum.ill_formed, c.ill_formed),
                (&mut sum.unaligned, c.unaligned),
                (&mut sum.unreadable, c.unreadable),
            ] {
                *to += from;
            }
            if let Some(note) = &row.note {
                println!("    {}: {note}", row.level);
            }
        }
        for finding in &report.findings {
            println!(
                "    {} {} line {} `{}` in {}: true {}, shown {} [{}] {:?} {:?}",
                finding.kind,
                finding.level,
                finding.line,
                finding.variable,
                finding.function.as_deref().unwrap_or("-"),
                finding.expected,
                finding.shown,
                finding.location,
                finding.confirmed_by,
                finding.debuggers
            );
        }
        for open in &report.undecided {
            println!(
                "    undecided {} line {} `{}`: {}",
                open.level, open.line, open.variable, open.reason
            );
        }
        // the program as it was built: scripts/rust-triage.py builds it again where one barrier alone shows nothing
        let instrumented = Plan::new(&clang, &program, &PointChoice::All)
            .expect("plan")
            .text;
        let line =
            serde_json::json!({"program": name, "instrumented": instrumented, "report": report});
        writeln!(output, "{line}").expect("write");
    }
    println!(
        "{checked} of {} programs, {stops} stops, {findings} findings, {undecided} undecided, {:.0} s",
        files.len(),
        started.elapsed().as_secs_f64()
    );
    for (level, c) in &totals {
        println!(
            "{command} {level}: equal {} optimised out {} wrong {} ill-formed {} unaligned {} unreadable {} of {}",
            c.equal,
            c.optimised_out,
            c.wrong,
            c.ill_formed,
            c.unaligned,
            c.unreadable,
            c.total()
        );
    }
}
