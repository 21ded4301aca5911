//! Before anything is reported: the shadow program and real debuggers are asked. Blame follows.
//!
//! The paper's definition of a bug is DBG(P', A) ≠ PRINT(P, s, v) (§4.4): here PRINT is the shadow
//! program, DBG is gdb and lldb at the same address and visit, and both must bear out what the native
//! engine saw. Whatever does not hold together is *undecided*, with the reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use candor_dwarf::Image;
use candor_toolchain::{Compiler, Program};
use candor_tracer::{Answer, Debugger, DebuggerKind, Query, SessionOutcome};

use crate::compare::{Candidate, Suspect};
use crate::finding::{Finding, Kind, Place, Row, Signature, Undecided, relation};
use crate::plan::Plan;
use crate::rust_shadow::{self, RustShadows};
use crate::shadow::{Form, Printed, Question, Shadows};
use crate::truth::{Truth, launch};
use crate::workshop::{Executable, Workshop};
use crate::{Error, Settings};

/// An optimised build that was compared, with what seems wrong in it.
pub struct Compared<'a> {
    /// With what it was built.
    pub compiler: &'a Compiler,
    /// Its level.
    pub level: String,
    /// The counts.
    pub row: Row,
    /// What seems wrong.
    pub suspects: Vec<Suspect>,
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
    /// What is true.
    pub truth: &'a Truth,
    /// Limits.
    pub settings: &'a Settings,
    /// Who is asked.
    pub debuggers: &'a [Debugger],
    /// The command that shows a finding again, given compiler and level.
    pub replay: &'a (dyn Fn(&Compiler, &str) -> String + Sync),
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

/// What one debugger said about one candidate, or how it died on it.
enum Said {
    Answer(Answer),
    Died(String),
}

