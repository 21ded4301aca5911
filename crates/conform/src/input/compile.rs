//! C and Rust programs as IR, by the compiler whose LLVM is under test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candor_llvm::Library;
use candor_toolchain::rustc::build_flags;
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
        "rs" => return rust(&file, compilers, flags),
        _ => return Err(Error::UnknownInput { path: file }),
    };
    // Fails with the system's reason when the file is not there.
    super::read(&file)?;
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    compile(&file, compilers, &compiler, &[&arguments, flags])?.map_err(|reason| Error::NoIr {
        path: file,
        compiler,
        reason,
    })
}

/// The IR, or what the compiler said instead.
fn compile(
    file: &Path,
    compilers: &Compilers<'_>,
    compiler: &str,
    arguments: &[&[String]],
) -> Result<Result<Vec<u8>, String>, Error> {
    let directory = compilers.scratch.job()?;
    let output = directory.path().join("program.ll");
    let job = Job::new(compiler, directory.path())
        .args(arguments.concat())
        .arg(file)
        .arg("-o")
        .arg(&output);
    let finished = compilers.sandbox.run(&job, &Limits::compiler())?;
    Ok(match finished.ending {
        Ending::Exited(0) => Ok(super::read(&output)?),
        _ => Err(String::from_utf8_lossy(&finished.stderr).trim().to_owned()),
    })
}

/// rustc's word for a program without `main`.
const NO_MAIN: &str = "E0601";

/// A Rust program; without `main`, a library. Of a library rustc compiles only what is public or used.
fn rust(file: &Path, compilers: &Compilers<'_>, flags: &[String]) -> Result<Vec<u8>, Error> {
    let compiler = rustc(file, compilers.sandbox)?.display().to_string();
    let given = [
        "-O1",
        "--emit=llvm-ir",
        "-Cno-prepopulate-passes",
        "-Cdebuginfo=0",
    ];
    let given = build_flags(&given.map(String::from), flags);
    let mut made = compile(file, compilers, &compiler, &[&given])?;
    if made.as_ref().is_err_and(|words| words.contains(NO_MAIN)) {
        let library = ["--crate-type=lib".to_owned()];
        made = compile(file, compilers, &compiler, &[&given, &library])?;
    }
    let has_code = |ir: &Vec<u8>| {
        ir.split(|byte| *byte == b'\n')
            .any(|line| line.starts_with(b"define "))
    };
    let reason = match made {
        Ok(ir) if has_code(&ir) => return Ok(ir),
        Ok(_) => "there is no function in its IR: of a library, rustc compiles only what is public and not generic, or used by that".to_owned(),
        Err(words) => words,
    };
    Err(Error::NoIr {
        path: file.to_owned(),
        compiler,
        reason,
    })
}

/// The rustc that the file's directory means: toolchains may be chosen by directory, and programs are
/// compiled in a scratch directory.
fn rustc(file: &Path, sandbox: &Sandbox) -> Result<PathBuf, Error> {
    Ok(sysroot(file, sandbox)?.join("bin/rustc"))
}

/// The newest of the available libraries that can read rustc's IR: its own LLVM's version or later. Its own library is
/// not taken: it is built with link-time optimisation, which inlines what must be watched.
pub fn rust_library(
    file: &Path,
    sandbox: &Sandbox,
    available: &BTreeMap<u32, PathBuf>,
) -> Result<Library, Error> {
    let needed = rust_llvm(file, sandbox)?;
    let mut refused = None;
    for path in available.range(needed..).rev().map(|(_, path)| path) {
        match Library::open(path) {
            Ok(library) => return Ok(library),
            Err(error @ candor_llvm::Error::MissingSymbols { .. }) => refused = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Err(match refused {
        Some(error) => error.into(),
        None => Error::TooOldForRust {
            needed,
            found: candor_llvm::versions(available),
        },
    })
}

/// The LLVM version of the rustc that the file's directory means.
fn rust_llvm(file: &Path, sandbox: &Sandbox) -> Result<u32, Error> {
    let words = ask(file, sandbox, &["-vV"])?;
    llvm_of(&words).ok_or_else(|| Error::NoIr {
        path: file.to_owned(),
        compiler: "rustc".to_owned(),
        reason: "`rustc -vV` names no LLVM version; name a library by --llvm".to_owned(),
    })
}

/// `LLVM version: 22.1.2` → 22.
fn llvm_of(words: &str) -> Option<u32> {
    let version = words
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version:"))?;
    version.trim().split('.').next()?.parse().ok()
}

fn sysroot(file: &Path, sandbox: &Sandbox) -> Result<PathBuf, Error> {
    Ok(PathBuf::from(
        ask(file, sandbox, &["--print", "sysroot"])?.trim(),
    ))
}

/// What the rustc of the file's directory answers.
fn ask(file: &Path, sandbox: &Sandbox, question: &[&str]) -> Result<String, Error> {
    super::read(file)?;
    let file = std::path::absolute(file).map_err(|source| Error::Read {
        path: file.to_owned(),
        source,
    })?;
    let directory = file.parent().unwrap_or(Path::new("/"));
    let job = Job::new("rustc", directory)
        .args(question)
        .confinement(Confinement::Open);
    let finished = sandbox.run(&job, &Limits::compiler())?;
    match finished.ending {
        Ending::Exited(0) => Ok(finished.stdout_text()),
        _ => Err(Error::NoIr {
            path: file.clone(),
            compiler: "rustc".to_owned(),
            reason: String::from_utf8_lossy(&finished.stderr).trim().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::llvm_of;

    #[test]
    fn rustc_says_which_llvm_it_has() {
        assert_eq!(
            llvm_of("rustc 1.95.0\nrelease: 1.95.0\nLLVM version: 22.1.2\n"),
            Some(22)
        );
        assert_eq!(llvm_of("rustc 1.95.0\n"), None);
    }
}
