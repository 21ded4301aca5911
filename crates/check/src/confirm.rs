//! Before anything is reported: the shadow program and real debuggers are asked. Blame follows.
//!
//! The paper's definition of a bug is DBG(P', A) ≠ PRINT(P, s, v) (§4.4): here PRINT is the shadow
//! program, DBG is gdb and lldb at the same address and visit, and both must bear out what the native
//! engine saw. Whatever does not hold together is *undecided*, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use candor_dwarf::{Image, Observation};
use candor_toolchain::{Compiler, Program};
use candor_tracer::{Answer, Debugger, DebuggerKind, Query, SessionOutcome};

use crate::compare::{Candidate, Spot, Suspect, VariableName};
use crate::finding::{Finding, Kind, Place, Row, Signature, Undecided, relation};
use crate::plan::{Plan, PointChoice};
use crate::rounds::Round;
use crate::run::Replay;
use crate::rust_shadow::{self, RustShadows};
use crate::shadow::{Form, Printed, Question, Shadows};
use crate::truth::launch;
use crate::workshop::{Executable, Workshop};
use crate::{Error, Settings};

/// An optimised build that was compared, with what seems wrong in it.
pub struct Compared<'a> {
    /// With what it was built.
    pub compiler: &'a Compiler,
    /// Its level.
    pub level: String,
    /// Which way of looking it is of.
    pub round: Round,
    /// Its barriers.
    pub plan: &'a Plan,
    /// The same as a choice, to be replayed.
    pub points: PointChoice,
    /// The counts.
    pub row: Row,
    /// What seems wrong.
    pub suspects: Vec<Suspect>,
    /// Variables of which a value was shown and compared: function, name, line.
    pub variables: BTreeSet<VariableName>,
    /// Lines where one was.
    pub lines: BTreeSet<u32>,
    /// Time that building and comparing took.
    pub time: Duration,
    /// Values that are shown and not compared, by reason.
    pub not_compared: BTreeMap<String, usize>,
    /// The build, kept while there are suspects; its debug information is read again for them.
    pub build: Option<Executable>,
}

/// What confirmation needs besides the builds.
pub struct Court<'a> {
    /// Runs debuggers.
    pub workshop: &'a Workshop<'a>,
    /// The program.
    pub program: &'a Program,
    /// Its points.
    pub plan: &'a Plan,
    /// Limits.
    pub settings: &'a Settings,
    /// Who is asked.
    pub debuggers: &'a [Debugger],
    /// The command that shows a finding again, given compiler and level.
    pub replay: &'a Replay<'a>,
}

