//! `candor isolate`: which case is meant, and how the answer looks on a terminal.

use std::path::PathBuf;
use std::time::Duration;

use anstream::println;
use anyhow::bail;
use candor_isolate::witness::Ended;
use candor_isolate::{Change, CureKind, Isolation, Outcome as End, Settings, Suspect};
use candor_predicate::{Case, Options};
use candor_toolchain::build::quote;
use candor_toolchain::{Family, rustc};

use super::isolate_files::{self, FileArgs};
use super::isolate_page;
use crate::Outcome;
use crate::claim::{ClaimArgs, Question};
use crate::context::Context;
use crate::program::Surroundings;
use crate::progress::progress_bar;
use crate::tools::Tools;

const EXAMPLES: &str = "\
Examples:
  candor isolate finding.json                                 any finding candor saved or reported
  candor isolate finding.json -o isolated.json                the same, and the pass goes into a copy
  candor isolate prog.c --cc gcc-12 -O2 --miscompiles
  candor isolate prog.c --cc gcc-12 -O2 --crashes
  candor isolate prog.c --cc clang-19 -O2 --check wrong-value
  candor isolate prog.c --cc clang-19 -O2 --lost main:i
  candor isolate prog.c --cc clang-19 -O2 --command ./bad.sh  uses $CANDOR_CC and $CANDOR_FLAGS
  candor isolate --prepare gcc --source gcc-12.2.0 -o covgcc  a compiler that records its coverage
  candor isolate finding.json --coverage covgcc --for 60s     the pass, then the compiler's files
  candor isolate --benchmark bugs.tsv --tests DIR --coverage covgcc

Exit codes: 0 no pass or file is named, 1 one is, 2 could not run. Ctrl-C prints what is known so far.";

/// Arguments of `candor isolate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A finding.json of `candor check --save`, a report of `candor check --json`, or a C program
    #[arg(required_unless_present_any = ["prepare", "benchmark"])]
    file: Option<PathBuf>,

    #[command(flatten)]
    claim: ClaimArgs,

    /// Write the case with its culprit pass to FILE
    #[arg(short, long, value_name = "FILE", conflicts_with = "update")]
    output: Option<PathBuf>,

    /// Write the culprit pass into the given finding.json itself
    #[arg(long)]
    update: bool,

    /// Builds at a time (default: all cores)
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// Seconds one run of the program may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// Seconds for all of it; what is known then is the answer
    #[arg(long, value_name = "SECONDS")]
    stop_after: Option<u64>,

    /// Do not ask the sanitizers whether the program's behaviour is defined
    #[arg(long)]
    no_sanitizers: bool,

    /// Do not ask the other installed releases
    #[arg(long)]
    no_releases: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Write the answer as a page to DIR
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,

    #[command(flatten)]
    surroundings: Surroundings,

    #[command(flatten)]
    files: FileArgs,
}

/// Runs the isolation and prints the answer.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let context = Context::new()?;
    let jobs = settings(&args, &context).jobs;
    if args.files.prepare.is_some() {
        let command = args.claim.compiler().map(str::to_owned);
        let output = args.output.as_deref();
        return isolate_files::prepare(&context, &args.files, output, command, jobs);
    }
    if args.files.benchmark.is_some() {
        let wanted = args.claim.compiler().unwrap_or("gcc-12").to_owned();
        let tools = Tools::find(&context, &[wanted])?;
        let Some(compiler) = tools.under_test()?.last().copied() else {
            bail!("no C compiler was found; `candor doctor` says how to get one");
        };
        return isolate_files::benchmark(&tools.toolset()?, &args.files, compiler, jobs, args.json);
    }
    let Some(file) = &args.file else {
        bail!("expected a finding or a program; `candor isolate --help` has examples");
    };
    let question = args.claim.question(file, &args.surroundings)?;
    let is_case = matches!(question, Question::Known(_));
    if args.update && !is_case {
        bail!("--update writes into a finding.json; for a program use -o FILE");
    }
    let tools = Tools::find(&context, &args.claim.wanted(&question))?;
    let under_test = tools.under_test()?;
    let Some(compiler) = under_test.last().copied() else {
        bail!("no C compiler was found; `candor doctor` says how to get one");
    };
    let toolset = tools.toolset()?;
    let settings = settings(&args, &context);
    let bar = progress_bar(args.json);
    let mut case = match question {
        Question::Known(case) => *case,
        Question::Asked(program) => {
            bar.set_message("checking the program");
            let check = candor_check::Settings {
                time: settings.options.run,
                jobs: settings.jobs,
                ..candor_check::Settings::default()
            };
            args.claim.case(&toolset, compiler, &program, &check)?
        }
    };
    let report = |progress: candor_isolate::Progress| {
        bar.set_message(format!("{} | {} builds", progress.step, progress.asked));
    };
    // Passes of other compilers cannot be switched off; their files can be ranked all the same.
    let has_passes = matches!(compiler.family, Family::Gcc | Family::Clang);
    let mut isolation = None;
    if has_passes || args.files.coverage.is_none() {
        let mut found = candor_isolate::isolate(&toolset, &case, compiler, &settings, &report)?;
        if let (Some(next), false) = (&mut found.next, is_case) {
            // the user's path, not the bare name
            *next = next.replace(&found.program, &quote(&file.display().to_string()));
        }
        isolation = Some(found);
    }
    let location = isolate_files::locate(
        &toolset,
        &args.files,
        &settings,
        &case,
        compiler,
        isolation.as_ref(),
        &report,
    )?;
    bar.finish_and_clear();
    if let Some(isolation) = &isolation {
        candor_isolate::complete(&mut case, isolation);
    }
    let written = write(&args, &case)?;
    let page = match &args.html {
        Some(directory) => Some(isolate_page::write(
            directory,
            &case,
            isolation.as_ref(),
            location.as_ref(),
        )?),
        None => None,
    };
    if args.json {
        let mut all = match &isolation {
            Some(isolation) => serde_json::to_value(isolation)?,
            None => serde_json::json!({}),
        };
        if let (Some(object), Some(location)) = (all.as_object_mut(), &location) {
            object.insert("location".into(), serde_json::to_value(location)?);
        }
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        if let Some(isolation) = &isolation {
            print(isolation);
        }
        if let Some(location) = &location {
            isolate_files::print(location);
        }
        for path in written.iter().chain(&page) {
            println!("written: {}", path.display());
        }
    }
    let named = isolation.is_some_and(|isolation| isolation.outcome == End::Found);
    let located = location.is_some_and(|location| location.outcome == Ended::Located);
    Ok(match named || located {
        true => Outcome::Found,
        false => Outcome::Nothing,
    })
}

