//! `candor repair`: arguments, what they resolve to, and how the result is shown.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anstream::{eprintln, println};
use anyhow::{Context as _, bail};
use candor_dwarf::rewrite::Rewriter;
use candor_prove::image::Image;
use candor_prove::ir::Module;
use candor_prove::{Certificate, Outcome as Proved, Proof, Prover, Settings, source_ir};
use candor_repair::{Accepted, Plan, Precision, Programs, Switches, Validation, accept, plan};
use candor_report::{RepairRun, RepairedCell, RepairedFunction, RepairedRow, repair_site};
use serde_json::json;

use crate::Outcome;
use crate::context::Context;
use crate::program::absolute_flags;
use crate::progress::progress_bar;

const EXAMPLES: &str = "\
Examples:
  candor repair app -o app.fixed --source kernels.c                         every function that can be proved
  candor repair kernels.o -o kernels.fixed.o --source kernels.c --function s000 --explain
  candor repair app --source kernels.c --dry-run                            the table, nothing written
  candor repair app -o app.fixed --source kernels.c --certificate app.cert  from proofs that `candor prove` kept
  candor repair app -o app.fixed --source kernels.c --validate --html out/  run it, compare every value that is shown; pages
  candor repair app -o app.fixed --source kernels.c -- -DN=100              flags for the source

Exit codes: 0 something was repaired, 1 nothing was, 2 could not run.";

/// Arguments of `candor repair`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The ELF object or executable
    file: PathBuf,

    /// The C source it was built from
    #[arg(long, value_name = "FILE")]
    source: PathBuf,

    /// Where to write the repaired file
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    output: Option<PathBuf>,

    /// A function; repeat for more (default: every function of the source that the file holds)
    #[arg(long = "function", short = 'f', value_name = "NAME")]
    functions: Vec<String>,

    /// Show the table, write nothing
    #[arg(long)]
    dry_run: bool,

    /// Show every expression and where it holds
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Write only values that are exact
    #[arg(long)]
    strict: bool,

    /// Run the repaired program and compare every value at every instruction with the source program
    #[arg(long)]
    validate: bool,

    /// Write pages with source, instructions and the value of each variable at each of them, before and after
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,

    /// Check the proofs of this file instead of searching for some
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,

    /// Leave out a step, to see what it brings
    #[arg(long, value_name = "STEP", value_enum)]
    without: Vec<Step>,

    /// The SMT solver: z3, cvc5, bitwuzla, or a path
    #[arg(long, value_name = "COMMAND", default_value = "z3")]
    solver: PathBuf,

    /// Seconds the proof of one function may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,

    /// Flags for the source
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// A step of the spreading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Step {
    /// Spreading forward (and everything after it)
    Forward,
    /// Undoing instructions
    Reversibility,
    /// Spreading backward
    Backward,
    /// Numbers before the first iteration of a loop and behind the last
    Edges,
}

/// What a function came to.
struct Repaired {
    function: String,
    plan: Result<Plan, String>,
    proof: Option<Box<Proof>>,
    validation: Option<Validation>,
    /// Where it is defined, 0 if unknown.
    line: u32,
    seconds: f64,
}

/// Repairs a file.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let context = Context::new()?;
    let before = std::fs::read(&args.file)
        .with_context(|| format!("cannot read {}", args.file.display()))?;
    let refused = |reason| candor_repair::Error::Refused {
        path: args.file.clone(),
        reason,
    };
    let mut rewriter = Rewriter::new(before.clone()).map_err(refused)?;
    let image = Image::load(&args.file)?;
    if image.is_stripped() {
        return Err(candor_prove::Error::Stripped {
            path: args.file.clone(),
        }
        .into());
    }
    let flags = absolute_flags(&args.flags)?;
    let module = source_ir(&context.sandbox, &context.scratch, &args.source, &flags)?;
    let mut settings = Settings {
        time: Duration::from_secs(args.timeout),
        ..Settings::default()
    };
    settings.solver.command = args.solver.clone();
    let prover = Prover::new(&context.sandbox, &context.scratch, settings);
    let mut results = repair(&args, &prover, &image, &module, &mut rewriter)?;
    let changed = results
        .iter()
        .any(|one| one.plan.as_ref().is_ok_and(|plan| !plan.changes.is_empty()));
    let relocatable = rewriter.is_relocatable();
    let after = rewriter.into_bytes();
    // a file of which nothing is changed comes out byte by byte as it came in
    let after = if changed { after } else { before.clone() };
    let accepted = if changed {
        Some(accept(&context.sandbox, &context.scratch, &before, &after)?)
    } else {
        None
    };
    if args.validate {
        let files = (&before[..], &after[..], relocatable);
        validate(&context, &image, &module, files, &mut results)?;
    }
    if let (Some(output), false) = (&args.output, args.dry_run) {
        candor_repair::write(&args.file, output, &after)?;
    }
    report(&args, &image, &results, accepted.as_ref())?;
    if let Some(directory) = &args.html {
        let page = repair_site(
            &pages(&args, &image, &results, accepted.as_ref()),
            directory,
        )?;
        eprintln!("the pages begin at {}", page.display());
    }
    Ok(if changed {
        Outcome::Nothing
    } else {
        Outcome::Found
    })
}

