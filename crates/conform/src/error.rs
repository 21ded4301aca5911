//! What can go wrong in this crate, in sentences a user can act on.

use std::path::PathBuf;

/// Errors of the conform crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library's side.
    #[error(transparent)]
    Llvm(#[from] candor_llvm::Error),
    /// The toolchain's side.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A worker's answer that is none.
    #[error("a worker's answer cannot be understood: {reason}")]
    Answer {
        /// Why.
        reason: String,
    },
    /// A filter that does not exist.
    #[error("there is no filter `{name}`; there are {known}")]
    UnknownFilter {
        /// As given.
        name: String,
        /// All names.
        known: String,
    },
    /// A pass that the library does not have.
    #[error(
        "LLVM {version} has no pass `{name}`{near}; `candor conform --list-passes --llvm {version}` lists them"
    )]
    UnknownPass {
        /// As given.
        name: String,
        /// The library's version.
        version: u32,
        /// `; did you mean ...?`, or nothing.
        near: String,
    },
    /// A pipeline that is not one.
    #[error("`{pipeline}` is not a pipeline: {reason}")]
    BadPipeline {
        /// As given.
        pipeline: String,
        /// What is wrong.
        reason: String,
    },
    /// A program that does not compile to IR.
    #[error("{} does not compile to LLVM IR with {compiler}: {reason}", path.display())]
    NoIr {
        /// The source file.
        path: PathBuf,
        /// What was tried.
        compiler: String,
        /// Its words.
        reason: String,
    },
    /// Rust's IR, and no library that reads it.
    #[error(
        "rustc's IR is of LLVM {needed}, which older libraries cannot read (there is: {found}). Fetch one with \
         `scripts/llvm-library.sh {needed}` (or a later version) and run this again. rustc's own library can be given by --llvm \
         PATH, but it is built with link-time optimisation: much of what must be watched is inlined in it, and little is judged"
    )]
    TooOldForRust {
        /// rustc's LLVM.
        needed: u32,
        /// The versions there are.
        found: String,
    },
    /// A file of a kind we do not know.
    #[error("{}: expected LLVM IR (.ll, .bc), C (.c) or Rust (.rs)", path.display())]
    UnknownInput {
        /// The file.
        path: PathBuf,
    },
    /// A directory without tests.
    #[error("no test below {} has a RUN line with {wanted}", path.display())]
    NoTests {
        /// The directory.
        path: PathBuf,
        /// The passes asked for.
        wanted: String,
    },
    /// `--per-pass` needs the passes behind a name like `default<O2>`.
    #[error("cannot expand the pipeline `{pipeline}`: {reason}")]
    Expand {
        /// The pipeline.
        pipeline: String,
        /// Why not.
        reason: String,
    },
}
