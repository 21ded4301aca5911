//! Line mode: two builds made by the user, no instrumentation of the source.
//!
//! Without barriers the n-th stop at a line of one build need not be the n-th of the other: loops are
//! peeled, code is hoisted, a `for` line is met first at its latch. So a value is only held against
//! the optimised build when the reference shows *one and the same* value at every visit of the line,
//! and the variable is known to be initialised there: a parameter, a global, or a local that was
//! seen to change since its function was entered (an -O0 build shows stack garbage before).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use candor_dwarf::{Image, LeafKey, Line, Observation, Svma, Value};
use candor_toolchain::build::quote;
use candor_toolchain::{Limits, Sandbox, Scratch};
use candor_tracer::{
    Answer, Continue, Debugger, Launch, Mode, Observer, Outcome, Query, Sink, Stop, TraceOptions,
    trace,
};

use crate::confirm::debugger_name;
use crate::finding::{Counts, Finding, Kind, Place, Report, Row, Signature, Undecided, relation};
use crate::rounds::Round;
use crate::truth::same_value;
use crate::{Error, Settings};

/// Two builds to be compared.
pub struct Request<'a> {
    /// The optimised one.
    pub binary: &'a Path,
    /// The -O0 one.
    pub reference: &'a Path,
    /// Arguments of the program.
    pub arguments: &'a [String],
    /// Its standard input.
    pub stdin: &'a [u8],
    /// Bounds.
    pub settings: Settings,
    /// Confirm findings.
    pub debuggers: &'a [Debugger],
    /// How it is called in reports; the binary's path where there is no better name.
    pub name: Option<String>,
    /// The command that shows a finding again, where the two files are not the user's own.
    pub replay: Option<String>,
}

impl Request<'_> {
    fn name(&self) -> String {
        let path = || self.binary.display().to_string();
        self.name.clone().unwrap_or_else(path)
    }

    fn replay(&self) -> String {
        let quoted = |path: &Path| quote(&path.display().to_string());
        self.replay.clone().unwrap_or_else(|| {
            format!(
                "candor check --binary {} --reference {}",
                quoted(self.binary),
                quoted(self.reference)
            )
        })
    }
}

/// Visits of a line that are looked at. A line visited more often says nothing: not every visit was seen.
const VISITS: u32 = 256;

/// What the reference shows of a leaf at a line.
#[derive(Clone, Debug, PartialEq)]
enum Shown {
    /// The same at every visit so far.
    One(Value),
    /// Different values, or none that can be compared.
    Several,
}

/// A line of the user's source.
type At = (Line, String);

#[derive(Default)]
struct Watch {
    shown: HashMap<(At, LeafKey), Shown>,
    visits: HashMap<At, u32>,
    frames: HashMap<String, Frame>,
}

/// A function as the reference run last saw it.
struct Frame {
    /// The lowest address met: where it begins.
    entry: Svma,
    /// Locals as last seen.
    last: HashMap<LeafKey, Observation>,
    /// Locals that changed since it was entered.
    changed: BTreeSet<LeafKey>,
}

impl Observer for Watch {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        let Some(site) = stop.site else {
            return Continue::Yes;
        };
        let Some(line) = site.line else {
            return Continue::Yes;
        };
        let at: At = (line, site.function.clone());
        *self.visits.entry(at.clone()).or_default() += 1;
        let Frame {
            entry,
            last,
            changed,
        } = self
            .frames
            .entry(site.function.clone())
            .or_insert_with(|| Frame {
                entry: stop.pc,
                last: HashMap::new(),
                changed: BTreeSet::new(),
            });
        if stop.pc <= *entry {
            *entry = stop.pc;
            last.clear();
            changed.clear();
        }
        // before an unoptimised function's first instructions have run, parameters are not where they are said to be
        let entering = stop.pc == *entry;
        for (leaf, seen) in site.leaves().iter().zip(stop.observations) {
            if leaf.shadowed || leaf.key.depth != 0 {
                continue;
            }
            let local = leaf.key.function.is_some() && !leaf.parameter;
            if local {
                match last.get(&leaf.key) {
                    Some(before) if before == seen => {}
                    before => {
                        if before.is_some() {
                            changed.insert(leaf.key.clone());
                        }
                        last.insert(leaf.key.clone(), seen.clone());
                    }
                }
            }
            // in Rust, what may have been moved away proves nothing
            let initialised = !local || (changed.contains(&leaf.key) && leaf.owning.is_empty());
            let declared = !local || leaf.key.decl_line < line;
            let early = entering && leaf.key.function.is_some();
            let now = match seen {
                Observation::Value(value) if initialised && declared && !early => {
                    Shown::One(value.clone())
                }
                _ => Shown::Several,
            };
            self.shown
                .entry((at.clone(), leaf.key.clone()))
                .and_modify(|before| {
                    let same = matches!((&*before, &now), (Shown::One(a), Shown::One(b))
                        if same_value(a, b) == Some(true));
                    if !same {
                        *before = Shown::Several;
                    }
                })
                .or_insert(now);
        }
        Continue::Yes
    }
}