fn repair(
    args: &Args,
    prover: &Prover<'_>,
    image: &Image,
    module: &Module,
    rewriter: &mut Rewriter,
) -> anyhow::Result<Vec<Repaired>> {
    let switches = Switches {
        forward: !args.without.contains(&Step::Forward),
        reversible: !args.without.contains(&Step::Reversibility),
        backward: !args.without.contains(&Step::Backward),
        settled: !args.without.contains(&Step::Edges),
        strict: args.strict,
    };
    let certificate = args
        .certificate
        .as_deref()
        .map(Certificate::load)
        .transpose()?;
    let mut all = Vec::new();
    let bar = progress_bar(args.json);
    let names = names(args, image, module)?;
    for (number, name) in names.iter().enumerate() {
        bar.set_message(format!("{number} of {}: {name}", names.len()));
        let started = Instant::now();
        let verdict = match &certificate {
            None => Some(prover.prove(image, module, name)?),
            Some(certificate) => match certificate
                .entries
                .iter()
                .find(|entry| entry.proof.function == *name)
            {
                Some(entry) => Some(prover.recheck(image, module, entry)?),
                None => None,
            },
        };
        let mut kept = None;
        let line = verdict.as_ref().map_or(0, |verdict| verdict.line);
        let plan = match verdict.map(|verdict| verdict.outcome) {
            None => Err("the certificate holds no proof of it".to_owned()),
            Some(Proved::Proved(proof)) => rewriter
                .describe(name)
                .map_err(|refused| refused.to_string())
                .and_then(|described| {
                    let relocatable = rewriter.is_relocatable();
                    plan(image, module, &proof, &described, relocatable, switches)
                })
                .and_then(|plan| match rewriter.apply(name, &plan.changes) {
                    Ok(()) => {
                        kept = Some(proof);
                        Ok(plan)
                    }
                    Err(refused) => Err(refused.to_string()),
                }),
            Some(Proved::Different(difference)) => {
                Err(format!("the programs differ: {}", difference.what))
            }
            Some(Proved::Undecided(reason)) => Err(format!("not proved: {reason}")),
        };
        all.push(Repaired {
            function: name.clone(),
            plan,
            proof: kept,
            validation: None,
            line,
            seconds: started.elapsed().as_secs_f64(),
        });
    }
    bar.finish_and_clear();
    Ok(all)
}

/// Runs the repaired program. A function that shows more wrong values than before is no repair: nothing is written then.
fn validate(
    context: &Context,
    image: &Image,
    module: &Module,
    (before, after, relocatable): (&[u8], &[u8], bool),
    results: &mut [Repaired],
) -> anyhow::Result<()> {
    let names: Vec<String> = results
        .iter()
        .filter(|one| one.plan.is_ok())
        .map(|one| one.function.clone())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (sandbox, scratch) = (&context.sandbox, &context.scratch);
    let programs = Programs::new(sandbox, scratch, module, &names, before, after, relocatable)?;
    for one in results {
        let (Some(proof), true) = (&one.proof, one.plan.is_ok()) else {
            continue;
        };
        let function = module
            .functions
            .iter()
            .find(|(name, _)| *name == one.function)
            .and_then(|(_, function)| function.as_ref().ok());
        let validation = match (&programs, function, image.code(&one.function)) {
            (Err(why), ..) => Validation::NotRun(why.clone()),
            (Ok(programs), Some(function), Ok(code)) => {
                programs.validate(sandbox, function, &code, proof)?
            }
            _ => Validation::NotRun("it is not in the source or in the file".to_owned()),
        };
        if let Validation::Walked(seen) = &validation
            && seen.after.wrong > seen.before.wrong
        {
            bail!(
                "nothing was written: {} would show {} wrong values, {} before; this is a bug of candor, please report it with the files\n{}",
                one.function,
                seen.after.wrong,
                seen.before.wrong,
                seen.told.join("\n")
            );
        }
        one.validation = Some(validation);
    }
    Ok(())
}

