//! The tools of a hunt: what is given, and what is set up from it once for all programs.
//!
//! A compiler may vanish while a hunt runs (a package upgrade, a deleted wrapper). References, sanitizers and profile
//! builds may depend on it, so the whole bench is set up anew from those that are left.

use candor_check::{Toolset, Workshop};
use candor_mutate::Workbench;
use candor_source::Clang;
use candor_toolchain::{
    Build, Built, Compiler, Family, Gate, Job, Limits, Sandbox, Scratch, Stage,
};
use candor_tracer::Debugger;

use crate::Error;
use crate::settings::Tested;

/// How often the sanitizers are asked whether they work here.
const GATE_ATTEMPTS: usize = 3;

/// What a hunt is given. Compilers are handed over: those that vanish are dropped.
#[derive(Debug)]
pub struct Means<'a> {
    /// Runs everything.
    pub sandbox: &'a Sandbox,
    /// Holds everything that goes away.
    pub scratch: &'a Scratch,
    /// Reads C.
    pub clang: &'a Clang,
    /// Confirm findings.
    pub debuggers: &'a [Debugger],
    /// Every compiler there is: references and sanitizers are chosen from these.
    pub found: Vec<Compiler>,
    /// Those named by the user; empty: every gcc and clang of `found` is under test.
    pub given: Vec<Compiler>,
    /// Of those, the ones of these names; empty: all. A campaign may test fewer than are here.
    pub only: Vec<String>,
}

impl Means<'_> {
    /// The compilers under test.
    #[must_use]
    pub fn under_test(&self) -> Vec<&Compiler> {
        let wanted = |c: &&Compiler| self.only.is_empty() || self.only.contains(&c.name);
        if self.given.is_empty() {
            let c_compiler = |c: &&Compiler| matches!(c.family, Family::Gcc | Family::Clang);
            let all = self.found.iter().filter(c_compiler);
            all.filter(wanted).collect()
        } else {
            self.given.iter().filter(wanted).collect()
        }
    }

    /// The same, as the campaign remembers them.
    #[must_use]
    pub fn tested(&self) -> Vec<Tested> {
        self.under_test()
            .iter()
            .map(|compiler| Tested {
                command: compiler.name.clone(),
                family: compiler.family.to_string(),
                version: compiler.version.to_string(),
            })
            .collect()
    }

    /// Tests these, and no others that are here.
    pub(crate) fn test_only(&mut self, wanted: &[Tested]) {
        self.only = wanted.iter().map(|one| one.command.clone()).collect();
    }

    /// Drops the compilers of these names.
    pub(crate) fn drop_compilers(&mut self, names: &[String]) {
        let stays = |compiler: &Compiler| !names.contains(&compiler.name);
        // An empty `given` would mean "all of them"; the caller ends the hunt before that.
        self.found.retain(stays);
        self.given.retain(stays);
    }

    /// Those that no longer compile, with what was met.
    pub(crate) fn gone(&self) -> Result<Vec<(String, String)>, Error> {
        let mut gone: Vec<(String, String)> = Vec::new();
        for compiler in self.found.iter().chain(&self.given) {
            if gone.iter().any(|(name, _)| *name == compiler.name) {
                continue;
            }
            if let Some(reason) = works(self.sandbox, self.scratch, compiler, &[])?.err() {
                gone.push((compiler.name.clone(), reason));
            }
        }
        Ok(gone)
    }
}

/// A compiler under test.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) compiler: &'a Compiler,
    /// Chooses a faster linker than the default one, where there is one.
    pub(crate) linker: Option<String>,
}

/// Everything set up.
pub(crate) struct Bench<'a> {
    pub(crate) tools: Toolset<'a>,
    /// `None` when no variants are made.
    pub(crate) workbench: Option<Workbench<'a>>,
    pub(crate) targets: Vec<Target<'a>>,
    /// The newest compiler of each family: their -O0 builds must agree before anybody is accused.
    pub(crate) references: Vec<&'a Compiler>,
}

