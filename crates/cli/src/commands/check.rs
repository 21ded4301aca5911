//! `candor check`: arguments, what they resolve to, and how a report looks on a terminal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::println;
use anyhow::bail;
use candor_check::exhibit::{SourceRequest, truthfulness};
use candor_check::{Effort, Finding, PointChoice, Progress, Report, Request, Round, Settings};
use candor_predicate::Case;
use candor_toolchain::build::quote;
use candor_toolchain::cargo::{self, Profile};
use candor_toolchain::{Compiler, Family, rustc};
use indicatif::ProgressBar;

use crate::Outcome;
use crate::context::Context;
use crate::program::Surroundings;
use crate::progress::progress_bar;
use crate::table::Table;
use crate::tools::{Tools, debuggers};

const EXAMPLES: &str = "\
Examples:
  candor check prog.c                                every compiler found, -Og -O1 -O2 -O3 -Os, all rounds
  candor check prog.c --cc clang-19 -O2 --effort thorough --budget 60s
  candor check prog.c --cc clang-19 --cc gcc-12 -O2 --points all --json
  candor check prog.c --cc clang-19 -O2 --at 6:c     one actionable program P<6,c>, the paper's way
  candor check prog.c -O2 -- -DN=10 -Iinclude        flags for every compiler after --
  candor check prog.rs --rustc 'rustc +nightly' -O2  a Rust program; default levels 1 2 3 s
  candor check --binary app --reference app-O0       two builds of your own, line by line
  candor check --package . --bin app -- args         a cargo package, debug against release";

/// Scalars looked at per variable unless told otherwise.
const ELEMENTS: u32 = 64;

/// Arguments of `candor check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The C or Rust program
    #[arg(required_unless_present_any = ["binary", "package"], conflicts_with = "binary")]
    file: Option<PathBuf>,

    /// A compiler command; repeat for more (default: every gcc and clang found)
    #[arg(long = "cc", value_name = "COMMAND")]
    compilers: Vec<String>,

    /// A rustc command for a Rust program; repeat for more (default: the one found)
    #[arg(long = "rustc", value_name = "COMMAND")]
    rustc: Vec<String>,

    /// An optimisation level such as -O2 or -Og; repeat for more (default: g 1 2 3 s; Rust: 1 2 3 s)
    #[arg(short = 'O', value_name = "LEVEL")]
    levels: Vec<String>,

    /// How much is looked at: quick (without barriers, and with all), normal (and eight builds with few barriers),
    /// thorough (as many as it takes for every point)
    #[arg(long, value_name = "EFFORT", value_enum, conflicts_with_all = ["points", "at"])]
    effort: Option<EffortName>,

    /// Builds with few barriers per compiler and level (default: what --effort says)
    #[arg(long, value_name = "N", conflicts_with_all = ["points", "at"])]
    sparse: Option<usize>,

    /// Time for building and comparing, such as 30s or 5m; what has no turn by then is counted
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    budget: Option<Duration>,

    /// One round only: barriers at `all` points, at `none`, at a share such as 0.2, at those numbered p3,p17, or only
    /// the program's `own`
    #[arg(long, value_name = "POINTS")]
    points: Option<String>,

    /// One point and one variable: LINE:VARIABLE
    #[arg(long, value_name = "LINE:VAR", conflicts_with = "points")]
    at: Option<String>,

    /// Decides which points a share takes
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Leave globals out
    #[arg(long)]
    no_globals: bool,

    /// Scalars looked at per variable
    #[arg(long, value_name = "N", default_value_t = ELEMENTS, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    elements: u32,

    /// Also ask gdb and lldb where the debug information is right
    #[arg(long)]
    audit: bool,

    /// Barrier calls looked at per run
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    max_stops: u64,

    /// Seconds one run of the program may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// Builds at a time (default: all cores)
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// Write each finding into DIR with everything to reproduce it without candor
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,

    /// Write pages into DIR that show, for each build, how truthful each line of the program is
    #[arg(long, value_name = "DIR", conflicts_with = "binary")]
    html: Option<PathBuf>,

    /// An optimised executable built by you (with --reference)
    #[arg(long, value_name = "FILE", requires = "reference")]
    binary: Option<PathBuf>,

    /// The same program built with -O0 -g (with --binary)
    #[arg(long, value_name = "FILE", requires = "binary")]
    reference: Option<PathBuf>,

    /// A cargo package: its debug build against its release build with debug information
    #[arg(long, value_name = "DIR", requires = "bin", conflicts_with_all = ["file", "binary"])]
    package: Option<PathBuf>,

    /// The package's binary (with --package); what follows -- are its arguments
    #[arg(long, value_name = "NAME", requires = "package")]
    bin: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    surroundings: Surroundings,
}

