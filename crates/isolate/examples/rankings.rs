//! Which numbers in the fusion of voters are best, without fitting single bugs: cross-validation over kept spectra.
//!
//!     candor isolate --benchmark bugs.tsv --tests DIR --coverage covgcc --spectra KEPT
//!     cargo run --release -p candor-isolate --example rankings -- covgcc isolate-benchmark.jsonl KEPT
//!
//! Every tuning of a grid (shrinkage, calm, weights of the voters) ranks every bug. In each of many random splits into five
//! parts, the best tuning of four parts is used on the fifth; what comes out is the honest figure of *choosing* by
//! this table. The default tuning stands beside it: if choosing is no better than that, there is nothing to choose.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use candor_coverage::ranking::{Ballot, Tuning};
use candor_coverage::{CoverageCompiler, Position, Tally, Voter};
use candor_isolate::witness::Spectra;
use candor_isolate::witness::benchmark::{Row, spectra_file};

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

const SHRINKS: [f64; 5] = [10.0, 25.0, 50.0, 100.0, 200.0];
const CALMS: [f64; 5] = [2.0, 5.0, 10.0, 20.0, 60.0];
/// What a voter weighs.
type Weight = fn(Voter) -> f64;

/// Ways to weigh the voters.
const WEIGHTS: [(&str, Weight); 10] = [
    ("equal", |_| 1.0),
    ("passes double", |voter| {
        weighed(voter, Voter::CuringPasses, 2.0)
    }),
    ("one-change double", |voter| {
        weighed(voter, Voter::OneChange, 2.0)
    }),
    ("mutants double", |voter| {
        weighed(voter, Voter::Mutants, 2.0)
    }),
    ("suite double", |voter| weighed(voter, Voter::Suite, 2.0)),
    ("suite half", |voter| weighed(voter, Voter::Suite, 0.5)),
    ("mutants half", |voter| weighed(voter, Voter::Mutants, 0.5)),
    ("no backtrace", |voter| {
        weighed(voter, Voter::Backtrace, 0.0)
    }),
    ("backtrace half", |voter| {
        weighed(voter, Voter::Backtrace, 0.5)
    }),
    ("backtrace double", |voter| {
        weighed(voter, Voter::Backtrace, 2.0)
    }),
];

fn weighed(voter: Voter, meant: Voter, weight: f64) -> f64 {
    if voter == meant { weight } else { 1.0 }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rankings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Anyhow<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [coverage, results, kept] = arguments.as_slice() else {
        return Err("expected: COVERAGE RESULTS.jsonl SPECTRA".into());
    };
    let coverage = CoverageCompiler::open(coverage)?;
    let map = coverage.map();
    let rows: Vec<Row> = std::fs::read_to_string(results)?
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|row: &Row| !row.places.is_empty())
        .collect();
    // positions[tuning][bug]
    let mut positions: BTreeMap<String, Vec<Position>> = BTreeMap::new();
    for row in &rows {
        let spectra = Spectra::load(&spectra_file(kept, &row.number))?;
        for shrink in SHRINKS {
            let ballot = Ballot::new(&map, &spectra.failing, &spectra.voters, false, shrink);
            for calm in CALMS {
                for (name, weight) in WEIGHTS {
                    let tuning = Tuning {
                        shrink,
                        calm,
                        weight,
                    };
                    let position = ballot.position(&tuning, &row.truth);
                    let name = format!("shrink {shrink}, calm {calm}, {name}");
                    positions.entry(name).or_default().push(position);
                }
            }
        }
    }
    let default = "shrink 50, calm 10, equal";
    println!("{} bugs, {} tunings", rows.len(), positions.len());
    println!(
        "| tuning | Top-1 | Top-5 | Top-10 | Top-20 | MFR |\n| --- | --- | --- | --- | --- | --- |"
    );
    let mut order: Vec<(&String, Tally)> = positions
        .iter()
        .map(|(name, list)| (name, Tally::of(list)))
        .collect();
    order.sort_by(|a, b| merit(&b.1).total_cmp(&merit(&a.1)));
    let shown = order.iter().take(8).chain(order.iter().rev().take(2));
    for (name, tally) in shown.chain(order.iter().filter(|(name, _)| *name == default)) {
        print(name, tally);
    }
    print(
        "chosen by cross-validation",
        &cross_validated(&positions, rows.len()),
    );
    Ok(())
}

fn print(name: &str, tally: &Tally) {
    let [one, five, ten, twenty] = tally.top;
    println!(
        "| {name} | {one} | {five} | {ten} | {twenty} | {:.1} |",
        tally.mean_first
    );
}

/// What is to be large: the share of bugs in the first 1, 5, 10 and 20, equally; the mean rank decides ties.
fn merit(tally: &Tally) -> f64 {
    let top: usize = tally.top.iter().sum();
    top as f64 - tally.mean_first / 1000.0
}

/// Each bug's position by the tuning that was best on the bugs outside its part; the median of 21 random divisions, by merit.
fn cross_validated(positions: &BTreeMap<String, Vec<Position>>, bugs: usize) -> Tally {
    let mut tallies: Vec<Tally> = (0..21)
        .map(|seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut order: Vec<usize> = (0..bugs).collect();
            random.shuffle(&mut order);
            let mut held_out = Vec::new();
            for part in 0..5 {
                let (test, train): (Vec<usize>, Vec<usize>) =
                    (0..bugs).partition(|at| at % 5 == part);
                let of = |list: &[Position], places: &[usize]| -> Vec<Position> {
                    let bugs = places.iter().filter_map(|at| order.get(*at));
                    bugs.filter_map(|bug| list.get(*bug).cloned()).collect()
                };
                let best = positions.values().max_by(|a, b| {
                    let merit = |list: &[Position]| merit(&Tally::of(&of(list, &train)));
                    merit(a).total_cmp(&merit(b))
                });
                held_out.extend(best.map_or_else(Vec::new, |list| of(list, &test)));
            }
            Tally::of(&held_out)
        })
        .collect();
    tallies.sort_by(|a, b| merit(a).total_cmp(&merit(b)));
    tallies.swap_remove(tallies.len() / 2)
}
