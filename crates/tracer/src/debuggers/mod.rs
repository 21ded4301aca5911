//! Installed debuggers: found, asked in one batch session for many values, and given command files that a
//! person can run.
//!
//! A debugger confirms what the native engine saw, or is itself at fault: it may crash, hang or print a value
//! that the debug information does not give. All of that is an outcome here. Sessions run in the toolchain's
//! sandbox, so that neither a debugger nor its inferior outlives the time limit.

mod answer;
mod discover;
mod gdb;
mod lldb;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use candor_dwarf::{Image, LeafKey, Svma};
use candor_toolchain::{Ending, Finished, Job, Limits, Sandbox, Scratch};
use serde_json::json;

pub use answer::Answer;

use crate::error::{Error, Result};
use crate::launch::{Input, Launch};

/// Which debugger it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DebuggerKind {
    /// The GNU debugger.
    Gdb,
    /// LLVM's debugger.
    Lldb,
}

/// An installed debugger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debugger {
    /// Which it is.
    pub kind: DebuggerKind,
    /// The program.
    pub path: PathBuf,
    /// What it calls itself, such as `GNU gdb (Debian 13.1-3) 13.1`.
    pub version: String,
}

/// A place in a run, and the leaves to be shown there.
#[derive(Clone, Debug)]
pub struct Query {
    /// The address to stop at, before its instruction.
    pub pc: Svma,
    /// Which visit of that address, from 1 ([`Stop::visit`](crate::Stop::visit)).
    pub visit: u32,
    /// What to show. Queries that share this list are answered faster.
    pub leaves: Arc<[LeafKey]>,
}

/// What gdb says of a program that never ran.
const NOT_STARTED: &str = "During startup program ";

/// A frame of a debugger's backtrace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedFrame {
    /// The function; empty where the debugger knows none.
    pub function: String,
    /// The line; 0 where the debugger knows none.
    pub line: u32,
}

impl std::fmt::Display for TracedFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} line {}", self.function, self.line)
    }
}

/// How a debugger session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionOutcome {
    /// The debugger did what it was asked; a query whose place was not reached is answered so.
    Finished,
    /// The debugger died or gave up; its last words. Answers given before that are kept.
    Crashed(String),
    /// Its time was over.
    TimedOut,
}

/// One debugger session.
#[derive(Clone, Debug)]
pub struct Session {
    /// How it ended.
    pub outcome: SessionOutcome,
    /// Per query, per leaf, in the order asked.
    pub answers: Vec<Vec<Answer>>,
    /// Per query, where asked for and reached: the frames, innermost first, inlined functions included. Frames that
    /// the debugger makes up for tail calls are left out.
    pub backtraces: Vec<Option<Vec<TracedFrame>>>,
    /// Time the session took.
    pub wall: Duration,
    /// Processor time of the debugger and its program.
    pub cpu: Duration,
}

impl Debugger {
    /// Runs the program once under the debugger and answers all queries, within `limit`.
    pub fn ask(
        &self,
        sandbox: &Sandbox,
        image: &Image,
        launch: &Launch,
        queries: &[Query],
        limit: Duration,
    ) -> Result<Session> {
        self.backtraces(sandbox, image, launch, queries, 0, limit)
    }

    /// The same, and at each query so many frames of the backtrace.
    pub fn backtraces(
        &self,
        sandbox: &Sandbox,
        image: &Image,
        launch: &Launch,
        queries: &[Query],
        frames: usize,
        limit: Duration,
    ) -> Result<Session> {
        let folder = session_folder()?;
        let subject = Subject::prepare(launch, folder.path())?;
        let script = match self.kind {
            DebuggerKind::Gdb => gdb::SESSION,
            DebuggerKind::Lldb => lldb::SESSION,
        };
        let script_path = folder.path().join("session.py");
        write(&script_path, script.as_bytes())?;
        let request = self.request(image, &subject, queries, frames);
        write(
            &folder.path().join("request.json"),
            request.to_string().as_bytes(),
        )?;

        let mut job = Job::new(&self.path, folder.path())
            .writable(&launch.directory)
            .env("SHELL", "/bin/sh");
        job = match self.kind {
            DebuggerKind::Gdb => job.args(gdb::arguments(&script_path, &subject.program)),
            DebuggerKind::Lldb => job.args(lldb::arguments(&script_path)),
        };
        let mut limits = Limits::compiler();
        limits.wall = limit;
        limits.cpu = limit;
        limits.memory = Some(16 << 30);
        let finished = sandbox.run(&job, &limits)?;
        self.conclude(image, queries, folder.path(), &finished)
    }

