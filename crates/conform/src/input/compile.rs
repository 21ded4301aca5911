//! C and Rust programs as IR, by the compiler whose LLVM is under test.

use std::path::Path;

use candor_toolchain::{Ending, Job, Limits, Sandbox, Scratch};

use crate::Error;

/// What compiles programs.
#[derive(Clone, Copy, Debug)]
pub struct Compilers<'a> {
    /// Runs them.
    pub sandbox: &'a Sandbox,
    /// For their files.
    pub scratch: &'a Scratch,
    /// The LLVM version: `clang-16` makes IR for 16.
    pub version: u32,
}

/// The IR of a file: as it is for `.ll` and `.bc`, compiled for `.c` and `.rs`. Compiled code is as the
/// front end makes it, without `optnone`, for the passes to work on.
pub fn to_ir(file: &Path, compilers: &Compilers<'_>, flags: &[String]) -> Result<Vec<u8>, Error> {
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    let file = std::path::absolute(file).map_err(|source| Error::Read {
        path: file.to_owned(),
        source,
    })?;
    let (compiler, arguments): (String, &[&str]) = match &*extension {
        "ll" | "bc" => return super::read(&file),
        "c" => (
            format!("clang-{}", compilers.version),
            &["-O1", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"],
        ),
        "rs" => (
            "rustc".to_owned(),
            &[
                "--crate-type=lib",
                "--emit=llvm-ir",
                "-Copt-level=1",
                "-Cno-prepopulate-passes",
            ],
        ),
        _ => return Err(Error::UnknownInput { path: file }),
    };
    // Fails with the system's reason when the file is not there.
    super::read(&file)?;
    let directory = compilers.scratch.job()?;
    let output = directory.path().join("program.ll");
    let job = Job::new(&compiler, directory.path())
        .args(arguments)
        .args(flags)
        .arg(&file)
        .arg("-o")
        .arg(&output);
    let finished = compilers.sandbox.run(&job, &Limits::compiler())?;
    match finished.ending {
        Ending::Exited(0) => super::read(&output),
        _ => Err(Error::NoIr {
            path: file,
            compiler,
            reason: String::from_utf8_lossy(&finished.stderr).trim().to_owned(),
        }),
    }
}
