//! `candor mutate`: arguments, what they resolve to, and how variants are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::{eprintln, println};
use anyhow::{Context as _, bail};
use candor_mutate::{
    Choice, Profile, Settings, Snippet, Strategy, Variant, Verdict, Workbench, admit, profile,
    save, variant, verify,
};
use candor_toolchain::{Program, discover};
use serde_json::json;

use crate::Outcome;
use crate::context::Context;
use crate::program::Surroundings;
use crate::progress::progress_bar;
use crate::tools::libclang;

const EXAMPLES: &str = "\
Examples:
  candor mutate seed.c -n 10 -o variants/                 ten variants, equal to the seed on its input
  candor mutate seed.c --strategy tcb --seed 7 --explain  each snippet, what it relies on, why it is safe
  candor mutate seed.c --verify                           -O0 on two compilers and three sanitizers, per variant
  candor mutate --replay variants/seed-003.json           the variant again, from its record
  candor mutate --replay variants/seed-003.json --keep 0,4    with two of its snippets only
  candor mutate --list                                    the strategies";

/// Arguments of `candor mutate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The seed: a complete C program without undefined behaviour
    #[arg(required_unless_present_any = ["list", "replay"], conflicts_with_all = ["list", "replay"])]
    file: Option<PathBuf>,

    /// How many variants
    #[arg(short = 'n', long = "variants", value_name = "N", default_value_t = 10)]
    count: u64,

    /// Where variants and their records go: a directory; with --replay, a file
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// A strategy; repeat for more (default: all, see --list)
    #[arg(long = "strategy", value_name = "NAME")]
    strategies: Vec<String>,

    /// Decides everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Share of the live points that are profiled
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    density: f64,

    /// Share of the profiled points that get a snippet in one variant
    #[arg(long, value_name = "SHARE", default_value_t = 0.25)]
    rate: f64,

    /// Show each snippet, the profile it relies on, and why it is safe
    #[arg(long)]
    explain: bool,

    /// Build and run each variant: -O0 on two compilers, UBSan, ASan, MSan
    #[arg(long)]
    verify: bool,

    /// List the strategies
    #[arg(long)]
    list: bool,

    /// Rebuild a variant from its record
    #[arg(long, value_name = "JSON")]
    replay: Option<PathBuf>,

    /// With --replay: only the snippets of these numbers
    #[arg(long, value_name = "IDS", value_delimiter = ',', requires = "replay")]
    keep: Option<Vec<usize>>,

    /// Seconds one run of the program may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    surroundings: Surroundings,
}

/// A variant with its text and, when asked for, the verdict.
struct Finished {
    variant: Variant,
    text: String,
    verdict: Option<Verdict>,
}

/// Makes variants, or shows what there is.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.list {
        list(args.json)?;
        return Ok(Outcome::Nothing);
    }
    if let Some(sidecar) = &args.replay {
        return replay(&args, sidecar);
    }
    let Some(file) = &args.file else {
        bail!("give a C file, --replay or --list");
    };
    for (name, share) in [("--density", args.density), ("--rate", args.rate)] {
        if !(share > 0.0 && share <= 1.0) {
            bail!("{name} takes a share above 0 and at most 1; got {share}");
        }
    }
    let strategies = args
        .strategies
        .iter()
        .map(|name| Strategy::parse(name))
        .collect::<Result<Vec<_>, _>>()?;
    let context = Context::new()?;
    let program = load(&args, file)?;
    let time = args
        .timeout
        .map(Duration::from_secs)
        .or(context.config.timeout)
        .unwrap_or(Duration::from_secs(5));

    let clang = libclang(&context)?;
    let (found, _) = discover(&context.sandbox, &context.scratch)?;
    let bench = Workbench::new(&context.sandbox, &context.scratch, &clang, &found)?;
    let settings = Settings {
        density: args.density,
        seed: args.seed,
        time,
        ..Settings::default()
    };
    // Cleared when it is dropped, so that a message behind `?` stands alone.
    let bar = progress_bar(args.json);
    bar.set_message("profiling");
    let profile = profile(&bench, &program, &settings)?;
    bar.set_message("judging");
    admit(&bench, &program, time)?;
    let mut choice = Choice {
        rate: args.rate,
        seed: args.seed,
        ..Choice::default()
    };
    if !strategies.is_empty() {
        choice.strategies = strategies;
    }
    // Everything is made, and judged, before anything is written: no partial output.
    let mut all = Vec::new();
    for number in 1..=args.count {
        bar.set_message(format!("variant {number} of {}", args.count));
        let mut variant = variant(&program, &profile, &choice, number);
        variant.stdin = args
            .surroundings
            .stdin
            .as_deref()
            .and_then(|path| std::path::absolute(path).ok());
        let text = variant.text(&program.text)?;
        let verdict = match args.verify {
            true => {
                bar.set_message(format!("verifying {number} of {}", args.count));
                Some(verify(&bench, &program, &profile, &text, time)?)
            }
            false => None,
        };
        all.push(Finished {
            variant,
            text,
            verdict,
        });
    }
    bar.finish_and_clear();
    if all.iter().all(|one| one.variant.snippets.is_empty()) {
        bail!(
            "no snippet could be made: {} of {} points are reached, {} with usable values; \
             try other strategies, another --seed or a --density of 1",
            profile.reached,
            profile.points,
            profile.live.len()
        );
    }
    let mut written = Vec::new();
    if let Some(directory) = &args.output {
        for one in &all {
            written.push(save::save(&one.variant, &program, directory)?);
        }
    }
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report(&profile, &all, &written))?
        );
    } else {
        print(&args, &profile, &all, &written);
    }
    let broken = |one: &Finished| matches!(one.verdict, Some(Verdict::Different { .. }));
    Ok(if all.iter().any(broken) {
        Outcome::Found
    } else {
        Outcome::Nothing
    })
}

