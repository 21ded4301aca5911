//! `candor isolate --html`: the answer as a page.

use std::path::{Path, PathBuf};

use candor_coverage::RankedFile;
use candor_isolate::Isolation;
use candor_isolate::witness::{Ended, Location};
use candor_predicate::Case;
use candor_report::{Culprit, IsolateRun, SuspectFile, isolate_site};

/// Files on the page; `--json` has them all.
const MOST_FILES: usize = 30;

/// Writes the page and gives its place.
pub fn write(
    directory: &Path,
    case: &Case,
    isolation: Option<&Isolation>,
    location: Option<&Location>,
) -> anyhow::Result<PathBuf> {
    let mut run = IsolateRun {
        program: case.program.name.clone(),
        ..IsolateRun::default()
    };
    if let Some(isolation) = isolation {
        run.headline = isolation.headline();
        run.culprit = Culprit::read(&serde_json::to_value(isolation)?);
        run.notes.extend(isolation.notes.iter().cloned());
        run.facts = vec![
            (
                "compiler".into(),
                format!("{} {}", isolation.compiler, isolation.version),
            ),
            ("flags".into(), isolation.flags.join(" ")),
            ("claim".into(), isolation.claim.clone()),
            (
                "effort".into(),
                format!(
                    "{} builds in {:.1} s",
                    isolation.effort.builds, isolation.effort.seconds
                ),
            ),
        ];
    }
    if let Some(location) = location {
        add(&mut run, location);
    }
    Ok(isolate_site(&run, directory)?)
}

fn add(run: &mut IsolateRun, location: &Location) {
    run.notes.extend(location.notes.iter().cloned());
    match &location.outcome {
        Ended::Located => {}
        Ended::NotReproduced(why) => run.notes.push(format!(
            "no file is named: it does not reproduce with the coverage compiler ({why})"
        )),
        Ended::NoWitness(tried) => run.notes.push(format!(
            "no file is named: nothing near the program passes. Tried: {tried}"
        )),
    }
    if run.headline.is_empty()
        && let Some(first) = location.ranking.files.first()
    {
        run.headline = format!("likeliest file: {}", first.file);
    }
    let files = location.ranking.files.iter().take(MOST_FILES);
    run.files = files.map(suspect).collect();
    let nearest = location.witnesses.iter().find(|one| one.text.is_some());
    run.nearest = nearest.map(|one| {
        let name = format!("{}, distance {:.4}", one.name, one.distance);
        (name, location.nearest.clone())
    });
    let witnesses = location.witnesses.iter().map(|one| {
        (
            one.source.words().to_owned(),
            one.name.clone(),
            format!("{:.4}", one.distance),
        )
    });
    run.witnesses = witnesses.collect();
}

fn suspect(file: &RankedFile) -> SuspectFile {
    let places: Vec<String> = file
        .votes
        .iter()
        .map(|vote| format!("{} {}", vote.voter.words(), vote.rank))
        .collect();
    let mut why = Vec::new();
    if !file.passes.is_empty() {
        why.push(format!("curing passes in it: {}", file.passes.join(", ")));
    }
    for (witness, missed) in file.avoided_by.iter().take(3) {
        why.push(format!(
            "{missed} of its lines are not reached by: {witness}"
        ));
    }
    let functions = file.functions.iter().map(|function| {
        let lines: Vec<String> = function
            .only_failing
            .iter()
            .map(ToString::to_string)
            .collect();
        (function.name.clone(), lines.join(", "))
    });
    SuspectFile {
        rank: file.rank,
        file: file.file.clone(),
        reached: file.reached,
        places: places.join(", "),
        why,
        functions: functions.collect(),
    }
}
