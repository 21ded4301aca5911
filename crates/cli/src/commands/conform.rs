//! `candor conform`: arguments, what they resolve to, and how sites are shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::{eprintln, println};
use anyhow::bail;
use candor_conform::input::{
    Compilers, GROUPS, Selection, from_directory, from_run_lines, nearest, plain, rust_library,
    to_ir,
};
use candor_conform::pipeline::{base, is_composite, parse, passes};
use candor_conform::{
    Budget, Detail, Filters, Findings, Rule, Session, Settings, Site, Test, compare, detail,
    examine, per_pass,
};
use candor_llvm::attribute::{Lines, Names};
use candor_llvm::{Library, Limits};
use candor_toolchain::restart;
use serde_json::json;

use crate::Outcome;
use crate::commands::conform_show::{
    count, first_lines, list_filters, list_passes, print_site, shown, summary, write_tests,
};
use crate::context::Context;
use crate::progress::progress_bar;

const EXAMPLES: &str = "\
Examples:
  candor conform --llvm 16 --pass tailcallelim tests/*.ll       one pass on IR files
  candor conform --llvm 19 --passes scalar --tests llvm/test/Transforms    RUN lines honoured
  candor conform --llvm 19 --pass licm prog.c                   clang makes the IR
  candor conform --passes scalar prog.rs                        rustc makes it, on a libLLVM that reads it
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

    /// The libLLVM, by version or path (default: the newest there is)
    #[arg(long, value_name = "VERSION|PATH", conflicts_with_all = ["lib", "compare"])]
    llvm: Option<String>,

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

    /// Write pages into DIR: graphs, sets, skeleton and test of each site
    #[arg(long, value_name = "DIR", conflicts_with = "compare")]
    html: Option<PathBuf>,

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
        return versions(&args, &context, &settings, *old, *new);
    }
    let library = library(&args, &context)?;
    if let Some((loader, libraries)) = library.loader()
        && !restart::is_under(&loader)
    {
        // Nothing behind it is cleaned up by anyone else.
        drop(context);
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        return Err(restart::under(&loader, &libraries, &arguments).into());
    }
    let bench = Bench::new(&args, &context, library)?;
    if args.list_passes {
        list_passes(&bench.known, args.json)?;
        return Ok(Outcome::Nothing);
    }
    let tests = bench.tests()?;
    let found = bench.examine(&tests, &settings)?;
    bench.anything_judged(&tests, &found)?;
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

fn library(args: &Args, context: &Context) -> anyhow::Result<Library> {
    let named = args
        .lib
        .clone()
        .or_else(|| args.llvm.as_ref().map(PathBuf::from));
    let available = Library::available(&cache_directory());
    if let Some(named) = named {
        let version = args.llvm.as_ref().and_then(|text| text.parse().ok());
        return Ok(match version {
            Some(version) => Library::find_among(version, &available)?,
            None => Library::open(&named)?,
        });
    }
    let is_rust = |file: &&PathBuf| file.extension().is_some_and(|end| end == "rs");
    if let Some(file) = args.files.iter().find(is_rust) {
        return Ok(rust_library(file, &context.sandbox, &available)?);
    }
    match Library::installed().into_iter().next_back() {
        Some((version, _)) => Ok(Library::find(version)?),
        None => bail!(
            "no libLLVM was found; install one (Debian: apt-get install libllvm19) or give --llvm PATH"
        ),
    }
}

/// From so many files on the library is loaded for many runs.
const MANY: usize = 100;

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
        let session = match args.tests.is_some() || args.files.len() >= MANY {
            true => Session::start_for_many(library, jobs, limits)?,
            false => Session::start(library, jobs, limits)?,
        };
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
            let is_group = GROUPS.iter().any(|(group, _)| group == pass);
            if !is_group {
                self.must_exist(pass)?;
            }
        }
        if let Some(pipeline) = &args.pipeline {
            parse(pipeline)?;
            for pass in passes(pipeline) {
                if !is_composite(&pass) {
                    self.must_exist(&pass)?;
                }
            }
            if !args.per_pass && passes(pipeline).len() > 1 {
                eprintln!(
                    "note: in a pipeline of several passes most verdicts are kept back (filter one-pass); \
                     --per-pass judges each pass against its own input"
                );
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

    fn must_exist(&self, pass: &str) -> anyhow::Result<()> {
        let name = base(pass);
        if self.known.contains(name) {
            return Ok(());
        }
        let near = match nearest(name, &self.known) {
            near if near.is_empty() => String::new(),
            near => format!(" (did you mean {}?)", near.join(" or ")),
        };
        Err(candor_conform::Error::UnknownPass {
            name: name.to_owned(),
            version: self.session.library.version,
            near,
        }
        .into())
    }

    /// Nothing judged is not nothing found.
    fn anything_judged(&self, tests: &[Test], found: &Findings) -> anyhow::Result<()> {
        if self.context.sandbox.interrupted() || found.tally.judged > 0 {
            return Ok(());
        }
        match found.tally.not_judged.as_slice() {
            [(name, reason)] => bail!("{name}: {}", first_lines(reason)),
            [(name, reason), ..] => bail!(
                "none of {} could be judged; the first, {name}: {}",
                count(tests.len(), "test"),
                first_lines(reason)
            ),
            [] => bail!("there was nothing to judge"),
        }
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
                Err(outcome) => bail!(
                    "{}: {}{}",
                    file.display(),
                    first_lines(&outcome.to_string()),
                    match file.extension().is_some_and(|end| end == "rs") {
                        true =>
                            "\nrustc's IR is of its own LLVM's version: leave --llvm out, and a library that reads it is chosen",
                        false => "",
                    }
                ),
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
            // Of groups in IR only RUN lines can be chosen, what is named is run; a program meets every pass of a group
            // that the library has.
            let mut named: Vec<&String> = chosen
                .iter()
                .filter(|name| !GROUPS.iter().any(|(group, _)| group == name))
                .collect();
            if let (false, Selection::Some(all)) = (is_ir, &selection) {
                let more = all.iter().filter(|pass| self.known.contains(*pass));
                let more: Vec<&String> = more.filter(|pass| !named.contains(pass)).collect();
                named.extend(more);
            }
            for pass in named {
                found.push(plain(file, input.clone(), pass));
            }
            if found.is_empty() {
                bail!(
                    "{} has no RUN line with a pass of {}; name a pass by --pass",
                    file.display(),
                    chosen.join(", ")
                );
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
        let in_detail = args.json
            || args.explain
            || args.reduce
            || args.output.is_some()
            || args.html.is_some();
        let mut details = Vec::new();
        if in_detail {
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
        let library = &self.session.library;
        if let Some(directory) = &args.html {
            let pages: Vec<_> = shown(found, args.all).zip(&details).collect();
            let about = candor_report::ConformRun {
                version: library.version,
                library: library.path.display().to_string(),
                tests: tests.len(),
                tally: &found.tally,
            };
            let index = candor_report::conform_site(&about, &pages, directory)?;
            eprintln!("pages: {}", index.display());
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
                    "llvm": library.version,
                    "library": library.path,
                    "build_id": library.elf.build_id,
                    "tests": tests.len(),
                    "sites": sites,
                    "tally": found.tally,
                    "without_lines": found.without_lines,
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
        summary(
            library.version,
            tests.len(),
            found,
            args.all,
            self.names.complete,
        );
        Ok(())
    }
}

/// `--compare`: the same inputs on two versions.
fn versions(
    args: &Args,
    context: &Context,
    settings: &Settings,
    old: u32,
    new: u32,
) -> anyhow::Result<Outcome> {
    let mut all = Vec::new();
    for version in [old, new] {
        let bench = Bench::new(
            args,
            context,
            Library::find_among(version, &Library::available(&cache_directory()))?,
        )?;
        let tests = bench.tests()?;
        let mut found = bench.examine(&tests, settings)?;
        bench.anything_judged(&tests, &found)?;
        found.sites = shown(&found, args.all).cloned().collect();
        all.push((version, tests.len(), found));
    }
    let [(_, _, before), (_, _, after)] = all.as_slice() else {
        bail!("--compare takes two versions");
    };
    let compared = compare(before, after);
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(
                &json!({ "schema": 1, "old": old, "new": new, "sites": compared })
            )?
        );
    } else {
        let unknown = "not compared (their tests do not run on the other version)";
        let parts = [
            ("fixed", &compared.fixed),
            ("new", &compared.new),
            ("still there", &compared.both),
            (unknown, &compared.unknown),
        ];
        for (name, sites) in parts {
            if name == unknown && sites.is_empty() {
                continue;
            }
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
        for (version, tests, found) in &all {
            println!(
                "LLVM {version}: {} of {} judged, {}",
                found.tally.judged,
                count(*tests, "test"),
                count(found.sites.len(), "site")
            );
        }
    }
    Ok(match after.sites.is_empty() {
        true => Outcome::Nothing,
        false => Outcome::Found,
    })
}