/// [`candor_check::Effort`] as it is typed.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum EffortName {
    Quick,
    #[default]
    Normal,
    Thorough,
}

impl From<EffortName> for Effort {
    fn from(name: EffortName) -> Self {
        match name {
            EffortName::Quick => Effort::Quick,
            EffortName::Normal => Effort::Normal,
            EffortName::Thorough => Effort::Thorough,
        }
    }
}

/// Runs the check and prints what it found.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let context = Context::new()?;
    let report = match (&args.file, &args.binary, &args.reference) {
        (Some(file), _, _) => check_source(&args, &context, file)?,
        (None, Some(binary), Some(reference)) => {
            check_binaries(&args, &context, binary, reference)?
        }
        _ => match (&args.package, &args.bin) {
            (Some(package), Some(bin)) => check_package(&args, &context, package, bin)?,
            _ => bail!("give a C or Rust file, --binary and --reference, or --package and --bin"),
        },
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    let is_empty = report.summary.iter().all(|row| {
        let counts = &row.counts;
        counts.compared() + counts.optimised_out == 0
    });
    Ok(match (report.findings.is_empty(), is_empty) {
        (false, _) => Outcome::Found,
        (true, false) => Outcome::Nothing,
        (true, true) => Outcome::NotReady,
    })
}

fn settings(args: &Args, context: &Context) -> Settings {
    let defaults = Settings::default();
    Settings {
        time: args
            .timeout
            .map(Duration::from_secs)
            .or(context.config.timeout)
            .unwrap_or(defaults.time),
        globals: !args.no_globals,
        leaf_cap: args.elements as usize,
        max_stops: args.max_stops,
        jobs: args.jobs.or(context.config.jobs).unwrap_or(defaults.jobs),
        audit: args.audit,
        sparse: args.sparse,
        budget: args.budget,
        ..defaults
    }
}

fn check_source(args: &Args, context: &Context, file: &Path) -> anyhow::Result<Report> {
    let program = args.surroundings.load(file)?;
    let choice = point_choice(args)?;
    let rust = program.is_rust();
    if !rust && !args.rustc.is_empty() {
        bail!("--rustc is for Rust programs, whose names end in .rs; name C compilers with --cc");
    }
    let wanted = [args.compilers.as_slice(), &args.rustc].concat();
    let tools = Tools::find(context, &wanted)?;
    let mut levels = levels(args, context);
    if rust {
        // a level that rustc does not have is refused if it was asked for, and left out if not
        if let Some(unknown) = args
            .levels
            .iter()
            .find(|level| !rustc::has_level(&format!("-O{level}")))
        {
            bail!("rustc has no level -O{unknown}; it has 0, 1, 2, 3, s and z");
        }
        levels.retain(|level| rustc::has_level(level));
    }
    let compilers = if rust {
        tools.rustc_under_test()?
    } else {
        tools.under_test()?
    };
    let builds = compilers
        .into_iter()
        .flat_map(|compiler| levels.iter().map(move |level| (compiler, level.clone())))
        .collect();
    let tools = tools.toolset()?;
    let replay = |compiler: &Compiler, level: &str, points: &PointChoice| {
        replay(args, file, compiler, level, points)
    };
    let request = Request {
        program: &program,
        points: choice,
        builds,
        settings: settings(args, context),
        replay: &replay,
    };
    let bar = progress_bar(args.json);
    let report = candor_check::check(&tools, &request, &|progress| show(&bar, &progress));
    bar.finish_and_clear();
    let report = report?;
    if let Some(directory) = &args.save {
        let written = candor_check::save::save(&tools, &request, &report, directory, &|finding| {
            Case::from_finding(&program, finding).to_json()
        })?;
        for path in written {
            anstream::eprintln!("saved {}", path.display());
        }
    }
    if let Some(directory) = &args.html {
        let wanted = SourceRequest {
            program: &program,
            points: request.points.clone(),
            builds: request.builds.clone(),
            settings: request.settings.clone(),
        };
        let views = truthfulness(&tools, &wanted)?;
        let index = candor_report::source_site(&views, directory)?;
        anstream::eprintln!("wrote {}", index.display());
    }
    Ok(report)
}

