//! C and Rust programs as IR, by the compiler whose LLVM is under test.

use std::path::{Path, PathBuf};

use candor_toolchain::{Confinement, Ending, Job, Limits, Sandbox, Scratch};

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
            &[
                "-O1",
                "-Xclang",
                "-disable-llvm-passes",
                "-S",
                "-emit-llvm",
                "-fno-discard-value-names",
            ],
        ),
        "rs" => (
            rustc(&file, compilers.sandbox)?.display().to_string(),
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

/// The rustc that the file's directory means: toolchains may be chosen by directory, and programs are
/// compiled in a scratch directory.
fn rustc(file: &Path, sandbox: &Sandbox) -> Result<PathBuf, Error> {
    Ok(sysroot(file, sandbox)?.join("bin/rustc"))
}

/// The libLLVM that rustc itself uses: other versions often cannot read its IR.
pub fn rust_library(file: &Path, sandbox: &Sandbox) -> Result<PathBuf, Error> {
    let place = sysroot(file, sandbox)?.join("lib");
    let mut found: Vec<PathBuf> = std::fs::read_dir(&place)
        .map_err(|source| Error::Read {
            path: place.clone(),
            source,
        })?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("libLLVM"))
        })
        .collect();
    found.sort();
    found.pop().ok_or_else(|| Error::NoIr {
        path: file.to_owned(),
        compiler: "rustc".to_owned(),
        reason: format!(
            "its LLVM is not a shared library in {}; give --llvm VERSION",
            place.display()
        ),
    })
}

fn sysroot(file: &Path, sandbox: &Sandbox) -> Result<PathBuf, Error> {
    super::read(file)?;
    let file = std::path::absolute(file).map_err(|source| Error::Read {
        path: file.to_owned(),
        source,
    })?;
    let directory = file.parent().unwrap_or(Path::new("/"));
    let job = Job::new("rustc", directory)
        .args(["--print", "sysroot"])
        .confinement(Confinement::Open);
    let finished = sandbox.run(&job, &Limits::compiler())?;
    match finished.ending {
        Ending::Exited(0) => Ok(PathBuf::from(
            String::from_utf8_lossy(&finished.stdout).trim(),
        )),
        _ => Err(Error::NoIr {
            path: file.clone(),
            compiler: "rustc".to_owned(),
            reason: String::from_utf8_lossy(&finished.stderr).trim().to_owned(),
        }),
    }
}
