//! From suspicious statements to ranked files, with the evidence.
//!
//! [`Formula::Diwi`] is paper 003's: one spectrum over all witnesses the search found, the mean
//! suspicion of a file's statements. [`Formula::Fusion`], the default, lets every source of witnesses
//! vote on its own and sums reciprocal ranks: sources fail on different bugs, and pooling their
//! counts drowns the small ones. Within a voter the mean is drawn towards the mean of all files, by
//! some statements' weight ([`Tuning`]): otherwise files of which two lines ran top every list.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Cover, Map, Position, Spectrum};

/// The numbers in the fusion. `cargo run --example rankings` of `candor-isolate` compares others on kept spectra.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Statements' worth of the overall mean in each file's mean.
    pub shrink: f64,
    /// How far the first place is ahead: a vote is weight/(calm + rank).
    pub calm: f64,
    /// What a voter's vote weighs.
    pub weight: fn(Voter) -> f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            shrink: 50.0,
            calm: 10.0,
            weight: |_| 1.0,
        }
    }
}

/// Functions and lines named per file.
const MOST_FUNCTIONS: usize = 8;
const MOST_LINES: usize = 40;

/// How files are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// Paper 003, formula 4: the mean over a file's statements, mutants only.
    Diwi,
    /// Reciprocal rank fusion of all voters.
    #[default]
    Fusion,
}

/// Where a vote comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Voter {
    /// Programs of the developers' test suite.
    Suite,
    /// Random programs.
    Random,
    /// Mutants of the failing program that pass.
    Mutants,
    /// The failing program with one option or pass off, which cures it.
    OneChange,
    /// The files of the passes whose absence cures.
    CuringPasses,
    /// The files of the compiler's backtrace, where it crashes.
    Backtrace,
}

impl Voter {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Voter::Suite => "suite tests",
            Voter::Random => "random programs",
            Voter::Mutants => "mutants",
            Voter::OneChange => "one-change witnesses",
            Voter::CuringPasses => "curing passes",
            Voter::Backtrace => "backtrace",
        }
    }
}

/// A passing compilation.
#[derive(Clone, Debug)]
pub struct Witness {
    /// What it is, in words: the mutation, the option, the test.
    pub name: String,
    /// What it reached.
    pub cover: Cover,
}

/// Everything that votes.
#[derive(Clone, Debug, Default)]
pub struct Voters {
    /// Witnesses by their source.
    pub witnesses: BTreeMap<Voter, Vec<Witness>>,
    /// Files of curing passes, the likeliest culprit's first, with the pass.
    pub curing: Vec<(String, String)>,
    /// Files of the crash's backtrace, the innermost first.
    pub trace: Vec<String>,
}

/// Which files are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The formula.
    pub formula: Formula,
    /// Whether headers are ranked too.
    pub headers: bool,
}

/// One vote for a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Vote {
    /// Whose.
    pub voter: Voter,
    /// The place it gives the file.
    pub rank: usize,
    /// The score behind the place; 0 for curing passes.
    pub score: f64,
}

/// A function of a suspicious file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedFunction {
    /// Its name.
    pub name: String,
    /// The mean suspicion of its statements.
    pub score: f64,
    /// Its lines that no witness reached.
    pub only_failing: Vec<u32>,
    /// How many of its lines the failing compilation reached.
    pub reached: usize,
}

/// A file with its place and why it is there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedFile {
    /// Its place, from 1; files of equal score share the worst of their places.
    pub rank: usize,
    /// Its name below the compiler's source directory.
    pub file: String,
    /// The score.
    pub score: f64,
    /// How many of its lines the failing compilation reached.
    pub reached: usize,
    /// Who voted for it.
    pub votes: Vec<Vote>,
    /// Curing passes that are in this file.
    pub passes: Vec<String>,
    /// Witnesses that reached fewer of its lines, with how many fewer, the most first.
    pub avoided_by: Vec<(String, usize)>,
    /// Lines that no witness reached.
    pub only_failing: Vec<u32>,
    /// Its functions, the most suspicious first; for the first files only.
    pub functions: Vec<RankedFunction>,
}

/// Files, the most suspicious first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ranking {
    /// The files.
    pub files: Vec<RankedFile>,
}

