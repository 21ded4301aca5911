//! `candor completions SHELL`.

use clap::CommandFactory;

use crate::Outcome;

/// Arguments of `candor completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// For which shell
    shell: clap_complete::Shell,
}

/// Prints the completion script.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let mut command = crate::Cli::command();
    clap_complete::generate(args.shell, &mut command, "candor", &mut std::io::stdout());
    Ok(Outcome::Nothing)
}