fn load(args: &Args, file: &Path) -> anyhow::Result<Program> {
    let mut program = args.surroundings.load(file)?;
    // Records must be replayable from anywhere.
    program.path = std::path::absolute(file)
        .with_context(|| format!("cannot make {} absolute", file.display()))?;
    Ok(program)
}

fn list(as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let all: BTreeMap<&str, &str> = Strategy::ALL
            .into_iter()
            .map(|strategy| (strategy.name(), strategy.describe()))
            .collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    for strategy in Strategy::ALL {
        println!("{}\n    {}\n", strategy.name(), strategy.describe());
    }
    Ok(())
}

fn replay(args: &Args, sidecar: &Path) -> anyhow::Result<Outcome> {
    let variant = Variant::load(sidecar)?;
    let program = variant.seed_program(sidecar)?;
    let wanted: Option<BTreeSet<usize>> =
        args.keep.as_ref().map(|ids| ids.iter().copied().collect());
    if let Some(unknown) = wanted
        .iter()
        .flatten()
        .find(|id| **id >= variant.snippets.len())
    {
        bail!(
            "--keep {unknown}: the variant has {} snippets, numbered from 0",
            variant.snippets.len()
        );
    }
    let keep = |snippet: &Snippet| wanted.as_ref().is_none_or(|ids| ids.contains(&snippet.id));
    let text = variant.text_with(&program.text, keep)?;
    if args.explain {
        for snippet in variant.snippets.iter().filter(|snippet| keep(snippet)) {
            explain(snippet);
        }
    }
    match &args.output {
        Some(path) => save::write_file(path, text.as_bytes())?,
        None if args.explain => {}
        None => anstream::print!("{text}"),
    }
    Ok(Outcome::Nothing)
}

fn report(profile: &Profile, all: &[Finished], written: &[PathBuf]) -> serde_json::Value {
    let variants: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(index, one)| {
            json!({
                "variant": one.variant,
                "text": if written.is_empty() { Some(&one.text) } else { None },
                "file": written.get(index),
                "verdict": one.verdict,
            })
        })
        .collect();
    json!({
        "points": profile.points,
        "reached": profile.reached,
        "usable": profile.live.len(),
        "dead": profile.dead.len(),
        "variants": variants,
    })
}

fn print(args: &Args, profile: &Profile, all: &[Finished], written: &[PathBuf]) {
    println!(
        "{} points, {} reached on this input, {} of them with usable values",
        profile.points,
        profile.reached,
        profile.live.len()
    );
    for (index, one) in all.iter().enumerate() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for snippet in &one.variant.snippets {
            *counts.entry(snippet.strategy.name()).or_default() += 1;
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let verdict = match &one.verdict {
            None => String::new(),
            Some(Verdict::Equal) => "  equal and clean".to_owned(),
            Some(Verdict::Different { reason }) => format!("  DIFFERENT: {reason}"),
        };
        let file = written.get(index).map_or_else(
            || format!("variant {}", one.variant.number),
            |path| path.display().to_string(),
        );
        println!("{file}: {}{verdict}", counts.join(", "));
        if args.explain {
            for snippet in &one.variant.snippets {
                explain(snippet);
            }
        }
    }
    if written.is_empty() && !args.explain && !args.verify {
        eprintln!("nothing was written; give -o DIR");
    }
}

fn explain(snippet: &Snippet) {
    println!(
        "  [{}] {} at {}:{}, {} visits",
        snippet.id,
        snippet.strategy.name(),
        snippet.line,
        snippet.column,
        snippet.hits
    );
    println!("      {}", snippet.text.trim());
    for predicate in &snippet.predicates {
        println!("      always {}: {}", predicate.is, predicate.text);
    }
    for evidence in &snippet.relies_on {
        println!("      seen: {} = {}", evidence.place, evidence.values);
    }
    println!("      safe because {}", snippet.strategy.why_safe());
}
