//! Oracles take a program with its builds and decide whether somebody is to blame. One file each.
//!
//! What an oracle returns is confirmed: seen twice, on a program the sanitizers have nothing against, by the same
//! predicate that reduction and isolation will ask (`candor-predicate`).

mod crash;
mod debug;
mod hang;
mod output;

use std::collections::BTreeMap;

use candor_mutate::Variant;
use candor_predicate::{Case, Claim, Options, Setup, Verdict, predicate_for};
use candor_store::{FindingId, Lease, Metric, NewFinding, Signature};
use candor_toolchain::build::quote;
use candor_toolchain::{Compiler, Program};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Error;
use crate::bench::{Bench, Target};
use crate::generate::{CSMITH, Member};
use crate::matrix::{Behaviour, Built1};
use crate::settings::Settings;
use crate::tally::Portion;

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oracle {
    /// Does every build behave like the reference?
    Output,
    /// Does the compiler crash?
    Crash,
    /// Does the compiler finish?
    Hang,
    /// Does the debug information tell the truth?
    Debug,
}

impl Oracle {
    /// All of them.
    pub const ALL: [Oracle; 4] = [Oracle::Output, Oracle::Crash, Oracle::Hang, Oracle::Debug];

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Oracle::Output => "output",
            Oracle::Crash => "crash",
            Oracle::Hang => "hang",
            Oracle::Debug => "debug",
        }
    }

    /// From its name.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let found = Oracle::ALL.into_iter().find(|oracle| oracle.name() == name);
        found.ok_or_else(|| Error::BadSetting {
            what: format!("no oracle is called `{name}`; there are: output, crash, hang, debug"),
        })
    }
}

/// One program on trial.
pub(crate) struct Trial<'a> {
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) lease: &'a Lease,
    /// The file it comes from, for programs of the user's.
    pub(crate) member: Option<&'a Member>,
    /// How it was made of the seed; `None` for the seed itself.
    pub(crate) variant: Option<&'a Variant>,
    /// The seed it was made of; the seed itself otherwise.
    pub(crate) parent: &'a Program,
    pub(crate) program: &'a Program,
    /// What it must do.
    pub(crate) expected: &'a Behaviour,
}

/// Something confirmed.
#[derive(Debug)]
pub(crate) struct Discovery {
    pub(crate) kind: String,
    pub(crate) case: Case,
    pub(crate) signature: String,
    pub(crate) title: String,
    pub(crate) priority: i64,
    /// Compiler → levels.
    pub(crate) affected: BTreeMap<String, Vec<String>>,
    /// What tells it from others on the same program.
    pub(crate) subject: String,
}

/// What a trial came to.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) discoveries: Vec<Discovery>,
    /// What could not be confirmed, and why.
    pub(crate) undecided: Vec<String>,
}

impl<'a> Trial<'a> {
    /// The compilers it is judged with.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &'a Target<'a>> {
        let only = self.lease.compilers.as_deref();
        let targets = self.bench.targets.iter();
        targets.filter(move |one| only.is_none_or(|names| names.contains(&one.compiler.name)))
    }
}