fn check_binaries(
    args: &Args,
    context: &Context,
    binary: &Path,
    reference: &Path,
) -> anyhow::Result<Report> {
    let debuggers = debuggers(context);
    let input = args.surroundings.input()?;
    let request = candor_check::lines::Request {
        binary,
        reference,
        arguments: &args.surroundings.arguments,
        stdin: &input,
        settings: settings(args, context),
        debuggers: &debuggers,
        name: None,
        replay: None,
    };
    Ok(candor_check::lines::check(
        &context.sandbox,
        &context.scratch,
        &request,
    )?)
}

fn check_package(
    args: &Args,
    context: &Context,
    package: &Path,
    bin: &str,
) -> anyhow::Result<Report> {
    let target = context.scratch.job()?;
    let build = |profile| -> anyhow::Result<PathBuf> {
        cargo::build(&context.sandbox, package, bin, profile, target.path())?
            .map_err(|reason| anyhow::anyhow!("{}: {reason}", package.display()))
    };
    let reference = build(Profile::Reference)?;
    let release = build(Profile::Release)?;
    let debuggers = debuggers(context);
    let input = args.surroundings.input()?;
    let arguments = [
        args.surroundings.arguments.as_slice(),
        &args.surroundings.flags,
    ]
    .concat();
    let mut replay = vec![
        "candor check --package".to_owned(),
        quote(&package.display().to_string()),
        "--bin".into(),
        quote(bin),
    ];
    replay.extend(args.surroundings.words());
    let request = candor_check::lines::Request {
        binary: &release,
        reference: &reference,
        arguments: &arguments,
        stdin: &input,
        settings: settings(args, context),
        debuggers: &debuggers,
        name: Some(format!("{bin} (release)")),
        replay: Some(replay.join(" ")),
    };
    Ok(candor_check::lines::check(
        &context.sandbox,
        &context.scratch,
        &request,
    )?)
}

fn levels(args: &Args, context: &Context) -> Vec<String> {
    if !args.levels.is_empty() {
        args.levels
            .iter()
            .map(|level| format!("-O{level}"))
            .collect()
    } else if !context.config.levels.is_empty() {
        context.config.levels.clone()
    } else {
        ["-Og", "-O1", "-O2", "-O3", "-Os"]
            .map(String::from)
            .to_vec()
    }
}

fn point_choice(args: &Args) -> anyhow::Result<PointChoice> {
    if let Some(at) = &args.at {
        let parsed = at.split_once(':').and_then(|(line, variable)| {
            let line = line.parse().ok().filter(|line| *line > 0)?;
            (!variable.is_empty()).then(|| (line, variable.to_owned()))
        });
        let Some((line, variable)) = parsed else {
            bail!("--at takes LINE:VARIABLE, such as 6:c; got `{at}`");
        };
        return Ok(PointChoice::At { line, variable });
    }
    let points = match args.points.as_deref() {
        None => return Ok(PointChoice::Rounds(args.effort.unwrap_or_default().into())),
        Some("all") => return Ok(PointChoice::All),
        Some("none") => return Ok(PointChoice::None),
        Some("own") => return Ok(PointChoice::Own),
        Some(points) => points,
    };
    let numbers: Option<Vec<usize>> = points
        .split(',')
        .map(|word| word.strip_prefix('p')?.parse().ok())
        .collect();
    if let Some(numbers) = numbers {
        return Ok(PointChoice::Only(numbers));
    }
    match points.parse::<f64>() {
        Ok(fraction) if fraction > 0.0 && fraction <= 1.0 => Ok(PointChoice::Share {
            fraction,
            seed: args.seed,
        }),
        _ => bail!(
            "--points takes `all`, `none`, `own`, a share above 0 and at most 1, or numbers of points such as p3,p17; \
             got `{points}`"
        ),
    }
}

