//! Rankings of many bugs whose files are known (paper 003, §5): which technique puts them where.
//!
//! In: a table of bugs (`pr kind failing passing buggy_files test fixed_in`, as in
//! `shared/data/gcc-12.2-bugs.tsv`), their programs, a coverage compiler. Out: per bug the place that
//! each [`Technique`] gives its files. One bug at a time, so that a run can be stopped and resumed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candor_check::Toolset;
use candor_coverage::ranking::{Choice, Witness};
use candor_coverage::{
    Compiled, CoverageCompiler, Formula, Position, Ranking, Voter, Voters, rank,
};
use candor_predicate::{Case, Claim, Options};
use candor_toolchain::{Compiler, Program};
use serde::{Deserialize, Serialize};

use super::chain::Selection;
use super::locate::{Gathered, Settings, Sources, gather};
use super::rules;
use super::search::Tries;
use super::sources::SuiteMemory;
use super::spectra::Spectra;
use crate::{Cure, CureKind, Error, Isolation, Progress, Suspect};

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bug {
    /// Its number.
    pub number: String,
    /// `ice` or `wrong`.
    pub kind: String,
    /// Flags it shows with.
    pub failing: Vec<String>,
    /// Flags it does not show with; empty when there are none.
    pub passing: Vec<String>,
    /// The files its fix changed.
    pub files: Vec<String>,
    /// Its program.
    pub test: PathBuf,
}

/// Reads a table; `tests` has a folder per release (`scripts/gcc-tests.sh` makes it).
pub fn bugs(table: &str, tests: &Path) -> Vec<Bug> {
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    lines
        .map(|line| {
            let cells: BTreeMap<&str, &str> =
                header.iter().copied().zip(line.split('\t')).collect();
            let cell = |name: &str| cells.get(name).copied().unwrap_or_default();
            let first_set = |name: &str| -> Vec<String> {
                let set = cell(name).split(" | ").next().unwrap_or_default();
                set.split_whitespace().map(str::to_owned).collect()
            };
            let release = cell("fixed_in").split('.').next().unwrap_or_default();
            Bug {
                number: cell("pr").to_owned(),
                kind: cell("kind").to_owned(),
                failing: first_set("failing"),
                passing: first_set("passing"),
                files: cell("buggy_files").split(',').map(str::to_owned).collect(),
                test: tests.join(release).join(cell("test")),
            }
        })
        .collect()
}

/// A way to rank files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Technique {
    /// The files of the curing passes, in stage 1's order, and nothing else.
    Bisection,
    /// The paper's formula on the developers' tests.
    Suite,
    /// The paper's formula on mutants by rules chosen at random.
    RandomRules,
    /// The paper's.
    Diwi,
    /// The paper's formula on mutants and one-change witnesses in one spectrum.
    DiwiAndOptions,
    /// candor's default.
    Fusion,
}

/// All of them, in the order of the table.
pub const TECHNIQUES: [Technique; 6] = [
    Technique::Bisection,
    Technique::Suite,
    Technique::RandomRules,
    Technique::Diwi,
    Technique::DiwiAndOptions,
    Technique::Fusion,
];

impl Technique {
    /// For tables.
    pub fn words(self) -> &'static str {
        match self {
            Technique::Bisection => "bisection alone",
            Technique::Suite => "SBFL, developers' tests",
            Technique::RandomRules => "random mutants",
            Technique::Diwi => "DiWi",
            Technique::DiwiAndOptions => "DiWi + options",
            Technique::Fusion => "candor's default",
        }
    }
}

/// Where one technique has a bug's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Which.
    pub technique: Technique,
    /// Whether headers were ranked too.
    pub headers: bool,
    /// The best of the bug's files.
    pub first: usize,
    /// Their mean.
    pub average: f64,
    /// Whether any of them is in the ranking.
    pub present: bool,
    /// How many files are.
    pub files: usize,
}

/// One bug's row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The bug.
    pub number: String,
    /// `ice` or `wrong`.
    pub kind: String,
    /// The files its fix changed.
    pub truth: Vec<String>,
    /// Why there are no places.
    pub failed: Option<String>,
    /// The places.
    pub places: Vec<Place>,
    /// Witnesses by source.
    pub witnesses: BTreeMap<String, usize>,
    /// Each voter's score of each file, for trying formulas without running anything again.
    pub scores: BTreeMap<String, BTreeMap<String, f64>>,
    /// Curing passes' files, in order.
    pub curing: Vec<String>,
    /// Judged mutants.
    pub judged: usize,
    /// Seconds of stage 1.
    pub isolation_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

