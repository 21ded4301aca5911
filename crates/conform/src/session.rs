//! Running tests: requests to the workers of the llvm crate and what comes back.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_llvm::{Ending, Engine, Library, Limits, Loading, Pool, Refusal, Run};

use crate::Error;
use crate::judge::{Explanation, Judgement, explain, judge};
use crate::update::Rule;

/// What a worker is asked.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
enum Request<'a> {
    Judge(Cow<'a, Run>),
    Explain {
        run: Cow<'a, Run>,
        number: u32,
        rule: Rule,
    },
    Transform(Cow<'a, Run>),
    Text(Cow<'a, Run>),
    PassNames,
}

/// What it answers.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
enum Answer {
    Judged(Judgement),
    Explained(Option<Explanation>),
    Transformed { before: String, after: String },
    Text(String),
    PassNames(Vec<String>),
    Refused(Refusal),
}

/// Runs in a child of a worker.
fn work(engine: &Engine, request: &[u8]) -> Vec<u8> {
    let answer = match serde_json::from_slice(request) {
        Ok(Request::Judge(run)) => engine.trace(&run, judge).map(Answer::Judged),
        Ok(Request::Explain { run, number, rule }) => engine
            .trace(&run, |trace, _| explain(trace, number, rule))
            .map(Answer::Explained),
        Ok(Request::Transform(run)) => engine
            .transform(&run)
            .map(|(before, after)| Answer::Transformed { before, after }),
        Ok(Request::Text(run)) => engine.text(&run).map(Answer::Text),
        Ok(Request::PassNames) => engine
            .pass_names()
            .map(Answer::PassNames)
            .map_err(Refusal::BadPipeline),
        Err(error) => Err(Refusal::BadInput(error.to_string())),
    };
    serde_json::to_vec(&answer.unwrap_or_else(Answer::Refused)).unwrap_or_default()
}

/// What became of one test.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "detail")]
pub enum Outcome {
    /// It ran and was judged.
    Judged(Judgement),
    /// The library refused it.
    Refused(Refusal),
    /// It crashed, looped, exited or exhausted memory.
    Ended(Ending),
    /// Ctrl-C came first.
    NotRun,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Judged(judgement) => {
                write!(f, "{} destinations were judged", judgement.destinations)
            }
            Outcome::Refused(refusal) => write!(f, "{refusal}"),
            Outcome::Ended(ending) => write!(f, "{ending}"),
            Outcome::NotRun => f.write_str("it was not run"),
        }
    }
}

/// Workers that hold one library.
#[derive(Debug)]
pub struct Session {
    /// The library.
    pub library: Library,
    pool: Pool,
}

impl Session {
    /// Starts `jobs` workers.
    pub fn start(library: Library, jobs: usize, limits: Limits) -> Result<Self, Error> {
        let pool = Pool::start(&library, jobs, limits, Loading::Watched, work)?;
        Ok(Session { library, pool })
    }

    /// Starts `jobs` workers for more than a hundred runs or so: loading takes longer, each run less.
    pub fn start_for_many(library: Library, jobs: usize, limits: Limits) -> Result<Self, Error> {
        let pool = Pool::start(&library, jobs, limits, Loading::Resident, work)?;
        Ok(Session { library, pool })
    }

    /// The passes the library has.
    pub fn pass_names(&self) -> Result<BTreeSet<String>, Error> {
        match self.ask(0, &Request::PassNames, &|| false)? {
            Ok(Answer::PassNames(names)) => Ok(names.into_iter().collect()),
            Ok(Answer::Refused(refusal)) => Err(Error::Answer {
                reason: refusal.to_string(),
            }),
            Ok(_) => Err(mixed_up()),
            Err(ending) => Err(Error::Answer {
                reason: ending.to_string(),
            }),
        }
    }

