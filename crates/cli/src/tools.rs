//! What commands that judge programs work with, found once: compilers, sanitizers, libclang, debuggers.

use anyhow::{Context as _, bail};
use candor_check::{Toolset, Workshop};
use candor_source::Clang;
use candor_toolchain::{Compiler, Family, Gate, discover};
use candor_tracer::Debugger;

use crate::context::Context;

/// Everything there is on this machine, and what the user asked for by name.
#[derive(Debug)]
pub struct Tools<'a> {
    context: &'a Context,
    workshop: Workshop<'a>,
    clang: Clang,
    /// Every compiler on PATH; references and sanitizers are chosen from these.
    pub found: Vec<Compiler>,
    /// The compilers named by `--cc` or candor.toml.
    given: Vec<Compiler>,
    debuggers: Vec<Debugger>,
}

impl<'a> Tools<'a> {
    /// Looks around. `wanted` are the commands given by `--cc`; candor.toml's apply when there are none.
    pub fn find(context: &'a Context, wanted: &[String]) -> anyhow::Result<Self> {
        let (found, _) = discover(&context.sandbox, &context.scratch)?;
        let wanted = if wanted.is_empty() {
            &context.config.compilers
        } else {
            wanted
        };
        let mut given = Vec::new();
        for command in wanted {
            given.push(Compiler::probe(
                &context.sandbox,
                &context.scratch,
                command,
            )?);
        }
        Ok(Tools {
            context,
            workshop: Workshop::new(&context.sandbox, &context.scratch)?,
            clang: libclang(context)?,
            found,
            given,
            debuggers: debuggers(context),
        })
    }

    /// The compilers under test: those named, else every gcc and clang found.
    pub fn under_test(&self) -> anyhow::Result<Vec<&Compiler>> {
        let chosen: Vec<&Compiler> = if self.given.is_empty() {
            let c_compiler = |c: &&Compiler| matches!(c.family, Family::Gcc | Family::Clang);
            self.found.iter().filter(c_compiler).collect()
        } else {
            self.given.iter().collect()
        };
        if chosen.is_empty() {
            bail!("no C compiler was found; `candor doctor` says how to get one");
        }
        Ok(chosen)
    }

    /// The rustc under test: those named, else every one found.
    pub fn rustc_under_test(&self) -> anyhow::Result<Vec<&Compiler>> {
        let all = if self.given.is_empty() {
            &self.found
        } else {
            &self.given
        };
        let rustc = |compiler: &&Compiler| compiler.family == Family::Rustc;
        let chosen: Vec<&Compiler> = all.iter().filter(rustc).collect();
        if chosen.is_empty() {
            bail!(
                "a Rust program needs rustc, and none was found; install it with rustup, or name it with --rustc"
            );
        }
        Ok(chosen)
    }

    /// What oracles and predicates work with.
    pub fn toolset(&self) -> anyhow::Result<Toolset<'_>> {
        let Context {
            sandbox, scratch, ..
        } = self.context;
        let gate = Gate::find(&self.found, sandbox, scratch)?.context(
            "no clang with working sanitizers was found, so programs cannot be judged; \
             install clang-19 and libclang-rt-19-dev",
        )?;
        Ok(Toolset {
            workshop: &self.workshop,
            clang: &self.clang,
            compilers: &self.found,
            gate,
            debuggers: &self.debuggers,
        })
    }
}

/// The libclang that candor.toml names, else the newest one found.
pub fn libclang(context: &Context) -> anyhow::Result<Clang> {
    Ok(match &context.config.libclang {
        Some(path) => Clang::load_from(path)?,
        None => Clang::find()?,
    })
}

/// One debugger of each kind: the newest.
pub fn debuggers(context: &Context) -> Vec<Debugger> {
    let mut chosen: Vec<Debugger> = Vec::new();
    for debugger in Debugger::discover(&context.sandbox) {
        match chosen.iter_mut().find(|known| known.kind == debugger.kind) {
            Some(known) => *known = debugger, // ascending: the newest comes last
            None => chosen.push(debugger),
        }
    }
    chosen
}
