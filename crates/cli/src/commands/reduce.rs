//! `candor reduce`: which case is meant, and how a reduction looks on a terminal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::println;
use anyhow::{Context as _, bail};
use candor_check::{Finding, Kind, PointChoice, Report, Request, Toolset};
use candor_predicate::{Case, Claim, Options, Setup, predicate_for, write_whole};
use candor_reduce::{Progress, Reduction, Settings, Stage};
use candor_toolchain::sandbox::find_on_path;
use candor_toolchain::{Compiler, Program};
use indicatif::ProgressBar;

use crate::Outcome;
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
  candor reduce prog.c --command ./interesting.sh    exit status 0: still interesting

The original is untouched. Ctrl-C keeps the best so far. Exit codes: 0 reduced, 2 could not run.";

/// Arguments of `candor reduce`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("claim").multiple(false))]
pub struct Args {
    /// A finding.json of `candor check --save`, a report of `candor check --json`, or a C program
    file: PathBuf,

    /// The program behaves differently from its reference build (see --against)
    #[arg(long, group = "claim")]
    miscompiles: bool,

    /// The compiler crashes on it
    #[arg(long, group = "claim")]
    crashes: bool,

    /// The compiler needs more than SECONDS of CPU time
    #[arg(long, group = "claim", value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "10")]
    hangs: Option<u64>,

    /// `candor check` finds KIND: wrong-value, ill-formed-location, write-only-static, ...
    #[arg(long, group = "claim", value_name = "KIND")]
    check: Option<String>,

    /// A command decides: it is run beside the program with the program's name as argument
    #[arg(long, group = "claim", value_name = "FILE")]
    command: Option<PathBuf>,

    /// With --check: the variable that is meant (default: the first one found)
    #[arg(long, value_name = "NAME", requires = "check")]
    variable: Option<String>,

    /// With a report of several findings: which one, from 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    finding: usize,

    /// The compiler command
    #[arg(long = "cc", value_name = "COMMAND")]
    compiler: Option<String>,

    /// The optimisation level, such as -O2
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2")]
    level: String,

    /// With --miscompiles: the reference build, flags with or without a compiler before them
    #[arg(
        long,
        value_name = "BUILD",
        default_value = "-O0",
        allow_hyphen_values = true
    )]
    against: String,

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
    let question = question(&args)?;
    let output = Output::new(&args)?;
    let wanted = match &question {
        Question::Known(case) => Some(case.compiler.clone()),
        Question::Asked(_) => args.compiler.clone(),
    };
    let tools = Tools::find(&context, &Vec::from_iter(wanted))?;
    let under_test = tools.under_test()?;
    let Some(compiler) = under_test.last().copied() else {
        bail!("no C compiler was found; `candor doctor` says how to get one");
    };
    let toolset = tools.toolset()?;
    let settings = settings(&args, &context, &output)?;
    let case = match question {
        Question::Known(case) => *case,
        Question::Asked(program) => ask(&args, &toolset, compiler, &program, &settings)?,
    };
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
    Ok(Outcome::Nothing)
}

/// What was typed: a case, or a program with a claim still to be put together.
enum Question {
    Known(Box<Case>),
    Asked(Box<Program>),
}

fn question(args: &Args) -> anyhow::Result<Question> {
    let has_claim = args.miscompiles
        || args.crashes
        || args.hangs.is_some()
        || args.check.is_some()
        || args.command.is_some();
    if has_claim {
        return Ok(Question::Asked(Box::new(
            args.surroundings.load(&args.file)?,
        )));
    }
    let text = std::fs::read_to_string(&args.file)
        .with_context(|| format!("cannot read {}", args.file.display()))?;
    if !text.trim_start().starts_with('{') {
        bail!(
            "{} is not a finding; for a C program say what is wrong with it: \
             --miscompiles, --crashes, --hangs, --check KIND or --command FILE",
            args.file.display()
        );
    }
    if let Ok(report) = serde_json::from_str::<Report>(&text) {
        return from_report(args, &report);
    }
    Ok(Question::Known(Box::new(Case::from_json(
        &args.file, &text,
    )?)))
}