    /// The command file that shows one leaf to a person: `gdb -nx -batch -x FILE PROGRAM` or
    /// `lldb --no-lldbinit --batch -s FILE PROGRAM`. `stdin` is the file the program reads, if any.
    pub fn commands(
        &self,
        image: &Image,
        launch: &Launch,
        query: &Query,
        stdin: Option<&Path>,
    ) -> String {
        match self.kind {
            DebuggerKind::Gdb => gdb::commands(image, launch, query, stdin),
            DebuggerKind::Lldb => lldb::commands(launch, query, stdin),
        }
    }

    fn request(
        &self,
        image: &Image,
        subject: &Subject,
        queries: &[Query],
        frames: usize,
    ) -> serde_json::Value {
        let mut lists: Vec<serde_json::Value> = Vec::new();
        let mut index: HashMap<*const LeafKey, usize> = HashMap::new();
        let queries: Vec<_> = queries
            .iter()
            .map(|query| {
                let list = *index.entry(query.leaves.as_ptr()).or_insert_with(|| {
                    lists.push(query.leaves.iter().map(leaf_request).collect());
                    lists.len() - 1
                });
                json!([query.pc.0, query.visit, list])
            })
            .collect();
        json!({
            "program": subject.program.to_string_lossy(),
            "arguments": subject.arguments,
            "environment": subject.environment,
            "directory": subject.directory.to_string_lossy(),
            "stdin": subject.stdin.to_string_lossy(),
            "settings": gdb::settings(subject),
            "redirections": gdb::redirections(&subject.arguments, &subject.stdin),
            "entry": image.entry().0,
            "leaves": lists,
            "frames": frames,
            "queries": queries,
        })
    }

    fn conclude(
        &self,
        image: &Image,
        queries: &[Query],
        folder: &Path,
        finished: &Finished,
    ) -> Result<Session> {
        let mut answers: Vec<Vec<Answer>> = queries
            .iter()
            .map(|query| vec![Answer::NotReached; query.leaves.len()])
            .collect();
        let mut backtraces: Vec<Option<Vec<TracedFrame>>> = vec![None; queries.len()];
        let mut bias = 0;
        let mut ended = false;
        let mut failed = None;
        let file = std::fs::File::open(folder.join("answers.jsonl"));
        for line in file
            .into_iter()
            .flat_map(|file| BufReader::new(file).lines())
        {
            // A debugger that dies may leave half a line.
            let Some(json) = line
                .ok()
                .and_then(|line| serde_json::from_str::<serde_json::Value>(&line).ok())
            else {
                continue;
            };
            if let Some(moved) = json["bias"].as_i64() {
                bias = moved as u64;
            } else if let Some(text) = json["failed"].as_str() {
                failed = Some(text.to_owned());
            } else if json["end"].as_bool() == Some(true) {
                ended = true;
            } else {
                let query = json[0].as_u64().map(|query| query as usize);
                let slots = query.and_then(|query| answers.get_mut(query));
                let given = json[1].as_array();
                if let Some(slot) = query.and_then(|query| backtraces.get_mut(query)) {
                    *slot = json[2].as_array().map(|frames| traced(frames));
                }
                for (slot, answer) in slots.into_iter().flatten().zip(given.into_iter().flatten()) {
                    *slot = Answer::parse(answer, image, bias).unwrap_or_else(|| {
                        Answer::Error(format!("cannot read the answer {answer}"))
                    });
                }
            }
        }
        let said = format!("{}{}", finished.stdout_text(), finished.stderr_text());
        if !ended
            && (said.contains("Python scripting is not supported")
                || said.contains("no embedded script interpreter"))
        {
            return Err(Error::NoPython {
                path: self.path.clone(),
            });
        }
        // the program did not start, for reasons of the surroundings: nothing the debugger did wrong
        let not_started = failed.as_ref().filter(|text| text.contains(NOT_STARTED));
        if let Some(text) = not_started {
            for slot in answers.iter_mut().flatten() {
                *slot = Answer::Error(text.clone());
            }
        }
        let outcome = match (finished.ending, failed) {
            (ending, _) if ending.timed_out() => SessionOutcome::TimedOut,
            (_, Some(text)) if text.contains(NOT_STARTED) => SessionOutcome::Finished,
            (_, Some(text)) => SessionOutcome::Crashed(text),
            (Ending::Exited(_), None) if ended => SessionOutcome::Finished,
            (ending, None) => SessionOutcome::Crashed(last_words(&said, ending)),
        };
        Ok(Session {
            outcome,
            answers,
            backtraces,
            wall: finished.wall,
            cpu: finished.cpu,
        })
    }
}