impl Row {
    /// The place by one technique, as the metrics want it.
    pub fn position(&self, technique: Technique, headers: bool) -> Option<Position> {
        let place = self
            .places
            .iter()
            .find(|place| place.technique == technique && place.headers == headers)?;
        Some(Position {
            first: place.first,
            average: place.average,
            present: place.present,
        })
    }
}

/// Answers of stage 1 that are known already, by bug: one JSON object per line, as the example `gcc_bugs`
/// writes them. Lines that are none are left out.
pub fn known_isolations(text: &str) -> BTreeMap<String, Isolation> {
    #[derive(Deserialize)]
    struct Known {
        pr: String,
        cures: Vec<KnownCure>,
        suspects: Vec<KnownSuspect>,
        effort: KnownEffort,
    }
    #[derive(Deserialize)]
    struct KnownCure {
        kind: String,
        name: String,
        flags: Vec<String>,
    }
    #[derive(Deserialize)]
    struct KnownSuspect {
        pass: String,
        files: Vec<String>,
    }
    #[derive(Deserialize)]
    struct KnownEffort {
        seconds: f64,
    }
    let cure = |cure: KnownCure| {
        Some(Cure {
            kind: match cure.kind.as_str() {
                "option" => CureKind::Option,
                "pass" => CureKind::Pass,
                _ => return None,
            },
            name: cure.name,
            flags: cure.flags,
            position: None,
            unspecific: false,
        })
    };
    let suspect = |suspect: KnownSuspect| Suspect {
        pass: suspect.pass,
        files: suspect.files,
        ..Suspect::default()
    };
    let isolation = |line: &str| {
        let known: Known = serde_json::from_str(line).ok()?;
        let mut isolation = Isolation {
            cures: known.cures.into_iter().filter_map(cure).collect(),
            suspects: known.suspects.into_iter().map(suspect).collect(),
            ..Isolation::default()
        };
        isolation.effort.seconds = known.effort.seconds;
        Some((known.pr, isolation))
    };
    text.lines().filter_map(isolation).collect()
}

/// Time for one bug.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// For stage 1.
    pub isolation: Duration,
    /// For each search of mutants.
    pub mutants: Duration,
    /// Whether the baseline of random rules is searched too.
    pub random_rules: bool,
}

/// Where a bug's spectra are kept.
pub fn spectra_file(directory: &Path, number: &str) -> PathBuf {
    directory.join(format!("{number}.spectra"))
}

/// A bug's row with its places by the present formulas, from what is kept of it; nothing is compiled.
pub fn again(mut row: Row, coverage: &CoverageCompiler, kept: &Path) -> Result<Row, Error> {
    let spectra = Spectra::load(&spectra_file(kept, &row.number))?;
    row.places = places(coverage, &spectra, &row.truth);
    Ok(row)
}