impl Ranking {
    /// The place of a file. A generated file counts as the one it is generated from.
    pub fn position(&self, file: &str) -> Option<usize> {
        let found = self
            .files
            .iter()
            .filter(|ranked| is_same(&ranked.file, file));
        found.map(|ranked| ranked.rank).min()
    }
}

/// gcc's `match.pd` becomes `gimple-match.cc` and `generic-match.cc` (several of each in newer ones).
pub fn is_same(ranked: &str, meant: &str) -> bool {
    let generated = ["gimple-match", "generic-match"]
        .iter()
        .any(|stem| ranked.starts_with(stem));
    ranked == meant || meant == "match.pd" && generated
}

/// Whether a file is a header.
pub fn is_header(file: &str) -> bool {
    [".h", ".hpp", ".def", ".inc"]
        .iter()
        .any(|ending| file.ends_with(ending))
}

/// Per file its place and its score.
type Places = BTreeMap<u32, (usize, f64)>;

/// Ranks the files that the failing compilation reached. With no witness and no curing pass there is
/// nothing to tell files apart by, and the ranking is empty.
pub fn rank(map: &Map, failing: &Cover, voters: &Voters, choice: Choice) -> Ranking {
    let table = Table::new(map, failing, choice.headers);
    let sources: Vec<(Voter, &Vec<Witness>)> = voters
        .witnesses
        .iter()
        .filter(|(voter, list)| {
            !list.is_empty() && (choice.formula == Formula::Fusion || **voter == Voter::Mutants)
        })
        .map(|(voter, list)| (*voter, list))
        .collect();
    // The paper's formula on another source is how its baselines are run: without mutants, the rest.
    let sources: Vec<(Voter, &Vec<Witness>)> = if sources.is_empty() {
        let filled = voters.witnesses.iter().filter(|(_, list)| !list.is_empty());
        filled.map(|(voter, list)| (*voter, list)).collect()
    } else {
        sources
    };
    let mut lists: Vec<(Voter, Places)> = Vec::new();
    match choice.formula {
        Formula::Diwi => {
            let covers = sources
                .iter()
                .flat_map(|(_, list)| list.iter().map(|one| &one.cover));
            let spectrum = Spectrum::new(failing, covers);
            if spectrum.runs() > 0 {
                let voter = sources.first().map_or(Voter::Mutants, |(voter, _)| *voter);
                lists.push((voter, places(&table.means(&spectrum, 0.0))));
            }
        }
        Formula::Fusion => lists = votes(&table, failing, voters, Tuning::default().shrink),
    }
    if lists.is_empty() {
        return Ranking::default();
    }
    let order = match choice.formula {
        Formula::Diwi => lists
            .first()
            .map_or_else(Places::new, |(_, list)| list.clone()),
        Formula::Fusion => fuse(&table, &lists, &Tuning::default()),
    };
    let all: Vec<&Witness> = sources.iter().flat_map(|(_, list)| list.iter()).collect();
    let pooled = Spectrum::new(failing, all.iter().map(|one| &one.cover));
    let mut files: Vec<RankedFile> = order
        .iter()
        .filter_map(|(file, (rank, score))| {
            let name = map.files().get(*file as usize)?.clone();
            let votes = lists.iter().filter_map(|(voter, list)| {
                let (rank, score) = list.get(file)?;
                Some(Vote {
                    voter: *voter,
                    rank: *rank,
                    score: *score,
                })
            });
            let passes = voters
                .curing
                .iter()
                .filter(|(known, _)| is_same(&name, known));
            let passes: BTreeSet<String> = passes.map(|(_, pass)| pass.clone()).collect();
            Some(RankedFile {
                rank: *rank,
                score: *score,
                reached: table.files.get(file).map_or(0, Vec::len),
                votes: votes.collect(),
                passes: passes.into_iter().collect(),
                avoided_by: Vec::new(),
                only_failing: Vec::new(),
                functions: Vec::new(),
                file: name,
            })
        })
        .collect();
    files.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.file.cmp(&b.file))
    });
    let numbers: BTreeMap<&str, u32> = (0..)
        .zip(map.files())
        .map(|(number, name)| (name.as_str(), number))
        .collect();
    for ranked in files.iter_mut().take(EXPLAINED) {
        if let Some(statements) = numbers
            .get(ranked.file.as_str())
            .and_then(|file| table.files.get(file))
        {
            explain(map, ranked, statements, &pooled, &all);
        }
    }
    Ranking { files }
}

