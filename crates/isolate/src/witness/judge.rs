//! Is a program a witness? It must pass where the failing one fails, for a good reason.

use std::time::Duration;

use candor_check::Toolset;
use candor_coverage::{Compiled, Cover, CoverageCompiler, Covered};
use candor_predicate::{Claim, Options, Predicate, Rejection, Setup, Validity, Verdict};
use candor_toolchain::{Compiler, Ending, Finished, Program};

use crate::Error;

/// What became of a mutant.
#[derive(Clone, Debug)]
pub enum Judged {
    /// The claim holds for it too.
    Failing,
    /// It passes; what the compiler did for it.
    Passing(Cover),
    /// It passes, but the compiler did just what it did for another witness.
    Same,
    /// It passes because its oracle no longer looks: both builds fail alike.
    Masked,
    /// It must not be used: it does not compile, or its behaviour is undefined.
    Invalid,
    /// Could not be told.
    Undecided,
}

/// Asks about programs.
pub struct Judge<'a> {
    pub(super) tools: &'a Toolset<'a>,
    pub(super) compiler: &'a Compiler,
    pub(super) coverage: &'a CoverageCompiler,
    pub(super) flags: &'a [String],
    pub(super) predicate: &'a dyn Predicate,
    pub(super) validity: &'a Validity<'a>,
    pub(super) options: &'a Options,
    /// Whether programs are run.
    pub(super) runs: bool,
    /// How the failing program ends when it is compiled well; `None` when its behaviour does not
    /// matter or the sanitizers cannot run it.
    pub(super) expected: Option<Finished>,
}

impl Judge<'_> {
    /// Whether a claim is about what the program does: then mutants are run, and their oracle counts.
    pub fn runs(claim: &Claim) -> bool {
        !matches!(claim, Claim::Crash { .. } | Claim::Hang { .. })
    }

    /// What the compiler does for a program with `added` flags.
    pub fn cover(&self, program: &Program, added: &[String]) -> Result<Covered, Error> {
        let workshop = self.tools.workshop;
        let flags = [self.flags, added].concat();
        Ok(self.coverage.compile(
            workshop.sandbox,
            workshop.scratch,
            self.compiler,
            program,
            &flags,
            self.options.compile.min(Duration::from_secs(30)),
        )?)
    }

    /// Judges a mutant; `known` are the witnesses so far.
    pub fn judge(&self, program: &Program, known: &[&Cover]) -> Result<Judged, Error> {
        let setup = Setup {
            compiler: self.compiler,
            flags: self.flags.to_vec(),
        };
        match self.predicate.test(program, &setup)? {
            Verdict::Holds(_) => return Ok(Judged::Failing),
            Verdict::Invalid(_) => return Ok(Judged::Invalid),
            Verdict::Undecided(_) => return Ok(Judged::Undecided),
            Verdict::Fails(words)
                if self.runs && self.expected.is_none() && !ended_well(&words) =>
            {
                return Ok(Judged::Masked);
            }
            Verdict::Fails(_) => {}
        }
        let covered = self.cover(program, &[])?;
        if covered.compiled != Compiled::Well || covered.cover.is_empty() {
            return Ok(Judged::Undecided); // it crashes elsewhere, or the clock struck
        }
        if known
            .iter()
            .any(|other| covered.cover.distance(other) == 0.0)
        {
            return Ok(Judged::Same);
        }
        if let Some(expected) = &self.expected {
            match self.validity.sanitized(program)? {
                Err(Rejection::Invalid(_)) => return Ok(Judged::Invalid),
                Err(Rejection::Undecided(_)) => return Ok(Judged::Undecided),
                Ok(run) if is_masked(expected, &run) => return Ok(Judged::Masked),
                Ok(_) => {}
            }
        }
        Ok(Judged::Passing(covered.cover))
    }
}

/// Without sanitizers the predicate's words have to tell how both builds ended ("both builds end alike:
/// exit status 0"); claims about other things than behaviour say nothing of the kind.
fn ended_well(words: &str) -> bool {
    !words.contains("end alike") || words.ends_with(&Ending::Exited(0).to_string())
}

/// A program that fails its own check although it is compiled well has lost its oracle.
fn is_masked(expected: &Finished, met: &Finished) -> bool {
    match met.ending {
        Ending::Exited(status) => expected.ending == Ending::Exited(0) && status != 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_that_fail_their_own_check_are_masked() {
        let ended = |ending| Finished {
            ending,
            stdout: Vec::new(),
            stderr: Vec::new(),
            cpu: Duration::ZERO,
            wall: Duration::ZERO,
            peak_memory: 0,
        };
        let well = ended(Ending::Exited(0));
        assert!(!is_masked(&well, &ended(Ending::Exited(0))));
        assert!(is_masked(&well, &ended(Ending::Exited(1))));
        assert!(is_masked(&well, &ended(Ending::Signalled(6))));
        // A program whose status is its result has no such oracle.
        assert!(!is_masked(
            &ended(Ending::Exited(3)),
            &ended(Ending::Exited(4))
        ));
    }

    #[test]
    fn words_tell_how_both_builds_ended() {
        assert!(ended_well("both builds end alike: exit status 0"));
        assert!(!ended_well("both builds end alike: exit status 1"));
        assert!(ended_well("the debugger shows 3"));
    }

    #[test]
    fn crashes_of_the_compiler_need_no_run() {
        assert!(!Judge::runs(&Claim::Crash {
            site: String::new()
        }));
        assert!(Judge::runs(&Claim::Command { path: "x".into() }));
    }
}
