//! `candor prove`: arguments, what they resolve to, and how verdicts are shown.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anstream::{eprintln, println};
use anyhow::{Context as _, bail};
use candor_prove::image::Image;
use candor_prove::ir::Module;
use candor_prove::{
    Certificate, MachineEnd, Native, Outcome as Result, Proof, Prover, Settings, Verdict, source_ir,
};
use serde_json::json;

use crate::Outcome;
use crate::context::Context;
use crate::program::absolute_flags;
use crate::progress::progress_bar;

const EXAMPLES: &str = "\
Examples:
  candor prove kernels.c kernels.o                              every function of the source that the object holds
  candor prove kernels.c app --function s000 --explain          loop heads, invariants, edges, and why
  candor prove kernels.c app --certificate kernels.cert         keep the proofs
  candor prove kernels.c app --recheck kernels.cert             repeat the checking only
  candor prove kernels.c kernels.o --solver cvc5                ask another solver
  candor prove kernels.c kernels.o -- -DN=100 -Iinclude         flags for the source

Exit codes: 0 everything asked for is proved, 1 something is different or undecided, 2 could not run.";

/// Arguments of `candor prove`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The C source
    source: PathBuf,

    /// The ELF object or executable built from it
    object: PathBuf,

    /// A function; repeat for more (default: every function of the source that the object holds)
    #[arg(long = "function", short = 'f', value_name = "NAME")]
    functions: Vec<String>,

    /// Show the product program: loop heads, invariants, edges
    #[arg(long)]
    explain: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Write the proofs to this file
    #[arg(long, value_name = "FILE", conflicts_with = "recheck")]
    certificate: Option<PathBuf>,

    /// Check the proofs of this file instead of searching for some
    #[arg(long, value_name = "FILE", conflicts_with = "functions")]
    recheck: Option<PathBuf>,

    /// The SMT solver: z3, cvc5, bitwuzla, or a path
    #[arg(long, value_name = "COMMAND", default_value = "z3")]
    solver: PathBuf,

    /// Seconds one function may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,

    /// Functions proved at one time (default: all cores)
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,

    /// Decides the inputs of traced runs
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Flags for the source
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// One thing to be done: a function to be proved, or an entry of a certificate to be rechecked.
enum Work {
    Prove(String),
    Recheck(Box<candor_prove::Entry>),
}

/// Proves functions, or rechecks proofs.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let context = Context::new()?;
    let image = Image::load(&args.object)?;
    if image.is_stripped() {
        return Err(candor_prove::Error::Stripped {
            path: args.object.clone(),
        }
        .into());
    }
    let flags = absolute_flags(&args.flags)?;
    let module = source_ir(&context.sandbox, &context.scratch, &args.source, &flags)?;
    let work = work(&args, &image, &module)?;
    let mut settings = Settings {
        time: Duration::from_secs(args.timeout),
        seed: args.seed,
        ..Settings::default()
    };
    settings.solver.command = args.solver.clone();
    let prover = Prover::new(&context.sandbox, &context.scratch, settings);
    let verdicts = all(&args, &prover, &image, &module, &work)?;
    if let Some(path) = &args.certificate {
        let certificate = Certificate::new(&image, &module, &verdicts);
        certificate.save(path)?;
        if !args.json {
            eprintln!(
                "{} proofs written to {}",
                certificate.entries.len(),
                path.display()
            );
        }
    }
    if args.json {
        let report = json!({
            "source": args.source,
            "object": args.object,
            "verdicts": verdicts,
        });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        for verdict in &verdicts {
            print(&args, verdict);
        }
        summary(&verdicts);
    }
    let proved = verdicts.iter().all(Verdict::is_proved) && verdicts.len() == work.len();
    Ok(if proved {
        Outcome::Nothing
    } else {
        Outcome::Found
    })
}

fn work(args: &Args, image: &Image, module: &Module) -> anyhow::Result<Vec<Work>> {
    if let Some(path) = &args.recheck {
        let certificate = Certificate::load(path)?;
        if certificate.entries.is_empty() {
            bail!("{} holds no proof", path.display());
        }
        return Ok(certificate
            .entries
            .into_iter()
            .map(|entry| Work::Recheck(Box::new(entry)))
            .collect());
    }
    if !args.functions.is_empty() {
        for name in &args.functions {
            if !module.functions.iter().any(|(known, _)| known == name) {
                let near = module
                    .functions
                    .iter()
                    .map(|(known, _)| known)
                    .max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)))
                    .context("the source defines no function")?;
                bail!(
                    "{} does not define `{name}`; did you mean `{near}`?",
                    args.source.display()
                );
            }
        }
        return Ok(args.functions.iter().cloned().map(Work::Prove).collect());
    }
    let held = image.functions();
    let found: Vec<Work> = module
        .functions
        .iter()
        .filter(|(name, _)| held.contains(&name.as_str()))
        .map(|(name, _)| Work::Prove(name.clone()))
        .collect();
    if found.is_empty() {
        bail!(
            "{} holds none of the functions that {} defines; were they inlined, or is it another program?",
            args.object.display(),
            args.source.display()
        );
    }
    Ok(found)
}

