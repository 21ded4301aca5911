//! A command of the user's decides, as with C-Reduce: exit status 0 says yes.
//!
//! # What it checks
//! The command runs in an empty directory that holds the program under its own name; the name is
//! also its only argument. `CANDOR_CC` and `CANDOR_FLAGS` hold the compiler and the flags of the build
//! in question. It is the user's own and runs with their rights (limits apply).

use std::path::{Path, PathBuf};

use candor_check::Toolset;
use candor_toolchain::{Confinement, Ending, Job, Limits, Program};

use crate::Error;
use crate::direct::Ask;
use crate::verdict::{Evidence, Options, Setup, Verdict};

/// See the module.
pub struct Command<'a> {
    tools: &'a Toolset<'a>,
    limits: Limits,
    path: PathBuf,
}

impl<'a> Command<'a> {
    /// Asks `path`.
    pub fn new(tools: &'a Toolset<'a>, options: Options, path: &Path) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadCommand {
            path: path.to_owned(),
            reason,
        };
        let absolute = std::path::absolute(path).map_err(|error| bad(error.to_string()))?;
        let data = std::fs::metadata(&absolute).map_err(|error| bad(error.to_string()))?;
        use std::os::unix::fs::PermissionsExt;
        if !data.is_file() {
            return Err(bad("it is not a file".into()));
        }
        if data.permissions().mode() & 0o111 == 0 {
            return Err(bad(format!(
                "it is not executable; `chmod +x {}`",
                path.display()
            )));
        }
        Ok(Command {
            tools,
            limits: Limits::compiler().with_time(options.command),
            path: absolute,
        })
    }
}

impl Ask for Command<'_> {
    fn ask(&self, program: &Program, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let workshop = self.tools.workshop;
        let directory = workshop.scratch.job()?;
        let name = program.file_name();
        directory.write(&name, &program.text)?;
        let job = Job::new(&self.path, directory.path())
            .arg(&name)
            .env("CANDOR_CC", &setup.compiler.name)
            .env(
                "CANDOR_FLAGS",
                [&setup.flags[..], &program.flags].concat().join(" "),
            )
            .confinement(Confinement::Open);
        let run = workshop.sandbox.run(&job, &self.limits)?;
        let shown = self.path.display();
        Ok(match run.ending {
            Ending::Exited(0) => Verdict::Holds(Evidence {
                seen: format!("{shown} returned 0"),
                ..Evidence::default()
            }),
            Ending::Exceeded(_) => Verdict::Undecided(format!("{shown}: {}", run.ending)),
            ending => Verdict::Fails(format!("{shown} returned {ending}")),
        })
    }
}