fn replay(
    args: &Args,
    file: &Path,
    compiler: &Compiler,
    level: &str,
    points: &PointChoice,
) -> String {
    let mut words = vec![
        "candor".to_owned(),
        "check".into(),
        quote(&file.display().to_string()),
        if compiler.family == Family::Rustc {
            "--rustc".into()
        } else {
            "--cc".into()
        },
        quote(&compiler.name),
        level.to_owned(),
    ];
    match points {
        PointChoice::At { line, variable } => {
            words.extend(["--at".into(), quote(&format!("{line}:{variable}"))]);
        }
        PointChoice::Share { fraction, seed } => {
            words.extend(["--points".into(), fraction.to_string()]);
            words.extend(["--seed".into(), seed.to_string()]);
        }
        PointChoice::Only(numbers) if numbers.is_empty() => {
            words.extend(["--points".into(), "own".into()]);
        }
        PointChoice::Only(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(|number| format!("p{number}")).collect();
            words.extend(["--points".into(), numbers.join(",")]);
        }
        PointChoice::All => words.extend(["--points".into(), "all".into()]),
        PointChoice::None => words.extend(["--points".into(), "none".into()]),
        PointChoice::Own => words.extend(["--points".into(), "own".into()]),
        PointChoice::Rounds(_) => {}
    }
    if args.elements != ELEMENTS {
        words.extend(["--elements".into(), args.elements.to_string()]);
    }
    words.extend(args.surroundings.words());
    words.join(" ")
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_message(match progress {
        Progress::Judging => "Miri judges the program".to_owned(),
        Progress::References => "sanitizers and reference builds".to_owned(),
        Progress::Compared { done, total } => format!("builds compared: {done} of {total}"),
        Progress::Confirming { suspects } => format!("confirming {suspects} suspects"),
    });
}

fn print(report: &Report) {
    let skipped: usize = report.skipped.values().sum();
    // line mode has no points
    let points = match report.points {
        0 => String::new(),
        points => format!("{points} points, "),
    };
    println!(
        "{}: {points}{} stops{}",
        report.program,
        report.stops,
        if skipped > 0 {
            format!(" ({skipped} places skipped: {})", reasons(&report.skipped))
        } else {
            String::new()
        }
    );
    let left_out: usize = report.not_compared.values().sum();
    if left_out > 0 {
        println!(
            "not compared, or not in full: {left_out} variables at points ({})",
            reasons(&report.not_compared)
        );
    }
    for note in &report.notes {
        println!("note: {note}");
    }
    println!();
    for group in grouped(&report.findings).into_values() {
        print_group(&group);
    }
    let mut table = Table::new([
        "compiler",
        "level",
        "equal",
        "optimised out",
        "wrong",
        "ill-formed",
        "unaligned",
        "unreadable",
    ])
    .right_from(2);
    for row in &report.summary {
        let counts = &row.counts;
        table.row([
            row.compiler.clone(),
            row.level.clone(),
            counts.equal.to_string(),
            counts.optimised_out.to_string(),
            counts.wrong.to_string(),
            counts.ill_formed.to_string(),
            counts.unaligned.to_string(),
            counts.unreadable.to_string(),
        ]);
    }
    println!("{table}");
    print_rounds(report);
    for row in &report.summary {
        if let Some(note) = &row.note {
            println!("{} {}: {note}", row.compiler, row.level);
        }
    }
    for open in &report.undecided {
        println!(
            "undecided: `{}` at line {} ({} {}): {}",
            open.variable, open.line, open.compiler, open.level, open.reason
        );
    }
    println!("{}", verdict(report));
}

/// The last line: what came of it, over how much.
fn verdict(report: &Report) -> String {
    let compared: u64 = report.summary.iter().map(|row| row.counts.compared()).sum();
    let lost: u64 = report
        .summary
        .iter()
        .map(|row| row.counts.optimised_out)
        .sum();
    match (report.findings.len(), compared, lost) {
        (0, 0, 0) => "nothing could be compared: the notes above say why".to_owned(),
        (0, 0, lost) => {
            format!("nothing found, but no value is shown at all: {lost} are optimised out")
        }
        (0, ..) => format!("nothing found in {}", extent(report, compared)),
        (1, ..) => format!("1 finding in {}", extent(report, compared)),
        (count, ..) => format!("{count} findings in {}", extent(report, compared)),
    }
}

