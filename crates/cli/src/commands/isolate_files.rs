//! `candor isolate`, stage 2: coverage compilers, ranked files, and the benchmark over known bugs.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::println;
use anyhow::{Context as _, bail};
use candor_check::Toolset;
use candor_coverage::prepare::{self, Recipe, Request};
use candor_coverage::ranking::Choice;
use candor_coverage::{CoverageCompiler, Formula, RankedFile, Tally, Voter};
use candor_isolate::witness::benchmark::{self, Budget, Row, TECHNIQUES};
use candor_isolate::witness::{Ended, Kept, Location, Selection, Settings, Sources, SuiteMemory};
use candor_isolate::{Isolation, Progress};
use candor_predicate::Case;
use candor_toolchain::Compiler;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::Outcome;
use crate::context::Context;
use crate::progress::progress_bar;

/// Options about the compiler's files.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which compiler file")]
pub struct FileArgs {
    /// Build a coverage compiler: gcc, llvm, tcc, or gcov for one that exists (with --cc); needs --source and -o
    #[arg(long, value_name = "COMPILER", value_parser = recipes(), requires = "source")]
    pub prepare: Option<Recipe>,

    /// With --prepare: the compiler's source tree
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,

    /// With --prepare: test programs that compile well (default: from the source tree)
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,

    /// Rank the compiler's files with the coverage compiler in DIR
    #[arg(long, value_name = "DIR")]
    pub coverage: Option<PathBuf>,

    /// Time for the search of witnesses, such as 60s or 5m
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub time: Duration,

    /// fusion: all sources of witnesses vote; diwi: the paper's formula, mutants only
    #[arg(long, value_name = "FORMULA", value_parser = ["fusion", "diwi"], default_value = "fusion")]
    pub formula: String,

    /// Rank with passing programs of another sort instead: suite, random, random-rules (the paper's baselines)
    #[arg(long, value_name = "WITNESSES", value_parser = ["suite", "random", "random-rules"])]
    pub baseline: Option<String>,

    /// Rank headers too
    #[arg(long)]
    pub headers: bool,

    /// Write every mutant that passes to DIR, the nearest first
    #[arg(long, value_name = "DIR")]
    pub keep_witnesses: Option<PathBuf>,

    /// Decides every choice of the search
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Rank the files of a table of known bugs (see docs/isolate.md); needs --coverage and --tests
    #[arg(
        long,
        value_name = "BUGS.tsv",
        requires = "coverage",
        requires = "tests"
    )]
    pub benchmark: Option<PathBuf>,

    /// With --benchmark: the bugs' programs (scripts/gcc-tests.sh)
    #[arg(long, value_name = "DIR")]
    pub tests: Option<PathBuf>,

    /// With --benchmark: results, one JSON object per line; bugs that are in it are not run again
    #[arg(long, value_name = "FILE", default_value = "isolate-benchmark.jsonl")]
    pub results: PathBuf,

    /// With --benchmark: answers of the first stage that are known, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub isolations: Option<PathBuf>,

    /// With --benchmark: keep what the rankings are made of here; bugs that have a result already are then ranked from it anew,
    /// by the present formulas, and nothing is compiled for them
    #[arg(long, value_name = "DIR")]
    pub spectra: Option<PathBuf>,

    /// With --benchmark: also search with rules chosen at random
    #[arg(long)]
    pub random_rules: bool,
}

