//! Isolates real bugs of a gcc and compares with the files their fixes changed.
//!
//!     gcc_bugs BUGS.tsv TESTS [--cc gcc-12] [--only PR,PR] [--json FILE] [--again FILE]
//!
//! BUGS.tsv has the columns `pr kind failing passing buggy_files test fixed_in`; TESTS is made by
//! `scripts/gcc-tests.sh`. Bugs without a passing set of options have no pass to blame and are left
//! out. Prints one row per bug and how often a true file is among the files of the first, and of the
//! first five, passes named. `--again` takes the cures from the JSON of earlier runs and only ranks them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use candor_check::{Toolset, Workshop};
use candor_isolate::culprit::gcc::passes::Pipeline;
use candor_isolate::culprit::ranking;
use candor_isolate::{Cure, CureKind, Diagnosis, Isolation, Settings, isolate};
use candor_predicate::{Case, Claim, Options};
use candor_source::Clang;
use candor_toolchain::{Build, Built, Compiler, Gate, Limits, Program, Sandbox, Scratch, Stage};

type Failure = Box<dyn std::error::Error>;

struct Bug {
    number: String,
    kind: String,
    failing: Vec<String>,
    passing: Vec<String>,
    files: Vec<String>,
    test: PathBuf,
}

fn bugs(table: &Path, tests: &Path) -> Result<Vec<Bug>, Failure> {
    let text = std::fs::read_to_string(table)?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let mut bugs = Vec::new();
    for line in lines {
        let cells: BTreeMap<&str, &str> = header.iter().copied().zip(line.split('\t')).collect();
        let cell = |name: &str| cells.get(name).copied().unwrap_or_default();
        let first_set = |name: &str| -> Vec<String> {
            let set = cell(name).split(" | ").next().unwrap_or_default();
            set.split_whitespace().map(str::to_owned).collect()
        };
        if first_set("passing").is_empty() {
            continue;
        }
        let release = cell("fixed_in").split('.').next().unwrap_or_default();
        bugs.push(Bug {
            number: cell("pr").to_owned(),
            kind: cell("kind").to_owned(),
            failing: first_set("failing"),
            passing: first_set("passing"),
            files: cell("buggy_files").split(',').map(str::to_owned).collect(),
            test: tests.join(release).join(cell("test")),
        });
    }
    Ok(bugs)
}

/// The crash's site, which the claim needs.
fn site(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compiler: &Compiler,
    program: &Program,
    flags: &[String],
) -> Result<Option<String>, Failure> {
    let directory = scratch.job()?;
    directory.write(&program.file_name(), &program.text)?;
    let build = Build {
        compiler,
        stage: Stage::Object,
        inputs: vec![program.file_name().into()],
        flags: [flags, &program.flags].concat(),
        output: "program.o".into(),
    };
    Ok(
        match build.run(sandbox, directory.path(), &Limits::compiler())? {
            Built::Crashed { site, .. } => Some(site),
            _ => None,
        },
    )
}

/// The bug as a case, if its program still crashes the compiler where it should.
fn case(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compiler: &Compiler,
    bug: &Bug,
) -> Result<Option<Case>, Failure> {
    let program = Program::load(&bug.test)?;
    let claim = match bug.kind.as_str() {
        "ice" => match site(sandbox, scratch, compiler, &program, &bug.failing)? {
            Some(site) => Claim::Crash { site },
            None => return Ok(None),
        },
        _ => Claim::Miscompilation {
            against: bug.passing.clone(),
            reference: None,
            manner: None,
        },
    };
    Ok(Some(Case::new(
        &program,
        compiler,
        bug.failing.clone(),
        claim,
    )))
}

/// An earlier run's cures, ranked by the present rules.
fn ranked_again(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compiler: &Compiler,
    row: &serde_json::Value,
) -> Result<Isolation, Failure> {
    let flags: Vec<String> = serde_json::from_value(row["flags"].clone())?;
    let directory = scratch.job()?;
    directory.write("empty.c", "")?;
    let job = compiler.job(directory.path()).args(flags).args([
        "-fdump-passes",
        "-S",
        "-o",
        "empty.s",
        "empty.c",
    ]);
    let said = sandbox.run(&job, &Limits::compiler())?;
    let pipeline = Pipeline::parse(&said.stderr_text());
    let mut cures: Vec<Cure> = serde_json::from_value(row["cures"].clone())?;
    for cure in &mut cures {
        if matches!(cure.kind, CureKind::Pass | CureKind::Joint) {
            cure.unspecific = pipeline.unspecific(&cure.name);
        }
    }
    let diagnosis: Option<Diagnosis> = serde_json::from_value(row["diagnosis"].clone())?;
    let mut isolation = Isolation {
        suspects: ranking::rank(&pipeline, &cures, diagnosis.as_ref(), false),
        cures,
        ..Isolation::default()
    };
    isolation.effort.builds = serde_json::from_value(row["effort"]["builds"].clone())?;
    isolation.effort.seconds = serde_json::from_value(row["effort"]["seconds"].clone())?;
    Ok(isolation)
}

