//! `candor doctor`: what is installed and what each missing piece would enable.

use anstream::println;
use candor_toolchain::Inventory;

use crate::Outcome;
use crate::context::Context;
use crate::table::Table;

/// Arguments of `candor doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code 0 when check, mutate and hunt can run, 2 otherwise.")]
pub struct Args {
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Takes the inventory and prints it.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let context = Context::new()?;
    // tools may have been installed or removed since they were asked
    candor_toolchain::known::forget();
    let inventory = Inventory::take(
        &context.sandbox,
        &context.scratch,
        &candor_source::candidates(),
    )?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&inventory)?);
    } else {
        print(&inventory);
    }
    Ok(if inventory.main_commands_ready() {
        Outcome::Nothing
    } else {
        Outcome::NotReady
    })
}

fn print(inventory: &Inventory) {
    let mut found = Table::new(["kind", "name", "version", "path", ""]);
    for tool in &inventory.tools {
        found.row([
            tool.kind.to_string(),
            tool.name.clone(),
            tool.version.clone(),
            tool.path.display().to_string(),
            tool.note.clone(),
        ]);
    }
    println!("{found}");
    if !inventory.missing.is_empty() {
        println!("Missing:");
        let mut missing = Table::new(["kind", "name", "would enable", "install with"]);
        for piece in &inventory.missing {
            missing.row([
                piece.kind.to_string(),
                piece.name.clone(),
                piece.enables.clone(),
                piece.install.clone(),
            ]);
        }
        println!("{missing}");
    }
    for broken in &inventory.broken {
        println!("Ignored: {broken}");
    }
    let sandbox = &inventory.sandbox;
    let yes_no = |holds| if holds { "yes" } else { "no" };
    println!(
        "Sandbox: process trees die whole: {}; no network: {}; writes confined (Landlock): {}",
        yes_no(sandbox.pid_namespace),
        yes_no(sandbox.network_namespace),
        yes_no(sandbox.landlock.is_some())
    );
    for weakness in sandbox.weaknesses() {
        println!("  {weakness}");
    }
    for ready in &inventory.ready {
        if ready.lacks.is_empty() {
            println!("candor {:7} can run", ready.command);
        } else {
            println!(
                "candor {:7} cannot run: {} missing",
                ready.command,
                ready.lacks.join(", ")
            );
        }
    }
}