fn from_report(args: &Args, report: &Report) -> anyhow::Result<Question> {
    let finding = args
        .finding
        .checked_sub(1)
        .and_then(|index| report.findings.get(index));
    let Some(finding) = finding else {
        bail!(
            "{} has {} findings; --finding {} is none of them",
            args.file.display(),
            report.findings.len(),
            args.finding
        );
    };
    let program = args.surroundings.load(Path::new(&report.program))?;
    Ok(Question::Known(Box::new(Case::from_finding(
        &program, finding,
    ))))
}

/// The case of a claim given by flags.
fn ask(
    args: &Args,
    tools: &Toolset<'_>,
    compiler: &Compiler,
    program: &Program,
    settings: &Settings,
) -> anyhow::Result<Case> {
    let flags = vec![format!("-O{}", args.level)];
    let claim = if let Some(kind) = &args.check {
        return checked(args, tools, compiler, program, settings, kind);
    } else if let Some(path) = &args.command {
        Claim::Command { path: path.clone() }
    } else if let Some(seconds) = args.hangs {
        Claim::Hang { seconds }
    } else if args.crashes {
        // the first crash decides which one is meant
        Claim::Crash {
            site: String::new(),
        }
    } else {
        let (flags, words): (Vec<&str>, Vec<&str>) = args
            .against
            .split_whitespace()
            .partition(|word| word.starts_with('-'));
        Claim::Miscompilation {
            against: flags.into_iter().map(str::to_owned).collect(),
            reference: (!words.is_empty()).then(|| words.join(" ")),
            manner: None,
        }
    };
    Ok(Case::new(program, compiler, flags, claim))
}

/// The first finding of a check that is of the kind asked for.
fn checked(
    args: &Args,
    tools: &Toolset<'_>,
    compiler: &Compiler,
    program: &Program,
    settings: &Settings,
    kind: &str,
) -> anyhow::Result<Case> {
    let kind: Kind = serde_json::from_value(kind.into()).ok().with_context(|| {
        format!(
            "`{kind}` is no kind of finding; expected wrong-value, ill-formed-location, \
             write-only-static, debugger-disagrees or debugger-crash"
        )
    })?;
    let audit = matches!(kind, Kind::DebuggerDisagrees | Kind::DebuggerCrash);
    let replay = |_: &Compiler, _: &str| String::new();
    let request = Request {
        program,
        points: PointChoice::All,
        builds: vec![(compiler, format!("-O{}", args.level))],
        settings: candor_check::Settings {
            time: settings.time,
            jobs: settings.jobs,
            audit,
            ..candor_check::Settings::default()
        },
        replay: &replay,
    };
    let report = candor_check::check(tools, &request, &|_| {})?;
    let meant = |finding: &&Finding| {
        finding.kind == kind
            && args.variable.as_deref().is_none_or(|name| {
                finding.variable == name || finding.variable.split(['.', '[']).next() == Some(name)
            })
    };
    match report.findings.iter().find(meant) {
        Some(finding) => Ok(Case::from_finding(program, finding)),
        None => {
            let others: Vec<String> = report
                .findings
                .iter()
                .map(|finding| format!("{} of `{}`", finding.kind, finding.variable))
                .chain(
                    report
                        .undecided
                        .iter()
                        .map(|open| format!("`{}` undecided ({})", open.variable, open.reason)),
                )
                .chain(report.summary.iter().filter_map(|row| row.note.clone()))
                .collect();
            bail!(
                "there is nothing to reduce: {} -O{} shows no {kind}{}; seen instead: {}",
                compiler,
                args.level,
                args.variable
                    .as_ref()
                    .map_or(String::new(), |name| format!(" of `{name}`")),
                if others.is_empty() {
                    "nothing wrong".to_owned()
                } else {
                    others.join(", ")
                }
            );
        }
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
    for note in reduction.stopped.iter().chain(&reduction.notes) {
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
        "stopped": reduction.stopped,
        "notes": reduction.notes,
        "text": reduction.case.program.text,
    })
}