/// The place of the first suspect that has one of the true files, from 1.
fn rank(isolation: &Isolation, truth: &[String]) -> Option<usize> {
    let has = |files: &[String]| files.iter().any(|file| truth.contains(file));
    let at = isolation.suspects.iter().position(|one| has(&one.files));
    at.map(|at| at + 1)
}

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let usage =
        "usage: gcc_bugs BUGS.tsv TESTS [--cc gcc-12] [--only PR,PR] [--json FILE] [--again FILE]";
    let table = PathBuf::from(words.next().ok_or(usage)?);
    let tests = PathBuf::from(words.next().ok_or(usage)?);
    let (mut command, mut only, mut json) = ("gcc-12".to_owned(), None, None);
    let mut again: Option<Vec<serde_json::Value>> = None;
    while let Some(word) = words.next() {
        let value = words.next().ok_or(usage)?;
        match word.as_str() {
            "--cc" => command = value,
            "--only" => only = Some(value.split(',').map(str::to_owned).collect::<Vec<_>>()),
            "--json" => json = Some(std::fs::File::create(value)?),
            "--again" => {
                let text = std::fs::read_to_string(value)?;
                let rows: Result<_, _> = text.lines().map(serde_json::from_str).collect();
                again = Some(rows?);
            }
            _ => return Err(usage.into()),
        }
    }
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let (found, _) = candor_toolchain::discover(&sandbox, &scratch)?;
    let compiler = Compiler::probe(&sandbox, &scratch, &command)?;
    let clang = Clang::find()?;
    let workshop = Workshop::new(&sandbox, &scratch)?;
    let gate = Gate::find(&found, &sandbox, &scratch)?.ok_or("no clang with sanitizers")?;
    let tools = Toolset {
        workshop: &workshop,
        clang: &clang,
        compilers: &found,
        gate,
        debuggers: &[],
    };
    let settings = Settings {
        // gcc's own tests: some use what other compilers refuse
        options: Options {
            sanitize: false,
            ..Options::default()
        },
        releases: false,
        change: false,
        ..Settings::default()
    };
    let (mut ran, mut first, mut five, mut any) = (0, 0, 0, 0);
    let (mut builds, mut seconds) = (0, 0.0);
    println!("| PR | kind | true file | first pass | rank | builds | s |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for bug in bugs(&table, &tests)? {
        if only
            .as_ref()
            .is_some_and(|only| !only.contains(&bug.number))
        {
            continue;
        }
        let isolation = match &again {
            Some(rows) => {
                let Some(row) = rows.iter().find(|row| row["pr"] == bug.number.as_str()) else {
                    continue;
                };
                ranked_again(&sandbox, &scratch, &compiler, row)?
            }
            None => {
                let Some(case) = case(&sandbox, &scratch, &compiler, &bug)? else {
                    println!("| {} | ice | (does not crash) | | | | |", bug.number);
                    continue;
                };
                isolate(&tools, &case, &compiler, &settings, &|_| {})?
            }
        };
        let place = rank(&isolation, &bug.files);
        ran += 1;
        first += usize::from(place == Some(1));
        five += usize::from(place.is_some_and(|place| place <= 5));
        any += usize::from(place.is_some());
        builds += isolation.effort.builds;
        seconds += isolation.effort.seconds;
        let lead = match isolation.suspects.first() {
            Some(suspect) => suspect.pass.clone(),
            None => format!("({:?})", isolation.outcome),
        };
        println!(
            "| {} | {} | {} | {lead} | {} | {} | {:.0} |",
            bug.number,
            bug.kind,
            bug.files.join(" "),
            place.map_or_else(|| "-".to_owned(), |place| place.to_string()),
            isolation.effort.builds,
            isolation.effort.seconds,
        );
        if let Some(file) = &mut json {
            let mut value = serde_json::to_value(&isolation)?;
            value["pr"] = bug.number.clone().into();
            value["truth"] = bug.files.clone().into();
            writeln!(file, "{value}")?;
        }
    }
    println!(
        "\n{ran} bugs: a true file among those of the first pass {first}, of the first five {five}, \
         of any {any}; {builds} builds, {seconds:.0} s"
    );
    Ok(())
}
