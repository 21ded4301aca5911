//! The result once more, from scratch: compiled, run, sanitized, and shown by a real debugger.

use candor_check::{Finding, Replay, Request, Toolset, check};
use candor_predicate::{Case, Claim, Options, Setup, Verdict, predicate_for};
use candor_toolchain::Compiler;

use crate::Error;

/// What verification saw.
#[derive(Clone, Debug)]
pub struct Verified {
    /// In words.
    pub seen: String,
    /// The finding a check reports, for claims about debug information.
    pub finding: Option<Finding>,
}

/// Verifies `case` as if nothing were known about it. The inner error says what was seen instead.
///
/// Claims about wrong debug information go through a whole `candor_check::check`: references,
/// sanitizers, a print statement and debuggers. The others are asked once more with the full limits.
pub fn verify(
    tools: &Toolset<'_>,
    case: &Case,
    compiler: &Compiler,
    options: &Options,
    replay: &Replay<'_>,
) -> Result<Result<Verified, String>, Error> {
    let program = case.program.program();
    let Claim::Debug { kind, subject, .. } = &case.claim else {
        let setup = Setup {
            compiler,
            flags: case.flags.clone(),
        };
        let mut predicate = predicate_for(case, tools, options.clone())?;
        predicate.accept_warnings_of(&program)?;
        return Ok(match predicate.test(&program, &setup)? {
            Verdict::Holds(evidence) => Ok(Verified {
                seen: evidence.seen,
                finding: None,
            }),
            other => Err(other.to_string()),
        });
    };
    let audit = matches!(
        kind,
        candor_check::Kind::DebuggerDisagrees | candor_check::Kind::DebuggerCrash
    );
    let request = Request {
        program: &program,
        points: case.points(),
        builds: vec![(compiler, case.flags.join(" "))],
        settings: candor_check::Settings {
            time: options.run,
            globals: subject.function.is_none(),
            max_stops: options.max_stops,
            jobs: 1,
            audit,
            ..candor_check::Settings::default()
        },
        replay,
    };
    let report = match check(tools, &request, &|_| {}) {
        Ok(report) => report,
        Err(candor_check::Error::Unfit { reason }) => return Ok(Err(reason)),
        Err(error) => return Err(error.into()),
    };
    let same = |finding: &&Finding| {
        finding.kind == *kind
            && finding.function == subject.function
            && finding.root() == subject.root()
    };
    Ok(match report.findings.iter().find(same) {
        Some(finding) => Ok(Verified {
            seen: format!(
                "`{}` line {} shows {}, true value {}",
                finding.variable, finding.line, finding.shown, finding.expected
            ),
            finding: Some(finding.clone()),
        }),
        None => Err(report
            .undecided
            .iter()
            .map(|open| format!("`{}` line {}: {}", open.variable, open.line, open.reason))
            .next()
            .unwrap_or_else(|| "a whole check does not find it".into())),
    })
}
