//! `candor hunt`: arguments, what they resolve to, and how a campaign looks on a terminal and in a pipe.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use candor_hunt::{Error, Event, Generator, Means, Oracle, Run, Settings, Shard, Status, hunt};
use candor_store::{SqliteStore, Store};
use candor_toolchain::{Compiler, discover};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Outcome;
use crate::context::Context;
use crate::fleet::WorkerArgs;
use crate::table::Table;
use crate::tools::{debuggers, libclang};

const EXAMPLES: &str = "\
Examples:
  candor hunt                                        all compilers found, all cores, until Ctrl-C
  candor hunt --for 10m --cc gcc-12 --cc clang-19 --generator csmith --variants 10
  candor hunt --corpus tests/ --generator none --oracles output,debug
  candor hunt --resume                               go on with the store's campaign
  candor hunt --shard 3/16 --seeds 100000 --store shard3    one of sixteen parts, in a store of its own
  candor hunt --fleet nats://127.0.0.1:4222 --campaign gcc16 --begin    one of many workers around a broker

What was found is in the store; `candor report` shows it.";

/// Arguments of `candor hunt`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How long: 90s, 10m, 8h, 2d (default: until Ctrl-C, or until all seeds are judged)
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// What findings under way are given after --for to be reduced and isolated (default: half of --for, at
    /// most a minute)
    #[arg(long, value_name = "TIME", value_parser = grace, requires = "time")]
    grace: Option<Duration>,

    /// A compiler command; repeat for more (default: every gcc and clang found)
    #[arg(long = "cc", value_name = "COMMAND")]
    compilers: Vec<String>,

    /// An optimisation level such as -O2 or -Og; repeat for more (default: 0 g 1 s 2 3)
    #[arg(short = 'O', value_name = "LEVEL")]
    levels: Vec<String>,

    /// Where programs come from: csmith, or none (default: csmith)
    #[arg(long, value_name = "NAME")]
    generator: Option<String>,

    /// A folder of C or Rust programs to judge first; repeat for more
    #[arg(long, value_name = "DIR")]
    corpus: Vec<PathBuf>,

    /// Equivalent variants made of each program (default: 8)
    #[arg(long, value_name = "N")]
    variants: Option<u64>,

    /// Who looks: output,crash,hang,debug (default: all)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    oracles: Vec<String>,

    /// Where everything is kept
    #[arg(long, value_name = "DIR", default_value = "candor-hunt")]
    store: PathBuf,

    /// Go on with the store's campaign; flags that are given change it
    #[arg(long)]
    resume: bool,

    #[command(flatten)]
    fleet: WorkerArgs,

    /// The first seed (default: 1)
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How many seeds (default: no end)
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,

    /// One part of the seeds, for job arrays
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,

    /// Programs judged at a time (default: one per core)
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// Largest share of the time that reducing and isolating takes while there are seeds; 0: never
    #[arg(long, value_name = "SHARE", default_value_t = 0.25)]
    share: f64,

    /// Seconds one run of a program may take (default: 5)
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// One JSON object per line and event, on a terminal too
    #[arg(long)]
    json: bool,
}

/// `90`, `90s`, `10m`, `8h`, `2d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("a time is a number with s, m, h or d, such as 10m; got `{text}`");
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let number: f64 = number.parse().map_err(|_| bad())?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err(bad()),
    };
    Duration::try_from_secs_f64(number * seconds)
        .ok()
        .filter(|time| *time > Duration::ZERO)
        .ok_or_else(bad)
}

/// The same, or `0`.
fn grace(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        _ => duration(text),
    }
}

/// Grace is at most this, unless another is given.
const LONGEST_GRACE: Duration = Duration::from_secs(60);