/// How much was compared.
fn extent(report: &Report, compared: u64) -> String {
    let share = match report.lines {
        (_, 0) => String::new(),
        (seen, executed) => format!(", at {seen} of {executed} executed lines"),
    };
    format!("{compared} values of {} variables{share}", report.variables)
}

/// Which rounds ran, what each found, and what had no turn.
fn print_rounds(report: &Report) {
    if report.rounds.is_empty() {
        return;
    }
    let mut table = Table::new([
        "round",
        "builds",
        "points",
        "compared",
        "seconds",
        "findings",
        "found by it alone",
    ])
    .right_from(1);
    for row in &report.rounds {
        table.row([
            row.round.to_string(),
            row.builds.to_string(),
            row.points.to_string(),
            row.counts.compared().to_string(),
            format!("{:.1}", row.seconds),
            row.findings.to_string(),
            row.alone.to_string(),
        ]);
    }
    println!("{table}");
    for row in &report.rounds {
        if let Some(note) = &row.note {
            println!("{} round: {note}", row.round);
        }
        if row.left_out > 0 {
            println!(
                "{} round: {} of {} points that are reached had no turn (--effort thorough gives them one)",
                row.round, row.left_out, report.reached
            );
        }
    }
}

fn reasons(skipped: &BTreeMap<String, usize>) -> String {
    let parts: Vec<String> = skipped
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    parts.join(", ")
}

type GroupKey = (String, Option<String>, String, u32);

/// The same variable in several builds reads as one matter.
fn grouped(findings: &[Finding]) -> BTreeMap<GroupKey, Vec<&Finding>> {
    let mut groups: BTreeMap<GroupKey, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        let key = (
            finding.kind.to_string(),
            finding.function.clone(),
            finding.variable.clone(),
            finding.line,
        );
        groups.entry(key).or_default().push(finding);
    }
    groups
}

fn print_group(group: &[&Finding]) {
    let Some(first) = group.first() else { return };
    let red = anstyle::AnsiColor::Red.on_default().bold();
    let place = match &first.function {
        Some(function) => format!("in {function}"),
        None => "(global)".to_owned(),
    };
    // two builds of the user's own are not visited to the end
    let of = match first.visits {
        0 => String::new(),
        visits => format!(" of {visits}"),
    };
    if first.kind.is_about_place() {
        println!(
            "{red}{}{red:#}: {} {place}, at line {}, visit {}{of}",
            first.kind, first.variable, first.line, first.visit
        );
    } else {
        println!(
            "{red}{}{red:#}: `{}` {place}, line {}, visit {}{of}",
            first.kind, first.variable, first.line, first.visit
        );
    }
    if !first.source_line.is_empty() {
        println!("  {:>5} | {}", first.line, first.source_line);
    }
    match first.round {
        _ if first.kind.is_about_place() => println!("        the call is at {}", first.expected),
        Round::Quiet => println!("        it holds {}", first.expected),
        _ => println!("        true value {}", first.expected),
    }
    for finding in group {
        let location = match finding.location.as_str() {
            "" => String::new(),
            location => format!("   [{location}]"),
        };
        let build = format!("{} {}", finding.compiler, finding.level);
        println!(
            "        {} shows {}{location}",
            build.trim_end(),
            finding.shown
        );
        let said: Vec<String> = finding
            .debuggers
            .iter()
            .map(|(name, text)| format!("{name}: {text}"))
            .collect();
        println!(
            "            confirmed by {} ({})",
            finding.confirmed_by.join(", "),
            said.join("; ")
        );
        for note in &finding.notes {
            println!("            {note}");
        }
        if finding.blame != finding.compiler {
            println!("            to blame: {}", finding.blame);
        }
        let elsewhere: Vec<String> = finding
            .places
            .iter()
            .filter(|place| place.line != finding.line)
            .take(8)
            .map(|place| format!("line {} ({}x)", place.line, place.visits))
            .collect();
        if !elsewhere.is_empty() {
            println!("            also at {}", elsewhere.join(", "));
        }
        println!("            replay: {}", finding.replay);
    }
    println!();
}
