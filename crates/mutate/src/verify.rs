//! Verification: does a variant really behave like its seed?
//!
//! Built by gcc and by clang without optimisation it must print and end as the seed did; UBSan, ASan and MSan must have
//! no objection. This costs several compiles per variant, so it is for findings, samples and tests.

use std::time::Duration;

use candor_toolchain::{Ending, GateVerdict, Program};
use serde::Serialize;

use crate::{Error, Profile, Workbench};

/// What verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Equal to the seed under both compilers, clean under the sanitizers.
    Equal,
    /// Not equal, not clean, or not compiled: a fault in the mutation (or a find at -O0).
    Different {
        /// Who says so, and what.
        reason: String,
    },
}

/// Verifies `text`, a variant of `program`.
///
/// # Errors
/// When a tool cannot be run.
pub fn verify(
    bench: &Workbench<'_>,
    program: &Program,
    profile: &Profile,
    text: &str,
    time: Duration,
) -> Result<Verdict, Error> {
    let different = |reason: String| Ok(Verdict::Different { reason });
    let (stdout, ending) = &profile.outcome;
    let equal = |out: &[u8], end: Ending| out == stdout.as_slice() && end == *ending;
    for compiler in [bench.gcc(), bench.clang()] {
        let flags = ["-O0", "-w"].map(String::from);
        let executable = match bench.build(compiler, program, text, &flags, Vec::new())? {
            Ok(executable) => executable,
            Err(reason) => return different(format!("{compiler} -O0: {reason}")),
        };
        let run = bench.run(&executable, program, time, false, None)?;
        if !equal(&run.stdout, run.ending) {
            return different(format!(
                "{compiler} -O0: {} instead of {ending}, output {}",
                run.ending,
                if run.stdout == *stdout {
                    "equal"
                } else {
                    "different"
                }
            ));
        }
    }
    let variant = Program {
        text: text.to_owned(),
        ..program.clone()
    };
    match bench.gate.judge(&variant, time)? {
        GateVerdict::Clean { stdout, ending, .. } if equal(&stdout, ending) => Ok(Verdict::Equal),
        GateVerdict::Clean { ending, .. } => different(format!(
            "the sanitizer builds print or end differently ({ending})"
        )),
        GateVerdict::Undefined { sanitizer, message } => {
            different(format!("{}: {message}", sanitizer.name()))
        }
        GateVerdict::Unfit { reason } | GateVerdict::Undecided { reason } => different(reason),
    }
}