/// All verdicts in the order of the work; what was found before Ctrl-C is kept.
fn all(
    args: &Args,
    prover: &Prover<'_>,
    image: &Image,
    module: &Module,
    work: &[Work],
) -> anyhow::Result<Vec<Verdict>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or(cores).clamp(1, work.len().max(1));
    let bar = progress_bar(args.json);
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Verdict)>> = Mutex::new(Vec::new());
    let failed: Mutex<Option<candor_prove::Error>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = work.get(index) else { return };
                    let name = match one {
                        Work::Prove(name) => name,
                        Work::Recheck(entry) => &entry.proof.function,
                    };
                    let finished = done.load(Ordering::Relaxed);
                    bar.set_message(format!("{finished} of {}: {name}", work.len()));
                    let verdict = match one {
                        Work::Prove(name) => prover.prove(image, module, name),
                        Work::Recheck(entry) => prover.recheck(image, module, entry),
                    };
                    done.fetch_add(1, Ordering::Relaxed);
                    match verdict {
                        Ok(verdict) => {
                            if let Ok(mut found) = found.lock() {
                                found.push((index, verdict));
                            }
                        }
                        Err(error) => {
                            if let Ok(mut failed) = failed.lock() {
                                failed.get_or_insert(error);
                            }
                            return;
                        }
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(index, _)| *index);
    if let Some(error) = failed.into_inner().unwrap_or_default() {
        if found.is_empty() {
            return Err(error.into());
        }
        eprintln!("candor: stopped early: {error}");
    }
    Ok(found.into_iter().map(|(_, verdict)| verdict).collect())
}

fn print(args: &Args, verdict: &Verdict) {
    let name = &verdict.function;
    let place = match verdict.line {
        0 => args.source.display().to_string(), // not known of a function that cannot be read
        line => format!("{}:{line}", args.source.display()),
    };
    match &verdict.outcome {
        Result::Proved(proof) => {
            println!(
                "{name}: proved  ({place}; {:.1} s, {} queries)",
                verdict.seconds, verdict.queries
            );
            if args.explain {
                explain(args, proof);
            }
        }
        Result::Different(difference) => {
            println!("{name}: DIFFERENT  ({place})");
            println!("    {}", difference.what);
            let params: Vec<String> = difference
                .input
                .params
                .iter()
                .map(|value| format!("{value:#x}"))
                .collect();
            println!(
                "    on the parameters ({}) with memory of mood {} and seed {}",
                params.join(", "),
                format!("{:?}", difference.input.mood).to_lowercase(),
                difference.input.seed
            );
            match &difference.native {
                Native::Confirmed(what) => {
                    println!("    confirmed on the processor, with the source at -O0: {what}");
                }
                Native::NotShown(why) => {
                    println!("    shown by candor's interpreters, not on the processor: {why}");
                }
            }
        }
        Result::Undecided(reason) => {
            println!("{name}: undecided  ({place}; {:.1} s)", verdict.seconds);
            println!("    {reason}");
        }
    }
}

fn explain(args: &Args, proof: &Proof) {
    for claims in &proof.claims {
        let pace = match claims.pace {
            Some(1) => ", one source iteration per machine iteration".to_owned(),
            Some(pace) => format!(", {pace} source iterations per machine iteration"),
            None => String::new(),
        };
        println!(
            "    loop head {:#x} <-> {}:{}{pace}",
            claims.at,
            args.source.display(),
            claims.line
        );
        for equation in &claims.equations {
            println!("        {equation}");
        }
        if !claims.conditions.is_empty() {
            println!("        where {}", claims.conditions.join(", "));
        }
    }
    for edge in &proof.edges {
        let from = edge
            .from
            .map_or_else(|| "entry".to_owned(), |at| format!("{at:#x}"));
        let to = match edge.to {
            MachineEnd::Head(at) => format!("{at:#x}"),
            MachineEnd::Return(at) => format!("return at {at:#x}"),
        };
        let steps: Vec<String> = edge.edge.steps.iter().map(ToString::to_string).collect();
        println!(
            "    edge {from} -> {to}: {} source steps",
            steps.join(" or ")
        );
    }
    for store in &proof.stores {
        let from = store
            .from
            .map_or_else(|| "entry".to_owned(), |at| format!("{at:#x}"));
        let steps: Vec<String> = store
            .realised
            .steps
            .iter()
            .map(ToString::to_string)
            .collect();
        println!(
            "    store at {:#x}, from {from}: source step {}{}",
            store.at,
            if steps.is_empty() {
                "unknown".to_owned()
            } else {
                steps.join(", ")
            },
            if store.realised.complete || steps.is_empty() {
                ""
            } else {
                " and others"
            }
        );
    }
}

fn summary(verdicts: &[Verdict]) {
    let count = |f: &dyn Fn(&Result) -> bool| verdicts.iter().filter(|v| f(&v.outcome)).count();
    println!(
        "{} functions: {} proved, {} different, {} undecided",
        verdicts.len(),
        count(&|outcome| matches!(outcome, Result::Proved(_))),
        count(&|outcome| matches!(outcome, Result::Different(_))),
        count(&|outcome| matches!(outcome, Result::Undecided(_)))
    );
}
