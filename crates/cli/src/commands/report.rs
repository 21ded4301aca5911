//! `candor report`: what a hunt found, as text, pages, JSON, SARIF, or the text of a bug report.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstream::{eprintln, print, println};
use anyhow::{Context as _, bail};
use candor_report::{
    Dossier, Overview, ServeOptions, Site, Tracker, sarif, serve, terminal, tracker,
};
use candor_store::{SqliteStore, Store};
use candor_toolchain::{Sandbox, desktop};

use crate::Outcome;
use crate::fleet::CampaignArgs;
use crate::interrupt;

const EXAMPLES: &str = "\
Examples:
  candor report                            the summary of ./candor-hunt
  candor report --html report --open       pages, in the browser
  candor report --serve                    the same pages, live, on 127.0.0.1
  candor report --tracker gcc 3fa9         the text for GCC's Bugzilla of the finding 3fa9...
  candor report --sarif findings.sarif     for code hosts and IDEs
  candor report --fleet nats://127.0.0.1:4222 --campaign gcc16 --html out    a campaign of a fleet
  candor report --merge shard1 shard2 shard3 --store all    parts of a job array, as one";

/// Arguments of `candor report`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the hunt keeps its findings
    #[arg(long, value_name = "DIR", default_value = "candor-hunt")]
    store: PathBuf,

    #[command(flatten)]
    fleet: CampaignArgs,

    /// Merge the stores of a job array (`candor hunt --shard`) into --store first
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with = "fleet")]
    merge: Vec<PathBuf>,

    /// Write pages into DIR: they open from disk and need no network
    #[arg(long, value_name = "DIR", group = "form")]
    html: Option<PathBuf>,

    /// Print everything as one JSON object
    #[arg(long, group = "form")]
    json: bool,

    /// Write SARIF 2.1.0 (`-` for standard output)
    #[arg(long, value_name = "FILE", group = "form")]
    sarif: Option<PathBuf>,

    /// Print one finding as a bug report; FINDING is the beginning of its id
    #[arg(long, num_args = 2, value_names = ["gcc|llvm", "FINDING"], group = "form")]
    tracker: Option<Vec<String>>,

    /// Serve the pages while the hunt runs (default: 127.0.0.1:8417)
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true, group = "form")]
    serve: Option<Option<SocketAddr>>,

    /// Show the pages in the browser (without --html: below the store)
    #[arg(long, conflicts_with_all = ["json", "sarif", "tracker"])]
    open: bool,
}

/// Reads the store and shows it in the form that was asked for.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if !args.merge.is_empty() {
        merge(&args)?;
    }
    let store = open(&args)?;
    if let Some(address) = args.serve {
        return live(store, address, args.open);
    }
    let site = Site::read(&*store, false)?;
    if let Some(words) = &args.tracker {
        return print_tracker(&*store, &site.overview, words);
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&site.json()?)?);
    } else if let Some(file) = &args.sarif {
        let dossiers = Dossier::read_all(&*store, &site.overview)?;
        let log = serde_json::to_string_pretty(&sarif(&site.overview, &dossiers))? + "\n";
        if file == Path::new("-") {
            print!("{log}");
        } else {
            write_whole(file, &log)?;
            eprintln!("wrote {}", file.display());
        }
    } else {
        print!("{}", terminal(&site.overview));
        let directory = match (&args.html, args.open) {
            (Some(directory), _) => Some(directory.clone()),
            (None, true) if args.fleet.campaign().is_some() => Some("candor-report".into()),
            (None, true) => Some(args.store.join("report")),
            (None, false) => None,
        };
        if let Some(directory) = directory {
            let index = site.write(&directory)?;
            println!("report: {}", index.display());
            if args.open {
                let index = std::path::absolute(&index).unwrap_or(index);
                desktop::open(&index.display().to_string())?;
            }
        }
    }
    Ok(outcome(&site.overview))
}

/// The store, which must be there.
fn open(args: &Args) -> anyhow::Result<Arc<dyn Store>> {
    if let Some(store) = args.fleet.look()? {
        return Ok(Arc::new(store));
    }
    if !candor_store::exists(&args.store) {
        bail!(
            "there is no store at {}; `candor hunt` makes one, --store DIR names another",
            args.store.display()
        );
    }
    Ok(Arc::new(SqliteStore::open(&args.store)?))
}

/// Merges the parts into the store; all of them are opened before anything is written.
fn merge(args: &Args) -> anyhow::Result<()> {
    let parts = args
        .merge
        .iter()
        .map(|part| SqliteStore::open(part))
        .collect::<Result<Vec<_>, _>>()?;
    let whole = SqliteStore::create(&args.store)?;
    let merged = candor_hunt::merge(&whole, &parts, &|event| {
        if let candor_hunt::Event::Notice { text } = event {
            eprintln!("candor: {text}");
        }
    })?;
    for (part, new) in args.merge.iter().zip(merged) {
        eprintln!(
            "merged {}: {} seeds, {} findings, {} signatures that were new",
            part.display(),
            new.seeds,
            new.findings,
            new.signatures
        );
    }
    Ok(())
}

fn outcome(overview: &Overview) -> Outcome {
    if overview.findings.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Found
    }
}

fn print_tracker(
    store: &dyn Store,
    overview: &Overview,
    words: &[String],
) -> anyhow::Result<Outcome> {
    let [name, id] = words else {
        bail!("--tracker takes gcc or llvm, and a finding");
    };
    let Some(form) = Tracker::parse(name) else {
        bail!("--tracker takes gcc or llvm; got `{name}`");
    };
    let finding = store.finding(id)?;
    // a duplicate is reported by its representative, of which most is known
    let entry = overview
        .findings
        .iter()
        .find(|entry| entry.id == finding.id.0)
        .or_else(|| {
            overview
                .findings
                .iter()
                .find(|entry| entry.key == finding.key)
        })
        .with_context(|| format!("the finding {} belongs to no group", finding.id))?;
    if entry.id != finding.id.0 {
        eprintln!(
            "{} is a duplicate of {}, which follows",
            finding.id, entry.id
        );
    }
    let dossier = Dossier::read(store, entry)?;
    print!("{}", tracker(&dossier, form));
    Ok(Outcome::Found)
}

fn live(store: Arc<dyn Store>, address: Option<SocketAddr>, show: bool) -> anyhow::Result<Outcome> {
    let mut options = ServeOptions::default();
    if let Some(address) = address {
        options.address = address;
    }
    // the sandbox runs nothing here; it is what Ctrl-C is told to
    let sandbox = Sandbox::detect();
    interrupt::install(&sandbox);
    let mut trouble = None;
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/");
        println!("serving {url} (Ctrl-C ends it)");
        if !address.ip().is_loopback() {
            eprintln!("note: others on the network can read this report");
        }
        if show {
            trouble = desktop::open(&url).err();
        }
    };
    serve(store, &options, ready, || sandbox.interrupted())?;
    match trouble {
        Some(error) => Err(error.into()),
        None => Ok(Outcome::Nothing),
    }
}

/// Writes beside and renames, so that nobody reads half of it.
fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let name = path.file_name().context("--sarif takes a file name")?;
    let temporary = path.with_file_name(format!(".{}.part", name.to_string_lossy()));
    std::fs::write(&temporary, text)
        .and_then(|()| std::fs::rename(&temporary, path))
        .with_context(|| format!("cannot write {}", path.display()))
}
