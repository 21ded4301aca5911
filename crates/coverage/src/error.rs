//! What can stop this crate.

use std::path::PathBuf;

/// What can stop coverage.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process or a file.
    #[error(transparent)]
    Toolchain(#[from] candor_toolchain::Error),
    /// The coverage compiler's debug information.
    #[error("the debug information of {program} cannot be read: {source}", program = program.display())]
    Dwarf {
        /// The program.
        program: PathBuf,
        /// Why.
        source: candor_dwarf::Error,
    },
    /// The directory is not what `--prepare` leaves.
    #[error("{directory} holds no coverage compiler: {reason}; make one with `candor isolate --prepare`", directory = directory.display())]
    NotPrepared {
        /// The directory.
        directory: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Coverage of one compiler says nothing about another.
    #[error("the coverage compiler in {directory} is {have}, but the bug is of {wanted}; prepare one from the sources of that release", directory = directory.display())]
    OtherCompiler {
        /// The directory.
        directory: PathBuf,
        /// What it is.
        have: String,
        /// What it would have to be.
        wanted: String,
    },
    /// The source tree is not one of the compiler asked for.
    #[error("{directory} is no source tree of {recipe}: {expected} is missing", directory = directory.display())]
    Source {
        /// Of what.
        recipe: String,
        /// The directory.
        directory: PathBuf,
        /// The file expected in it.
        expected: String,
    },
    /// Something that a build needs is not installed.
    #[error(
        "building {recipe} for coverage needs {missing}; install with: apt-get install {packages}"
    )]
    Missing {
        /// What is built.
        recipe: String,
        /// What is not there.
        missing: String,
        /// Debian's packages.
        packages: String,
    },
    /// Not enough room.
    #[error("{directory} has {free} MB free, but building {recipe} for coverage needs {needed} MB; choose another directory with -o", directory = directory.display())]
    Disk {
        /// Where.
        directory: PathBuf,
        /// What is built.
        recipe: String,
        /// Megabytes there are.
        free: u64,
        /// Megabytes needed.
        needed: u64,
    },
    /// The directory belongs to another build.
    #[error("{directory} was begun for {met}; give another directory with -o, or remove it", directory = directory.display())]
    Begun {
        /// The directory.
        directory: PathBuf,
        /// What it was begun for.
        met: String,
    },
    /// A step of a build failed.
    #[error("{step} failed ({ending}); the log is {log} and ends with:\n{tail}", log = log.display())]
    Step {
        /// Which.
        step: String,
        /// How.
        ending: String,
        /// Where its output is.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// The program records nothing.
    #[error("{program} does not record coverage: it has no call of {symbol}", program = program.display())]
    NotInstrumented {
        /// The program.
        program: PathBuf,
        /// The function it should call.
        symbol: &'static str,
    },
    /// The program's code is larger than the run-time's map.
    #[error("{program} has {size} MB of code, more than the run-time records ({span} MB)", program = program.display())]
    TooLarge {
        /// The program.
        program: PathBuf,
        /// Its code in megabytes.
        size: u64,
        /// The run-time's map.
        span: u64,
    },
    /// A compilation left coverage of another program.
    #[error(
        "coverage of {met} bytes was written, but the map has {expected}; prepare the compiler anew"
    )]
    Mismatch {
        /// Bytes met.
        met: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// A file of this or another tool cannot be read.
    #[error("{path}:{line}: {reason}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Where in it.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

impl Error {
    /// Whether the user asked to stop.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Error::Toolchain(candor_toolchain::Error::Interrupted))
    }
}
