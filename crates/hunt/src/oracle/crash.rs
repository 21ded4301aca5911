//! The compiler crashes.
//!
//! # What it checks
//! A compiler ends by a signal, an assertion or an internal error on a program that is valid C.
//!
//! # Why
//! A crash is the plainest bug there is; its site (the message without the program's own places) tells one from
//! another.
//!
//! # False alarms
//! A compiler that ran out of memory or time did not crash; what happens only once is not reported.
//!
//! # Source
//! Paper 004 §5 (crash bugs).

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
    let mut sites: BTreeMap<(String, &str), Vec<&Built1<'_>>> = BTreeMap::new();
    for build in builds {
        if let Seen::Crashed { site } = &build.seen {
            let family = build.target.compiler.family.to_string();
            sites.entry((family, site)).or_default().push(build);
        }
    }
    for ((family, site), crashed) in sites {
        // The newest compiler that shows it: what is fixed already interests nobody.
        let Some(build) = crashed
            .iter()
            .max_by_key(|build| build.target.compiler.version)
        else {
            continue;
        };
        let claim = Claim::Crash {
            site: site.to_owned(),
        };
        let case = trial.case(build, claim, Oracle::Crash);
        if let Some(objection) = trial.objection(&case, build.target.compiler)? {
            verdicts.undecided.push(format!(
                "{} {} crashed once ({site}): {objection}",
                build.target.compiler.name, build.level
            ));
            continue;
        }
        let affected = affected(crashed.iter().copied());
        verdicts.discoveries.push(Discovery {
            kind: "crash".into(),
            signature: format!("crash | {family} | {site} | {}", levels_of(&affected)),
            title: format!(
                "{} {} crashes: {site}",
                build.target.compiler.name, build.level
            ),
            priority: 90,
            subject: site.to_owned(),
            case,
            affected,
        });
    }
    Ok(())
}
