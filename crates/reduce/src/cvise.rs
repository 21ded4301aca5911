//! cvise as a second stage: its predicate is a script that asks candor.

use std::path::PathBuf;
use std::time::Duration;

use candor_check::Toolset;
use candor_predicate::Case;
use candor_toolchain::build::quote;
use candor_toolchain::{Confinement, Job, Limits};

use crate::Error;

/// How to run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// cvise itself.
    pub command: PathBuf,
    /// The candor that tests candidates: `candor reduce --test CASE FILE`.
    pub candor: PathBuf,
    /// Processes at a time.
    pub jobs: usize,
    /// When to stop.
    pub time: Duration,
}

/// What cvise makes of `text`; `text` itself when it is stopped before it finds anything.
pub fn run(tools: &Toolset<'_>, stage: &Stage, case: &Case, text: &str) -> Result<String, Error> {
    let workshop = tools.workshop;
    let directory = workshop.scratch.job()?;
    let mut asked = case.clone();
    asked.program.text = text.to_owned();
    let case_file = directory.write("case.json", asked.to_json())?;
    let name = "reduced.c";
    let program = directory.write(name, text)?;
    let script = directory.write(
        "interesting.sh",
        format!(
            "#!/bin/sh\nexec {} reduce --test {} {name}\n",
            quote(&stage.candor.display().to_string()),
            quote(&case_file.display().to_string()),
        ),
    )?;
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))
        .map_err(|source| candor_toolchain::Error::file("make executable", &script, source))?;
    let job = Job::new(&stage.command, directory.path())
        .args(["--n", &stage.jobs.to_string()])
        .args(["--timeout", "120"])
        .arg(&script)
        .arg(name)
        // what a killed candor leaves behind goes away with the directory
        .env("CANDOR_SCRATCH", directory.path())
        .confinement(Confinement::Open);
    let limits = Limits {
        wall: stage.time,
        cpu: stage.time,
        memory: None,
        processes: 512,
        ..Limits::compiler()
    };
    let run = workshop.sandbox.run(&job, &limits)?;
    let reduced = std::fs::read_to_string(&program)
        .map_err(|source| candor_toolchain::Error::file("read", &program, source))?;
    let said = run.stdout_text() + &run.stderr_text();
    // It says so and ends well all the same.
    if said.contains("cannot run because") {
        return Err(Error::Cvise {
            reason: "candor, asked by cvise, does not see the claim: see `candor reduce --test`"
                .into(),
        });
    }
    if !run.ending.success() && !run.ending.timed_out() {
        return Err(Error::Cvise {
            reason: format!(
                "it ended with {}: {}",
                run.ending,
                said.lines().last().unwrap_or("it said nothing")
            ),
        });
    }
    Ok(reduced)
}