/// Hunts.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if !(0.0..=1.0).contains(&args.share) {
        bail!("--share takes a number from 0 to 1; got {}", args.share);
    }
    if args.jobs == Some(0) {
        bail!("--jobs takes a number above 0");
    }
    let context = Context::new()?;
    let home = match args.fleet.campaign() {
        Some((url, campaign)) => Home::Fleet {
            url: candor_fleet::hide_password(&url),
            campaign,
        },
        None => Home::Folder(args.store.clone()),
    };
    let store: Box<dyn Store> = match &home {
        Home::Fleet { .. } => {
            if args.shard.is_some() {
                bail!(
                    "--shard divides a hunt without a broker; workers of a fleet share all seeds"
                );
            }
            Box::new(args.fleet.store()?)
        }
        Home::Folder(folder) if args.resume => Box::new(SqliteStore::open(folder)?),
        Home::Folder(folder) => Box::new(SqliteStore::create(folder)?),
    };
    // Settings of a shared campaign are its own.
    let goes_on = args.resume || (store.shared() && store.campaign()?.is_some());
    let base = match (goes_on, store.campaign()?) {
        (true, Some(campaign)) => candor_hunt::stored(&campaign)?,
        (true, None) => return Err(Error::NothingToResume.into()),
        (false, _) => Settings::default(),
    };
    let settings = settings(&args, &context, base, goes_on)?;
    let wanted = wanted(&args, &context, &settings);

    let (found, _) = discover(&context.sandbox, &context.scratch)?;
    let mut given = Vec::new();
    for command in &wanted {
        match Compiler::probe(&context.sandbox, &context.scratch, command) {
            Ok(compiler) => given.push(compiler),
            // The campaign's compilers may have been removed since; those named now may not.
            Err(error) if args.compilers.is_empty() && args.resume => {
                anstream::eprintln!("candor: the campaign's {command} is left out: {error}");
            }
            Err(error) => return Err(error.into()),
        }
    }
    if !wanted.is_empty() && given.is_empty() {
        bail!("none of the campaign's compilers is left; name others with --cc");
    }
    let clang = libclang(&context)?;
    let debuggers = debuggers(&context);
    let means = Means {
        sandbox: &context.sandbox,
        scratch: &context.scratch,
        clang: &clang,
        debuggers: &debuggers,
        found,
        given,
        only: Vec::new(),
    };
    let defaults = Run::default();
    let run = Run {
        jobs: args.jobs.or(context.config.jobs).unwrap_or(defaults.jobs),
        time: args.time,
        grace: match (args.grace, args.time) {
            (Some(grace), _) => grace,
            (None, Some(time)) => (time / 2).min(LONGEST_GRACE),
            (None, None) => Duration::ZERO,
        },
        share: args.share,
        resume: args.resume,
        ..defaults
    };
    let screen = Screen::new(args.json, args.time);
    let result = hunt(&*store, means, settings, &run, &|event| screen.show(event));
    screen.close();
    let status = result.with_context(|| match &home {
        Home::Folder(folder) => format!(
            "the hunt ended early; what was found is in {}",
            folder.display()
        ),
        Home::Fleet { campaign, .. } => format!("this worker of {campaign} ended early"),
    })?;
    if !screen.is_json() {
        summary(&status, &home);
    }
    Ok(if status.findings > 0 {
        Outcome::Found
    } else {
        Outcome::Nothing
    })
}

/// What was typed, over candor.toml, over what the campaign has.
fn settings(
    args: &Args,
    context: &Context,
    base: Settings,
    goes_on: bool,
) -> anyhow::Result<Settings> {
    let mut settings = base;
    if let Some(name) = &args.generator {
        settings.generator = Generator::parse(name)?;
    }
    if !args.corpus.is_empty() {
        settings.corpus.clear();
        for folder in &args.corpus {
            let folder = std::fs::canonicalize(folder)
                .with_context(|| format!("cannot read the corpus {}", folder.display()))?;
            settings.corpus.push(folder);
        }
    }
    if let Some(variants) = args.variants {
        settings.variants = variants;
    }
    if !args.levels.is_empty() {
        settings.levels = args
            .levels
            .iter()
            .map(|level| format!("-O{level}"))
            .collect();
    } else if !context.config.levels.is_empty() && !goes_on {
        settings.levels.clone_from(&context.config.levels);
    }
    if !args.oracles.is_empty() {
        settings.oracles = args
            .oracles
            .iter()
            .map(|name| Oracle::parse(name))
            .collect::<Result<_, _>>()?;
    }
    if let Some(seed) = args.seed {
        settings.seed = seed;
    }
    if args.seeds.is_some() {
        settings.seeds = args.seeds;
    }
    if let Some(shard) = &args.shard {
        settings.shard = Shard::parse(shard)?;
    }
    let timeout = args.timeout.map(Duration::from_secs);
    if let Some(time) = timeout.or(context.config.timeout.filter(|_| !goes_on)) {
        settings.run_seconds = time.as_secs().max(1);
    }
    Ok(settings)
}