/// Runs one bug; `known` is stage 1's answer where it is known. What cannot be run is a row that says why.
#[allow(clippy::too_many_arguments)]
pub fn run(
    tools: &Toolset<'_>,
    bug: &Bug,
    known: Option<&Isolation>,
    compiler: &Compiler,
    coverage: &CoverageCompiler,
    jobs: usize,
    budget: Budget,
    memory: &SuiteMemory,
    keep: Option<&Path>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Row, Error> {
    let started = Instant::now();
    let mut row = Row {
        number: bug.number.clone(),
        kind: bug.kind.clone(),
        truth: bug.files.clone(),
        failed: None,
        places: Vec::new(),
        witnesses: BTreeMap::new(),
        scores: BTreeMap::new(),
        curing: Vec::new(),
        judged: 0,
        isolation_seconds: 0.0,
        seconds: 0.0,
    };
    let result = steps(
        tools, bug, known, compiler, coverage, jobs, budget, memory, keep, progress, &mut row,
    );
    row.seconds = started.elapsed().as_secs_f64();
    match result {
        Ok(()) => Ok(row),
        Err(error) if error.is_interrupt() => Err(error),
        Err(error) => {
            row.failed = Some(error.to_string());
            Ok(row)
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn steps(
    tools: &Toolset<'_>,
    bug: &Bug,
    known: Option<&Isolation>,
    compiler: &Compiler,
    coverage: &CoverageCompiler,
    jobs: usize,
    budget: Budget,
    memory: &SuiteMemory,
    keep: Option<&Path>,
    progress: &(dyn Fn(Progress) + Sync),
    row: &mut Row,
) -> Result<(), Error> {
    let options = Options {
        sanitize: false, // gcc's own tests use what other compilers refuse
        run: Duration::from_secs(3),
        ..Options::default()
    };
    let Some(case) = case(tools, bug, compiler, coverage, &options)? else {
        row.failed = Some("it does not crash".into());
        return Ok(());
    };
    let stage_one = crate::Settings {
        jobs,
        options: options.clone(),
        budget: Some(budget.isolation),
        releases: false,
        change: false,
    };
    let isolation = match known {
        Some(known) => known.clone(),
        None => crate::isolate(tools, &case, compiler, &stage_one, progress)?,
    };
    row.isolation_seconds = isolation.effort.seconds;
    let settings = Settings {
        jobs,
        options,
        time: budget.mutants,
        ..Settings::default()
    };
    let gathered = match gather(
        tools,
        &case,
        compiler,
        coverage,
        Some(&isolation),
        &settings,
        memory,
        progress,
    )? {
        Ok(gathered) => gathered,
        Err(ended) => {
            row.failed = Some(format!("{ended:?}"));
            return Ok(());
        }
    };
    let random = match budget.random_rules {
        false => None,
        true => {
            let settings = Settings {
                selection: Selection::Random,
                sources: Sources::diwi(),
                ..settings.clone()
            };
            gather(
                tools, &case, compiler, coverage, None, &settings, memory, progress,
            )?
            .ok()
        }
    };
    describe(coverage, &gathered, &isolation, row);
    let random =
        random.and_then(|gathered| gathered.voters.witnesses.get(&Voter::Mutants).cloned());
    let spectra = Spectra {
        failing: gathered.failing,
        voters: gathered.voters,
        random,
    };
    if let Some(directory) = keep {
        spectra.save(&spectra_file(directory, &bug.number))?;
    }
    row.places = places(coverage, &spectra, &bug.files);
    Ok(())
}

fn places(coverage: &CoverageCompiler, spectra: &Spectra, truth: &[String]) -> Vec<Place> {
    let mut places = Vec::new();
    for headers in [false, true] {
        // A file that a technique has nothing to say of is behind all that the compiler reached.
        let all = ranking(coverage, Technique::Fusion, headers, spectra);
        let all = all.map_or(0, |ranking| ranking.files.len());
        for technique in TECHNIQUES {
            let Some(ranking) = ranking(coverage, technique, headers, spectra) else {
                continue;
            };
            let position = Position::new(truth, all, |file| ranking.position(file));
            places.push(Place {
                technique,
                headers,
                first: position.first,
                average: position.average,
                present: position.present,
                files: ranking.files.len(),
            });
        }
    }
    places
}

/// The bug as a case.
fn case(
    tools: &Toolset<'_>,
    bug: &Bug,
    compiler: &Compiler,
    coverage: &CoverageCompiler,
    options: &Options,
) -> Result<Option<Case>, Error> {
    let mut program = Program::load(&bug.test)?;
    let (libraries, flags): (Vec<String>, Vec<String>) = bug
        .failing
        .iter()
        .cloned()
        .partition(|flag| flag.starts_with("-l"));
    program.flags.extend(libraries);
    let claim = match bug.kind.as_str() {
        "ice" => {
            let workshop = tools.workshop;
            let covered = coverage.compile(
                workshop.sandbox,
                workshop.scratch,
                compiler,
                &program,
                &flags,
                options.compile,
            )?;
            match covered.compiled {
                // The stock compiler names its own source lines; any crash is the bug here.
                Compiled::Crashed(_) => Claim::Crash {
                    site: String::new(),
                },
                _ => return Ok(None),
            }
        }
        _ => {
            let reference: Vec<String> = bug
                .passing
                .iter()
                .filter(|flag| !flag.starts_with("-l"))
                .cloned()
                .collect();
            // What is wrong with every option is wrong against another compiler.
            let other = || {
                let clang = |one: &&Compiler| one.family == candor_toolchain::Family::Clang;
                let last = tools.compilers.iter().rfind(clang);
                last.map(|compiler| compiler.name.clone())
            };
            let (against, reference) = match reference.is_empty() {
                true => (vec!["-O0".into()], other()),
                false => (reference, None),
            };
            Claim::Miscompilation {
                against,
                reference,
                manner: None,
            }
        }
    };
    Ok(Some(Case::new(&program, compiler, flags, claim)))
}

fn describe(
    coverage: &CoverageCompiler,
    gathered: &Gathered,
    isolation: &Isolation,
    row: &mut Row,
) {
    let Tries { judged, .. } = gathered.tries;
    row.judged = judged;
    row.curing = gathered
        .voters
        .curing
        .iter()
        .map(|(file, _)| file.clone())
        .collect();
    let map = coverage.map();
    for (voter, list) in &gathered.voters.witnesses {
        row.witnesses.insert(voter.words().into(), list.len());
        let alone = Voters {
            witnesses: BTreeMap::from([(*voter, list.clone())]),
            ..Voters::default()
        };
        let ranking = rank(&map, &gathered.failing, &alone, Choice::default());
        let score = |file: &candor_coverage::RankedFile| {
            let score = file.votes.first().map_or(0.0, |vote| vote.score);
            (file.file.clone(), score)
        };
        row.scores.insert(
            voter.words().into(),
            ranking.files.iter().map(score).collect(),
        );
    }
    if let crate::Outcome::NotReproduced(why) = &isolation.outcome {
        row.failed = Some(format!("stage 1: {why}"));
    }
}

fn ranking(
    coverage: &CoverageCompiler,
    technique: Technique,
    headers: bool,
    spectra: &Spectra,
) -> Option<Ranking> {
    let map = coverage.map();
    let (failing, voters) = (&spectra.failing, &spectra.voters);
    let of = |voter: Voter| voters.witnesses.get(&voter).cloned().unwrap_or_default();
    // The paper has no rule that leaves a statement out.
    let ours = rules::Rule::RemoveStatement.to_string();
    let papers_mutants = || -> Vec<Witness> {
        let mutants = of(Voter::Mutants).into_iter();
        mutants.filter(|one| !one.name.contains(&ours)).collect()
    };
    let alone = |list: Vec<Witness>| Voters {
        witnesses: BTreeMap::from([(Voter::Mutants, list)]),
        ..Voters::default()
    };
    let diwi = Choice {
        formula: Formula::Diwi,
        headers,
    };
    let fusion = Choice {
        formula: Formula::Fusion,
        headers,
    };
    Some(match technique {
        Technique::Bisection => {
            let voters = Voters {
                curing: voters.curing.clone(),
                ..Voters::default()
            };
            let mut ranking = rank(&map, failing, &voters, fusion);
            let listed = |file: &candor_coverage::RankedFile| !file.votes.is_empty();
            ranking.files.retain(listed);
            ranking
        }
        Technique::Suite => rank(&map, failing, &alone(of(Voter::Suite)), diwi),
        Technique::RandomRules => {
            let random = spectra.random.clone()?;
            rank(&map, failing, &alone(random), diwi)
        }
        Technique::Diwi => rank(&map, failing, &alone(papers_mutants()), diwi),
        Technique::DiwiAndOptions => {
            let both = [papers_mutants(), of(Voter::OneChange)].concat();
            rank(&map, failing, &alone(both), diwi)
        }
        Technique::Fusion => rank(&map, failing, voters, fusion),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_by_their_header() {
        let table = "pr\tkind\tfailing\tpassing\tbuggy_files\ttest\tfixed_in\n\
                     1\twrong\t-O2 -lm | -O3\t-O0 -lm | -O1\ta.cc,b.cc\tgcc.dg/x.c\t12.5.0\n";
        let expected = Bug {
            number: "1".into(),
            kind: "wrong".into(),
            failing: vec!["-O2".into(), "-lm".into()],
            passing: vec!["-O0".into(), "-lm".into()],
            files: vec!["a.cc".into(), "b.cc".into()],
            test: "/t/12/gcc.dg/x.c".into(),
        };
        assert_eq!(bugs(table, Path::new("/t")), [expected]);
        assert!(bugs("", Path::new("/t")).is_empty());
    }

    #[test]
    fn known_answers_of_stage_one_are_read() {
        let line = r#"{"pr":"7","cures":[{"kind":"pass","name":"tree-x","flags":["-fdisable-tree-x"],"position":3},
            {"kind":"counter","name":"c","flags":[]}],"suspects":[{"pass":"tree-x","files":["x.cc"]}],"effort":{"seconds":2.5}}"#;
        let known = known_isolations(&(line.replace('\n', " ") + "\nnonsense\n"));
        let isolation = &known["7"];
        assert_eq!(
            (isolation.cures.len(), isolation.suspects[0].files.clone()),
            (1, vec!["x.cc".to_owned()])
        );
        assert_eq!(known.len(), 1);
    }
}