struct Suspect {
    at: At,
    key: LeafKey,
    pc: Svma,
    visit: u32,
    expected: Value,
    shown: Observation,
    location: String,
    lines: BTreeMap<u32, u64>,
}

struct Judge<'a> {
    reference: &'a Watch,
    image: &'a Image,
    counts: Counts,
    suspects: BTreeMap<LeafKey, Suspect>,
    sequence: u64,
}

impl Observer for Judge<'_> {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        self.sequence = stop.sequence;
        let Some(site) = stop.site else {
            return Continue::Yes;
        };
        let Some(line) = site.line else {
            return Continue::Yes;
        };
        let at: At = (line, site.function.clone());
        let complete = self
            .reference
            .visits
            .get(&at)
            .is_some_and(|visits| *visits < VISITS);
        for (index, (leaf, seen)) in site.leaves().iter().zip(stop.observations).enumerate() {
            if leaf.shadowed || leaf.key.depth != 0 {
                continue;
            }
            let known = self.reference.shown.get(&(at.clone(), leaf.key.clone()));
            let Some(Shown::One(truth)) = known.filter(|_| complete) else {
                self.counts.unaligned += 1;
                continue;
            };
            match seen {
                Observation::OptimisedOut => self.counts.optimised_out += 1,
                Observation::Unreadable(_) => self.counts.unreadable += 1,
                Observation::IllFormed(_) => self.counts.ill_formed += 1,
                Observation::Value(value) => match same_value(value, truth) {
                    Some(true) => self.counts.equal += 1,
                    None => {}
                    Some(false) => {
                        self.counts.wrong += 1;
                        let variable = LeafKey {
                            path: "".into(),
                            ..leaf.key.clone()
                        };
                        let suspect = self.suspects.entry(variable).or_insert_with(|| Suspect {
                            at: at.clone(),
                            key: leaf.key.clone(),
                            pc: stop.pc,
                            visit: stop.visit,
                            expected: truth.clone(),
                            shown: seen.clone(),
                            location: self.image.describe_location(site, index),
                            lines: BTreeMap::new(),
                        });
                        *suspect.lines.entry(line.0).or_default() += 1;
                    }
                },
            }
        }
        Continue::Yes
    }
}

