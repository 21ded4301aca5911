//! The compiler does not finish.
//!
//! # What it checks
//! A compiler burns all the CPU time it is given on a program that another build needs a tenth of it for.
//!
//! # Why
//! Loops that never end, and algorithms that explode.
//!
//! # False alarms
//! Wall-clock time on a loaded machine says nothing; only CPU time counts. A program that is hard for everybody is no
//! hang of one.
//!
//! # Source
//! Paper 004 §5 (performance bugs).

use std::collections::BTreeMap;

use candor_predicate::Claim;

use super::{Discovery, Oracle, Trial, Verdicts, affected, levels_of};
use crate::Error;
use crate::matrix::{Built1, Seen};

pub(super) fn judge(
    trial: &Trial<'_>,
    builds: &[Built1<'_>],
    verdicts: &mut Verdicts,
) -> Result<(), Error> {
    let mut hung: BTreeMap<String, Vec<&Built1<'_>>> = BTreeMap::new();
    let mut finished = 0;
    for build in builds {
        match &build.seen {
            Seen::Hung { .. } => {
                let family = build.target.compiler.family.to_string();
                hung.entry(family).or_default().push(build);
            }
            Seen::Behaved(_) | Seen::Compiled => finished += 1,
            _ => {}
        }
    }
    let total: usize = hung.values().map(Vec::len).sum();
    for (family, builds) in hung {
        let Some(build) = builds
            .iter()
            .max_by_key(|build| build.target.compiler.version)
        else {
            continue;
        };
        let name = &build.target.compiler.name;
        if finished < total {
            verdicts.undecided.push(format!(
                "{name} {} did not finish, like most builds of this program",
                build.level
            ));
            continue;
        }
        let seconds = trial.settings.compile_seconds;
        let case = trial.case(build, Claim::Hang { seconds }, Oracle::Hang);
        if let Some(objection) = trial.objection(&case, build.target.compiler)? {
            verdicts
                .undecided
                .push(format!("{name} {} hung once: {objection}", build.level));
            continue;
        }
        let affected = affected(builds.iter().copied());
        verdicts.discoveries.push(Discovery {
            kind: "hang".into(),
            signature: format!("hang | {family} | {}", levels_of(&affected)),
            title: format!("{name} {} does not finish within {seconds} s", build.level),
            priority: 40,
            subject: String::new(),
            case,
            affected,
        });
    }
    Ok(())
}