/// Who asks the program itself.
pub enum Printer<'a> {
    /// Print statements in C, under sanitizers.
    C(Shadows<'a>),
    /// Print statements in Rust, under the borrow checker.
    Rust(RustShadows<'a>),
}

/// Short names for reports: `gdb`, `lldb`.
pub fn debugger_name(debugger: &Debugger) -> String {
    match debugger.kind {
        DebuggerKind::Gdb => "gdb".into(),
        DebuggerKind::Lldb => "lldb".into(),
    }
}

/// The findings that a suspect comes to, or why it cannot be decided.
pub type Verdict = Result<Vec<Finding>, Undecided>;

/// What one debugger said about one candidate, or how it died on it.
pub(crate) enum Said {
    Answer(Answer),
    Died(String),
}

impl Court<'_> {
    /// Decides some suspects of one build, in their order: what was found, or why nothing can be said.
    pub fn decide(
        &self,
        compared: &Compared<'_>,
        suspects: &[&Suspect],
        shadows: &mut Printer<'_>,
    ) -> Result<Vec<Verdict>, Error> {
        let Some(executable) = &compared.build else {
            return Ok(Vec::new());
        };
        let image = &Image::open(&executable.path)?;
        let mut verdicts: Vec<Option<Verdict>> = suspects.iter().map(|_| None).collect();
        self.decide_frames(compared, suspects, (executable, image), &mut verdicts)?;
        let rounds = suspects
            .iter()
            .map(|suspect| suspect.candidates.len())
            .max()
            .unwrap_or(0);
        for round in 0..rounds {
            let asked: Vec<(usize, &Candidate)> = (0..)
                .zip(suspects)
                .filter(|(place, _)| !matches!(verdicts.get(*place), Some(Some(Ok(_)))))
                .filter_map(|(place, suspect)| Some((place, suspect.candidates.get(round)?)))
                .filter(|(_, candidate)| candidate.clue.is_none())
                .collect();
            if asked.is_empty() {
                break;
            }
            let candidates: Vec<&Candidate> = asked.iter().map(|(_, c)| *c).collect();
            let printed = self.print(&candidates, shadows)?;
            let said = self.ask(&candidates, executable, image)?;
            for ((place, candidate), (printed, said)) in
                asked.into_iter().zip(printed.into_iter().zip(said))
            {
                let (Some(suspect), Some(slot)) = (suspects.get(place), verdicts.get_mut(place))
                else {
                    continue;
                };
                match self.judge(compared, suspect, candidate, &printed, &said) {
                    Ok(found) => *slot = Some(Ok(found)),
                    // the first reason is the one to tell
                    Err(reason) if slot.is_none() => {
                        *slot = Some(Err(self.undecided(compared, candidate, reason)));
                    }
                    Err(_) => {}
                }
            }
        }
        let unseen = || Ok(Vec::new());
        Ok(verdicts
            .into_iter()
            .map(|verdict| verdict.unwrap_or_else(unseen))
            .collect())
    }

    fn print(
        &self,
        candidates: &[&Candidate],
        printer: &mut Printer<'_>,
    ) -> Result<Vec<Printed>, Error> {
        let mut answers = vec![Printed::Not("it cannot be printed there".into()); candidates.len()];
        let at_points = || {
            let places = candidates.iter().enumerate();
            // a variable further up is not in scope where the point is
            let here = places.filter(|(_, candidate)| candidate.key.depth == 0);
            here.filter_map(|(place, candidate)| Some((place, *candidate, candidate.spot.point?)))
        };
        let (places, printed): (Vec<usize>, Vec<Printed>) = match printer {
            Printer::C(shadows) => {
                let (places, questions): (Vec<usize>, Vec<Question>) = at_points()
                    .filter_map(|(place, candidate, point)| {
                        let question = Question {
                            point,
                            visit: candidate.spot.visit,
                            expression: candidate.key.to_string(),
                            form: Form::of(&candidate.leaf)?,
                        };
                        Some((place, question))
                    })
                    .unzip();
                (places, shadows.ask(&questions)?)
            }
            Printer::Rust(shadows) => {
                let (places, questions): (Vec<usize>, Vec<rust_shadow::Question>) = at_points()
                    .map(|(place, candidate, point)| {
                        let question = rust_shadow::Question {
                            point,
                            visit: candidate.spot.visit,
                            leaf: candidate.leaf.clone(),
                        };
                        (place, question)
                    })
                    .unzip();
                (places, shadows.ask(&questions)?)
            }
        };
        for (place, answer) in places.into_iter().zip(printed) {
            if let Some(slot) = answers.get_mut(place) {
                *slot = answer;
            }
        }
        Ok(answers)
    }

    /// Asks every debugger about every candidate, in one session each; what a session that died
    /// left open is asked again alone, so that the death is laid at the right door.
    fn ask(
        &self,
        candidates: &[&Candidate],
        executable: &Executable,
        image: &Image,
    ) -> Result<Vec<BTreeMap<String, Said>>, Error> {
        let launch = launch(executable, self.program, self.settings);
        let limit = self.settings.debugger_time();
        let queries: Vec<Query> = candidates.iter().map(|c| query(c)).collect();
        let ask_one = |debugger: &Debugger| -> Result<Vec<Said>, Error> {
            let ask = |queries: &[Query]| {
                debugger.ask(self.workshop.sandbox, image, &launch, queries, limit)
            };
            let session = ask(&queries)?;
            let died = session.outcome != SessionOutcome::Finished;
            let mut verdicts = Vec::new();
            for (place, query) in queries.iter().enumerate() {
                let answer = session.answers.get(place).and_then(|a| a.first()).cloned();
                verdicts.push(match answer {
                    Some(Answer::NotReached) | None if died => {
                        let alone = ask(std::slice::from_ref(query))?;
                        let answer = alone.answers.first().and_then(|a| a.first()).cloned();
                        match death(&alone.outcome) {
                            None => Said::Answer(answer.unwrap_or(Answer::NotReached)),
                            // it is the value only if the debugger gets there without it
                            Some(text)
                                if death(&ask(&[without_leaves(query)])?.outcome).is_none() =>
                            {
                                Said::Died(text)
                            }
                            Some(text) => Said::Answer(Answer::Error(format!(
                                "it does not work on this build at all: {text}"
                            ))),
                        }
                    }
                    answer => Said::Answer(answer.unwrap_or(Answer::NotReached)),
                });
            }
            Ok(verdicts)
        };
        // each waits for its own start most of the time
        let answers: Vec<Result<Vec<Said>, Error>> = if self.settings.jobs < 2 {
            self.debuggers.iter().map(ask_one).collect()
        } else {
            std::thread::scope(|scope| {
                let asked: Vec<_> = self
                    .debuggers
                    .iter()
                    .map(|debugger| scope.spawn(|| ask_one(debugger)))
                    .collect();
                let died = |_| Err(Error::unfit("a thread of candor died on it"));
                let join = asked
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(died));
                join.collect()
            })
        };
        let mut said: Vec<BTreeMap<String, Said>> =
            candidates.iter().map(|_| BTreeMap::new()).collect();
        for (debugger, answers) in self.debuggers.iter().zip(answers) {
            for (map, verdict) in said.iter_mut().zip(answers?) {
                map.insert(debugger_name(debugger), verdict);
            }
        }
        Ok(said)
    }

    /// The findings a candidate comes to, or why it stays undecided.
    fn judge(
        &self,
        compared: &Compared<'_>,
        suspect: &Suspect,
        candidate: &Candidate,
        printed: &Printed,
        said: &BTreeMap<String, Said>,
    ) -> Result<Vec<Finding>, String> {
        let mut found = Vec::new();
        for (name, verdict) in said {
            if let Said::Died(text) = verdict {
                let mut finding = self.finding(compared, suspect, candidate, said);
                finding.kind = Kind::DebuggerCrash;
                finding.blame = name.clone();
                finding.shown = format!("{name}: {text}");
                finding.confirmed_by = vec![name.clone()];
                finding.signature.kind = Kind::DebuggerCrash;
                finding.signature.family = name.clone();
                found.push(finding);
            }
        }
        let agreeing: Vec<String> = said
            .iter()
            .filter(|(_, verdict)| match verdict {
                Said::Answer(answer) => answer.agrees(&candidate.shown) == Some(true),
                Said::Died(_) => false,
            })
            .map(|(name, _)| name.clone())
            .collect();
        let mut witnesses = vec!["native".to_owned()];
        if candidate.key.depth > 0 {
            if let Some(name) = shows_truth(candidate, said) {
                return Err(format!(
                    "the native engine reads {} in frame {}, {name} the true value",
                    candidate.shown, candidate.key.depth
                ));
            }
        } else if candidate.kind != Kind::IllFormedLocation && compared.round != Round::Quiet {
            let Some(expected) = &candidate.expected else {
                return Err("its true value is not known".into());
            };
            match (printed, printed.is(expected)) {
                (_, Some(true)) => witnesses.push("print".into()),
                (Printed::Undefined(message), _) => {
                    return Err(format!("printing it there is undefined: {message}"));
                }
                (Printed::Not(reason), _) => {
                    return Err(format!("no print statement bears it out: {reason}"));
                }
                (Printed::Bits(bits), Some(false)) => {
                    return Err(format!(
                        "a print statement there shows {}, the reference {expected}",
                        *bits as i64
                    ));
                }
                (Printed::Value(value), Some(false)) => {
                    return Err(format!(
                        "a print statement there shows {value}, the reference {expected}"
                    ));
                }
                (Printed::Bits(_) | Printed::Value(_), None) => {
                    return Err("its value cannot be compared with what is printed".into());
                }
            }
        }
        if agreeing.is_empty() {
            if !found.is_empty() {
                return Ok(found);
            }
            let words: Vec<String> = said
                .iter()
                .map(|(name, verdict)| match verdict {
                    Said::Answer(answer) => format!("{name} shows {answer}"),
                    Said::Died(text) => format!("{name} died: {text}"),
                })
                .collect();
            return Err(format!(
                "the native engine reads {}, but no debugger does ({})",
                candidate.shown,
                if words.is_empty() {
                    "none was asked".into()
                } else {
                    words.join(", ")
                }
            ));
        }
        witnesses.extend(agreeing);
        let mut finding = self.finding(compared, suspect, candidate, said);
        finding.confirmed_by = witnesses;
        found.push(finding);
        Ok(found)
    }

    pub(crate) fn finding(
        &self,
        compared: &Compared<'_>,
        suspect: &Suspect,
        candidate: &Candidate,
        said: &BTreeMap<String, Said>,
    ) -> Finding {
        let Spot {
            line,
            point,
            visit,
            visits,
        } = candidate.spot;
        let expected = candidate.truth_in_words();
        let shown = candidate.shown.to_string();
        let point = point.and_then(|point| self.plan.points().get(point));
        let barriers = match compared.round {
            Round::Sparse | Round::Chosen => compared.plan.barriers(),
            Round::Quiet | Round::All => Vec::new(),
        };
        Finding {
            kind: candidate.kind,
            blame: compared.compiler.name.clone(),
            function: candidate.key.function.as_deref().map(str::to_owned),
            variable: candidate.key.to_string(),
            declared: candidate.key.decl_line.0,
            line,
            frame: candidate.key.depth,
            source_line: self.plan.source_line(point.map(|point| point.id), line),
            stop: candidate.call,
            visit,
            visits,
            compiler: compared.compiler.name.clone(),
            version: compared.compiler.version.to_string(),
            level: compared.level.clone(),
            confirmed_by: Vec::new(),
            debuggers: said
                .iter()
                .map(|(name, verdict)| {
                    let text = match verdict {
                        Said::Answer(answer) => answer.to_string(),
                        Said::Died(text) => format!("died: {text}"),
                    };
                    (name.clone(), text)
                })
                .collect(),
            location: candidate.location.clone(),
            places: Place::all(&suspect.lines),
            signature: Signature {
                kind: candidate.kind,
                family: compared.compiler.family.to_string(),
                variable: self.class(candidate),
                statement: point
                    .map(|point| format!("{:?}", point.statement))
                    .unwrap_or_else(|| "unknown".into()),
                relation: relation(&expected, &shown).into(),
                levels: vec![compared.level.clone()],
                pass: None,
            },
            expected,
            shown,
            notes: notes(candidate),
            round: compared.round,
            rounds: vec![compared.round],
            barriers,
            replay: (self.replay)(compared.compiler, &compared.level, &compared.points),
        }
    }

    /// The variable without its name: storage and kind of scalar.
    fn class(&self, candidate: &Candidate) -> String {
        let (key, leaf) = (&candidate.key, &candidate.leaf);
        let storage = if self.plan.is_static(&key.variable, key.decl_line.0) {
            "static"
        } else if key.function.is_none() {
            "global"
        } else if leaf.parameter {
            "parameter"
        } else {
            "local"
        };
        let kind = format!("{:?}", leaf.kind).to_lowercase();
        let part = if key.path.is_empty() { "" } else { " part" };
        format!("{storage} {kind}{part}")
    }

    pub(crate) fn undecided(
        &self,
        compared: &Compared<'_>,
        candidate: &Candidate,
        reason: String,
    ) -> Undecided {
        Undecided {
            variable: candidate.key.to_string(),
            line: candidate.spot.line,
            compiler: compared.compiler.name.clone(),
            level: compared.level.clone(),
            reason,
        }
    }
}

