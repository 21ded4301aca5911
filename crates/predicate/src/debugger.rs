//! A debugger disagrees with the debug information, or dies on it.
//!
//! # What it checks
//! A whole check of one build, with the audit of debuggers, finds the claim's kind for the claim's
//! variable again, with the same one to blame. Slow: real debuggers run for every question.

use candor_check::{PointChoice, Request, Settings, Toolset, check};
use candor_toolchain::{Compiler, Program};

use crate::case::{Claim, Subject};
use crate::direct::Ask;
use crate::verdict::{Evidence, Options, Setup, Verdict};
use crate::{Case, Error};

/// See the module.
pub struct DebuggerSession<'a> {
    tools: &'a Toolset<'a>,
    claim: &'a Claim,
    subject: &'a Subject,
    blame: Option<&'a str>,
    settings: Settings,
}

impl<'a> DebuggerSession<'a> {
    /// The claim of `case`, which is about `subject`.
    pub fn new(
        tools: &'a Toolset<'a>,
        options: &Options,
        case: &'a Case,
        subject: &'a Subject,
    ) -> Self {
        DebuggerSession {
            tools,
            claim: &case.claim,
            subject,
            blame: case.finding.as_ref().map(|finding| finding.blame.as_str()),
            settings: Settings {
                time: options.run,
                max_stops: options.max_stops,
                jobs: 1,
                audit: true,
                ..Settings::default()
            },
        }
    }
}

impl Ask for DebuggerSession<'_> {
    fn ask(&self, program: &Program, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let replay = |_: &Compiler, _: &str, _: &PointChoice| String::new();
        let request = Request {
            program,
            points: PointChoice::All,
            builds: vec![(setup.compiler, setup.flags.join(" "))],
            settings: self.settings.clone(),
            replay: &replay,
        };
        let report = match check(self.tools, &request, &|_| {}) {
            Ok(report) => report,
            Err(candor_check::Error::Unfit { reason }) => return Ok(Verdict::Invalid(reason)),
            Err(candor_check::Error::Source(error)) => {
                return Ok(Verdict::Invalid(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        let Claim::Debug { kind, .. } = self.claim else {
            return Ok(Verdict::Undecided("not a claim about a debugger".into()));
        };
        let found = report.findings.iter().find(|finding| {
            let root = Subject {
                function: None,
                variable: finding.variable.clone(),
                declared: 0,
                line: 0,
            };
            finding.kind == *kind
                && root.root() == self.subject.root()
                && finding.function == self.subject.function
                && self.blame.is_none_or(|blame| blame == finding.blame)
        });
        Ok(match found {
            Some(finding) => Verdict::Holds(Evidence {
                seen: format!(
                    "{}: `{}` line {} shows {}, true value {}",
                    finding.blame, finding.variable, finding.line, finding.shown, finding.expected
                ),
                line: Some(finding.line),
                variable: Some(finding.variable.clone()),
                ..Evidence::default()
            }),
            None => Verdict::Fails(format!(
                "{} other findings, none of this sort",
                report.findings.len()
            )),
        })
    }
}