/// The compilers to test: named now, by the campaign, by candor.toml; none: all there are.
fn wanted(args: &Args, context: &Context, settings: &Settings) -> Vec<String> {
    if !args.compilers.is_empty() {
        args.compilers.clone()
    } else if args.resume && args.fleet.campaign().is_none() {
        let commands = settings.compilers.iter();
        commands.map(|one| one.command.clone()).collect()
    } else {
        context.config.compilers.clone()
    }
}

/// Shows events: JSON lines in a pipe, findings and a status line on a terminal.
struct Screen {
    json: bool,
    time: Option<Duration>,
    bar: ProgressBar,
    /// When a status was last printed in a pipe.
    told: Mutex<Option<Instant>>,
}

/// In a pipe a status every so often is enough.
const STATUS_EVERY: Duration = Duration::from_secs(10);

impl Screen {
    fn new(json: bool, time: Option<Duration>) -> Self {
        let json = json || !std::io::stdout().is_terminal();
        let bar = if json {
            ProgressBar::hidden()
        } else {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(150));
            bar.set_message("getting ready");
            bar
        };
        Screen {
            json,
            time,
            bar,
            told: Mutex::default(),
        }
    }

    fn is_json(&self) -> bool {
        self.json
    }

    fn close(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self, event: &Event) {
        if self.json {
            self.show_json(event);
        } else {
            self.show_person(event);
        }
    }

    fn show_json(&self, event: &Event) {
        if let Event::Status(_) = event {
            let mut told = self
                .told
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if told.is_some_and(|before| before.elapsed() < STATUS_EVERY) {
                return;
            }
            *told = Some(Instant::now());
        }
        let Ok(line) = serde_json::to_string(event) else {
            return;
        };
        let mut out = std::io::stdout().lock();
        // Whoever reads may have gone: SIGPIPE has its default disposition and ends us.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    fn show_person(&self, event: &Event) {
        let line = |text: String| self.bar.suspend(|| anstream::println!("{text}"));
        let bold = anstyle::Style::new().bold();
        match event {
            Event::Started {
                compilers, levels, ..
            } => {
                let names: Vec<String> = compilers
                    .iter()
                    .map(|one| format!("{} ({})", one.command, one.version))
                    .collect();
                line(format!(
                    "hunting: {} at {}",
                    names.join(", "),
                    levels.join(" ")
                ));
            }
            Event::Found {
                id,
                kind,
                title,
                new: true,
                replay,
                ..
            } => line(format!(
                "{bold}{kind}{bold:#} {id}  {title}\n    replay: {replay}"
            )),
            Event::Improved {
                id,
                state,
                lines,
                culprit,
                seconds,
            } => {
                let culprit = match culprit {
                    Some(culprit) => format!(", culprit: {bold}{culprit}{bold:#}"),
                    None => String::new(),
                };
                line(format!(
                    "{} {id}: {lines} lines{culprit} ({seconds:.0} s)",
                    state.name()
                ));
            }
            Event::Unimproved { id, reason } => line(format!("{id} stays as it is: {reason}")),
            Event::CompilerGone { compiler, reason } => line(format!(
                "{bold}{compiler} stopped working and is left out{bold:#}: {reason}"
            )),
            Event::Notice { text } => line(text.clone()),
            Event::Status(status) => self.bar.set_message(self.status_line(status)),
            _ => {}
        }
    }

    fn status_line(&self, status: &Status) -> String {
        let left = match self.time {
            Some(time) => format!(" of {}", clock(time.as_secs_f64())),
            None => String::new(),
        };
        let kinds: Vec<String> = status
            .found
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let kinds = if kinds.is_empty() {
            String::new()
        } else {
            format!(" ({})", kinds.join(", "))
        };
        let improving = match status.improving {
            0 => String::new(),
            count => format!(" · reducing {count}"),
        };
        let compilers: Vec<String> = status
            .builds_by
            .iter()
            .map(|(name, builds)| format!("{name} {:.0}/h", status.per_hour(*builds)))
            .collect();
        format!(
            "{}{left} · {} programs ({:.0}/h) · {} builds ({:.0}/h) · {} checks · {} findings{kinds}, {} unique, \
             {} isolated{improving}\n  builds: {}",
            clock(status.seconds),
            status.programs,
            status.per_hour(status.programs),
            status.builds,
            status.per_hour(status.builds),
            status.checks,
            status.findings,
            status.unique,
            status.isolated,
            compilers.join(" · ")
        )
    }
}

