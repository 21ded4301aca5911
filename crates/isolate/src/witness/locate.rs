//! From a case to ranked files: reproduce, gather witnesses from every source, rank.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_check::Toolset;
use candor_coverage::ranking::{Choice, Witness};
use candor_coverage::{Compiled, Cover, CoverageCompiler, Ranking, Voter, Voters, rank};
use candor_predicate::{Case, Claim, Options, Setup, Validity, predicate_for};
use candor_toolchain::{Compiler, Program};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::chain::Selection;
use super::judge::Judge;
use super::rules::{self, Category};
use super::search::{Plan, Tries, search};
use super::sources::{SuiteMemory, one_change, random_programs, snippets, suite};
use crate::{Error, Isolation, Progress};

/// Where witnesses may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The developers' tests.
    pub suite: bool,
    /// So many random programs.
    pub random: u64,
    /// Mutants of the failing program.
    pub mutants: bool,
    /// The failing program with stage 1's cures.
    pub one_change: bool,
    /// Mutants that leave a statement out, and EMI variants without a snippet.
    pub reductions: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Sources {
            suite: true,
            random: 0,
            mutants: true,
            one_change: true,
            reductions: true,
        }
    }
}

impl Sources {
    /// The paper's: mutants by its rules, nothing else.
    pub fn diwi() -> Self {
        Sources {
            suite: false,
            random: 0,
            mutants: true,
            one_change: false,
            reductions: false,
        }
    }
}

/// How witnesses are looked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Programs judged at a time.
    pub jobs: usize,
    /// Bounds of every single question.
    pub options: Options,
    /// Time for the search of mutants.
    pub time: Duration,
    /// Mutants that are enough.
    pub wanted: usize,
    /// Mutants tried at most.
    pub most: usize,
    /// Decides every choice.
    pub seed: u64,
    /// How rules are chosen.
    pub selection: Selection,
    /// Where witnesses come from.
    pub sources: Sources,
    /// How files are ranked.
    pub choice: Choice,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            options: Options::default(),
            time: Duration::from_secs(60),
            wanted: 30,
            most: 5000,
            seed: 1,
            selection: Selection::default(),
            sources: Sources::default(),
            choice: Choice::default(),
        }
    }
}

/// A witness as it is shown and kept.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// Where it comes from.
    pub source: Voter,
    /// What it is.
    pub name: String,
    /// How many mutations it is away; 0 for what is no mutant.
    pub order: usize,
    /// How far the compiler's way is from that of the failing program (Jaccard).
    pub distance: f64,
    /// Its text, where it differs from the failing program's.
    #[serde(skip)]
    pub text: Option<String>,
}

/// Everything the ranking needs.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// What the compiler did for the failing program.
    pub failing: Cover,
    /// The witnesses' covers, and curing passes.
    pub voters: Voters,
    /// The witnesses.
    pub kept: Vec<Kept>,
    /// What became of the mutants.
    pub tries: Tries,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Why there is no ranking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "because")]
pub enum Ended {
    /// Files are ranked.
    Located,
    /// The claim does not hold (any more).
    NotReproduced(String),
    /// Nothing passes; what was tried.
    NoWitness(String),
}