fn names(args: &Args, image: &Image, module: &Module) -> anyhow::Result<Vec<String>> {
    let held = image.functions();
    if let Some(missing) = args
        .functions
        .iter()
        .find(|name| !held.contains(&name.as_str()))
    {
        bail!("{} holds no function `{missing}`", args.file.display());
    }
    let found: Vec<String> = module
        .functions
        .iter()
        .map(|(name, _)| name)
        .filter(|name| held.contains(&name.as_str()))
        .filter(|name| args.functions.is_empty() || args.functions.contains(name))
        .cloned()
        .collect();
    if found.is_empty() {
        bail!(
            "{} holds none of the functions that {} defines; were they inlined, or is it another program?",
            args.file.display(),
            args.source.display()
        );
    }
    Ok(found)
}

fn report(
    args: &Args,
    image: &Image,
    results: &[Repaired],
    accepted: Option<&Accepted>,
) -> anyhow::Result<()> {
    if args.json {
        let functions: Vec<serde_json::Value> = results
            .iter()
            .map(|one| match &one.plan {
                Ok(plan) => json!({
                    "function": one.function,
                    "seconds": one.seconds,
                    "repaired": plan,
                    "validation": one.validation,
                }),
                Err(reason) => {
                    json!({"function": one.function, "seconds": one.seconds, "reason": reason})
                }
            })
            .collect();
        let report = json!({
            "file": args.file,
            "source": args.source,
            "output": if args.dry_run { None } else { args.output.as_ref() },
            "functions": functions,
            "accepted": accepted,
        });
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    println!(
        "function          T    U    V    O    M    I  removed  exact  lanes within   none  seconds"
    );
    for one in results {
        match &one.plan {
            Ok(plan) => {
                let c = &plan.counts;
                println!(
                    "{:12} {:6} {:4} {:4} {:4} {:4} {:4} {:8} {:6} {:6} {:6} {:6} {:8.1}",
                    one.function,
                    c.instructions,
                    c.updated,
                    c.variables,
                    c.original,
                    c.missing,
                    c.constant,
                    c.removed,
                    c.exact,
                    c.lanes,
                    c.within,
                    c.none,
                    one.seconds
                );
                if let Some(validation) = &one.validation {
                    println!("    {}", shown(validation));
                }
                if args.explain {
                    explain(image, plan);
                }
            }
            Err(reason) => println!("{:12} left as it is: {reason}", one.function),
        }
    }
    if let Some(accepted) = accepted {
        println!("{}", acceptance(accepted));
    }
    match (&args.output, args.dry_run) {
        (Some(output), false) => eprintln!("written to {}", output.display()),
        _ => eprintln!("nothing was written"),
    }
    Ok(())
}

fn shown(validation: &Validation) -> String {
    match validation {
        Validation::NotRun(why) => format!("not run: {why}"),
        Validation::Walked(seen) => {
            let (before, after) = (seen.before, seen.after);
            format!(
                "{} instructions run; values shown right / wrong / not at all: {} / {} / {} before, {} / {} / {} after",
                seen.steps,
                before.right,
                before.wrong,
                before.none,
                after.right,
                after.wrong,
                after.none
            )
        }
    }
}

fn precise(precision: Precision) -> String {
    match precision {
        Precision::Exact => "exact".to_owned(),
        Precision::Lanes(k) => format!("the first of {k} lanes"),
        Precision::Within(k) => format!("the first of {k} iterations"),
    }
}

/// The functions as pages show them.
fn pages(
    args: &Args,
    image: &Image,
    results: &[Repaired],
    accepted: Option<&Accepted>,
) -> RepairRun {
    let text = std::fs::read_to_string(&args.source).unwrap_or_default();
    let repaired = results.iter().filter(|one| one.plan.is_ok()).count();
    RepairRun {
        file: args.file.display().to_string(),
        source: args.source.display().to_string(),
        summary: match accepted {
            Some(accepted) => format!(
                "{repaired} of {} functions proved and looked at; {}",
                results.len(),
                acceptance(accepted)
            ),
            None => format!("Nothing to repair in {} functions.", results.len()),
        },
        functions: results
            .iter()
            .map(|one| match &one.plan {
                Ok(plan) => function_page(image, &text, one, plan),
                Err(reason) => RepairedFunction {
                    name: one.function.clone(),
                    verdict: format!("left as it is: {reason}"),
                    ..RepairedFunction::default()
                },
            })
            .collect(),
    }
}

fn function_page(image: &Image, text: &str, one: &Repaired, plan: &Plan) -> RepairedFunction {
    let start = image.code(&plan.function).map_or(0, |code| code.start);
    let c = &plan.counts;
    let mut facts = vec![
        (
            "instructions".to_owned(),
            format!("{}, something new at {}", c.instructions, c.updated),
        ),
        (
            "instruction and variable".to_owned(),
            format!(
                "{} said before; {} were missing, {} wrongly constant, {} constants removed",
                c.original, c.missing, c.constant, c.removed
            ),
        ),
        (
            "new values".to_owned(),
            format!(
                "{} exact, {} within lanes, {} within iterations; nothing said of {}",
                c.exact, c.lanes, c.within, c.none
            ),
        ),
    ];
    if let Some(validation) = &one.validation {
        facts.push(("run".to_owned(), shown(validation)));
    }
    let mut marks: BTreeMap<u64, String> = BTreeMap::new();
    for claims in one.proof.iter().flat_map(|proof| &proof.claims) {
        let mark = format!("head of the loop of line {}", claims.line);
        marks.insert(claims.at - start, mark);
    }
    RepairedFunction {
        name: one.function.clone(),
        verdict: if plan.changes.is_empty() {
            "proved; nothing to add".to_owned()
        } else {
            "proved and repaired".to_owned()
        },
        facts,
        source: source_lines(text, one.line),
        columns: plan.columns.clone(),
        rows: plan
            .listing
            .iter()
            .map(|listed| RepairedRow {
                at: format!("{:#x}", start + listed.at),
                text: listed.text.clone(),
                mark: marks.get(&listed.at).cloned().unwrap_or_default(),
                cells: listed
                    .shown
                    .iter()
                    .map(|shown| RepairedCell {
                        before: shown.before.clone(),
                        after: shown.after.clone(),
                        precision: shown.precision.map(precise).unwrap_or_default(),
                    })
                    .collect(),
            })
            .collect(),
    }
}

/// The lines of a function: from its definition to where its braces are closed.
fn source_lines(text: &str, line: u32) -> Vec<(u32, String)> {
    let mut lines = Vec::new();
    let mut depth = 0i64;
    for (number, content) in text
        .lines()
        .enumerate()
        .skip(line.saturating_sub(1) as usize)
    {
        lines.push((number as u32 + 1, content.to_owned()));
        let opened = content.matches('{').count() as i64;
        depth += opened - content.matches('}').count() as i64;
        let begun = opened > 0 || lines.len() > 1 && depth > 0;
        if begun && depth <= 0 || lines.len() > 400 {
            break;
        }
    }
    lines
}

fn acceptance(accepted: &Accepted) -> String {
    let change = accepted.bytes_after as f64 / accepted.bytes_before.max(1) as f64 * 100.0 - 100.0;
    let verified = match accepted.complaints {
        Some((before, after)) => format!("{before} complaints before, {after} after"),
        None => "did not come to an end on the input, so nothing is known".to_owned(),
    };
    format!("code unchanged; llvm-dwarfdump --verify: {verified}; size {change:+.1} %")
}

fn explain(image: &Image, plan: &Plan) {
    let start = image.code(&plan.function).map_or(0, |code| code.start);
    for variable in &plan.variables {
        if let Some(removed) = &variable.removed {
            println!("    {}: {removed} is removed", variable.name);
        }
        for span in &variable.spans {
            let precision = precise(span.precision);
            println!(
                "    {} = {}  over {:#x}-{:#x} ({precision})",
                variable.name,
                span.text,
                start + span.from,
                start + span.to
            );
        }
    }
}