fn clock(seconds: f64) -> String {
    let seconds = seconds as u64;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Where a hunt keeps what it finds.
enum Home {
    Folder(PathBuf),
    Fleet { url: String, campaign: String },
}

impl Home {
    /// As it is said in the middle of a sentence.
    fn name(&self) -> String {
        match self {
            Home::Folder(folder) => folder.display().to_string(),
            Home::Fleet { campaign, .. } => format!("the campaign {campaign}"),
        }
    }

    /// As every command takes it.
    fn flags(&self) -> String {
        match self {
            Home::Folder(folder) => format!("--store {}", folder.display()),
            Home::Fleet { url, campaign } => format!("--fleet {url} --campaign {campaign}"),
        }
    }
}

fn summary(status: &Status, home: &Home) {
    let mut table = Table::new(["", "count", "per hour"]).right_from(1);
    for (name, count) in [
        ("programs judged", status.programs),
        ("seeds rejected", status.rejected),
        ("builds", status.builds),
        ("builds with debug information compared", status.checks),
        ("values compared", status.values),
    ] {
        table.row([
            name.to_owned(),
            count.to_string(),
            format!("{:.0}", status.per_hour(count)),
        ]);
    }
    for (compiler, builds) in &status.builds_by {
        table.row([
            format!("  builds by {compiler}"),
            builds.to_string(),
            format!("{:.0}", status.per_hour(*builds)),
        ]);
    }
    for (kind, count) in &status.found {
        table.row([
            format!("new findings: {kind}"),
            count.to_string(),
            format!("{:.0}", status.per_hour(*count)),
        ]);
    }
    anstream::print!("\n{table}");
    anstream::println!(
        "\n{} in {}, {} unique, {} with a culprit; {} could not be confirmed this time",
        match status.findings {
            1 => "1 finding".to_owned(),
            more => format!("{more} findings"),
        },
        home.name(),
        status.unique,
        status.isolated,
        status.undecided
    );
    if status.waiting > 0 {
        anstream::println!(
            "{} to be reduced and isolated; `candor hunt{} {}` goes on with that \
             (--share 1: before anything else)",
            match status.waiting {
                1 => "1 of them still waits".to_owned(),
                more => format!("{more} of them still wait"),
            },
            match home {
                Home::Folder(_) => " --resume",
                Home::Fleet { .. } => "",
            },
            home.flags()
        );
    }
    anstream::println!("`candor report {}` shows them", home.flags());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("2d"), Ok(Duration::from_secs(172_800)));
        for bad in ["", "m", "10x", "-3s", "0", "1e99d", "ten"] {
            assert!(duration(bad).unwrap_err().contains("such as 10m"), "{bad}");
        }
    }
}