/// Which files.
#[derive(Clone, Debug, Serialize)]
pub struct Location {
    /// How it ended.
    pub outcome: Ended,
    /// The coverage compiler.
    pub coverage: PathBuf,
    /// The formula.
    pub formula: candor_coverage::Formula,
    /// Lines of the compiler that the failing compilation reached.
    pub reached: usize,
    /// The files.
    #[serde(flatten)]
    pub ranking: Ranking,
    /// The witnesses, the nearest first.
    pub witnesses: Vec<Kept>,
    /// What the nearest mutant changed in the program, one string per line, starting with '-' or '+'.
    pub nearest: Vec<String>,
    /// What became of the mutants.
    pub tries: Tries,
    /// Seconds, by the clock.
    pub seconds: f64,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Gathers and ranks.
#[allow(clippy::too_many_arguments)]
pub fn locate(
    tools: &Toolset<'_>,
    case: &Case,
    compiler: &Compiler,
    coverage: &CoverageCompiler,
    isolation: Option<&Isolation>,
    settings: &Settings,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Location, Error> {
    let started = Instant::now();
    let mut location = Location {
        outcome: Ended::Located,
        coverage: coverage.directory().to_owned(),
        formula: settings.choice.formula,
        reached: 0,
        ranking: Ranking::default(),
        witnesses: Vec::new(),
        nearest: Vec::new(),
        tries: Tries::default(),
        seconds: 0.0,
        notes: Vec::new(),
    };
    match gather(
        tools,
        case,
        compiler,
        coverage,
        isolation,
        settings,
        &SuiteMemory::default(),
        progress,
    )? {
        Err(ended) => location.outcome = ended,
        Ok(gathered) => {
            location.reached = gathered.failing.len();
            location.ranking = rank(
                &coverage.map(),
                &gathered.failing,
                &gathered.voters,
                settings.choice,
            );
            if location.ranking.files.is_empty() {
                location.outcome = Ended::NoWitness(tried(&gathered.tries));
            }
            location.witnesses = gathered.kept;
            location.witnesses.sort_by(|a, b| {
                a.distance
                    .total_cmp(&b.distance)
                    .then_with(|| a.name.cmp(&b.name))
            });
            let nearest = location
                .witnesses
                .iter()
                .find_map(|one| one.text.as_deref());
            location.nearest =
                nearest.map_or_else(Vec::new, |text| changes(&case.program.text, text));
            location.tries = gathered.tries;
            location.notes = gathered.notes;
        }
    }
    location.seconds = started.elapsed().as_secs_f64();
    Ok(location)
}

/// Finds witnesses from every source asked for.
#[allow(clippy::too_many_arguments)]
pub fn gather(
    tools: &Toolset<'_>,
    case: &Case,
    compiler: &Compiler,
    coverage: &CoverageCompiler,
    isolation: Option<&Isolation>,
    settings: &Settings,
    memory: &SuiteMemory,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Result<Gathered, Ended>, Error> {
    coverage.check(compiler)?;
    let case = &question(case);
    let program = case.program.program();
    let runs = Judge::runs(&case.claim);
    let report = |step: &str, asked: usize| {
        progress(Progress {
            step: step.to_owned(),
            asked,
        });
    };
    report("reproducing with coverage", 0);
    let mut predicate = predicate_for(case, tools, settings.options.clone())?;
    predicate.accept_warnings_of(&program)?;
    let setup = Setup {
        compiler,
        flags: case.flags.clone(),
    };
    let verdict = predicate.test(&program, &setup)?;
    if !verdict.holds() {
        return Ok(Err(Ended::NotReproduced(verdict.to_string())));
    }
    let mut notes = Vec::new();
    let mut validity = Validity::new(tools, settings.options.clone());
    validity.accept_warnings_of(&program);
    let expected = match runs && settings.options.sanitize {
        false => None,
        true => match validity.sanitized(&program)? {
            Ok(run) => Some(run),
            Err(rejection) => {
                let why = candor_predicate::Verdict::from(rejection);
                notes.push(format!("the sanitizers cannot judge this program ({why}); mutants are judged without them"));
                None
            }
        },
    };
    let judge = Judge {
        tools,
        compiler,
        coverage,
        flags: &case.flags,
        predicate: predicate.as_ref(),
        validity: &validity,
        options: &settings.options,
        runs,
        expected,
    };
    let failing = judge.cover(&program, &[])?;
    if failing.cover.is_empty() {
        return Ok(Err(Ended::NotReproduced(format!(
            "the coverage compiler recorded nothing for the failing program ({:?})",
            failing.compiled
        ))));
    }
    match (&case.claim, &failing.compiled) {
        (Claim::Crash { .. }, Compiled::Crashed(_)) | (_, Compiled::Well) => {}
        (_, other) => notes.push(format!(
            "the coverage compiler does not behave like {}: {other:?}",
            compiler.name
        )),
    }
    let mut gathered = Gathered {
        failing: failing.cover,
        voters: Voters::default(),
        kept: Vec::new(),
        tries: Tries::default(),
        notes,
    };
    if matches!(case.claim, Claim::Crash { .. }) {
        gathered.voters.trace = failing.trace;
    }
    let sources = settings.sources;
    if let Some(isolation) = isolation {
        gathered.voters.curing = curing(isolation);
        if sources.one_change {
            report("the program with each cure", 0);
            let found = one_change(&judge, &program, isolation, settings.jobs)?;
            gathered.add(Voter::OneChange, found);
        }
    }
    if sources.suite {
        report("the developers' tests", 0);
        let found: Arc<Vec<Witness>> = suite(&judge, settings.jobs, memory)?;
        gathered.add(Voter::Suite, found.to_vec());
    }
    if sources.random > 0 {
        report("random programs", 0);
        let found = random_programs(&judge, sources.random, settings.seed, settings.jobs)?;
        gathered.add(Voter::Random, found);
    }
    if sources.mutants {
        mutants(&judge, case, &program, settings, &mut gathered, &report)?;
    }
    Ok(Ok(gathered))
}

/// The claim as mutants are asked it: any manner of going wrong is the same bug's.
fn question(case: &Case) -> Case {
    let mut case = case.clone();
    case.pass = None;
    if let Claim::Miscompilation { manner, .. } = &mut case.claim {
        *manner = None;
    }
    case
}

fn mutants(
    judge: &Judge<'_>,
    case: &Case,
    program: &Program,
    settings: &Settings,
    gathered: &mut Gathered,
    report: &(dyn Fn(&str, usize) + Sync),
) -> Result<(), Error> {
    report("mutants", 0);
    let mut list = Vec::new();
    if settings.sources.reductions {
        for (text, witness) in snippets(judge, case, program, settings.jobs)? {
            list.push((text, 1, witness));
        }
    }
    let usable =
        |rule: &rules::Rule| settings.sources.reductions || rule.category() != Category::Reduction;
    let plan = Plan {
        rules: rules::all().into_iter().filter(usable).collect(),
        selection: settings.selection,
        seed: settings.seed,
        jobs: settings.jobs,
        wanted: settings.wanted,
        most: settings.most,
        until: Instant::now() + settings.time,
        runs: judge.runs,
    };
    let (found, tries) = search(judge, program, &plan, &|tries| {
        report(
            &format!("mutants: {} witnesses", tries.accepted),
            tries.judged,
        );
    })?;
    for one in found {
        list.push((
            one.text,
            one.order,
            Witness {
                name: one.name,
                cover: one.cover,
            },
        ));
    }
    gathered.tries = tries;
    let mut witnesses = Vec::new();
    for (text, order, witness) in list {
        gathered.kept.push(Kept {
            source: Voter::Mutants,
            name: witness.name.clone(),
            order,
            distance: witness.cover.distance(&gathered.failing),
            text: Some(text),
        });
        witnesses.push(witness);
    }
    gathered.voters.witnesses.insert(Voter::Mutants, witnesses);
    Ok(())
}

impl Gathered {
    fn add(&mut self, source: Voter, witnesses: Vec<Witness>) {
        for witness in &witnesses {
            self.kept.push(Kept {
                source,
                name: witness.name.clone(),
                order: 0,
                distance: witness.cover.distance(&self.failing),
                text: None,
            });
        }
        self.voters.witnesses.insert(source, witnesses);
    }
}

/// The files of the passes that stage 1 suspects, in its order, each once.
fn curing(isolation: &Isolation) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for suspect in &isolation.suspects {
        for file in &suspect.files {
            if !files.iter().any(|(known, _)| known == file) {
                files.push((file.clone(), suspect.pass.clone()));
            }
        }
    }
    files
}

/// What was tried in vain.
fn tried(tries: &Tries) -> String {
    format!(
        "{} mutants up to order {}: {} still fail, {} have lost their check, {} are invalid, {} could not be told; \
         give more time with --for, or tests that pass with --suite at --prepare",
        tries.judged, tries.order, tries.failing, tries.masked, tries.invalid, tries.undecided
    )
}

/// The changed lines between two texts.
fn changes(before: &str, after: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(before, after);
    let sign = |tag| match tag {
        ChangeTag::Delete => Some('-'),
        ChangeTag::Insert => Some('+'),
        ChangeTag::Equal => None,
    };
    let line = |change: similar::Change<&str>| {
        Some(format!(
            "{}{}",
            sign(change.tag())?,
            change.value().trim_end()
        ))
    };
    diff.iter_all_changes().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Suspect;

    #[test]
    fn curing_files_come_once_in_the_order_of_suspicion() {
        let suspect = |pass: &str, files: &[&str]| Suspect {
            pass: pass.into(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            ..Suspect::default()
        };
        let isolation = Isolation {
            suspects: vec![
                suspect("tree-pre", &["pre.cc", "sccvn.cc"]),
                suspect("tree-fre", &["sccvn.cc"]),
            ],
            ..Isolation::default()
        };
        let files = curing(&isolation);
        let names: Vec<(&str, &str)> = files
            .iter()
            .map(|(file, pass)| (file.as_str(), pass.as_str()))
            .collect();
        assert_eq!(names, [("pre.cc", "tree-pre"), ("sccvn.cc", "tree-pre")]);
    }

    #[test]
    fn the_change_of_the_nearest_mutant_is_shown_by_lines() {
        assert_eq!(changes("a\nb\nc\n", "a\nB\nc\n"), ["-b", "+B"]);
    }
}
