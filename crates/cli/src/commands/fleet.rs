//! `candor fleet status`: who hunts at a broker, and how the campaigns stand.

use std::io::IsTerminal as _;
use std::time::Duration;

use anstream::println;
use candor_fleet::{Fleet, Standing};
use candor_toolchain::Sandbox;
use indicatif::ProgressBar;
use serde_json::json;

use crate::Outcome;
use crate::fleet::BrokerArgs;
use crate::interrupt;
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  candor fleet status --fleet nats://127.0.0.1:4222                        every campaign; live on a terminal
  candor fleet status --fleet tls://build1:4222 --campaign gcc16 --json    once, for programs";

/// How often a terminal is brought up to date.
const EVERY: Duration = Duration::from_secs(2);

/// Arguments of `candor fleet`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Workers, rates, leases, findings; live on a terminal
    Status(StatusArgs),
}

/// Arguments of `candor fleet status`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct StatusArgs {
    /// The broker: nats://HOST:4222 or tls://HOST:4222, several separated by commas
    #[arg(long, value_name = "URL")]
    fleet: String,

    /// One campaign (default: all)
    #[arg(long, value_name = "NAME")]
    campaign: Option<String>,

    #[command(flatten)]
    broker: BrokerArgs,

    /// Once, as one JSON object
    #[arg(long)]
    json: bool,

    /// Once, on a terminal too
    #[arg(long)]
    once: bool,
}

/// Shows how it stands.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let Command::Status(args) = args.command;
    let fleet = args.broker.connect(&args.fleet)?;
    if let Some(name) = &args.campaign {
        // Says which names there are, should this one not be there.
        fleet.look(name)?;
    }
    if args.json {
        let all = standings(&fleet, args.campaign.as_deref())?;
        println!(
            "{}",
            serde_json::to_string_pretty(&json!({ "broker": fleet.url(), "campaigns": all }))?
        );
    } else if args.once || !std::io::stdout().is_terminal() {
        let text = text(&fleet, args.campaign.as_deref())?;
        println!("{text}");
    } else {
        live(&fleet, args.campaign.as_deref())?;
    }
    Ok(Outcome::Nothing)
}

fn standings(fleet: &Fleet, only: Option<&str>) -> anyhow::Result<Vec<Standing>> {
    let names = match only {
        Some(name) => vec![name.to_owned()],
        None => fleet.campaigns()?,
    };
    let all = names.iter().map(|name| fleet.standing(name));
    Ok(all.collect::<Result<_, _>>()?)
}

/// Until Ctrl-C.
fn live(fleet: &Fleet, only: Option<&str>) -> anyhow::Result<()> {
    // The sandbox runs nothing here; it is what Ctrl-C is told to.
    let sandbox = Sandbox::detect();
    interrupt::install(&sandbox);
    let bar = ProgressBar::new_spinner();
    bar.set_style(indicatif::ProgressStyle::with_template("{msg}")?);
    while !sandbox.interrupted() {
        match text(fleet, only) {
            Ok(text) => bar.set_message(text),
            Err(error) => bar.set_message(format!("{error:#}")),
        }
        bar.tick();
        std::thread::sleep(EVERY);
    }
    let last = bar.message();
    bar.finish_and_clear();
    println!("{last}");
    Ok(())
}

fn text(fleet: &Fleet, only: Option<&str>) -> anyhow::Result<String> {
    let all = standings(fleet, only)?;
    if all.is_empty() {
        return Ok(format!(
            "no campaigns at {}; `candor hunt --fleet {} --campaign NAME --begin` begins one",
            fleet.url(),
            fleet.url()
        ));
    }
    Ok(all.iter().map(one).collect::<Vec<_>>().join("\n\n"))
}

fn one(standing: &Standing) -> String {
    let mut text = format!(
        "{}: {} workers, {:.0} programs/h, {:.0} builds/h · seeds: {} finished, {} leased, {} in the queue{} · \
         {} findings, {} unique, {} isolated, {} to be improved · {} {}",
        standing.campaign,
        standing.alive(),
        standing.programs_per_hour(),
        standing.builds_per_hour(),
        standing.finished,
        standing.leased,
        standing.waiting,
        match standing.rests {
            0 => String::new(),
            rests => format!(", {rests} for other compilers"),
        },
        standing.findings,
        standing.unique,
        standing.isolated,
        standing.unsettled,
        standing.replicas,
        if standing.replicas == 1 {
            "copy"
        } else {
            "copies"
        },
    );
    let mut table = Table::new([
        "worker",
        "state",
        "programs",
        "builds",
        "findings",
        "leases",
        "undelivered",
        "lacks",
    ])
    .right_from(2);
    for hand in &standing.workers {
        let state = match (hand.alive, hand.left) {
            (true, _) => "works".to_owned(),
            (false, true) => "left".to_owned(),
            (false, false) => format!("silent for {:.0} s", hand.silent),
        };
        table.row([
            hand.label.clone(),
            state,
            hand.programs.to_string(),
            hand.builds.to_string(),
            hand.findings.to_string(),
            hand.leases.to_string(),
            hand.spooled.to_string(),
            hand.lacks.join(" "),
        ]);
    }
    if !standing.workers.is_empty() {
        text += &format!("\n{table}");
    }
    text.trim_end().to_owned()
}