    /// Judges every run, on all workers; `done` is called after each. Results are in the order given.
    pub fn judge_all(
        &self,
        runs: &[Run],
        interrupted: &(dyn Fn() -> bool + Sync),
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Outcome>, Error> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; runs.len()]);
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for worker in 0..self.pool.workers() {
                let (next, results, failure) = (&next, &results, &failure);
                scope.spawn(move || {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(run) = runs.get(index) else { break };
                        if interrupted() || lock(failure).is_some() {
                            break;
                        }
                        match self.judge(worker, run, interrupted) {
                            Ok(outcome) => {
                                if let Some(place) = lock(results).get_mut(index) {
                                    *place = Some(outcome);
                                }
                            }
                            Err(Error::Llvm(candor_llvm::Error::Interrupted)) => break,
                            Err(error) => {
                                *lock(failure) = Some(error);
                                break;
                            }
                        }
                        done(index);
                    }
                });
            }
        });
        if let Some(error) = failure
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
        {
            return Err(error);
        }
        let results = results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(results
            .into_iter()
            .map(|outcome| outcome.unwrap_or(Outcome::NotRun))
            .collect())
    }

    /// Judges one run.
    pub fn judge(
        &self,
        worker: usize,
        run: &Run,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Outcome, Error> {
        match self.ask(worker, &Request::Judge(Cow::Borrowed(run)), interrupted)? {
            Ok(Answer::Judged(judgement)) => Ok(Outcome::Judged(judgement)),
            Ok(Answer::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
            Ok(_) => Err(mixed_up()),
            Err(ending) => Ok(Outcome::Ended(ending)),
        }
    }

    /// Explains one update of a run.
    pub fn explain(
        &self,
        run: &Run,
        number: u32,
        rule: Rule,
    ) -> Result<Option<Explanation>, Error> {
        let request = Request::Explain {
            run: Cow::Borrowed(run),
            number,
            rule,
        };
        match self.ask(0, &request, &|| false)? {
            Ok(Answer::Explained(explanation)) => Ok(explanation),
            Ok(Answer::Refused(_)) | Err(_) => Ok(None),
            Ok(_) => Err(mixed_up()),
        }
    }

    /// Input (with locations) and output of a run as text; an outcome if it came to nothing.
    pub fn transform(&self, run: &Run) -> Result<Result<(String, String), Outcome>, Error> {
        match self.ask(0, &Request::Transform(Cow::Borrowed(run)), &|| false)? {
            Ok(Answer::Transformed { before, after }) => Ok(Ok((before, after))),
            Ok(Answer::Refused(refusal)) => Ok(Err(Outcome::Refused(refusal))),
            Ok(_) => Err(mixed_up()),
            Err(ending) => Ok(Err(Outcome::Ended(ending))),
        }
    }

    /// The run with its input as text, if that is bitcode and the library can read it.
    pub fn with_text(&self, run: Run) -> Result<Run, Error> {
        if std::str::from_utf8(&run.input).is_ok() {
            return Ok(run);
        }
        match self.ask(0, &Request::Text(Cow::Borrowed(&run)), &|| false)? {
            Ok(Answer::Text(text)) => Ok(Run {
                input: text.into_bytes(),
                ..run
            }),
            Ok(Answer::Refused(_)) | Err(_) => Ok(run),
            Ok(_) => Err(mixed_up()),
        }
    }

    fn ask(
        &self,
        worker: usize,
        request: &Request<'_>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Result<Answer, Ending>, Error> {
        let wrong = |error: serde_json::Error| Error::Answer {
            reason: error.to_string(),
        };
        let request = serde_json::to_vec(request).map_err(wrong)?;
        match self.pool.run(worker, &request, interrupted)? {
            Ending::Answered { answer } => Ok(Ok(serde_json::from_slice(&answer).map_err(wrong)?)),
            other => Ok(Err(other)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn mixed_up() -> Error {
    Error::Answer {
        reason: "it answers another question".to_owned(),
    }
}
