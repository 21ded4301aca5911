//! Is it still there? One case, one question, asked of many programs and many builds.
//!
//! In: a [`Case`] (a program, one build of it, and what is wrong with it; as JSON it is the
//! `finding.json` that commands exchange) and the tools of a check. Out: a [`Verdict`] for any other
//! program or any other flags: the claim holds, fails (with what was seen instead), the program is
//! invalid, or it could not be decided.
//!
//! The steps, in the order of the files:
//! 1. `case`: the case and its claims, read from and written to JSON.
//! 2. `verdict`: the traits [`Predicate`] (many texts: reduction) and [`Prepared`] (many flags on one
//!    text: isolation), and what they answer.
//! 3. `validity`: programs that must not blame anyone: warnings that betray undefined behaviour, and
//!    the sanitizers (paper 000 §4.1, paper 004 §5).
//! 4. `object`: compiling once, and not looking twice at identical code.
//! 5. `direct`: claims with nothing to prepare.
//! 6. `crash`, `hang`, `miscompilation`, `debug` (wrong and lost values), `debugger`, `command`: one claim each.
//!
//! Nothing here changes a program.

mod case;
mod command;
mod crash;
mod debug;
mod debugger;
mod direct;
mod error;
mod hang;
mod miscompilation;
mod object;
mod validity;
mod verdict;

pub use case::{Case, Claim, Manner, Pass, SavedProgram, Subject, write_whole};
pub use error::Error;
pub use object::compile;
pub use validity::Validity;
pub use verdict::{Evidence, Options, Predicate, Prepared, Rejection, Setup, Verdict};

use candor_check::{Kind, Toolset};

/// The predicate of a case. `options` bound every run it makes.
pub fn predicate_for<'a>(
    case: &'a Case,
    tools: &'a Toolset<'a>,
    options: Options,
) -> Result<Box<dyn Predicate + 'a>, Error> {
    let validity = Validity::new(tools, options.clone());
    Ok(match &case.claim {
        Claim::Crash { site } => direct(crash::Crash::new(tools, options, site), Some(validity)),
        Claim::Hang { seconds } => direct(hang::Hang::new(tools, *seconds), Some(validity)),
        Claim::Miscompilation {
            against,
            reference,
            manner,
        } => Box::new(miscompilation::Miscompilation::new(
            tools,
            options,
            validity,
            against,
            reference.as_deref(),
            *manner,
        )?),
        Claim::Command { path } => direct(command::Command::new(tools, options, path)?, None),
        Claim::Debug {
            kind: Kind::DebuggerDisagrees | Kind::DebuggerCrash,
            subject,
            ..
        } => direct(
            debugger::DebuggerSession::new(tools, &options, case, subject),
            Some(validity),
        ),
        Claim::Debug { subject, .. } | Claim::Lost { subject, .. } => {
            Box::new(debug::Debug::new(tools, options, validity, case, subject)?)
        }
    })
}

fn direct<'a>(
    claim: impl direct::Ask + 'a,
    validity: Option<Validity<'a>>,
) -> Box<dyn Predicate + 'a> {
    Box::new(direct::Direct::new(claim, validity))
}
