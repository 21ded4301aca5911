//! The SMT solver: a process behind SMT-LIB text, with a time limit per question and answers kept by content.
//!
//! *Why a process:* a solver that hangs, crashes or answers "unknown" costs one question, not the run, and
//! another solver can be asked the same. *Why text as the key:* equal questions of different functions and
//! runs are equal texts.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use candor_toolchain::{Job, JobDirectory, Limits, Sandbox, Scratch, Session};
use rustc_hash::FxHashMap;

use crate::Error;

/// What a solver says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No counterexample: the goal follows.
    Unsat,
    /// There is a counterexample.
    Sat,
    /// It could not tell, and why.
    Unknown(String),
}

/// Questions asked and time used.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Questions that reached a solver or its cache.
    pub queries: u64,
    /// Of these, answered from the cache.
    pub cached: u64,
    /// Time spent waiting for the solver.
    pub time: Duration,
    /// The longest wait.
    pub slowest: Duration,
    /// Questions that a guessed state answered, so that no solver was asked.
    pub refuted: u64,
    /// Questions without an answer.
    pub unknown: u64,
    /// Why the last of them had none.
    pub last_unknown: Option<String>,
}

/// Whoever answers questions.
pub trait Decide: Send {
    /// Is the script unsatisfiable?
    fn ask(&mut self, script: &str, statistics: &mut Statistics) -> Answer;
}

/// Which solver, and how long it may take.
#[derive(Clone, Debug)]
pub struct SolverSettings {
    /// The command: `z3`, `cvc5`, `bitwuzla`, or a path to one of them.
    pub command: PathBuf,
    /// Time for one question.
    pub timeout: Duration,
}

impl Default for SolverSettings {
    fn default() -> Self {
        SolverSettings {
            command: PathBuf::from("z3"),
            timeout: Duration::from_secs(10),
        }
    }
}

/// Answers by content, shared by all functions of a run. Only proofs and counterexamples are kept.
pub type Cache = Arc<Mutex<FxHashMap<String, bool>>>;

/// A solver process, restarted when it is lost.
pub struct Solver {
    sandbox: Sandbox,
    directory: JobDirectory,
    settings: SolverSettings,
    session: Option<Session>,
    cache: Cache,
}

/// How long a solver may take to start: a loaded machine is not its fault.
const START: Duration = Duration::from_secs(60);

/// Arguments that make a solver read SMT-LIB from its input.
const ARGUMENTS: [(&str, &[&str]); 3] = [
    ("z3", &["-in", "-smt2"]),
    ("cvc5", &["--incremental", "--lang=smt2"]),
    ("bitwuzla", &[]),
];

impl Solver {
    /// A solver that will be started with the first question; fails if there is no such command.
    pub fn new(
        sandbox: &Sandbox,
        scratch: &Scratch,
        settings: &SolverSettings,
        cache: &Cache,
    ) -> Result<Self, Error> {
        let mut solver = Solver {
            sandbox: sandbox.clone(),
            directory: scratch.job()?,
            settings: settings.clone(),
            session: None,
            cache: cache.clone(),
        };
        // a missing or foreign command is told now, not as a hundred unanswered questions
        match solver.question("(check-sat)\n", START)? {
            Some(answer) if answer == "sat" => Ok(solver),
            other => Err(Error::Solver {
                command: settings.command.display().to_string(),
                reason: match other {
                    Some(answer) => format!("it answered `{answer}` to an empty question"),
                    None => format!(
                        "it did not answer an empty question within {} s",
                        START.as_secs()
                    ),
                },
            }),
        }
    }

    fn question(&mut self, script: &str, time: Duration) -> Result<Option<String>, Error> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.start()?,
        };
        let answer = session.ask(&format!("{script}(reset)\n"), time)?;
        if answer.is_some() {
            self.session = Some(session);
        }
        Ok(answer)
    }

    fn start(&self) -> Result<Session, Error> {
        let name = self.settings.command.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let arguments = ARGUMENTS
            .iter()
            .find(|(known, _)| name.starts_with(known))
            .map_or(&["-in"][..], |(_, arguments)| arguments);
        let job = Job::new(&self.settings.command, self.directory.path()).args(arguments);
        let limits = Limits {
            memory: Some(2 << 30),
            // one process answers thousands of questions, each with its own deadline
            cpu: Duration::from_secs(3600),
            ..Limits::program()
        };
        Ok(self.sandbox.session(&job, &limits)?)
    }
}

impl Decide for Solver {
    fn ask(&mut self, script: &str, statistics: &mut Statistics) -> Answer {
        statistics.queries += 1;
        if let Ok(cache) = self.cache.lock()
            && let Some(unsat) = cache.get(script)
        {
            statistics.cached += 1;
            return if *unsat { Answer::Unsat } else { Answer::Sat };
        }
        let started = Instant::now();
        let answer = self.question(script, self.settings.timeout);
        let took = started.elapsed();
        statistics.time += took;
        statistics.slowest = statistics.slowest.max(took);
        let unsat = match answer {
            Ok(Some(line)) => match line.as_str() {
                "unsat" => true,
                "sat" => false,
                other => return Answer::Unknown(format!("the solver answered `{other}`")),
            },
            Ok(None) => {
                return Answer::Unknown(format!(
                    "the solver did not answer within {:.1} s",
                    self.settings.timeout.as_secs_f64()
                ));
            }
            Err(error) => return Answer::Unknown(error.to_string()),
        };
        if let Ok(mut cache) = self.cache.lock() {
            cache.insert(script.to_owned(), unsat);
        }
        if unsat { Answer::Unsat } else { Answer::Sat }
    }
}
