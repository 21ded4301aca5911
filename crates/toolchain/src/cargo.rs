//! Building a cargo package's binary twice: without optimisation, and as it is shipped but with debug information.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;
use crate::sandbox::{Confinement, Job, Limits, Sandbox, find_on_path};

/// The two builds that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// `dev` at opt-level 0, with the checks of a release build, so that both are the same program.
    Reference,
    /// `release`, with debug information.
    Release,
}

impl Profile {
    /// The folder below the target directory that cargo puts it into.
    fn folder(self) -> &'static str {
        match self {
            Profile::Reference => "debug",
            Profile::Release => "release",
        }
    }

    /// What cargo's settings are called as environment variables.
    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Profile::Reference => &[
                ("CARGO_PROFILE_DEV_OPT_LEVEL", "0"),
                ("CARGO_PROFILE_DEV_DEBUG", "2"),
                ("CARGO_PROFILE_DEV_OVERFLOW_CHECKS", "false"),
                ("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", "false"),
            ],
            Profile::Release => &[
                ("CARGO_PROFILE_RELEASE_DEBUG", "2"),
                ("CARGO_PROFILE_RELEASE_STRIP", "none"),
                ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "false"),
                ("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false"),
            ],
        }
    }
}

/// Builds `binary` of the package in `package` below `target`; the inner error is what cargo said instead.
///
/// Nothing is fetched: a package whose dependencies are not there yet is built once by its user first.
pub fn build(
    sandbox: &Sandbox,
    package: &Path,
    binary: &str,
    profile: Profile,
    target: &Path,
) -> Result<Result<PathBuf, String>, Error> {
    let cargo = find_on_path("cargo").ok_or_else(|| Error::NotOnPath {
        program: "cargo".into(),
    })?;
    let package =
        std::path::absolute(package).map_err(|source| Error::file("resolve", package, source))?;
    let job = |confinement: Confinement| {
        let mut job = Job::new(&cargo, target)
            .args(["build", "--quiet", "--offline", "--bin", binary])
            .arg("--manifest-path")
            .arg(package.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(target)
            .args((profile == Profile::Release).then_some("--release"))
            .confinement(confinement);
        if let Some(home) = std::env::var_os("HOME") {
            for (name, below) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
                let value =
                    std::env::var_os(name).unwrap_or_else(|| Path::new(&home).join(below).into());
                job = job.env(name, value);
            }
        }
        for (name, value) in profile.settings() {
            job = job.env(*name, *value);
        }
        job
    };
    let mut limits = Limits::compiler();
    limits.wall = Duration::from_secs(1800);
    limits.cpu = Duration::from_secs(1800);
    limits.memory = None;
    limits.processes = 256;
    limits.file_size = 4 << 30;
    let built = target.join(profile.folder()).join(binary);
    let mut said = String::new();
    // cargo writes its lock file beside the manifest where there is none yet: then it needs the walls down
    for confinement in [Confinement::Full, Confinement::Open] {
        let run = sandbox.run(&job(confinement), &limits)?;
        if run.ending.success() && built.is_file() {
            return Ok(Ok(built));
        }
        said = format!("cargo build: {}: {}", run.ending, run.stderr_text().trim());
    }
    Ok(Err(said))
}
