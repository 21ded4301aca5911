//! Debuggers against the debug information: where the native engine reads the truth and one debugger
//! does not, that debugger is to blame (the paper's DWARF-parser bugs, §6.2).

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use candor_dwarf::{Image, LeafKey, Observation, Value};
use candor_tracer::{Answer, Continue, Mode, Query, SessionOutcome, Stop, trace};

use crate::Error;
use crate::confirm::{death, debugger_name, without_leaves};
use crate::finding::{Finding, Kind, Place, Signature, relation};
use crate::plan::{Plan, PointChoice};
use crate::rounds::Round;
use crate::run::{Request, Toolset};
use crate::truth::{Truth, known_leaf, launch, options, same_value};

/// Stops that are audited per build: the first visit of each address, so many of them.
const SITES: usize = 64;

/// What the native engine saw at an audited stop.
struct Sample {
    stop: u64,
    query: Query,
    seen: Vec<Observation>,
    truth: Vec<Option<Value>>,
    /// Locations in words; of globals they say little and are left out.
    locations: Vec<String>,
}

/// Audits every build of `request` with every debugger of `tools`.
pub fn audit(
    tools: &Toolset<'_>,
    request: &Request<'_>,
    plan: &Plan,
    truth: &Truth,
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for (compiler, level) in &request.builds {
        let flags: Vec<String> = level.split_whitespace().map(str::to_owned).collect();
        let built = tools
            .workshop
            .build(compiler, request.program, &plan.text, &flags)?;
        let Ok(executable) = built else { continue };
        let Ok(image) = Image::open(&executable.path) else {
            continue;
        };
        let launch = launch(&executable, request.program, &request.settings);
        let samples = sample(tools, request, truth, &image, &launch)?;
        let queries: Vec<Query> = samples.iter().map(|sample| sample.query.clone()).collect();
        let mut sessions = Vec::new();
        for debugger in tools.debuggers {
            let ask = |queries: &[Query]| {
                let limit = request.settings.debugger_time();
                debugger.ask(tools.workshop.sandbox, &image, &launch, queries, limit)
            };
            let mut session = ask(&queries)?;
            if death(&session.outcome).is_some() {
                // A debugger that does not get there when nothing is asked has another trouble than the values.
                let places: Vec<Query> = queries.iter().map(without_leaves).collect();
                if death(&ask(&places)?.outcome).is_some() {
                    session.outcome = SessionOutcome::Finished;
                }
            }
            sessions.push((debugger_name(debugger), session));
        }
        let mut told: BTreeSet<(String, LeafKey)> = BTreeSet::new();
        for (name, session) in &sessions {
            let death = death(&session.outcome);
            for (number, sample) in samples.iter().enumerate() {
                for (place, key) in sample.query.leaves.iter().enumerate() {
                    let answer = |session: &candor_tracer::Session| -> Option<Answer> {
                        session.answers.get(number)?.get(place).cloned()
                    };
                    let (Some(theirs), Some(seen)) = (answer(session), sample.seen.get(place))
                    else {
                        continue;
                    };
                    let truth_here = sample.truth.get(place).and_then(Option::as_ref);
                    // the others bear the native engine out
                    let borne_out: Vec<String> = sessions
                        .iter()
                        .filter(|(other, _)| other != name)
                        .filter(|(_, other)| {
                            answer(other).is_some_and(|said| said.agrees(seen) == Some(true))
                        })
                        .map(|(other, _)| other.clone())
                        .collect();
                    let wrong = disagrees(&theirs, seen, truth_here);
                    let died = death.is_some() && theirs == Answer::NotReached && place == 0;
                    if !(wrong && !borne_out.is_empty() || died) {
                        continue;
                    }
                    let variable = LeafKey {
                        path: "".into(),
                        ..key.clone()
                    };
                    if !told.insert((name.clone(), variable)) {
                        continue;
                    }
                    let kind = if died {
                        Kind::DebuggerCrash
                    } else {
                        Kind::DebuggerDisagrees
                    };
                    let Some((site, visit)) = truth.recording.site(sample.stop) else {
                        continue;
                    };
                    let shown = match &death {
                        Some(text) if died => text.clone(),
                        _ => theirs.to_string(),
                    };
                    let expected = match truth_here {
                        Some(value) => value.to_string(),
                        None => seen.to_string(),
                    };
                    let mut confirmed_by = vec!["native".to_owned()];
                    confirmed_by.extend(borne_out);
                    findings.push(Finding {
                        kind,
                        blame: name.clone(),
                        function: key.function.as_deref().map(str::to_owned),
                        variable: key.to_string(),
                        declared: key.decl_line.0,
                        line: site.line.0,
                        frame: 0,
                        source_line: plan.source_line(site.point, site.line.0),
                        stop: sample.stop,
                        visit,
                        visits: site.visits,
                        compiler: compiler.name.clone(),
                        version: compiler.version.to_string(),
                        level: level.clone(),
                        confirmed_by,
                        debuggers: sessions
                            .iter()
                            .filter_map(|(name, session)| {
                                Some((name.clone(), answer(session)?.to_string()))
                            })
                            .collect(),
                        location: sample.locations.get(place).cloned().unwrap_or_default(),
                        places: vec![Place {
                            line: site.line.0,
                            visits: 1,
                        }],
                        signature: Signature {
                            kind,
                            family: name.clone(),
                            variable: "any".into(),
                            statement: "any".into(),
                            relation: relation(&expected, &shown).into(),
                            levels: vec![level.clone()],
                            pass: None,
                        },
                        expected,
                        shown,
                        notes: Vec::new(),
                        round: Round::All,
                        rounds: Vec::new(),
                        barriers: Vec::new(),
                        replay: (request.replay)(compiler, level, &PointChoice::All) + " --audit",
                    });
                    if died {
                        break;
                    }
                }
            }
        }
    }
    Ok(findings)
}