fn settings(args: &Args, context: &Context) -> Settings {
    let defaults = Settings::default();
    Settings {
        jobs: args.jobs.or(context.config.jobs).unwrap_or(defaults.jobs),
        options: Options {
            run: args
                .timeout
                .map(Duration::from_secs)
                .or(context.config.timeout)
                .unwrap_or(defaults.options.run),
            sanitize: !args.no_sanitizers,
            ..defaults.options
        },
        budget: args.stop_after.map(Duration::from_secs),
        releases: !args.no_releases,
        ..defaults
    }
}

/// Where the completed case went.
fn write(args: &Args, case: &Case) -> anyhow::Result<Option<PathBuf>> {
    let path = match (&args.output, args.update) {
        (Some(path), _) => path.clone(),
        (None, true) => args.file.clone().unwrap_or_default(),
        (None, false) => return Ok(None),
    };
    case.save(&path)?;
    Ok(Some(path))
}

fn print(isolation: &Isolation) {
    let bold = anstyle::Style::new().bold();
    println!("{bold}{}{bold:#}", isolation.headline());
    println!(
        "  {} {} {}, {}: {}",
        isolation.compiler,
        isolation.version,
        isolation.flags.join(" "),
        isolation.program,
        isolation.claim
    );
    for note in &isolation.notes {
        println!("note: {note}");
    }
    if let Some(diagnosis) = &isolation.diagnosis {
        let how = match diagnosis.flag.as_str() {
            "" => "the crash".to_owned(),
            flag => flag.to_owned(),
        };
        println!("{how} names {}: {}", diagnosis.pass, diagnosis.message);
    }
    if !isolation.suspects.is_empty() {
        println!("\npasses, the likeliest first:");
        for suspect in isolation.suspects.iter().take(5) {
            print_suspect(suspect);
        }
        match isolation.suspects.len().saturating_sub(5) {
            0 => {}
            more => println!("  and {more} more (--json has them)"),
        }
    }
    print_cures(isolation);
    if let Some(releases) = &isolation.releases {
        let shown: Vec<String> = releases
            .seen
            .iter()
            .map(|one| {
                let word = match one.bad {
                    Some(true) => "bad",
                    Some(false) => "good",
                    None => "cannot be told",
                };
                format!("{} {word}", one.version)
            })
            .collect();
        println!("releases: {}", shown.join(", "));
    }
    if let Some(change) = &isolation.change {
        print_change(change);
    }
    let effort = &isolation.effort;
    println!(
        "\n{} builds in {:.1} s{}",
        effort.builds,
        effort.seconds,
        match isolation.family.as_str() {
            _ if effort.passes == 0 => String::new(),
            "clang" | "rustc" => format!(" for {} pass runs", effort.passes),
            _ => format!(
                " for {} options, {} passes, {} counters",
                effort.options, effort.passes, effort.counters
            ),
        }
    );
    if let Some(next) = &isolation.next {
        println!("next: {next}");
    }
}

fn print_suspect(suspect: &Suspect) {
    let files = match suspect.files.is_empty() {
        true => String::new(),
        false => format!(" ({})", suspect.files.join(" ")),
    };
    let unspecific = match suspect.unspecific {
        true => "  [unspecific: much depends on it]",
        false => "",
    };
    println!("  {}{files}{unspecific}", suspect.pass);
    for why in &suspect.why {
        println!("      {why}");
    }
}

fn print_cures(isolation: &Isolation) {
    for (kind, title) in [
        (CureKind::Limit, "cured by leaving out"),
        (CureKind::Option, "cured by options"),
        (CureKind::Pass, "cured by disabling"),
        (CureKind::Joint, "cured by disabling together"),
        (CureKind::Counter, "cured by stopping counters"),
    ] {
        let cures: Vec<String> = isolation
            .cures
            .iter()
            .filter(|cure| cure.kind == kind)
            .map(|cure| match isolation.family.as_str() {
                "rustc" => rustc::spelled(&cure.flags).join(" "),
                _ => cure.flags.join(" "),
            })
            .collect();
        if !cures.is_empty() {
            println!("{title}: {}", cures.join(", "));
        }
    }
}

fn print_change(change: &Change) {
    let of = match &change.function {
        Some(function) => format!("{} of {function}", change.of),
        None => change.of.clone(),
    };
    println!("\nwhat it changed ({of}):");
    let (red, green) = (
        anstyle::AnsiColor::Red.on_default(),
        anstyle::AnsiColor::Green.on_default(),
    );
    for line in &change.lines {
        match line.chars().next() {
            Some('-') => println!("  {red}{line}{red:#}"),
            Some('+') => println!("  {green}{line}{green:#}"),
            _ => println!("  {line}"),
        }
    }
    if change.left_out > 0 {
        println!("  ({} more changed lines)", change.left_out);
    }
    println!("  all of it: {}", change.command);
}