/// What is to be said of a variable further up.
fn notes(candidate: &Candidate) -> Vec<String> {
    let (depth, function) = (candidate.key.depth, candidate.key.function.as_deref());
    if depth == 0 {
        return Vec::new();
    }
    vec![format!(
        "seen in frame {depth} ({}), from the barrier call at line {}; no print statement shows a variable of a frame further up",
        function.unwrap_or("?"),
        candidate.spot.line
    )]
}

/// A debugger that shows the true value of a candidate, if there is one.
fn shows_truth(candidate: &Candidate, said: &BTreeMap<String, Said>) -> Option<String> {
    let expected = candidate.expected.clone().map(Observation::Value)?;
    let says_so = |verdict: &Said| match verdict {
        Said::Answer(answer) => answer.agrees(&expected) == Some(true),
        Said::Died(_) => false,
    };
    let mut all = said.iter();
    all.find(|(_, verdict)| says_so(verdict))
        .map(|(name, _)| name.clone())
}

/// The same place, and nothing asked there.
pub fn without_leaves(query: &Query) -> Query {
    Query {
        leaves: Arc::from([]),
        ..query.clone()
    }
}

/// How a session died, if it did.
pub fn death(outcome: &SessionOutcome) -> Option<String> {
    match outcome {
        SessionOutcome::Finished => None,
        SessionOutcome::Crashed(text) => Some(text.clone()),
        SessionOutcome::TimedOut => Some("it hangs".to_owned()),
    }
}

/// The query that shows a candidate in a debugger.
pub fn query(candidate: &Candidate) -> Query {
    Query {
        pc: candidate.pc,
        visit: candidate.hit,
        leaves: Arc::from([candidate.key.clone()]),
    }
}