impl Court<'_> {
    /// Decides every suspect of one build.
    pub fn decide(
        &self,
        compared: &Compared<'_>,
        shadows: &mut Printer<'_>,
    ) -> Result<(Vec<Finding>, Vec<Undecided>), Error> {
        let mut findings = Vec::new();
        let mut undecided = Vec::new();
        let Some(executable) = &compared.build else {
            return Ok((findings, undecided));
        };
        let image = &Image::open(&executable.path)?;
        let mut open: Vec<(&Suspect, Option<Undecided>)> =
            compared.suspects.iter().map(|s| (s, None)).collect();
        let rounds = compared
            .suspects
            .iter()
            .map(|suspect| suspect.candidates.len())
            .max()
            .unwrap_or(0);
        for round in 0..rounds {
            let asked: Vec<&Candidate> = open
                .iter()
                .filter_map(|(suspect, _)| suspect.candidates.get(round))
                .collect();
            let printed = self.print(&asked, shadows)?;
            let said = self.ask(&asked, executable, image)?;
            let mut verdicts = printed.into_iter().zip(said);
            let mut still = Vec::new();
            for (suspect, before) in open {
                let Some(candidate) = suspect.candidates.get(round) else {
                    still.push((suspect, before));
                    continue;
                };
                let Some((printed, said)) = verdicts.next() else {
                    continue;
                };
                match self.judge(compared, suspect, candidate, &printed, &said) {
                    Ok(found) => findings.extend(found),
                    // the first reason is the one to tell
                    Err(reason) => {
                        let reason =
                            before.unwrap_or_else(|| self.undecided(compared, candidate, reason));
                        still.push((suspect, Some(reason)));
                    }
                }
            }
            open = still;
            if open.is_empty() {
                break;
            }
        }
        undecided.extend(open.into_iter().filter_map(|(_, reason)| reason));
        Ok((findings, undecided))
    }

    fn print(
        &self,
        candidates: &[&Candidate],
        printer: &mut Printer<'_>,
    ) -> Result<Vec<Printed>, Error> {
        let shadows = match printer {
            Printer::C(shadows) => shadows,
            Printer::Rust(shadows) => return self.print_rust(candidates, shadows),
        };
        let mut questions = Vec::new();
        let mut places = Vec::new();
        let mut answers = vec![Printed::Not("it cannot be printed there".into()); candidates.len()];
        for (place, candidate) in candidates.iter().enumerate() {
            let recording = &self.truth.recording;
            let site = recording.site(candidate.stop);
            let form = recording.leaf(candidate.id).and_then(Form::of);
            if let (Some((site, visit)), Some(form)) = (site, form)
                && let Some(point) = site.point
            {
                questions.push(Question {
                    point,
                    visit,
                    expression: candidate.key.to_string(),
                    form,
                });
                places.push(place);
            }
        }
        for (place, answer) in places.into_iter().zip(shadows.ask(&questions)?) {
            if let Some(slot) = answers.get_mut(place) {
                *slot = answer;
            }
        }
        Ok(answers)
    }

    /// The same for a Rust program.
    fn print_rust(
        &self,
        candidates: &[&Candidate],
        shadows: &mut RustShadows<'_>,
    ) -> Result<Vec<Printed>, Error> {
        let mut questions = Vec::new();
        let mut places = Vec::new();
        let mut answers = vec![Printed::Not("it cannot be printed there".into()); candidates.len()];
        for (place, candidate) in candidates.iter().enumerate() {
            let recording = &self.truth.recording;
            if let (Some((site, visit)), Some(leaf)) =
                (recording.site(candidate.stop), recording.leaf(candidate.id))
                && let Some(point) = site.point
            {
                questions.push(rust_shadow::Question {
                    point,
                    visit,
                    leaf: leaf.clone(),
                });
                places.push(place);
            }
        }
        for (place, answer) in places.into_iter().zip(shadows.ask(&questions)?) {
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
        let mut said: Vec<BTreeMap<String, Said>> =
            candidates.iter().map(|_| BTreeMap::new()).collect();
        for debugger in self.debuggers {
            let name = debugger_name(debugger);
            let ask = |queries: &[Query]| {
                debugger.ask(self.workshop.sandbox, image, &launch, queries, limit)
            };
            let session = ask(&queries)?;
            let died = session.outcome != SessionOutcome::Finished;
            for (place, query) in queries.iter().enumerate() {
                let answer = session.answers.get(place).and_then(|a| a.first()).cloned();
                let verdict = match answer {
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
                };
                if let Some(map) = said.get_mut(place) {
                    map.insert(name.clone(), verdict);
                }
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
        if candidate.kind != Kind::IllFormedLocation {
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

    fn finding(
        &self,
        compared: &Compared<'_>,
        suspect: &Suspect,
        candidate: &Candidate,
        said: &BTreeMap<String, Said>,
    ) -> Finding {
        let (line, visit, visits, point) = match self.truth.recording.site(candidate.stop) {
            Some((site, visit)) => (site.line.0, visit, site.visits, site.point),
            None => (0, 0, 0, None),
        };
        let expected = match &candidate.expected {
            Some(value) => value.to_string(),
            None => "a value or optimised out".into(),
        };
        let shown = candidate.shown.to_string();
        let point = point.and_then(|point| self.plan.points().get(point));
        Finding {
            kind: candidate.kind,
            blame: compared.compiler.name.clone(),
            function: candidate.key.function.as_deref().map(str::to_owned),
            variable: candidate.key.to_string(),
            declared: candidate.key.decl_line.0,
            line,
            source_line: self.plan.source_line(point.map(|point| point.id)),
            stop: candidate.stop,
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
            notes: Vec::new(),
            replay: (self.replay)(compared.compiler, &compared.level),
        }
    }

    /// The variable without its name: storage and kind of scalar.
    fn class(&self, candidate: &Candidate) -> String {
        let key = &candidate.key;
        let leaf = self.truth.recording.leaf(candidate.id);
        let storage = if self.plan.is_static(&key.variable, key.decl_line.0) {
            "static"
        } else if key.function.is_none() {
            "global"
        } else if leaf.is_some_and(|leaf| leaf.parameter) {
            "parameter"
        } else {
            "local"
        };
        let kind = match leaf {
            Some(leaf) => format!("{:?}", leaf.kind).to_lowercase(),
            None => "scalar".into(),
        };
        let part = if key.path.is_empty() { "" } else { " part" };
        format!("{storage} {kind}{part}")
    }

    fn undecided(
        &self,
        compared: &Compared<'_>,
        candidate: &Candidate,
        reason: String,
    ) -> Undecided {
        Undecided {
            variable: candidate.key.to_string(),
            line: self
                .truth
                .recording
                .site(candidate.stop)
                .map_or(0, |(site, _)| site.line.0),
            compiler: compared.compiler.name.clone(),
            level: compared.level.clone(),
            reason,
        }
    }
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
