//! `candor conform`: arguments, what they resolve to, and how sites are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::{eprintln, println};
use anyhow::{Context as _, bail};
use candor_conform::input::{
    Compilers, GROUPS, Selection, from_directory, from_run_lines, nearest, plain, to_ir,
};
use candor_conform::pipeline::base;
use candor_conform::{
    Budget, Cfg, Confidence, Detail, Filters, Findings, Rule, Session, Settings, Site, Test,
    detail, examine, filters, per_pass,
};
use candor_llvm::attribute::{Lines, Names};
use candor_llvm::{Library, Limits};
use serde_json::json;

use crate::Outcome;
use crate::context::Context;
use crate::progress::progress_bar;

const EXAMPLES: &str = "\
Examples:
  candor conform --llvm 16 --pass tailcallelim tests/*.ll       one pass on IR files
  candor conform --llvm 19 --passes scalar --tests llvm/test/Transforms    RUN lines honoured
  candor conform --llvm 19 --pass licm prog.c                   clang makes the IR
  candor conform --compare 16 19 --passes scalar --tests DIR    what got fixed, what is new
  candor conform --pipeline 'default<O2>' prog.ll --per-pass    each pass against its own input
  candor conform --list-passes --llvm 19
  candor conform --list-filters                                 what is kept out of the report, and why

scripts/llvm-source.sh fetches LLVM's regression tests and pass sources.";

/// Arguments of `candor conform`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Inputs: LLVM IR (.ll, .bc), C (.c), Rust (.rs)
    files: Vec<PathBuf>,

    /// The version of libLLVM (default: the newest installed)
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["lib", "compare"])]
    llvm: Option<u32>,

    /// A libLLVM by its path
    #[arg(long, value_name = "PATH", conflicts_with = "compare")]
    lib: Option<PathBuf>,

    /// A pass; repeat for more. RUN lines of a file that name it are honoured
    #[arg(long = "pass", value_name = "PASS")]
    pass: Vec<String>,

    /// Passes or groups (scalar, table6, all), separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    passes: Vec<String>,

    /// A pipeline in opt's syntax
    #[arg(long, value_name = "PIPELINE", conflicts_with_all = ["pass", "passes", "tests"])]
    pipeline: Option<String>,

    /// With --pipeline: judge each pass of it against its own input
    #[arg(long, requires = "pipeline")]
    per_pass: bool,

    /// A directory of LLVM's regression tests
    #[arg(long, value_name = "DIR")]
    tests: Option<PathBuf>,

    /// Judge the same inputs on two versions
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    compare: Option<Vec<u32>>,

    /// LLVM's source tree: recompiles the pass in question for file and line
    #[arg(long, value_name = "DIR")]
    pass_source: Option<PathBuf>,

    /// Source rules to use, of P, T, N, S, C
    #[arg(long, value_name = "LETTERS", default_value = "PTNSC")]
    rules: String,

    /// A filter to switch off; repeat for more (see --list-filters)
    #[arg(long, value_name = "FILTER")]
    without: Vec<String>,

    /// Show low confidence too
    #[arg(long)]
    all: bool,

    /// Show graphs, location sets, update skeleton and regression test of each site
    #[arg(long)]
    explain: bool,

    /// Reduce the input of each site first (with --explain, --json or -o)
    #[arg(long)]
    reduce: bool,

    /// Write a regression test per site into this directory
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// List the passes of the library
    #[arg(long)]
    list_passes: bool,

    /// List the filters
    #[arg(long)]
    list_filters: bool,

    /// Worker processes
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,

    /// Seconds one run of a pass may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Flags for the compiler of C or Rust inputs
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// One library with everything to judge tests on it.
struct Bench<'a> {
    context: &'a Context,
    args: &'a Args,
    session: Session,
    names: Names,
    known: BTreeSet<String>,
    cache: PathBuf,
}

/// Judges passes, or shows what there is.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.list_filters {
        list_filters(args.json)?;
        return Ok(Outcome::Nothing);
    }
    let settings = settings(&args)?;
    let context = Context::new()?;
    if let Some([old, new]) = args.compare.as_deref() {
        return compare(&args, &context, &settings, *old, *new);
    }
    let bench = Bench::new(&args, &context, library(&args)?)?;
    if args.list_passes {
        list_passes(&bench, args.json)?;
        return Ok(Outcome::Nothing);
    }
    let tests = bench.tests()?;
    let found = bench.examine(&tests, &settings)?;
    bench.show(&tests, &found, &settings)?;
    Ok(match shown(&found, args.all).next() {
        Some(_) => Outcome::Found,
        None => Outcome::Nothing,
    })
}

fn settings(args: &Args) -> anyhow::Result<Settings> {
    let mut rules = Vec::new();
    for letter in args.rules.to_uppercase().chars() {
        let rule = Rule::ALL
            .into_iter()
            .find(|rule| rule.letter() == letter.to_string());
        match rule {
            Some(rule) => rules.push(rule),
            None => bail!(
                "--rules {}: `{letter}` is none of P, T, N, S, C",
                args.rules
            ),
        }
    }
    Ok(Settings {
        rules,
        filters: Filters::without(&args.without)?,
    })
}

fn library(args: &Args) -> anyhow::Result<Library> {
    Ok(match (&args.lib, args.llvm) {
        (Some(path), _) => Library::open(path)?,
        (None, Some(version)) => Library::find(version)?,
        (None, None) => match Library::installed().into_iter().next_back() {
            Some((version, _)) => Library::find(version)?,
            None => bail!(
                "no libLLVM was found; install one (Debian: apt-get install libllvm19) or give --lib PATH"
            ),
        },
    })
}

/// Where indices of archives and recompiled passes are kept.
fn cache_directory() -> PathBuf {
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("candor")
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args, context: &'a Context, library: Library) -> anyhow::Result<Self> {
        let jobs = args
            .jobs
            .or(context.config.jobs)
            .or_else(|| std::thread::available_parallelism().ok().map(Into::into))
            .unwrap_or(1);
        let mut limits = Limits::default();
        if let Some(seconds) = args.timeout {
            limits.time = Duration::from_secs(seconds.max(1));
        }
        let cache = cache_directory();
        // Before anything here has threads: the workers are forked from this process.
        let session = Session::start(library, jobs, limits)?;
        let names = Names::of(&session.library, Some(&cache))?;
        let known = session.pass_names()?;
        Ok(Bench {
            context,
            args,
            session,
            names,
            known,
            cache,
        })
    }

    /// The tests that the arguments mean.
    fn tests(&self) -> anyhow::Result<Vec<Test>> {
        let args = self.args;
        for pass in args.pass.iter().chain(&args.passes) {
            let name = base(pass);
            let is_group = GROUPS.iter().any(|(group, _)| group == &name);
            if !is_group && !self.known.contains(name) {
                let near = match nearest(name, &self.known) {
                    near if near.is_empty() => String::new(),
                    near => format!("; did you mean {}?", near.join(" or ")),
                };
                return Err(candor_conform::Error::UnknownPass {
                    name: name.to_owned(),
                    version: self.session.library.version,
                    near,
                }
                .into());
            }
        }
        if args.files.is_empty() && args.tests.is_none() {
            bail!(
                "give IR files (or C, Rust), or --tests DIR; `candor conform --help` has examples"
            );
        }
        let mut tests = Vec::new();
        let chosen: Vec<String> = args.pass.iter().chain(&args.passes).cloned().collect();
        if let Some(directory) = &args.tests {
            let selection = match chosen.is_empty() {
                true => Selection::All,
                false => Selection::named(&chosen),
            };
            tests.extend(from_directory(directory, &selection, &self.known)?);
        }
        for file in &args.files {
            self.tests_of(file, &chosen, &mut tests)?;
        }
        Ok(tests)
    }

    /// The tests of one file: a pipeline, or its RUN lines with the chosen passes, or those passes alone.
    fn tests_of(
        &self,
        file: &Path,
        chosen: &[String],
        tests: &mut Vec<Test>,
    ) -> anyhow::Result<()> {
        let args = self.args;
        let compilers = Compilers {
            sandbox: &self.context.sandbox,
            scratch: &self.context.scratch,
            version: self.session.library.version,
        };
        let is_ir = file
            .extension()
            .is_some_and(|extension| extension == "ll" || extension == "bc");
        let mut input = to_ir(file, &compilers, &args.flags)?;
        if !is_ir {
            // Front ends keep variables in memory; passes expect them in registers.
            let prepare = plain(file, input, "function(sroa)");
            input = match self.session.transform(&prepare.run)? {
                Ok((_, after)) => after.into_bytes(),
                Err(outcome) => bail!("{}: {outcome:?}", file.display()),
            };
        }
        if let Some(pipeline) = &args.pipeline {
            if !args.per_pass {
                tests.push(plain(file, input, pipeline));
                return Ok(());
            }
            let Context {
                sandbox, scratch, ..
            } = self.context;
            let each = per_pass::expand(pipeline, self.session.library.version, sandbox, scratch)?;
            let (more, failed) = per_pass::tests(&self.session, file, input, &each)?;
            if let Some(reason) = failed {
                eprintln!("{}: the pipeline stopped {reason}", file.display());
            }
            tests.extend(more);
            return Ok(());
        }
        let selection = Selection::named(chosen);
        let mut found = match is_ir {
            true => from_run_lines(file, &input, &selection, &self.known),
            false => Vec::new(),
        };
        if chosen.is_empty() {
            found = from_run_lines(file, &input, &Selection::All, &self.known);
            if found.is_empty() {
                bail!(
                    "{} has no RUN line with a pipeline; give --pass or --pipeline",
                    file.display()
                );
            }
        } else if found.is_empty() {
            for pass in &args.pass {
                found.push(plain(file, input.clone(), pass));
            }
        }
        tests.extend(found);
        Ok(())
    }

    fn examine(&self, tests: &[Test], settings: &Settings) -> anyhow::Result<Findings> {
        let bar = progress_bar(self.args.json);
        bar.set_message(format!(
            "LLVM {}: {} tests",
            self.session.library.version,
            tests.len()
        ));
        let finished = std::sync::atomic::AtomicUsize::new(0);
        let done = |_| {
            let count = finished.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            bar.set_message(format!(
                "LLVM {}: {count} of {} tests",
                self.session.library.version,
                tests.len()
            ));
        };
        let lines = Lines {
            sandbox: &self.context.sandbox,
            scratch: &self.context.scratch,
            sources: self.args.pass_source.as_deref(),
            cache: &self.cache,
        };
        let interrupted = || self.context.sandbox.interrupted();
        let found = examine(
            &self.session,
            &self.names,
            Some(&lines),
            tests,
            settings,
            &interrupted,
            &done,
        )?;
        bar.finish_and_clear();
        Ok(found)
    }

    fn detail(&self, tests: &[Test], site: &Site, settings: &Settings) -> anyhow::Result<Detail> {
        let sources = self.args.pass_source.as_deref();
        let budget = self.args.reduce.then(Budget::default);
        Ok(detail(
            &self.session,
            &self.names,
            tests,
            site,
            settings,
            sources,
            budget,
        )?)
    }

    fn show(&self, tests: &[Test], found: &Findings, settings: &Settings) -> anyhow::Result<()> {
        let args = self.args;
        let wants_detail = args.json || args.explain || args.reduce || args.output.is_some();
        let mut details = Vec::new();
        if wants_detail {
            let bar = progress_bar(args.json);
            for site in shown(found, args.all) {
                if self.context.sandbox.interrupted() {
                    break;
                }
                bar.set_message(format!("looking again at {}", site.place()));
                details.push(self.detail(tests, site, settings)?);
            }
            bar.finish_and_clear();
        }
        if let Some(directory) = &args.output {
            write_tests(directory, found, &details, args.all)?;
        }
        if args.json {
            let sites: Vec<_> = shown(found, args.all)
                .enumerate()
                .map(|(index, site)| {
                    json!({ "place": site.place(), "bug": site.class.bug(), "site": site, "detail": details.get(index) })
                })
                .collect();
            println!(
                "{}",
                serde_json::to_string_pretty(&json!({
                    "schema": 1,
                    "llvm": self.session.library.version,
                    "library": self.session.library.path,
                    "build_id": self.session.library.elf.build_id,
                    "tests": tests.len(),
                    "sites": sites,
                    "tally": found.tally,
                }))?
            );
            return Ok(());
        }
        for (index, site) in shown(found, args.all).enumerate() {
            print_site(
                site,
                details.get(index).filter(|_| args.explain || args.reduce),
            );
        }
        self.summary(tests.len(), found);
        Ok(())
    }

    fn summary(&self, tests: usize, found: &Findings) {
        let tally = &found.tally;
        let sites = shown(found, self.args.all).count();
        let low = found
            .sites
            .iter()
            .filter(|site| site.confidence == Confidence::Low)
            .count();
        println!(
            "LLVM {}: {} of {tests} tests judged, {} destinations, {sites} sites",
            self.session.library.version, tally.judged, tally.destinations
        );
        if low > 0 && !self.args.all {
            println!("{low} more of low confidence (--all shows them)");
        }
        if !tally.not_judged.is_empty() {
            println!("{} tests were not judged:", tally.not_judged.len());
            for (name, reason) in tally.not_judged.iter().take(5) {
                println!("  {name}: {}", first_lines(reason));
            }
            if tally.not_judged.len() > 5 {
                println!("  and {} more (--json has all)", tally.not_judged.len() - 5);
            }
        }
        let check = tally.check;
        if check.unknown > 0 {
            println!(
                "partial: {} of {} instructions unaccounted for; the library was probably built with link-time \
                 optimisation, and only instructions whose origin was seen are judged",
                check.unknown, check.instructions
            );
        }
        if !self.names.complete {
            println!(
                "functions that are not exported have no names: install llvm-{}-dev for them",
                self.session.library.version
            );
        }
    }
}

/// The sites a report shows.
fn shown(found: &Findings, all: bool) -> impl Iterator<Item = &Site> {
    found
        .sites
        .iter()
        .filter(move |site| all || site.confidence > Confidence::Low)
}

fn first_lines(text: &str) -> String {
    text.lines().take(2).collect::<Vec<_>>().join(" / ")
}

fn print_site(site: &Site, detail: Option<&Detail>) {
    let required = site
        .required
        .map_or("?".to_owned(), |required| required.to_string());
    let update = &site.example.update;
    println!(
        "{}: {} ({}), required: {required}",
        site.place(),
        site.class,
        site.class.bug()
    );
    println!("    {}", update.text);
    println!(
        "    in {} of @{}: {}, ends up with {}",
        update.block, update.function, update.operation, update.location
    );
    let deciding = update
        .candidates
        .iter()
        .find(|candidate| candidate.rule == site.example.verdict.rule);
    for source in deciding
        .iter()
        .flat_map(|candidate| &candidate.sources)
        .take(4)
    {
        println!(
            "    source: {} in {}, {}",
            source.opcode.name(),
            source.block,
            source.location
        );
    }
    println!("    confidence {}: {}", site.confidence, site.reason);
    let passes: Vec<&str> = site.passes.iter().map(String::as_str).collect();
    println!(
        "    {}; {} instructions in {} tests, smallest: {} ({})",
        site.frame.describe(),
        site.updates,
        site.tests,
        site.example.name,
        passes.join(", ")
    );
    if let Some(detail) = detail {
        print_detail(detail);
    }
    println!();
}

fn print_detail(detail: &Detail) {
    let skeleton = &detail.skeleton;
    println!("    {}", skeleton.update);
    if let Some(statement) = &skeleton.statement {
        println!("        {statement}");
    }
    println!("      + {}", skeleton.call);
    if let Some(explanation) = &detail.explanation {
        print_cfg("before", &explanation.before);
        print_cfg("after", &explanation.after);
        println!("    L_src = {:?}", explanation.l_src);
        println!("    L_dst = {:?}", explanation.l_dst);
        if !explanation.extra.is_empty() {
            println!(
                "    only in L_dst: {:?}, on {}",
                explanation.extra,
                explanation.carrier.join(" → ")
            );
        }
        if !explanation.avoiding.is_empty() {
            println!(
                "    avoids the source: {}",
                explanation.avoiding.join(" → ")
            );
        }
    }
    println!("    regression test:");
    for line in detail.regression_test.lines() {
        println!("    | {line}");
    }
}

fn print_cfg(when: &str, cfg: &Cfg) {
    println!("    {when} @{}:", cfg.function);
    for block in &cfg.blocks {
        let lines: Vec<String> = block.lines.iter().map(ToString::to_string).collect();
        println!(
            "      {} [{}] → {}",
            block.name,
            lines.join(" "),
            block.successors.join(", ")
        );
    }
}

fn write_tests(
    directory: &Path,
    found: &Findings,
    details: &[Detail],
    all: bool,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    for (site, detail) in shown(found, all).zip(details) {
        let name: String = site
            .place()
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '-' })
            .collect();
        let path = directory.join(format!("{name}.ll"));
        let temporary = path.with_extension("tmp");
        std::fs::write(&temporary, &detail.regression_test)
            .and_then(|()| std::fs::rename(&temporary, &path))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn compare(
    args: &Args,
    context: &Context,
    settings: &Settings,
    old: u32,
    new: u32,
) -> anyhow::Result<Outcome> {
    let mut all = Vec::new();
    for version in [old, new] {
        let bench = Bench::new(args, context, Library::find(version)?)?;
        let tests = bench.tests()?;
        let found = bench.examine(&tests, settings)?;
        let keyed: BTreeMap<_, Site> = shown(&found, args.all)
            .map(|site| (site.key(), site.clone()))
            .collect();
        all.push((version, tests.len(), found.tally.judged, keyed));
    }
    let [(_, _, _, before), (_, _, _, after)] = all.as_slice() else {
        bail!("--compare takes two versions");
    };
    let pick = |from: &BTreeMap<_, Site>, other: &BTreeMap<_, Site>, both: bool| -> Vec<Site> {
        from.iter()
            .filter(|(key, _)| other.contains_key(*key) == both)
            .map(|(_, site)| site.clone())
            .collect()
    };
    let parts = [
        ("fixed", pick(before, after, false)),
        ("new", pick(after, before, false)),
        ("still there", pick(after, before, true)),
    ];
    if args.json {
        let parts: BTreeMap<&str, &Vec<Site>> =
            parts.iter().map(|(name, sites)| (*name, sites)).collect();
        println!(
            "{}",
            serde_json::to_string_pretty(
                &json!({ "schema": 1, "old": old, "new": new, "sites": parts })
            )?
        );
    } else {
        for (name, sites) in &parts {
            println!("{name}: {}", sites.len());
            for site in sites {
                let opcodes: Vec<&str> = site.opcodes.iter().map(String::as_str).collect();
                println!(
                    "  {}: {} {} ({})",
                    site.place(),
                    opcodes.join("/"),
                    site.class,
                    site.reason
                );
            }
        }
        for (version, tests, judged, keyed) in &all {
            println!(
                "LLVM {version}: {judged} of {tests} tests judged, {} sites",
                keyed.len()
            );
        }
    }
    Ok(match after.is_empty() {
        true => Outcome::Nothing,
        false => Outcome::Found,
    })
}

fn list_passes(bench: &Bench<'_>, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        println!("{}", serde_json::to_string_pretty(&bench.known)?);
        return Ok(());
    }
    for name in &bench.known {
        println!("{name}");
    }
    for (group, about) in GROUPS {
        println!("{group}: {about}");
    }
    Ok(())
}

fn list_filters(as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let all: BTreeMap<&str, &str> = filters::ALL
            .iter()
            .map(|one| (one.name(), one.about()))
            .collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    for one in filters::ALL {
        println!("{}\n    {}\n", one.name(), one.about());
    }
    Ok(())
}