impl Trial<'_> {
    /// Everything the plain builds show.
    pub(crate) fn judge_builds(&self, builds: &[Built1<'_>]) -> Result<Verdicts, Error> {
        let mut verdicts = Verdicts::default();
        if self.settings.looks(Oracle::Crash) {
            crash::judge(self, builds, &mut verdicts)?;
        }
        if self.settings.looks(Oracle::Hang) {
            hang::judge(self, builds, &mut verdicts)?;
        }
        if self.settings.looks(Oracle::Output) {
            output::judge(self, builds, &mut verdicts)?;
        }
        Ok(verdicts)
    }

    /// Everything the debug information shows.
    pub(crate) fn judge_debug(
        &self,
        portion: &mut Portion,
        verdicts: &mut Verdicts,
    ) -> Result<(), Error> {
        debug::judge(self, portion, verdicts)
    }

    /// Asks the predicate of a case on a build made anew. `None` when it holds, else what was seen.
    fn objection(&self, case: &Case, compiler: &Compiler) -> Result<Option<String>, Error> {
        let options = Options {
            run: self.settings.run_time(),
            compile: self.settings.compile_time(),
            ..Options::default()
        };
        let mut predicate = predicate_for(case, &self.bench.tools, options)?;
        // Warnings of a program that the sanitizers passed are no sign of anything.
        predicate.accept_warnings_of(self.program)?;
        let setup = Setup {
            compiler,
            flags: case.flags.clone(),
        };
        Ok(match predicate.test(self.program, &setup)? {
            Verdict::Holds(_) => None,
            other => Some(other.to_string()),
        })
    }

    /// A case on one build of this program.
    fn case(&self, build: &Built1<'_>, claim: Claim, oracle: Oracle) -> Case {
        let flags = build.level.split_whitespace().map(str::to_owned).collect();
        let compiler = build.target.compiler;
        let mut case = Case::new(self.program, compiler, flags, claim);
        case.replay = self.replay(&compiler.name, build.level, oracle);
        self.of_variant(case)
    }

    /// The case with the record of the variant, if the program is one: reduction drops whole snippets first.
    fn of_variant(&self, case: Case) -> Case {
        let record = self.variant.map(serde_json::to_value);
        match record {
            Some(Ok(record)) => case.with_variant(record, &self.parent.text),
            _ => case,
        }
    }

    /// The command that hunts for the same thing again.
    fn replay(&self, compiler: &str, level: &str, oracle: Oracle) -> String {
        let seed = match self.member {
            Some(member) => format!(
                "--generator none --corpus {}",
                quote(&member.path.display().to_string())
            ),
            None if self.lease.stream.0 != CSMITH => format!(
                "--generator none --corpus {}",
                quote(self.lease.file.as_deref().unwrap_or("program.c"))
            ),
            None => format!("--seed {} --seeds 1", self.lease.number),
        };
        format!(
            "candor hunt --store \"$(mktemp -d)\" {seed} --variants {} --cc {} {} --oracles {}",
            self.variant.map_or(0, |variant| variant.number),
            quote(compiler),
            quote(level),
            oracle.name()
        )
    }

    /// A discovery as the store takes it.
    pub(crate) fn finding(&self, discovery: &Discovery) -> NewFinding {
        let case = &discovery.case;
        let variant = self.variant.map(|variant| variant.number);
        let id = FindingId::of(&[
            &self.lease.stream.0,
            &self.lease.number.to_string(),
            &variant.unwrap_or(0).to_string(),
            &discovery.kind,
            &case.family,
            &discovery.subject,
        ]);
        NewFinding {
            id,
            stream: self.lease.stream.clone(),
            seed: self.lease.number,
            variant,
            kind: discovery.kind.clone(),
            compiler: case.compiler.clone(),
            version: case.version.clone(),
            family: case.family.clone(),
            level: case.flags.join(" "),
            signature: Signature(discovery.signature.clone()),
            priority: self.priority(discovery),
            title: discovery.title.clone(),
            case: serde_json::to_value(case).unwrap_or(Value::Null),
            affected: json!(discovery.affected),
        }
    }

    /// Kinds first; within one kind small programs, which are reduced sooner.
    fn priority(&self, discovery: &Discovery) -> i64 {
        let size = i64::try_from(self.program.text.len() / 1000).unwrap_or(i64::MAX);
        discovery.priority * 1000 - size.min(999)
    }

    /// Counts a trial's undecided.
    pub(crate) fn count_undecided(portion: &mut Portion, verdicts: &Verdicts) {
        let undecided = u64::try_from(verdicts.undecided.len()).unwrap_or(u64::MAX);
        portion.add(Metric::Undecided, "", undecided);
    }
}

/// Compiler → levels, both in the order of the builds.
fn affected<'b>(builds: impl Iterator<Item = &'b Built1<'b>>) -> BTreeMap<String, Vec<String>> {
    let mut affected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for build in builds {
        let levels = affected
            .entry(build.target.compiler.name.clone())
            .or_default();
        levels.push(build.level.to_owned());
    }
    affected
}

/// All levels in a table of affected builds, sorted, each once.
fn levels_of(affected: &BTreeMap<String, Vec<String>>) -> String {
    let mut levels: Vec<&str> = affected.values().flatten().map(String::as_str).collect();
    levels.sort_unstable();
    levels.dedup();
    levels.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oracles_are_known_by_name() {
        for oracle in Oracle::ALL {
            assert_eq!(Oracle::parse(oracle.name()).unwrap(), oracle);
        }
        assert!(
            Oracle::parse("tea")
                .unwrap_err()
                .to_string()
                .contains("`tea`")
        );
    }
}
