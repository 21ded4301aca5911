//! Algorithm 1 of paper 003: mutate, judge, keep what passes and differs, learn which rules work.
//!
//! Mutants are made one after another from the seed and judged a batch at a time, and what a batch came
//! to is taken in order: the same seed finds the same witnesses with any number of cores, as long as
//! the clock does not strike. A text is never judged twice. Failing mutants are the seeds of the next
//! order, once the present one has nothing new left.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use candor_coverage::Cover;
use candor_toolchain::Program;
use serde::Serialize;

use super::chain::{Chain, Selection};
use super::judge::{Judge, Judged};
use super::rules::{Rule, Subject};
use crate::Error;

/// Mutants judged before any of them counts.
const BATCH: usize = 8;

/// Draws of one rule without anything new before it is taken as exhausted.
const DRAWS: usize = 12;

/// The highest order of mutation.
const HIGHEST: usize = 4;

/// What became of all mutants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tries {
    /// Judged in all.
    pub judged: usize,
    /// Witnesses.
    pub accepted: usize,
    /// Still failing.
    pub failing: usize,
    /// Passing, but no different from another witness.
    pub same: usize,
    /// Refused because both builds fail alike.
    pub masked: usize,
    /// Refused because they do not compile or are undefined.
    pub invalid: usize,
    /// Could not be told.
    pub undecided: usize,
    /// The highest order reached.
    pub order: usize,
}

/// A mutant that passes.
#[derive(Clone, Debug)]
pub struct Found {
    /// What was changed, in order.
    pub name: String,
    /// Its text.
    pub text: String,
    /// How many mutations it is away.
    pub order: usize,
    /// What the compiler did for it.
    pub cover: Cover,
}

/// Bounds and manner of a search.
#[derive(Clone, Debug)]
pub struct Plan {
    pub rules: Vec<Rule>,
    pub selection: Selection,
    pub seed: u64,
    pub jobs: usize,
    /// Witnesses that are enough.
    pub wanted: usize,
    /// Mutants that are enough.
    pub most: usize,
    pub until: Instant,
    /// Whether the oracle's code is protected.
    pub runs: bool,
}

struct Seed {
    text: String,
    name: String,
}

struct Mutant {
    rule: Rule,
    text: String,
    name: String,
}

/// Searches. Ends with what it has when the clock strikes, when it has enough, or when nothing is left.
pub fn search(
    judge: &Judge<'_>,
    program: &Program,
    plan: &Plan,
    report: &(dyn Fn(&Tries) + Sync),
) -> Result<(Vec<Found>, Tries), Error> {
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let mut chain = Chain::new(plan.rules.clone(), plan.selection);
    let mut seeds = vec![Seed {
        text: program.text.clone(),
        name: String::new(),
    }];
    let mut next_seeds: Vec<Seed> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::from([program.text.clone()]);
    let mut found: Vec<Found> = Vec::new();
    let mut tries = Tries {
        order: 1,
        ..Tries::default()
    };
    let sandbox = judge.tools.workshop.sandbox;
    while found.len() < plan.wanted
        && tries.judged < plan.most
        && Instant::now() < plan.until
        && !sandbox.interrupted()
    {
        let batch = draw(&seeds, &mut chain, &mut random, &mut seen, plan);
        if batch.is_empty() {
            if tries.order == HIGHEST || next_seeds.is_empty() {
                break;
            }
            tries.order += 1;
            seeds = std::mem::take(&mut next_seeds);
            chain.refill();
            continue;
        }
        let known: Vec<&Cover> = found.iter().map(|one| &one.cover).collect();
        let judged = judge_all(judge, program, &batch, &known, plan)?;
        for (mutant, judged) in batch.into_iter().zip(judged) {
            let Some(judged) = judged else { continue };
            tries.judged += 1;
            let mut accepted = None;
            match judged {
                Judged::Failing => {
                    tries.failing += 1;
                    next_seeds.push(Seed {
                        text: mutant.text,
                        name: mutant.name,
                    });
                }
                Judged::Passing(cover) => {
                    let distances: Vec<f64> =
                        found.iter().map(|one| one.cover.distance(&cover)).collect();
                    // Another of the same batch may have come first.
                    if distances.contains(&0.0) {
                        tries.same += 1;
                    } else {
                        accepted =
                            Some(distances.iter().sum::<f64>() / distances.len().max(1) as f64);
                        tries.accepted += 1;
                        found.push(Found {
                            name: mutant.name,
                            text: mutant.text,
                            order: tries.order,
                            cover,
                        });
                    }
                }
                Judged::Same => tries.same += 1,
                Judged::Masked => tries.masked += 1,
                Judged::Invalid => tries.invalid += 1,
                Judged::Undecided => tries.undecided += 1,
            }
            chain.record(mutant.rule, accepted);
        }
        report(&tries);
    }
    Ok((found, tries))
}

/// New mutants, as many as a batch holds.
fn draw(
    seeds: &[Seed],
    chain: &mut Chain,
    random: &mut fastrand::Rng,
    seen: &mut BTreeSet<String>,
    plan: &Plan,
) -> Vec<Mutant> {
    let mut batch = Vec::new();
    while batch.len() < BATCH {
        let Some(rule) = chain.next(random) else {
            break;
        };
        let mut made = None;
        for _ in 0..DRAWS {
            let Some(seed) = seeds.get(random.usize(..seeds.len().max(1))) else {
                break;
            };
            let subject = Subject::new(&seed.text, plan.runs);
            let edits = rule.edits(&subject);
            if edits.is_empty() && seeds.len() == 1 {
                break;
            }
            let Some(edit) = edits.get(random.usize(..edits.len().max(1))) else {
                continue;
            };
            let text = subject.edited(edit);
            if seen.insert(text.clone()) {
                let line = 1 + seed
                    .text
                    .get(..edit.span.start)
                    .unwrap_or_default()
                    .matches('\n')
                    .count();
                let step = format!("{rule} in line {line}");
                made = Some(Mutant {
                    rule,
                    text,
                    name: match seed.name.as_str() {
                        "" => step,
                        earlier => format!("{earlier}, {step}"),
                    },
                });
                break;
            }
        }
        match made {
            Some(mutant) => batch.push(mutant),
            None => chain.exhaust(rule),
        }
    }
    batch
}

/// Judges a batch on all cores; `None` for what the clock left undone.
fn judge_all(
    judge: &Judge<'_>,
    program: &Program,
    batch: &[Mutant],
    known: &[&Cover],
    plan: &Plan,
) -> Result<Vec<Option<Judged>>, Error> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Judged, Error>>>> =
        batch.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.clamp(1, batch.len().max(1)) {
            scope.spawn(|| {
                while let Some((mutant, result)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    batch.get(at).zip(results.get(at))
                } {
                    if Instant::now() >= plan.until {
                        return;
                    }
                    let changed = Program {
                        text: mutant.text.clone(),
                        ..program.clone()
                    };
                    let judged = judge.judge(&changed, known);
                    if let Ok(mut slot) = result.lock() {
                        *slot = Some(judged);
                    }
                }
            });
        }
    });
    results
        .into_iter()
        .map(|slot| slot.into_inner().unwrap_or_default().transpose())
        .collect()
}
