//! Witnesses that are no mutants.
//!
//! The developers' tests and random programs are the paper's baselines (RQ2); the failing program with one
//! of stage 1's cures is the nearest witness there is, for nothing but the cure differs; and an EMI
//! variant without one of its snippets differs by nothing but the snippet.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use candor_coverage::Compiled;
use candor_coverage::ranking::Witness;
use candor_mutate::Variant;
use candor_predicate::Case;
use candor_toolchain::{Job, Limits, Program};

use super::judge::{Judge, Judged};
use crate::{CureKind, Error, Isolation};

/// Cures whose coverage is taken: more say no more.
const MOST_CURES: usize = 60;

/// Coverage of the developers' tests by flags: the same for every bug.
#[derive(Debug, Default)]
pub struct SuiteMemory {
    known: Mutex<BTreeMap<Vec<String>, Arc<Vec<Witness>>>>,
}

/// The developers' tests that compile with the failing build's flags.
pub fn suite(
    judge: &Judge<'_>,
    jobs: usize,
    memory: &SuiteMemory,
) -> Result<Arc<Vec<Witness>>, Error> {
    let lock = || memory.known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get(judge.flags) {
        return Ok(known.clone());
    }
    let programs = judge.coverage.suite()?;
    let found = Arc::new(compile_all(judge, &programs, jobs)?);
    lock().insert(judge.flags.to_vec(), found.clone());
    Ok(found)
}

/// Random programs that compile with the failing build's flags (Csmith's, each from a seed of its own).
pub fn random_programs(
    judge: &Judge<'_>,
    count: u64,
    seed: u64,
    jobs: usize,
) -> Result<Vec<Witness>, Error> {
    let workshop = judge.tools.workshop;
    let mut programs = Vec::new();
    for number in 0..count {
        let directory = workshop.scratch.job()?;
        let job = Job::new("csmith", directory.path())
            .args([
                "--seed".to_owned(),
                (seed.wrapping_mul(1000) + number + 1).to_string(),
            ])
            .args(["--max-funcs", "3", "--max-block-depth", "3"]);
        let made = workshop.sandbox.run(&job, &Limits::compiler())?;
        if made.ending.success() {
            programs.push(Program {
                path: format!("random-{number}.c").into(),
                text: made.stdout_text(),
                flags: vec!["-w".into(), "-I/usr/include/csmith".into()],
                arguments: Vec::new(),
                stdin: Vec::new(),
            });
        }
    }
    compile_all(judge, &programs, jobs)
}

/// The failing program with each single cure.
pub fn one_change(
    judge: &Judge<'_>,
    program: &Program,
    isolation: &Isolation,
    jobs: usize,
) -> Result<Vec<Witness>, Error> {
    let cures: Vec<(String, Vec<String>)> = isolation
        .cures
        .iter()
        .filter(|cure| matches!(cure.kind, CureKind::Option | CureKind::Pass))
        .map(|cure| (cure.flags.join(" "), cure.flags.clone()))
        .take(MOST_CURES)
        .collect();
    parallel(&cures, jobs, |(name, flags)| {
        let covered = judge.cover(program, flags)?;
        let passes = covered.compiled == Compiled::Well && !covered.cover.is_empty();
        Ok(passes.then(|| Witness {
            name: format!("the same program with {name}"),
            cover: covered.cover,
        }))
    })
}

/// An EMI variant without one of its snippets each, and its seed, where they pass.
pub fn snippets(
    judge: &Judge<'_>,
    case: &Case,
    program: &Program,
    jobs: usize,
) -> Result<Vec<(String, Witness)>, Error> {
    let Some(mut value) = case.variant.clone() else {
        return Ok(Vec::new());
    };
    let seed = value
        .as_object_mut()
        .and_then(|object| object.remove("seed_text"));
    let seed = seed.and_then(|seed| seed.as_str().map(str::to_owned));
    let (Some(seed), Ok(variant)) = (seed, serde_json::from_value::<Variant>(value)) else {
        return Ok(Vec::new());
    };
    let mut texts: Vec<(String, String)> = vec![("the EMI seed".into(), seed.clone())];
    for snippet in &variant.snippets {
        if let Ok(text) = variant.text_with(&seed, |kept| kept.id != snippet.id) {
            texts.push((
                format!(
                    "without EMI snippet {} in line {}",
                    snippet.id, snippet.line
                ),
                text,
            ));
        }
    }
    parallel(&texts, jobs, |(name, text)| {
        let changed = Program {
            text: text.clone(),
            ..program.clone()
        };
        Ok(match judge.judge(&changed, &[])? {
            Judged::Passing(cover) => Some((
                text.clone(),
                Witness {
                    name: name.clone(),
                    cover,
                },
            )),
            _ => None,
        })
    })
}

fn compile_all(
    judge: &Judge<'_>,
    programs: &[Program],
    jobs: usize,
) -> Result<Vec<Witness>, Error> {
    parallel(programs, jobs, |program| {
        let covered = judge.cover(program, &[])?;
        let passes = covered.compiled == Compiled::Well && !covered.cover.is_empty();
        Ok(passes.then(|| Witness {
            name: program.file_name(),
            cover: covered.cover,
        }))
    })
}

/// Does `work` on all items on `jobs` threads; what gives nothing is left out, the order stays.
fn parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<Option<R>, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<Option<R>, Error>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = work(item);
                    results
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(at, result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results
        .into_values()
        .filter_map(Result::transpose)
        .collect()
}
