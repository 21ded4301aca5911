//! The program does something else when it is optimised: wrong code.
//!
//! # What it checks
//! Every build prints and ends like the reference, which is the sanitizers' unoptimised build.
//!
//! # Why
//! The program is closed, deterministic and free of undefined behaviour, so there is one right answer; an equivalent
//! variant must give it, too (paper 004 §3).
//!
//! # False alarms
//! Before anybody is accused: the sanitizers pass this very program (a variant as well); the -O0 builds of the newest
//! gcc and clang both agree with the reference; the difference shows again in a build made anew; and where most
//! builds of both families disagree with the reference in the same way, the reference is doubted and not they. What
//! the un-mutated parent shows in the same build is the parent's finding, not the variant's.
//!
//! # Source
//! Paper 004 §5; Csmith (Yang et al., PLDI 2011) for the majority.

use std::collections::{BTreeMap, BTreeSet};

use candor_predicate::{Claim, Manner as Wrong};
use candor_toolchain::Ending;

use super::{Discovery, Oracle, Trial, Verdicts, affected, levels_of};
use crate::Error;
use crate::matrix::{Behaviour, Built1, Manner, Seen, build, flags};

pub(super) fn judge(
    trial: &Trial<'_>,
    builds: &[Built1<'_>],
    verdicts: &mut Verdicts,
) -> Result<(), Error> {
    let behaved = |build: &Built1<'_>| match &build.seen {
        Seen::Behaved(behaviour) => Some(behaviour.clone()),
        _ => None,
    };
    let different: Vec<(&Built1<'_>, Behaviour)> = builds
        .iter()
        .filter_map(|build| Some((build, behaved(build)?)))
        .filter(|(_, behaviour)| behaviour != trial.expected)
        .collect();
    if different.is_empty() {
        return Ok(());
    }
    let ran = builds.iter().filter(|one| behaved(one).is_some()).count();
    if let Some(doubt) = doubt(trial, &different, ran)? {
        verdicts.undecided.push(doubt);
        return Ok(());
    }
    let mut groups: BTreeMap<(String, String), Vec<&Built1<'_>>> = BTreeMap::new();
    for (build, behaviour) in &different {
        if trial.variant.is_some() && parent_differs(trial, build)? {
            continue;
        }
        let family = build.target.compiler.family.to_string();
        let wrong = wrongness(trial.expected, behaviour);
        groups
            .entry((family, wrong.to_string()))
            .or_default()
            .push(build);
    }
    for ((family, wrong), group) in groups {
        accuse(trial, &family, &wrong, &group, verdicts)?;
    }
    Ok(())
}

/// In which way a behaviour is not the expected one.
fn wrongness(expected: &Behaviour, met: &Behaviour) -> Wrong {
    match (expected.ending, met.ending) {
        (_, Ending::Exceeded(_)) => Wrong::Endless,
        (a, b) if a == b => Wrong::Output,
        (Ending::Signalled(_), _) | (_, Ending::Signalled(_)) => Wrong::Signal,
        _ => Wrong::Status,
    }
}

/// A reason to doubt the reference and not the builds.
fn doubt(
    trial: &Trial<'_>,
    different: &[(&Built1<'_>, Behaviour)],
    ran: usize,
) -> Result<Option<String>, Error> {
    let manner = Manner {
        compile: trial.settings.compile_time(),
        run: Some(trial.settings.run_time()),
    };
    for reference in &trial.bench.references {
        let seen = build(trial.bench, trial.program, reference, &["-O0"], manner)?;
        if seen != Seen::Behaved(trial.expected.clone()) {
            return Ok(Some(format!(
                "builds differ, but so does {} -O0 from the sanitizers' build: the program may depend on \
                 what C leaves open",
                reference.name
            )));
        }
    }
    let families: BTreeSet<String> = different
        .iter()
        .map(|(build, _)| build.target.compiler.family.to_string())
        .collect();
    let unanimous = different
        .windows(2)
        .all(|pair| matches!(pair, [(_, a), (_, b)] if a == b));
    if different.len() * 2 > ran && families.len() > 1 && unanimous {
        return Ok(Some(format!(
            "{} of {ran} builds of {} families agree on something else than the references",
            different.len(),
            families.len()
        )));
    }
    Ok(None)
}

/// Whether the un-mutated program is wrong in the same build.
fn parent_differs(trial: &Trial<'_>, one: &Built1<'_>) -> Result<bool, Error> {
    let manner = Manner {
        compile: trial.settings.compile_time(),
        run: Some(trial.settings.run_time()),
    };
    let flags = flags(one.target, one.level);
    let seen = build(
        trial.bench,
        trial.parent,
        one.target.compiler,
        &flags,
        manner,
    )?;
    Ok(seen != Seen::Behaved(trial.expected.clone()))
}

/// Confirms one family's wrong builds, the newest compiler's lowest level first.
fn accuse(
    trial: &Trial<'_>,
    family: &str,
    wrong: &str,
    group: &[&Built1<'_>],
    verdicts: &mut Verdicts,
) -> Result<(), Error> {
    let Some(newest) = group
        .iter()
        .map(|build| build.target.compiler.version)
        .max()
    else {
        return Ok(());
    };
    let Some(build) = group
        .iter()
        .find(|build| build.target.compiler.version == newest)
    else {
        return Ok(());
    };
    let compiler = build.target.compiler;
    // A compiler that is wrong at -O0, too, cannot be its own reference.
    let own_reference = group
        .iter()
        .all(|other| other.target.compiler.name != compiler.name || other.level != "-O0");
    let reference = match own_reference {
        true => None,
        false => trial
            .bench
            .references
            .iter()
            .find(|other| other.name != compiler.name)
            .map(|other| other.name.clone()),
    };
    let claim = Claim::Miscompilation {
        against: vec!["-O0".into()],
        reference,
        manner: None,
    };
    let case = trial.case(build, claim, Oracle::Output);
    if let Some(objection) = trial.objection(&case, compiler)? {
        verdicts.undecided.push(format!(
            "{} {} behaves differently, not confirmed: {objection}",
            compiler.name, build.level
        ));
        return Ok(());
    }
    let affected = affected(group.iter().copied());
    verdicts.discoveries.push(Discovery {
        kind: "miscompilation".into(),
        signature: format!(
            "miscompilation | {family} | {wrong} | {}",
            levels_of(&affected)
        ),
        title: format!(
            "{} {} makes wrong code: it {wrong}",
            compiler.name, build.level
        ),
        priority: 100,
        subject: wrong.to_owned(),
        case,
        affected,
    });
    Ok(())
}
