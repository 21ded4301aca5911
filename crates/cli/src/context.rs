//! What every command needs, resolved: settings, sandbox, scratch space, compilers.

use anyhow::Context as _;
use candor_toolchain::{Sandbox, Scratch};

use crate::config::Config;
use crate::interrupt;

/// The resolved surroundings of a command.
#[derive(Debug)]
pub struct Context {
    /// Settings from candor.toml.
    pub config: Config,
    /// Where programs run.
    pub sandbox: Sandbox,
    /// Where files go.
    pub scratch: Scratch,
}

impl Context {
    /// Reads candor.toml, looks at the kernel, makes a scratch directory.
    pub fn new() -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot tell the working directory")?;
        let config = Config::find(&here)?;
        let sandbox = Sandbox::detect();
        interrupt::install(&sandbox);
        let scratch = match &config.scratch {
            Some(parent) => Scratch::below(parent)?,
            None => Scratch::new()?,
        };
        Ok(Context {
            config,
            sandbox,
            scratch,
        })
    }
}