/// A program to be debugged, in the form both debuggers take it.
struct Subject {
    program: PathBuf,
    arguments: Vec<String>,
    /// `NAME=value`.
    environment: Vec<String>,
    directory: PathBuf,
    stdin: PathBuf,
}

impl Subject {
    fn prepare(launch: &Launch, folder: &Path) -> Result<Self> {
        let stdin = match &launch.input {
            Input::Empty => PathBuf::from("/dev/null"),
            Input::Bytes(bytes) => {
                let path = folder.join("stdin");
                write(&path, bytes)?;
                path
            }
        };
        let program = std::fs::canonicalize(&launch.program).map_err(|source| Error::Start {
            program: launch.program.clone(),
            source,
        })?;
        Ok(Subject {
            program,
            arguments: launch.arguments.iter().map(|word| lossy(word)).collect(),
            environment: environment(launch),
            directory: launch.directory.clone(),
            stdin,
        })
    }
}

fn environment(launch: &Launch) -> Vec<String> {
    launch
        .environment
        .iter()
        .map(|(name, value)| format!("{}={}", lossy(name), lossy(value)))
        .collect()
}

fn lossy(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

fn traced(frames: &[serde_json::Value]) -> Vec<TracedFrame> {
    let frame = |json: &serde_json::Value| TracedFrame {
        function: json[0].as_str().unwrap_or_default().to_owned(),
        line: json[1]
            .as_u64()
            .and_then(|line| u32::try_from(line).ok())
            .unwrap_or(0),
    };
    frames.iter().map(frame).collect()
}

fn leaf_request(leaf: &LeafKey) -> serde_json::Value {
    json!([
        &*leaf.variable,
        &*leaf.path,
        leaf.function.as_deref(),
        leaf.decl_line.0,
        leaf.depth
    ])
}

/// What a debugger that died said about it.
fn last_words(said: &str, ending: Ending) -> String {
    let telling = [
        "internal-error",
        "Fatal signal",
        "Assertion",
        "PLEASE submit a bug report",
        "Traceback",
    ];
    let line = said
        .lines()
        .find(|line| telling.iter().any(|words| line.contains(words)))
        .or_else(|| said.lines().rev().find(|line| !line.trim().is_empty()))
        .unwrap_or("no message");
    format!("{ending}: {}", line.trim())
}

/// Where a session's files go; what a killed candor leaves of it is swept by the next one.
fn session_folder() -> Result<Scratch> {
    Ok(Scratch::new()?)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|source| Error::Prepare {
        what: "the files of a debugger session",
        source,
    })
}