/// Each voter's places for the files.
fn votes(table: &Table, failing: &Cover, voters: &Voters, shrink: f64) -> Vec<(Voter, Places)> {
    let mut lists: Vec<(Voter, Places)> = voters
        .witnesses
        .iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(voter, list)| {
            let spectrum = Spectrum::new(failing, list.iter().map(|one| &one.cover));
            (*voter, places(&table.means(&spectrum, shrink)))
        })
        .collect();
    let curing = table.listed(voters.curing.iter().map(|(file, _)| file));
    let trace = table.listed(&voters.trace);
    for (voter, list) in [(Voter::CuringPasses, curing), (Voter::Backtrace, trace)] {
        if !list.is_empty() {
            lists.push((voter, list));
        }
    }
    lists
}

/// The places that all voters together give.
fn fuse(table: &Table, lists: &[(Voter, Places)], tuning: &Tuning) -> Places {
    let vote = |voter: Voter, rank: usize| (tuning.weight)(voter) / (tuning.calm + rank as f64);
    let scores: BTreeMap<u32, f64> = table
        .files
        .keys()
        .map(|file| {
            let votes = lists
                .iter()
                .filter_map(|(voter, list)| Some(vote(*voter, list.get(file)?.0)));
            (*file, votes.sum())
        })
        .collect();
    places(&scores)
}

/// One bug, ready to be ranked with many tunings: the counting is done once per `shrink`.
#[derive(Debug)]
pub struct Ballot {
    table: Table,
    lists: Vec<(Voter, Places)>,
}

impl Ballot {
    /// Counts.
    pub fn new(map: &Map, failing: &Cover, voters: &Voters, headers: bool, shrink: f64) -> Self {
        let table = Table::new(map, failing, headers);
        let lists = votes(&table, failing, voters, shrink);
        Ballot { table, lists }
    }

    /// Where a bug's files are; `tuning.shrink` is the ballot's.
    pub fn position(&self, tuning: &Tuning, truth: &[String]) -> Position {
        let places = fuse(&self.table, &self.lists, tuning);
        Position::new(truth, places.len(), |meant| {
            let names = self.table.names.iter();
            let found = names.filter(|(_, name)| is_same(name, meant));
            let ranks = found.filter_map(|(file, _)| places.get(file));
            ranks.map(|(rank, _)| *rank).min()
        })
    }
}

/// How many files come with functions and witnesses.
const EXPLAINED: usize = 20;

/// What the failing compilation reached, by file.
#[derive(Debug)]
struct Table {
    files: BTreeMap<u32, Vec<u32>>,
    names: BTreeMap<u32, String>,
}

impl Table {
    fn new(map: &Map, failing: &Cover, headers: bool) -> Self {
        let mut files: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut names = BTreeMap::new();
        for statement in failing.iter() {
            let Some(place) = map.statements().get(statement as usize) else {
                continue;
            };
            let Some(name) = map.files().get(place.file as usize) else {
                continue;
            };
            if headers || !is_header(name) {
                files.entry(place.file).or_default().push(statement);
                names.entry(place.file).or_insert_with(|| name.clone());
            }
        }
        Table { files, names }
    }

    /// The mean suspicion of each file, drawn by `shrink` statements' weight towards the overall one.
    fn means(&self, spectrum: &Spectrum, shrink: f64) -> BTreeMap<u32, f64> {
        let suspicion: BTreeMap<u32, f64> = spectrum.suspicions().collect();
        let sum = |statements: &[u32]| -> f64 {
            let known = statements.iter().filter_map(|one| suspicion.get(one));
            known.sum()
        };
        let count: usize = self.files.values().map(Vec::len).sum();
        let total: f64 = self.files.values().map(|statements| sum(statements)).sum();
        let overall = total / count.max(1) as f64;
        let mean = |statements: &Vec<u32>| {
            (sum(statements) + shrink * overall) / (statements.len() as f64 + shrink)
        };
        self.files
            .iter()
            .map(|(file, statements)| (*file, mean(statements)))
            .collect()
    }

