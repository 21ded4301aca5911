//! What can go wrong in this crate, in sentences a user can act on.

use std::path::PathBuf;

/// Errors of the llvm crate. What a pass does to a test (it aborts, loops, refuses) is no error but an
/// [`crate::Ending`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No library of the wanted version.
    #[error(
        "no libLLVM {wanted} was found (there is: {found}); install it (Debian: apt-get install libllvm{wanted}), fetch it (scripts/llvm-library.sh {wanted}) or give its path (--llvm PATH)"
    )]
    NotInstalled {
        /// The version asked for.
        wanted: u32,
        /// The versions found.
        found: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file that is not an x86-64 ELF library.
    #[error("{} is not an x86-64 shared library: {reason}", path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// A library whose version cannot be told.
    #[error(
        "{}: neither its name nor its soname ({soname}) says which LLVM it is; expected something like libLLVM-16.so.1 or libLLVM.so.19.1",
        path.display()
    )]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// What it calls itself.
        soname: String,
    },
    /// Functions that must be watched are not exported.
    #[error(
        "{} (LLVM {version}) cannot be watched: it does not export {}; expected a libLLVM built as a shared library with its C++ symbols (Debian's libllvm packages are)",
        path.display(), missing.join(", ")
    )]
    MissingSymbols {
        /// The library.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// What is missing, as patterns of mangled names.
        missing: Vec<String>,
    },
    /// The library could not be loaded or prepared in a worker.
    #[error("cannot use {}: {reason}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A system call of ours failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// The action, as a verb phrase.
        doing: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A worker ended by itself.
    #[error(
        "a worker that held {} ended unexpectedly ({detail}); run again with --jobs 1 to see which test does it",
        path.display()
    )]
    WorkerDied {
        /// The library.
        path: PathBuf,
        /// How.
        detail: String,
    },
    /// What went between us and a worker cannot be understood.
    #[error("a worker's answer cannot be read: {reason}")]
    Protocol {
        /// Why.
        reason: String,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// A static archive that cannot be read.
    #[error("cannot read the archive {}: {reason}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A pass source that cannot be recompiled.
    #[error("cannot recompile {}: {reason}", path.display())]
    Recompile {
        /// The source file.
        path: PathBuf,
        /// The compiler's words.
        reason: String,
    },
    /// The toolchain crate's errors.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
}
