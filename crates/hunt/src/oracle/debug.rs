//! The debug information does not tell the truth.
//!
//! # What it checks
//! `candor check` on every optimised build of the matrix: what a debugger shows is what the variable holds.
//!
//! # Why
//! Released compilers are wrong here in about one Csmith program of four, where wrong code is found once in months.
//!
//! # False alarms
//! Check confirms with print statements and a real debugger; a variant is shown to the sanitizers first. Findings on
//! one variable by compilers of one family are one finding, with the builds that show it.
//!
//! # Source
//! Paper 000.

use std::collections::BTreeMap;

use candor_check::{Effort, Finding, Kind, PointChoice, Request, Settings, check};
use candor_predicate::Case;
use candor_store::Metric;
use candor_toolchain::{Compiler, GateVerdict};

use super::{Discovery, Oracle, Trial, Verdicts};
use crate::Error;
use crate::matrix::takes;
use crate::tally::Portion;

/// Builds with few barriers per compiler and level. From the yield of the rounds (docs/check.md): the first ones have the
/// most promising points, and a further program costs about as much as three.
const SPARSE: usize = 3;

pub(super) fn judge(
    trial: &Trial<'_>,
    portion: &mut Portion,
    verdicts: &mut Verdicts,
) -> Result<(), Error> {
    let mut builds: Vec<(&Compiler, String)> = Vec::new();
    for target in trial.targets() {
        for level in trial.settings.levels.iter().filter(|level| *level != "-O0") {
            if takes(target.compiler, trial.program, level) {
                builds.push((target.compiler, level.clone()));
            }
        }
    }
    if builds.is_empty() {
        return Ok(());
    }
    let replay = |compiler: &Compiler, level: &str, _: &PointChoice| {
        trial.replay(&compiler.name, level, Oracle::Debug)
    };
    let request = Request {
        program: trial.program,
        points: PointChoice::Rounds(Effort::Quick),
        builds,
        settings: Settings {
            time: trial.settings.run_time(),
            jobs: 1,
            judged: true,
            sparse: Some(SPARSE),
            ..Settings::default()
        },
        replay: &replay,
    };
    let report = match check(&trial.bench.tools, &request, &|_| {}) {
        Ok(report) => report,
        // No use to this oracle; others may still have a use for it.
        Err(candor_check::Error::Unfit { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for row in &report.summary {
        portion.add(Metric::Builds, &row.compiler, 1);
        if row.note.is_none() {
            let counts = &row.counts;
            portion.add(Metric::Checks, &row.compiler, 1);
            let values = counts.equal + counts.optimised_out + counts.wrong + counts.ill_formed;
            portion.add(Metric::Values, &row.compiler, values);
        }
    }
    for undecided in &report.undecided {
        verdicts.undecided.push(format!(
            "{} {} shows `{}` wrong at line {}: {}",
            undecided.compiler,
            undecided.level,
            undecided.variable,
            undecided.line,
            undecided.reason
        ));
    }
    if report.findings.is_empty() {
        return Ok(());
    }
    if trial.variant.is_some() {
        let gate = &trial.bench.tools.gate;
        let verdict = gate.judge(trial.program, trial.settings.run_time())?;
        if !matches!(verdict, GateVerdict::Clean { .. }) {
            verdicts.undecided.push(format!(
                "findings on a variant that the sanitizers do not pass: {verdict:?}"
            ));
            return Ok(());
        }
    }
    for group in grouped(trial, &report.findings).into_values() {
        verdicts.discoveries.extend(discovery(trial, &group));
    }
    Ok(())
}

/// The variable without its path: which of its parts is wrong differs from build to build.
fn root(finding: &Finding) -> &str {
    finding.root()
}

/// Findings on one variable by compilers of one family.
type Key = (Kind, String, Option<String>, String, u32);

fn grouped<'f>(trial: &Trial<'_>, findings: &'f [Finding]) -> BTreeMap<Key, Vec<&'f Finding>> {
    let mut groups: BTreeMap<Key, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        let key = (
            finding.kind,
            finding.signature.family.clone(),
            finding.function.clone(),
            root(finding).to_owned(),
            finding.declared,
        );
        groups.entry(key).or_default().push(finding);
    }
    // The newest compiler's lowest level stands for the others.
    let place = |finding: &Finding| {
        let target =
            |compiler: &&crate::bench::Target<'_>| compiler.compiler.name == finding.compiler;
        let version = trial.bench.targets.iter().find(target);
        let version = version.map(|target| target.compiler.version);
        let level = trial
            .settings
            .levels
            .iter()
            .position(|l| *l == finding.level);
        (std::cmp::Reverse(version), level, finding.line)
    };
    for group in groups.values_mut() {
        group.sort_by_key(|finding| place(finding));
    }
    groups
}

/// What is known to happen is told apart from what is not.
fn merged(finding: &Finding) -> &'static str {
    match finding.signature.relation.as_str() {
        "merged" => ", two calls being one",
        _ => "",
    }
}

fn discovery(trial: &Trial<'_>, group: &[&Finding]) -> Option<Discovery> {
    let first = group.first()?;
    let mut affected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for finding in group {
        let levels = affected.entry(finding.compiler.clone()).or_default();
        if !levels.contains(&finding.level) {
            levels.push(finding.level.clone());
        }
    }
    for levels in affected.values_mut() {
        levels.sort_by_key(|level| trial.settings.levels.iter().position(|l| l == level));
    }
    let case = trial.of_variant(Case::from_finding(trial.program, first));
    let whose = match &first.function {
        Some(function) => format!("`{}` in {function}", first.variable),
        None => format!("the global `{}`", first.variable),
    };
    let title = match first.kind {
        Kind::WrongValue
        | Kind::WriteOnlyStatic
        | Kind::WrongReferent
        | Kind::DebuggerDisagrees => format!(
            "{} {}: {whose} is {}, shown as {} (line {})",
            first.compiler, first.level, first.expected, first.shown, first.line
        ),
        Kind::WrongLine => format!(
            "{} {}: a call in {} is on line {}, and line {} is shown{}",
            first.compiler,
            first.level,
            first.function.as_deref().unwrap_or("?"),
            first.expected,
            first.shown,
            merged(first)
        ),
        Kind::WrongFrame => format!(
            "{} {}: frame {} is {}, and {} is shown{} (line {})",
            first.compiler,
            first.level,
            first.frame,
            first.expected,
            first.shown,
            merged(first),
            first.line
        ),
        Kind::IllFormedLocation => format!(
            "{} {}: the location of {whose} is ill-formed (line {})",
            first.compiler, first.level, first.line
        ),
        Kind::DebuggerCrash => format!(
            "{} {}: a debugger fails on {whose} (line {})",
            first.compiler, first.level, first.line
        ),
    };
    Some(Discovery {
        kind: first.kind.to_string(),
        signature: first.signature.to_string(),
        title,
        priority: match first.kind {
            Kind::WrongValue => 50,
            Kind::IllFormedLocation => 45,
            Kind::WrongLine | Kind::WrongFrame => match first.signature.relation.as_str() {
                "merged" => 12,
                _ => 40,
            },
            Kind::DebuggerCrash => 30,
            Kind::WriteOnlyStatic => 20,
            Kind::WrongReferent => 15,
            Kind::DebuggerDisagrees => 10,
        },
        subject: format!(
            "{} {} {}",
            first.function.as_deref().unwrap_or_default(),
            root(first),
            first.declared
        ),
        case,
        affected,
    })
}