    /// Those of the listed files that were reached, in their order.
    fn listed<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Places {
        let mut places = BTreeMap::new();
        for name in names {
            let found: Vec<u32> = self
                .names
                .iter()
                .filter(|(number, known)| is_same(known, name) && !places.contains_key(*number))
                .map(|(number, _)| *number)
                .collect();
            let rank = places.len() + found.len();
            places.extend(found.into_iter().map(|number| (number, (rank, 0.0))));
        }
        places
    }
}

/// Places by descending score; equal scores share the worst place.
fn places(scores: &BTreeMap<u32, f64>) -> Places {
    let mut ordered: Vec<f64> = scores.values().copied().collect();
    ordered.sort_by(f64::total_cmp);
    // Sums in another order may differ in the last bit: that is a tie all the same.
    let at_least =
        |score: f64| ordered.len() - ordered.partition_point(|other| *other < score - 1e-12);
    scores
        .iter()
        .map(|(file, score)| (*file, (at_least(*score), *score)))
        .collect()
}

fn explain(
    map: &Map,
    ranked: &mut RankedFile,
    statements: &[u32],
    pooled: &Spectrum,
    witnesses: &[&Witness],
) {
    let line = |statement: &u32| {
        map.statements()
            .get(*statement as usize)
            .map(|one| one.line)
    };
    let mine: BTreeSet<u32> = statements.iter().copied().collect();
    let only: BTreeSet<u32> = pooled
        .only_failing()
        .filter(|one| mine.contains(one))
        .collect();
    let lines = |numbers: &mut dyn Iterator<Item = &u32>| -> Vec<u32> {
        let lines: BTreeSet<u32> = numbers.filter_map(line).collect();
        lines.into_iter().take(MOST_LINES).collect()
    };
    ranked.only_failing = lines(&mut only.iter());
    let mut avoided: Vec<(String, usize)> = witnesses
        .iter()
        .map(|witness| {
            let missed = statements
                .iter()
                .filter(|one| !witness.cover.contains(**one))
                .count();
            (witness.name.clone(), missed)
        })
        .filter(|(_, missed)| *missed > 0)
        .collect();
    avoided.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    ranked.avoided_by = avoided;
    let mut functions: BTreeMap<u32, (f64, Vec<u32>)> = BTreeMap::new();
    for (statement, suspicion) in pooled.suspicions().filter(|(one, _)| mine.contains(one)) {
        if let Some(place) = map.statements().get(statement as usize) {
            let entry = functions.entry(place.function).or_default();
            entry.0 += suspicion;
            entry.1.push(statement);
        }
    }
    let mut list: Vec<RankedFunction> = functions
        .into_iter()
        .filter_map(|(function, (sum, statements))| {
            let name = map.functions().get(function as usize)?.clone();
            Some(RankedFunction {
                score: (sum + FUNCTION_SHRINK * ochiai_floor(pooled))
                    / (statements.len() as f64 + FUNCTION_SHRINK),
                only_failing: lines(&mut statements.iter().filter(|one| only.contains(one))),
                reached: statements.len(),
                name,
            })
        })
        .filter(|function| !function.name.is_empty())
        .collect();
    list.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.name.cmp(&b.name))
    });
    list.truncate(MOST_FUNCTIONS);
    ranked.functions = list;
}

/// Functions are shorter than files: less weight draws them towards innocence.
const FUNCTION_SHRINK: f64 = 5.0;

