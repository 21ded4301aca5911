//! Before anyone is blamed: does the claim hold, always, and only when optimised?
//!
//! Repetitions use a predicate of their own each, so that no remembered answer is taken for a new
//! one. When they disagree, the claim is asked more often and the rate is the answer.

use candor_predicate::{Case, Options, Setup, Verdict, predicate_for};
use candor_toolchain::{Compiler, Program};

use crate::answer::{Outcome, Rate};
use crate::probe::Seen;
use crate::{Error, Settings};

/// Repetitions when nothing is odd.
const REPEATS: usize = 3;

/// Repetitions for a rate.
const RATE: usize = 10;

/// What was seen of the case's own build.
pub struct Baseline {
    /// The end of the matter, when nothing can be isolated.
    pub end: Option<Outcome>,
    /// What was seen, in words.
    pub seen: String,
}

/// Asks about the case's build several times, and about the same build without optimisation.
pub fn baseline(
    case: &Case,
    program: &Program,
    compiler: &Compiler,
    tools: &candor_check::Toolset<'_>,
    settings: &Settings,
    first: &Verdict,
) -> Result<Baseline, Error> {
    let ended = |outcome: Outcome, seen: &str| Baseline {
        end: Some(outcome),
        seen: seen.to_owned(),
    };
    let options = Options {
        sanitize: false, // the first answer had the sanitizers' word
        ..settings.options.clone()
    };
    let ask = |added: &[String]| -> Result<Verdict, Error> {
        let mut predicate = predicate_for(case, tools, options.clone())?;
        predicate.accept_warnings_of(program)?;
        let setup = Setup {
            compiler,
            flags: [&case.flags, added].concat(),
        };
        // the question as isolation puts it: the references first, then the build
        Ok(match predicate.prepare(program)? {
            Ok(prepared) => prepared.test(&setup)?,
            Err(rejection) => rejection.into(),
        })
    };
    let mut answers = vec![first.holds()];
    for _ in 1..REPEATS {
        answers.push(ask(&[])?.holds());
    }
    let held = |answers: &[bool]| answers.iter().filter(|held| **held).count();
    if held(&answers) == 0 {
        return Ok(ended(
            Outcome::NotReproduced(first.to_string()),
            first.words(),
        ));
    }
    if held(&answers) < answers.len() {
        while answers.len() < RATE {
            answers.push(ask(&[])?.holds());
        }
        let rate = Rate {
            held: held(&answers),
            of: answers.len(),
        };
        return Ok(ended(Outcome::Flaky(rate), first.words()));
    }
    let unoptimised = ask(&["-O0".to_owned()])?;
    if unoptimised.holds() {
        return Ok(ended(
            Outcome::Unoptimised(unoptimised.words().to_owned()),
            first.words(),
        ));
    }
    Ok(Baseline {
        end: None,
        seen: first.words().to_owned(),
    })
}

/// Asks about both sides of an answer again, each with a predicate of its own: a claim that is rarely
/// flaky betrays itself here. Returns what went against the answer.
pub fn again(
    case: &Case,
    program: &Program,
    compiler: &Compiler,
    tools: &candor_check::Toolset<'_>,
    settings: &Settings,
    sides: &[(Vec<String>, Seen)],
) -> Result<Option<Rate>, Error> {
    let options = Options {
        sanitize: false,
        ..settings.options.clone()
    };
    let mut agreed = 0;
    for (added, expected) in sides {
        let mut predicate = predicate_for(case, tools, options.clone())?;
        predicate.accept_warnings_of(program)?;
        let setup = Setup {
            compiler,
            flags: [&case.flags, &added[..]].concat(),
        };
        let verdict = match predicate.prepare(program)? {
            Ok(prepared) => prepared.test(&setup)?,
            Err(rejection) => rejection.into(),
        };
        let same = match expected {
            Seen::Bad => verdict.holds(),
            _ => !verdict.holds(),
        };
        agreed += usize::from(same);
    }
    let rate = Rate {
        held: agreed,
        of: sides.len(),
    };
    Ok((agreed < sides.len()).then_some(rate))
}
