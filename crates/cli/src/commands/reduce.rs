//! `candor reduce`: which case is meant, and how a reduction looks on a terminal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::println;
use anyhow::{Context as _, bail};
use candor_mutate::Variant;
use candor_predicate::{Case, Options, Setup, predicate_for, write_whole};
use candor_reduce::{Progress, Reduction, Settings, Stage, Stopped};
use candor_toolchain::Program;
use candor_toolchain::sandbox::find_on_path;
use indicatif::ProgressBar;

use crate::Outcome;
use crate::claim::{ClaimArgs, Question};
use crate::context::Context;
use crate::program::Surroundings;
use crate::progress::progress_bar;
use crate::tools::Tools;

const EXAMPLES: &str = "\
Examples:
  candor reduce finding.json                         any finding candor saved or reported
  candor reduce prog.c --miscompiles --cc gcc-12 -O2 --against -O0
  candor reduce prog.c --miscompiles --cc ./my-cc --against 'gcc-12 -O0'
  candor reduce prog.c --crashes --cc clang-16 -O3
  candor reduce prog.c --hangs=20 --cc gcc-12 -O3
  candor reduce prog.c --check wrong-value --cc clang-19 -O2
  candor reduce prog.c --lost main:i --cc clang-19 -O2
  candor reduce prog.c --command ./interesting.sh    exit status 0: still interesting

The original is untouched. Ctrl-C keeps the best so far. Exit codes: 0 reduced, 2 could not run.";

/// Arguments of `candor reduce`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A finding.json of `candor check --save`, a report of `candor check --json`, or a C program
    file: PathBuf,

    #[command(flatten)]
    claim: ClaimArgs,

    /// The record `candor mutate` wrote for the program (default: the .json beside it, where it fits):
    /// inserted snippets are dropped first
    #[arg(long, value_name = "FILE")]
    variant: Option<PathBuf>,

    /// Where the result goes (default: beside the input, as NAME.reduced.c); a .json goes beside it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Candidates at a time (default: all cores); the result does not depend on it
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// 0 tries parts in source order; other seeds shuffle, and may end in another small program
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Seconds one run of the program may take at most
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// Seconds for the whole reduction; the best so far is the result then
    #[arg(long, value_name = "SECONDS")]
    stop_after: Option<u64>,

    /// Keep every candidate in DIR with its verdict
    #[arg(long, value_name = "DIR")]
    keep_tried: Option<PathBuf>,

    /// A second reducer afterwards: cvise
    #[arg(long, value_name = "REDUCER")]
    with: Option<String>,

    /// Keep the original's names
    #[arg(long)]
    keep_names: bool,

    /// Test FILE against a case and say so by the exit status: what other reducers call
    #[arg(long, value_name = "CASE", hide = true)]
    test: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    surroundings: Surroundings,
}

/// Runs the reduction and prints what came of it.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let context = Context::new()?;
    if let Some(case) = &args.test {
        return test(&args, &context, case);
    }
    let question = args.claim.question(&args.file, &args.surroundings)?;
    let output = Output::new(&args)?;
    let tools = Tools::find(&context, &args.claim.wanted(&question))?;
    let under_test = tools.under_test()?;
    let Some(compiler) = under_test.last().copied() else {
        bail!("no C compiler was found; `candor doctor` says how to get one");
    };
    let toolset = tools.toolset()?;
    let settings = settings(&args, &context, &output)?;
    let case = match question {
        Question::Known(case) => *case,
        Question::Asked(program) => {
            let check = candor_check::Settings {
                time: settings.time,
                jobs: settings.jobs,
                ..candor_check::Settings::default()
            };
            args.claim.case(&toolset, compiler, &program, &check)?
        }
    };
    let case = with_record(&args, case.built_by(compiler))?;
    let bar = progress_bar(args.json);
    let reduced = candor_reduce::reduce(&toolset, &case, compiler, &settings, &|progress| {
        show(&bar, progress);
    });
    bar.finish_and_clear();
    let reduction = reduced?;
    output.write(&reduction)?;
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&json(&reduction, &output))?
        );
    } else {
        print(&reduction, &output);
    }
    if let Some(why @ Stopped::Broken(_)) = &reduction.stopped {
        bail!("{why}, in {}", output.program.display());
    }
    Ok(Outcome::Nothing)
}

/// The case with the record of the mutation its program comes from, where there is one.
fn with_record(args: &Args, case: Case) -> anyhow::Result<Case> {
    if case.variant.is_some() {
        return Ok(case);
    }
    let path = match &args.variant {
        Some(given) => given.clone(),
        None => args.file.with_extension("json"),
    };
    let record = || -> anyhow::Result<(Variant, Program)> {
        let variant = Variant::load(&path)?;
        let seed = variant.seed_program(&path)?;
        if variant.text(&seed.text)? != case.program.text {
            bail!("{} is the record of another variant", path.display());
        }
        Ok((variant, seed))
    };
    match (record(), &args.variant) {
        (Ok((variant, seed)), _) => {
            let record = serde_json::to_value(variant)?;
            Ok(case.with_variant(record, &seed.text))
        }
        (Err(error), Some(_)) => Err(error),
        // what lies beside the program by chance says nothing
        (Err(_), None) => Ok(case),
    }
}