/// The suspicion of what every witness reaches.
fn ochiai_floor(spectrum: &Spectrum) -> f64 {
    crate::spectrum::ochiai(u32::try_from(spectrum.runs()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a.cc has lines 1..=4, b.cc 1..=100, a.h line 1, c.cc 1..=400; statements in this order.
    fn map() -> Map {
        let mut map = Map::default();
        for line in 1..=4 {
            map.number("a.cc", line, "f");
        }
        for line in 1..=100 {
            map.number("b.cc", line, if line > 50 { "late" } else { "early" });
        }
        map.number("a.h", 1, "inline");
        for line in 1..=400 {
            map.number("c.cc", line, "innocent");
        }
        map
    }

    /// A witness that reached these, and all of c.cc.
    fn witness(name: &str, statements: impl IntoIterator<Item = u32>) -> Witness {
        Witness {
            name: name.into(),
            cover: statements.into_iter().chain(105..505).collect(),
        }
    }

    fn all() -> Cover {
        (0..505).collect()
    }

    fn names(ranking: &Ranking) -> Vec<(&str, usize)> {
        ranking
            .files
            .iter()
            .map(|file| (file.file.as_str(), file.rank))
            .collect()
    }

    #[test]
    fn the_papers_mean_favours_small_files_and_the_shrunk_mean_does_not() {
        let map = map();
        // Nobody but the failing run reaches two of a.cc's four lines, and half of b.cc.
        let mut voters = Voters::default();
        let reached: Vec<u32> = (2..54).collect();
        voters
            .witnesses
            .insert(Voter::Mutants, vec![witness("m", reached)]);
        let choice = Choice {
            formula: Formula::Diwi,
            headers: false,
        };
        // Half of each: equal means are a tie, and both get the worse place.
        let diwi = rank(&map, &all(), &voters, choice);
        assert_eq!(names(&diwi), [("a.cc", 2), ("b.cc", 2), ("c.cc", 3)]);
        // A little more of a.cc: first by the plain mean, and by the shrunk one still behind b.cc,
        // half of which says more than three lines do.
        voters
            .witnesses
            .insert(Voter::Mutants, vec![witness("m", (3..4).chain(4..52))]);
        assert_eq!(
            rank(&map, &all(), &voters, choice).position("a.cc"),
            Some(1)
        );
        assert_eq!(
            rank(&map, &all(), &voters, Choice::default()).position("b.cc"),
            Some(1)
        );
    }

    #[test]
    fn voters_are_fused_and_curing_passes_count() {
        let map = map();
        let mut voters = Voters::default();
        // The suite avoids a.cc, one option avoids part of b.cc.
        voters
            .witnesses
            .insert(Voter::Suite, vec![witness("t", 4..104)]);
        voters
            .witnesses
            .insert(Voter::OneChange, vec![witness("-fno-x", 0..60)]);
        let before = rank(&map, &all(), &voters, Choice::default());
        assert_eq!(before.files[0].votes.len(), 2);
        voters.curing.push(("b.cc".into(), "tree-x".into()));
        let after = rank(&map, &all(), &voters, Choice::default());
        assert_eq!(after.position("b.cc"), Some(1));
        assert_eq!(after.files[0].passes, ["tree-x"]);
        assert_eq!(after.files[0].avoided_by, [("-fno-x".to_owned(), 44)]);
    }

    #[test]
    fn functions_and_lines_of_the_failing_run_alone_are_named() {
        let map = map();
        let mut voters = Voters::default();
        voters
            .witnesses
            .insert(Voter::Mutants, vec![witness("m", 0..60)]);
        let ranking = rank(&map, &all(), &voters, Choice::default());
        let b = ranking
            .files
            .iter()
            .find(|file| file.file == "b.cc")
            .unwrap();
        assert_eq!(b.functions[0].name, "late");
        assert_eq!(b.only_failing[0], 57);
        assert_eq!(b.functions[1].only_failing, [0u32; 0]);
    }

    #[test]
    fn headers_are_ranked_only_when_asked_for_and_nothing_without_witnesses() {
        let map = map();
        let mut voters = Voters::default();
        assert_eq!(
            rank(&map, &all(), &voters, Choice::default()).files.len(),
            0
        );
        voters
            .witnesses
            .insert(Voter::Mutants, vec![witness("m", 0..60)]);
        let count = |headers| {
            let choice = Choice {
                headers,
                ..Choice::default()
            };
            rank(&map, &all(), &voters, choice).files.len()
        };
        assert_eq!((count(false), count(true)), (3, 4));
    }

    #[test]
    fn generated_files_count_as_their_source() {
        assert!(is_same("gimple-match.cc", "match.pd"));
        assert!(is_same("gimple-match-3.cc", "match.pd"));
        assert!(!is_same("gimple.cc", "match.pd"));
    }
}