/// A value where the debug information gives another or none, and not the true one by luck.
fn disagrees(theirs: &Answer, seen: &Observation, truth: Option<&Value>) -> bool {
    let (Answer::Value(theirs), Some(truth)) = (theirs, truth) else {
        return false;
    };
    let says_truth = same_value(theirs, truth) != Some(false);
    match seen {
        Observation::Value(ours) => same_value(ours, truth) == Some(true) && !says_truth,
        Observation::OptimisedOut => !says_truth,
        _ => false,
    }
}

fn sample(
    tools: &Toolset<'_>,
    request: &Request<'_>,
    truth: &Truth,
    image: &Image,
    launch: &candor_tracer::Launch,
) -> Result<Vec<Sample>, Error> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut known = HashSet::new();
    let mut replay = truth.recording.replay();
    let mut look = |stop: &Stop<'_>| {
        if !replay.advance(stop.sequence) {
            return Continue::No;
        }
        let Some(site) = stop.site else {
            return Continue::Yes;
        };
        let aligned = truth
            .recording
            .site(stop.sequence)
            .is_some_and(|(recorded, _)| {
                site.line == Some(recorded.line) && site.function == recorded.function
            });
        if !aligned || !known.insert(stop.pc) {
            return Continue::Yes;
        }
        let mut leaves = Vec::new();
        let mut seen = Vec::new();
        let mut true_values = Vec::new();
        let mut locations = Vec::new();
        for (index, (leaf, observation)) in site.leaves().iter().zip(stop.observations).enumerate()
        {
            if let Some(key) = known_leaf(&truth.recording, leaf)
                && !leaf.shadowed
            {
                leaves.push(leaf.key.clone());
                seen.push(observation.clone());
                true_values.push(truth.value(&replay, stop.sequence, key).cloned());
                let local = leaf.key.function.is_some();
                locations.push(match local {
                    true => image.describe_location(site, index),
                    false => String::new(),
                });
            }
        }
        samples.push(Sample {
            stop: stop.sequence,
            query: Query {
                pc: stop.pc,
                visit: stop.visit,
                leaves: Arc::from(leaves),
            },
            seen,
            truth: true_values,
            locations,
        });
        if samples.len() >= SITES {
            Continue::No
        } else {
            Continue::Yes
        }
    };
    trace(
        tools.workshop.sandbox,
        image,
        launch,
        &Mode::barrier(),
        &options(&request.settings),
        &mut look,
    )?;
    Ok(samples)
}