fn settings(args: &Args, context: &Context, output: &Output) -> anyhow::Result<Settings> {
    let defaults = Settings::default();
    let jobs = args.jobs.or(context.config.jobs).unwrap_or(defaults.jobs);
    let budget = args.stop_after.map(Duration::from_secs);
    let cvise = match args.with.as_deref() {
        None => None,
        Some("cvise") => Some(Stage {
            command: find_on_path("cvise")
                .context("cvise is not installed; `apt install cvise`, or leave --with out")?,
            candor: std::env::current_exe().context("cannot tell where candor is")?,
            jobs,
            time: budget.unwrap_or(Duration::from_secs(3600)),
        }),
        Some(other) => bail!("--with takes `cvise`; got `{other}`"),
    };
    Ok(Settings {
        jobs,
        seed: args.seed,
        time: args
            .timeout
            .map(Duration::from_secs)
            .or(context.config.timeout)
            .unwrap_or(defaults.time),
        budget,
        keep_tried: args.keep_tried.clone(),
        cvise,
        name: output.name(),
        rename: !args.keep_names,
    })
}

/// Where results go.
struct Output {
    program: PathBuf,
    case: PathBuf,
}

impl Output {
    /// Resolves the paths and makes sure, before any work, that something can be written there.
    fn new(args: &Args) -> anyhow::Result<Self> {
        let program = match &args.output {
            Some(given) => given.clone(),
            None if args.file.extension().is_some_and(|end| end == "rs") => {
                args.file.with_extension("reduced.rs")
            }
            None => args.file.with_extension("reduced.c"),
        };
        let case = program.with_extension("json");
        let same = |path: &Path| match (path.canonicalize(), args.file.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        };
        if same(&program) || same(&case) {
            bail!(
                "the result would replace {}, which stays untouched; give another -o",
                args.file.display()
            );
        }
        let folder = match program.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let probe = folder.join(format!(".candor-probe-{}", std::process::id()));
        std::fs::write(&probe, b"")
            .and_then(|()| std::fs::remove_file(&probe))
            .with_context(|| {
                format!(
                    "cannot write into {}, where the result is to go; give another place with -o",
                    folder.display()
                )
            })?;
        Ok(Output { program, case })
    }

    fn name(&self) -> String {
        self.program.file_name().map_or_else(
            || "reduced.c".into(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Writes program and case, each whole or not at all. What cannot be written is printed: a
    /// reduction is never lost.
    fn write(&self, reduction: &Reduction) -> anyhow::Result<()> {
        let text = &reduction.case.program.text;
        let written = write_whole(&self.program, text.as_bytes())
            .and_then(|()| reduction.case.save(&self.case));
        if let Err(error) = written {
            println!("{text}");
            return Err(error).context("the result could not be written; it is printed above");
        }
        Ok(())
    }
}

/// Asks whether a case's claim holds for another text: for cvise.
fn test(args: &Args, context: &Context, case: &Path) -> anyhow::Result<Outcome> {
    let case = Case::load(case)?;
    let tools = Tools::find(context, std::slice::from_ref(&case.compiler))?;
    let under_test = tools.under_test()?;
    let Some(compiler) = under_test.first().copied() else {
        bail!("{} was not found", case.compiler);
    };
    let toolset = tools.toolset()?;
    let mut program = case.program.program();
    let mut predicate = predicate_for(&case, &toolset, Options::default())?;
    predicate.accept_warnings_of(&program)?;
    program.text = candor_toolchain::program::read_source(&args.file)?;
    let setup = Setup {
        compiler,
        flags: case.flags.clone(),
    };
    Ok(if predicate.test(&program, &setup)?.holds() {
        Outcome::Nothing
    } else {
        Outcome::Found
    })
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_message(format!(
        "{} tokens, {} lines | {}: {} tried, {:.1}/s | last success {} s ago",
        progress.size.tokens,
        progress.size.lines,
        progress.pass,
        progress.tried,
        progress.rate,
        progress.since_success.as_secs()
    ));
}

fn print(reduction: &Reduction, output: &Output) {
    let (before, after) = (reduction.before, reduction.after);
    let green = anstyle::AnsiColor::Green.on_default().bold();
    println!(
        "{green}reduced{green:#}: {} tokens in {} lines -> {} tokens in {} lines",
        before.tokens, before.lines, after.tokens, after.lines
    );
    let seconds = reduction.elapsed.as_secs_f64();
    println!(
        "{} candidates in {seconds:.1} s ({:.1}/s)",
        reduction.tally.tried,
        reduction.tally.tried as f64 / seconds.max(0.001)
    );
    println!("claim: {}", reduction.case.claim);
    match &reduction.verified {
        Some(verified) => match &verified.finding {
            Some(finding) => println!(
                "verified from scratch: {} (confirmed by {})",
                verified.seen,
                finding.confirmed_by.join(", ")
            ),
            None => println!("verified from scratch: {}", verified.seen),
        },
        None => println!("not verified from scratch; every step was tested"),
    }
    let stopped = reduction.stopped.as_ref().map(ToString::to_string);
    for note in stopped.iter().chain(&reduction.notes) {
        println!("note: {note}");
    }
    println!("\n{}", reduction.case.program.text);
    println!(
        "written: {}, {}",
        output.program.display(),
        output.case.display()
    );
}

fn json(reduction: &Reduction, output: &Output) -> serde_json::Value {
    serde_json::json!({
        "program": output.program,
        "case": output.case,
        "before": reduction.before,
        "after": reduction.after,
        "candidates": reduction.tally,
        "seconds": reduction.elapsed.as_secs_f64(),
        "claim": reduction.case.claim.to_string(),
        "verified": reduction.verified.as_ref().map(|verified| &verified.seen),
        "confirmed_by": reduction.case.finding.as_ref().map(|finding| &finding.confirmed_by),
        "stopped": reduction.stopped.as_ref().map(ToString::to_string),
        "notes": reduction.notes,
        "text": reduction.case.program.text,
    })
}
