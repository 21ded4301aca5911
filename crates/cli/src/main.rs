//! The `candor` binary: reads the command line, hands over to one file per command, prints, exits.
//!
//! Nothing else in the workspace knows the terminal. Exit codes: 0 nothing found, 1 findings,
//! 2 could not run.

mod claim;
mod commands;
mod config;
mod context;
mod fleet;
mod interrupt;
mod program;
mod progress;
mod table;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Does the optimising compiler tell the truth?
///
/// candor finds programs that an optimising compiler gets wrong, in code or in debug information.
#[derive(Debug, Parser)]
#[command(name = "candor", version, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  candor check prog.c                      every compiler found, -Og -O1 -O2 -O3 -Os
  candor check prog.c --cc clang-19 -O2    one build
  candor hunt --for 10m                    all compilers found, all cores; then: candor report
  candor reduce finding.json               the small program
  candor isolate finding.json              the pass to blame
  candor doctor                            what is installed, and what is missing
  candor completions bash > ~/.local/share/bash-completion/completions/candor

Exit codes: 0 nothing found, 1 findings, 2 could not run.
Settings typed often go into candor.toml (found upwards from the working directory); flags win.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Does the debugger tell the truth about this program?
    Check(commands::check::Args),
    /// Make variants of a program that must behave like it
    Mutate(commands::mutate::Args),
    /// Hunt for compiler bugs until told to stop
    Hunt(commands::hunt::Args),
    /// Shrink a program while what is wrong with it stays wrong
    Reduce(commands::reduce::Args),
    /// Name the compiler pass behind a finding
    Isolate(Box<commands::isolate::Args>),
    /// What LLVM passes do to debug locations, and what they should have done
    Conform(commands::conform::Args),
    /// Is this machine code the source program?
    Prove(commands::prove::Args),
    /// Give the debug information of proved functions what the proof knows
    Repair(commands::repair::Args),
    /// What a hunt found: summary, pages, JSON, SARIF, bug reports
    Report(commands::report::Args),
    /// Who hunts at a broker, and how the campaign stands
    Fleet(commands::fleet::Args),
    /// What is installed, what each missing piece would enable, and how to get it
    Doctor(commands::doctor::Args),
    /// Print shell completions
    Completions(commands::completions::Args),
}

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Ran, nothing found.
    Nothing,
    /// Ran and found something.
    Found,
    /// Something is not there that should be.
    NotReady,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        ExitCode::from(match outcome {
            Outcome::Nothing => 0,
            Outcome::Found => 1,
            Outcome::NotReady => 2,
        })
    }
}

fn main() -> ExitCode {
    restore_sigpipe();
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Check(args) => commands::check::run(args),
        Command::Mutate(args) => commands::mutate::run(args),
        Command::Hunt(args) => commands::hunt::run(args),
        Command::Reduce(args) => commands::reduce::run(args),
        Command::Isolate(args) => commands::isolate::run(*args),
        Command::Conform(args) => commands::conform::run(args),
        Command::Prove(args) => commands::prove::run(args),
        Command::Repair(args) => commands::repair::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Fleet(args) => commands::fleet::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Completions(args) => commands::completions::run(args),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            anstream::eprintln!("candor: {}", whole(&error));
            ExitCode::from(2)
        }
    }
}

/// An error with its causes. Many of our messages quote their cause already; it is not said twice.
fn whole(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// `candor ... | head` should end quietly. The default disposition also spares us an error path on
/// every line printed.
fn restore_sigpipe() {
    use nix::sys::signal::{SigHandler, Signal, signal};
    // SAFETY: restores the default disposition before any thread exists.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn causes_are_said_once() {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound).to_string();
        let quoted = anyhow::anyhow!("{missing}").context(format!("cannot read a.c: {missing}"));
        assert_eq!(super::whole(&quoted), format!("cannot read a.c: {missing}"));
        let bare = anyhow::anyhow!("{missing}").context("cannot read a.c");
        assert_eq!(super::whole(&bare), format!("cannot read a.c: {missing}"));
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