/// Compares the two builds.
pub fn check(sandbox: &Sandbox, scratch: &Scratch, request: &Request<'_>) -> Result<Report, Error> {
    let directory = scratch.job()?;
    let launch = |program: &Path| {
        let mut launch = Launch::new(program, directory.path());
        launch.arguments = request.arguments.iter().map(Into::into).collect();
        if !request.stdin.is_empty() {
            launch.input = candor_tracer::Input::Bytes(request.stdin.to_vec());
        }
        launch.stdout = Sink::Capture;
        launch.limits = Limits::program().with_time(request.settings.time);
        launch
    };
    let options = TraceOptions {
        site: candor_dwarf::SiteOptions {
            globals: request.settings.globals,
            leaf_cap: request.settings.leaf_cap,
            all_frames: false,
        },
        max_stops: request.settings.max_stops,
        ..TraceOptions::default()
    };
    let mode = Mode::Lines {
        visits_per_line: VISITS,
    };

    let reference = Image::open(request.reference)?;
    let mut watch = Watch::default();
    let before = trace(
        sandbox,
        &reference,
        &launch(request.reference),
        &mode,
        &options,
        &mut watch,
    )?;
    let image = Image::open(request.binary)?;
    let optimised = launch(request.binary);
    let mut judge = Judge {
        reference: &watch,
        image: &image,
        counts: Counts::default(),
        suspects: BTreeMap::new(),
        sequence: 0,
    };
    let after = trace(sandbox, &image, &optimised, &mode, &options, &mut judge)?;

    let name = request.name();
    let mut report = Report {
        program: name.clone(),
        stops: usize::try_from(after.stops).unwrap_or(usize::MAX),
        ..Report::default()
    };
    report.notes.push(
        "line mode: only lines where the reference shows one value at every visit count".into(),
    );
    let complete = |outcome| matches!(outcome, Outcome::Exited(_) | Outcome::Signalled(_));
    for (what, outcome) in [("reference", before.outcome), ("binary", after.outcome)] {
        if !complete(outcome) {
            return Err(Error::unfit(format!("the {what}: {outcome}")));
        }
    }
    let mut row = Row {
        compiler: name.clone(),
        level: String::new(),
        counts: judge.counts,
        frames: crate::FrameCounts::default(),
        note: None,
    };
    if before.outcome != after.outcome || before.stdout != after.stdout {
        row.note = Some(format!(
            "the two builds behave differently ({} and {}): not the same program, or wrong code; \
             nothing is blamed on its debug information",
            before.outcome, after.outcome
        ));
        report.summary.push(row);
        return Ok(report);
    }
    report.summary.push(row);
    let suspects: Vec<Suspect> = judge.suspects.into_values().collect();
    confirm(sandbox, request, &image, &optimised, suspects, &mut report)?;
    Ok(report)
}

fn confirm(
    sandbox: &Sandbox,
    request: &Request<'_>,
    image: &Image,
    launch: &Launch,
    suspects: Vec<Suspect>,
    report: &mut Report,
) -> Result<(), Error> {
    if suspects.is_empty() {
        return Ok(());
    }
    let queries: Vec<Query> = suspects
        .iter()
        .map(|suspect| Query {
            pc: suspect.pc,
            visit: suspect.visit,
            leaves: Arc::from([suspect.key.clone()]),
        })
        .collect();
    let mut said: Vec<BTreeMap<String, Answer>> = vec![BTreeMap::new(); suspects.len()];
    for debugger in request.debuggers {
        let limit = request.settings.debugger_time();
        let session = debugger.ask(sandbox, image, launch, &queries, limit)?;
        for (map, answers) in said.iter_mut().zip(session.answers) {
            let answer = answers.into_iter().next().unwrap_or(Answer::NotReached);
            map.insert(debugger_name(debugger), answer);
        }
    }
    for (suspect, said) in suspects.into_iter().zip(said) {
        let confirmed: Vec<String> = said
            .iter()
            .filter(|(_, answer)| answer.agrees(&suspect.shown) == Some(true))
            .map(|(name, _)| name.clone())
            .collect();
        let name = request.name();
        if confirmed.is_empty() {
            report.undecided.push(Undecided {
                variable: suspect.key.to_string(),
                line: suspect.at.0.0,
                compiler: name,
                level: String::new(),
                reason: "no debugger shows the same".into(),
            });
            continue;
        }
        let (expected, shown) = (suspect.expected.to_string(), suspect.shown.to_string());
        let mut confirmed_by = vec!["native".to_owned()];
        confirmed_by.extend(confirmed);
        report.findings.push(Finding {
            kind: Kind::WrongValue,
            blame: name.clone(),
            function: suspect.key.function.as_deref().map(str::to_owned),
            variable: suspect.key.to_string(),
            declared: suspect.key.decl_line.0,
            line: suspect.at.0.0,
            frame: 0,
            source_line: String::new(),
            stop: 0,
            visit: suspect.visit,
            visits: 0,
            compiler: name,
            version: String::new(),
            level: String::new(),
            confirmed_by,
            debuggers: said
                .iter()
                .map(|(name, answer)| (name.clone(), answer.to_string()))
                .collect(),
            location: suspect.location,
            places: Place::all(&suspect.lines),
            signature: Signature {
                kind: Kind::WrongValue,
                family: "unknown".into(),
                variable: "unknown".into(),
                statement: "unknown".into(),
                relation: relation(&expected, &shown).into(),
                levels: Vec::new(),
                pass: None,
            },
            expected,
            shown,
            notes: Vec::new(),
            round: Round::Quiet,
            rounds: Vec::new(),
            barriers: Vec::new(),
            replay: request.replay(),
        });
    }
    Ok(())
}
