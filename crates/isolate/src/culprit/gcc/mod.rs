//! gcc: options, passes and debug counters, each switched off, in groups first.
//!
//! The steps: `checking` hears what the compiler says by itself (`-fchecking`, or the message of a
//! crash); `options` switches `-fX` off; `passes` uses `-fdisable-<pass>`, every instance;
//! `counters` finds the exact transformation with `-fdbg-cnt`. Options and passes disagree at times,
//! so both are asked. `place` narrows the leading pass down to a function.

pub mod checking;
pub mod counters;
pub mod options;
pub mod passes;
pub mod place;

use crate::Error;
use crate::answer::{Isolation, Outcome};
use crate::culprit::ranking;
use crate::probe::Bench;

/// Finds the cures and ranks the passes; returns the pass that leads. What is known when it is
/// interrupted stays in `answer`.
pub fn isolate(bench: &Bench<'_>, answer: &mut Isolation) -> Result<Option<String>, Error> {
    let pipeline = passes::Pipeline::list(bench)?;
    let found = evidence(bench, &pipeline, answer);
    // Also when time is up: what is known is ranked.
    let debug = bench.about_debug_information();
    answer.suspects = ranking::rank(&pipeline, &answer.cures, answer.diagnosis.as_ref(), debug);
    answer.outcome = match answer.suspects.first() {
        Some(lead) if !lead.unspecific => Outcome::Found,
        _ if found.is_err() => Outcome::Unknown, // stopped too early to say no
        Some(_) => Outcome::NoCure(
            "only passes and options on which much else depends make it vanish when switched off"
                .into(),
        ),
        None => Outcome::NoCure(
            "no option, pass or counter of gcc makes it vanish when switched off".into(),
        ),
    };
    found?;
    let Some(lead) = answer.suspects.first_mut() else {
        return Ok(None);
    };
    let pass = lead.pass.clone();
    if lead.disable.is_empty() {
        return Ok(Some(pass));
    }
    bench.report("which function");
    lead.place = place::function(bench, &pass)?;
    Ok(Some(pass))
}

fn evidence(
    bench: &Bench<'_>,
    pipeline: &passes::Pipeline,
    answer: &mut Isolation,
) -> Result<(), Error> {
    bench.report("asking the compiler itself");
    answer.diagnosis = checking::diagnosis(bench)?;
    options::cures(bench, answer)?;
    passes::cures(bench, pipeline, answer)?;
    counters::cures(bench, answer)
}