impl<'a> Bench<'a> {
    /// Sets everything up; `workshop` was made by the caller from the same means.
    pub(crate) fn new(
        means: &'a Means<'a>,
        workshop: &'a Workshop<'a>,
        variants: bool,
    ) -> Result<Self, Error> {
        let (sandbox, scratch) = (means.sandbox, means.scratch);
        let mut gate = None;
        // The probes of the sanitizers have a time limit; a machine that is busy for a moment is no reason to give up.
        for _ in 0..GATE_ATTEMPTS {
            gate = Gate::find(&means.found, sandbox, scratch)?;
            if gate.is_some() {
                break;
            }
        }
        let gate = gate.ok_or(Error::Missing {
            what: "a clang with working sanitizers",
            advice: "they tell which programs may accuse a compiler; install clang-19 and libclang-rt-19-dev",
        })?;
        let workbench = match variants {
            true => Some(Workbench::new(sandbox, scratch, means.clang, &means.found)?),
            false => None,
        };
        let mut targets = Vec::new();
        for compiler in means.under_test() {
            targets.push(Target {
                compiler,
                linker: fast_linker(sandbox, scratch, compiler)?,
            });
        }
        let newest = |family: Family| means.found.iter().rev().find(|c| c.family == family);
        Ok(Bench {
            tools: Toolset {
                workshop,
                clang: means.clang,
                compilers: &means.found,
                gate,
                debuggers: means.debuggers,
            },
            workbench,
            targets,
            references: [Family::Gcc, Family::Clang]
                .into_iter()
                .filter_map(newest)
                .collect(),
        })
    }

    pub(crate) fn sandbox(&self) -> &'a Sandbox {
        self.tools.workshop.sandbox
    }

    pub(crate) fn scratch(&self) -> &'a Scratch {
        self.tools.workshop.scratch
    }

    /// Whether the compiler still builds what every compiler builds; if not, that is the error.
    pub(crate) fn still_works(&self, compiler: &Compiler) -> Result<(), Error> {
        works(self.sandbox(), self.scratch(), compiler, &[])?.map_err(|reason| {
            Error::CompilerGone {
                compiler: compiler.name.clone(),
                reason,
            }
        })
    }
}

/// Builds and runs the smallest program; the inner error says why that failed.
fn works(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compiler: &Compiler,
    flags: &[String],
) -> Result<Result<(), String>, Error> {
    if compiler.family == Family::Rustc {
        return Ok(Ok(()));
    }
    let directory = scratch.job()?;
    directory.write("smallest.c", "int main(void) { return 0; }\n")?;
    let build = Build {
        compiler,
        stage: Stage::Executable,
        inputs: vec!["smallest.c".into()],
        flags: flags.to_vec(),
        output: "smallest".into(),
    };
    let built = match build.run(sandbox, directory.path(), &Limits::compiler()) {
        Ok(built) => built,
        Err(error) => {
            let error = Error::from(error);
            if error.is_missing_program() {
                return Ok(Err(error.to_string()));
            }
            return Err(error);
        }
    };
    let artefact = match &built {
        Built::Ok { artefact, .. } => artefact,
        // Slow is not gone.
        Built::TimedOut { .. } => return Ok(Ok(())),
        other => return Ok(Err(other.describe())),
    };
    let run = sandbox.run(&Job::new(artefact, directory.path()), &Limits::program())?;
    Ok(if run.ending.success() || run.ending.timed_out() {
        Ok(())
    } else {
        Err(format!("its smallest program ended with {}", run.ending))
    })
}

/// Linking is a fifth of building a small program with the default linker.
fn fast_linker(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compiler: &Compiler,
) -> Result<Option<String>, Error> {
    // rustc chooses its linker itself
    if compiler.family == Family::Rustc {
        return Ok(None);
    }
    for linker in ["mold", "lld", "gold"] {
        let flag = format!("-fuse-ld={linker}");
        if works(sandbox, scratch, compiler, std::slice::from_ref(&flag))?.is_ok() {
            return Ok(Some(flag));
        }
    }
    Ok(None)
}
