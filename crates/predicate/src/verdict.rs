//! Questions and answers: what a predicate is asked with, and what it says.

use std::time::Duration;

use candor_toolchain::{Compiler, Program};

use crate::Error;

/// One build to ask about.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The compiler.
    pub compiler: &'a Compiler,
    /// Its flags.
    pub flags: Vec<String>,
}

/// Bounds of what a predicate does for one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// For one run of a program.
    pub run: Duration,
    /// CPU time of one compiler call.
    pub compile: Duration,
    /// For one run of the user's own command.
    pub command: Duration,
    /// Whether sanitizers judge programs whose run-time behaviour matters.
    pub sanitize: bool,
    /// Barrier calls looked at per run.
    pub max_stops: u64,
    /// Whether a run that reaches that limit is refused, as one that does not end.
    pub whole_runs: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            run: Duration::from_secs(5),
            compile: Duration::from_secs(60),
            command: Duration::from_secs(300),
            sanitize: true,
            max_stops: 20_000,
            whole_runs: false,
        }
    }
}

/// What bears a claim out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// In words.
    pub seen: String,
    /// Where the variable was looked at, for claims about one.
    pub line: Option<u32>,
    /// The variable with its path, for claims about one.
    pub variable: Option<String>,
    /// In which way, for miscompilations.
    pub manner: Option<crate::Manner>,
    /// Barrier calls of the run, for claims about debug information.
    pub stops: Option<u64>,
    /// CPU time of the compiler call under test.
    pub compile: Duration,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim holds.
    Holds(Evidence),
    /// It does not; what was seen instead.
    Fails(String),
    /// The program must not blame anyone: it does not compile, or its behaviour is undefined.
    Invalid(String),
    /// Could not be told (a limit, most often).
    Undecided(String),
}

impl Verdict {
    /// Whether the claim holds.
    pub fn holds(&self) -> bool {
        matches!(self, Verdict::Holds(_))
    }

    /// One word for tables and files.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds(_) => "holds",
            Verdict::Fails(_) => "fails",
            Verdict::Invalid(_) => "invalid",
            Verdict::Undecided(_) => "undecided",
        }
    }

    /// What was seen.
    pub fn words(&self) -> &str {
        match self {
            Verdict::Holds(evidence) => &evidence.seen,
            Verdict::Fails(words) | Verdict::Invalid(words) | Verdict::Undecided(words) => words,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name(), self.words())
    }
}

/// Why a program cannot be asked about at all, whatever the build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It must not blame anyone.
    Invalid(String),
    /// Could not be told.
    Undecided(String),
}

impl From<Rejection> for Verdict {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Invalid(words) => Verdict::Invalid(words),
            Rejection::Undecided(words) => Verdict::Undecided(words),
        }
    }
}

/// One claim, asked of programs.
pub trait Predicate: Sync {
    /// Does all that depends on the text alone: for asking about many builds of one program.
    fn prepare<'p>(
        &'p self,
        program: &'p Program,
    ) -> Result<Result<Box<dyn Prepared + 'p>, Rejection>, Error>;

    /// Asks about one build of one program. Made to say no quickly.
    fn test(&self, program: &Program, setup: &Setup<'_>) -> Result<Verdict, Error> {
        match self.prepare(program)? {
            Ok(prepared) => prepared.test(setup),
            Err(rejection) => Ok(rejection.into()),
        }
    }

    /// Takes the warnings that `program` has already as no sign of anything: only new ones count.
    fn accept_warnings_of(&mut self, _program: &Program) -> Result<(), Error> {
        Ok(())
    }
}

/// One claim about one program, asked of builds. Builds with identical code are looked at once.
pub trait Prepared: Sync {
    /// Asks about one build.
    fn test(&self, setup: &Setup<'_>) -> Result<Verdict, Error>;

    /// The text that is compiled, where it is not the program's own (barriers were added).
    fn text(&self) -> Option<&str> {
        None
    }
}