/// `90`, `90s`, `5m`.
fn recipes() -> impl TypedValueParser<Value = Recipe> {
    PossibleValuesParser::new(Recipe::ALL.map(Recipe::name))
        .try_map(|name| Recipe::of(&name).ok_or("no such recipe"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(number) => (number, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    let seconds: u64 = number
        .parse()
        .map_err(|_| format!("`{text}` is no time; write 60s or 5m"))?;
    Ok(Duration::from_secs(seconds * unit))
}

/// `--prepare`: says what will be done, does it, says what is there.
pub fn prepare(
    context: &Context,
    args: &FileArgs,
    output: Option<&Path>,
    command: Option<String>,
    jobs: usize,
) -> anyhow::Result<Outcome> {
    let (Some(recipe), Some(source)) = (args.prepare, &args.source) else {
        bail!("--prepare needs --source DIR");
    };
    let Some(output) = output else {
        bail!("--prepare needs -o DIR, where the coverage compiler goes");
    };
    if recipe == Recipe::Gcov && command.is_none() {
        bail!("--prepare gcov needs --cc COMMAND, the compiler that was built with --coverage");
    }
    let request = Request {
        recipe,
        source: source.clone(),
        output: output.to_owned(),
        jobs,
        command,
        suite: args.suite.clone(),
    };
    let plan = prepare::plan(&request)?;
    println!(
        "{}: about {} minutes of one core, {} MB in {}",
        plan.what,
        plan.minutes,
        plan.megabytes,
        plan.output().display()
    );
    for (number, step) in (1..).zip(&plan.steps) {
        let done = if number <= plan.done { " (done)" } else { "" };
        println!("  {number}. {}{done}", step.words);
    }
    println!(
        "  {}. reading its debug information\nlog: {}",
        plan.steps.len() + 1,
        plan.log().display()
    );
    let bar = progress_bar(false);
    let built = prepare::prepare(&context.sandbox, &plan, &|progress| {
        bar.set_message(format!(
            "{} of {}: {} {}",
            progress.number, progress.of, progress.step, progress.detail
        ));
    });
    bar.finish_and_clear();
    let built = built?;
    let manifest = built.manifest();
    println!(
        "ready: {} {} in {}, {} blocks, {} files, {} suite tests",
        manifest.family,
        manifest.version,
        built.directory().display(),
        manifest.blocks,
        built.map().files().len(),
        built.suite()?.len()
    );
    Ok(Outcome::Nothing)
}

/// Stage 2 of one case.
pub fn locate(
    toolset: &Toolset<'_>,
    args: &FileArgs,
    stage_one: &candor_isolate::Settings,
    case: &Case,
    compiler: &Compiler,
    isolation: Option<&Isolation>,
    progress: &(dyn Fn(Progress) + Sync),
) -> anyhow::Result<Option<Location>> {
    let Some(directory) = &args.coverage else {
        return Ok(None);
    };
    let coverage = CoverageCompiler::open(directory)?;
    let location = candor_isolate::witness::locate(
        toolset,
        case,
        compiler,
        &coverage,
        isolation,
        &settings(args, stage_one),
        progress,
    )?;
    if let Some(folder) = &args.keep_witnesses {
        keep(folder, case, &location.witnesses)?;
    }
    Ok(Some(location))
}

fn settings(args: &FileArgs, stage_one: &candor_isolate::Settings) -> Settings {
    let formula = match args.formula.as_str() {
        "diwi" => Formula::Diwi,
        _ => Formula::Fusion,
    };
    let (formula, sources, selection) = match args.baseline.as_deref() {
        Some("suite") => {
            let sources = Sources {
                suite: true,
                mutants: false,
                ..Sources::diwi()
            };
            (Formula::Diwi, sources, Selection::default())
        }
        Some("random") => {
            let sources = Sources {
                random: 20,
                mutants: false,
                ..Sources::diwi()
            };
            (Formula::Diwi, sources, Selection::default())
        }
        Some(_) => (Formula::Diwi, Sources::diwi(), Selection::Random),
        None if formula == Formula::Diwi => (formula, Sources::diwi(), Selection::default()),
        None => (formula, Sources::default(), Selection::default()),
    };
    Settings {
        jobs: stage_one.jobs,
        options: stage_one.options.clone(),
        time: args.time,
        seed: args.seed,
        selection,
        sources,
        choice: Choice {
            formula,
            headers: args.headers,
        },
        ..Settings::default()
    }
}

/// Witness programs beside the failing one.
fn keep(folder: &Path, case: &Case, witnesses: &[Kept]) -> anyhow::Result<()> {
    let cannot = || format!("cannot write to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    std::fs::write(folder.join("failing.c"), &case.program.text).with_context(cannot)?;
    let texts = witnesses
        .iter()
        .filter_map(|one| Some((one, one.text.as_ref()?)));
    for (number, (witness, text)) in (1..).zip(texts) {
        let content = format!(
            "/* passes: {}; distance {:.4} */\n{text}",
            witness.name, witness.distance
        );
        std::fs::write(folder.join(format!("passing-{number:03}.c")), content)
            .with_context(cannot)?;
    }
    Ok(())
}

/// Prints ranked files.
pub fn print(location: &Location) {
    match &location.outcome {
        Ended::NotReproduced(why) => {
            println!("\nno file is named: it does not reproduce ({why})");
            return;
        }
        Ended::NoWitness(tried) => {
            println!("\nno file is named: nothing near the program passes. Tried: {tried}");
            return;
        }
        Ended::Located => {}
    }
    for note in &location.notes {
        println!("note: {note}");
    }
    println!("\nfiles, the likeliest first:");
    for file in location.ranking.files.iter().take(10) {
        print_file(file);
    }
    match location.ranking.files.len().saturating_sub(10) {
        0 => {}
        more => println!("  and {more} more (--json has them)"),
    }
    let count = |source: Voter| {
        location
            .witnesses
            .iter()
            .filter(|one| one.source == source)
            .count()
    };
    let sources = [
        Voter::Mutants,
        Voter::OneChange,
        Voter::Suite,
        Voter::Random,
    ];
    let counted: Vec<String> = sources
        .into_iter()
        .filter(|source| count(*source) > 0)
        .map(|source| format!("{} {}", count(source), source.words()))
        .collect();
    let tries = &location.tries;
    println!(
        "\nwitnesses: {}; {} mutants judged ({} still fail, {} no different, {} masked, {} invalid) in {:.1} s",
        counted.join(", "),
        tries.judged,
        tries.failing,
        tries.same,
        tries.masked,
        tries.invalid,
        location.seconds
    );
    if let Some(nearest) = location.witnesses.iter().find(|one| one.text.is_some()) {
        println!(
            "the nearest passing program ({}, distance {:.4}):",
            nearest.name, nearest.distance
        );
        for line in &location.nearest {
            println!("  {line}");
        }
    }
}

fn print_file(file: &RankedFile) {
    println!(
        "  {:>3}. {}  ({} lines reached)",
        file.rank, file.file, file.reached
    );
    let votes: Vec<String> = file
        .votes
        .iter()
        .map(|vote| format!("{} {}", vote.voter.words(), vote.rank))
        .collect();
    println!("       places: {}", votes.join(", "));
    if !file.passes.is_empty() {
        println!("       curing passes in it: {}", file.passes.join(", "));
    }
    if let Some((witness, missed)) = file.avoided_by.first() {
        println!(
            "       {} of its lines are not reached by: {witness}",
            missed
        );
    }
    for function in file.functions.iter().take(3) {
        let lines = match function.only_failing.as_slice() {
            [] => String::new(),
            lines => {
                let shown: Vec<String> = lines.iter().take(8).map(ToString::to_string).collect();
                let more = if lines.len() > 8 { ", ..." } else { "" };
                format!(
                    ", lines only the failing run reached: {}{more}",
                    shown.join(", ")
                )
            }
        };
        println!("       {}{lines}", function.name);
    }
}

/// `--benchmark`: every bug of the table that has no result yet, then the summary.
pub fn benchmark(
    toolset: &Toolset<'_>,
    args: &FileArgs,
    compiler: &Compiler,
    jobs: usize,
    json: bool,
) -> anyhow::Result<Outcome> {
    let (Some(table), Some(tests), Some(directory)) =
        (&args.benchmark, &args.tests, &args.coverage)
    else {
        bail!("--benchmark needs --tests DIR and --coverage DIR");
    };
    let text = std::fs::read_to_string(table)
        .with_context(|| format!("cannot read {}", table.display()))?;
    let bugs = benchmark::bugs(&text, tests);
    if bugs.is_empty() {
        bail!(
            "{} has no bugs; its columns are pr, kind, failing, passing, buggy_files, test, fixed_in",
            table.display()
        );
    }
    let coverage = CoverageCompiler::open(directory)?;
    let mut rows = read_rows(&args.results)?;
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&args.results)
        .with_context(|| format!("cannot write {}", args.results.display()))?;
    let known = match &args.isolations {
        Some(path) => benchmark::known_isolations(
            &std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?,
        ),
        None => BTreeMap::new(),
    };
    let memory = SuiteMemory::default();
    let bar = progress_bar(json);
    let budget = Budget {
        isolation: args.time * 2 / 3,
        mutants: args.time / 3,
        random_rules: args.random_rules,
    };
    let keep = args.spectra.as_deref();
    if let Some(directory) = keep {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        for row in rows.iter_mut().filter(|row| !row.places.is_empty()) {
            *row = benchmark::again(row.clone(), &coverage, directory)?;
        }
    }
    for (number, bug) in (1..).zip(&bugs) {
        if rows.iter().any(|row| row.number == bug.number) {
            continue;
        }
        let row = benchmark::run(
            toolset,
            bug,
            known.get(&bug.number),
            compiler,
            &coverage,
            jobs,
            budget,
            &memory,
            keep,
            &|progress| {
                bar.set_message(format!(
                    "{number} of {}: PR {} {}",
                    bugs.len(),
                    bug.number,
                    progress.step
                ));
            },
        );
        let row = match row {
            Ok(row) => row,
            Err(error) if error.is_interrupt() => break,
            Err(error) => return Err(error.into()),
        };
        writeln!(file, "{}", serde_json::to_string(&row)?)?;
        rows.push(row);
    }
    bar.finish_and_clear();
    summarise(&rows, bugs.len(), json)?;
    Ok(Outcome::Nothing)
}

fn read_rows(path: &Path) -> anyhow::Result<Vec<Row>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    // A line that was cut short by a kill is run again.
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

fn summarise(rows: &[Row], of: usize, json: bool) -> anyhow::Result<()> {
    let ranked: Vec<&Row> = rows.iter().filter(|row| !row.places.is_empty()).collect();
    let mut tallies = Vec::new();
    for headers in [false, true] {
        for technique in TECHNIQUES {
            let positions: Vec<_> = ranked
                .iter()
                .filter_map(|row| row.position(technique, headers))
                .collect();
            if !positions.is_empty() {
                tallies.push((technique, headers, Tally::of(&positions)));
            }
        }
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&tallies)?);
        return Ok(());
    }
    println!(
        "{} of {of} bugs ranked, {} could not be",
        ranked.len(),
        rows.len() - ranked.len()
    );
    for row in rows.iter().filter(|row| row.places.is_empty()) {
        println!(
            "  PR {}: {}",
            row.number,
            row.failed.as_deref().unwrap_or("no place")
        );
    }
    println!(
        "| technique | headers | bugs | Top-1 | Top-5 | Top-10 | Top-20 | MFR | MAR | not in it |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (technique, headers, tally) in tallies {
        let [one, five, ten, twenty] = tally.top;
        println!(
            "| {} | {} | {} | {one} | {five} | {ten} | {twenty} | {:.1} | {:.1} | {} |",
            technique.words(),
            if headers { "in" } else { "out" },
            tally.bugs,
            tally.mean_first,
            tally.mean_average,
            tally.absent
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_minutes() {
        assert_eq!(duration("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        assert!(duration("soon").is_err());
    }
}
