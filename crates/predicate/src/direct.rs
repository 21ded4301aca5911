//! Claims with nothing to prepare: every build is a question of its own, after the front end's.

use candor_toolchain::Program;

use crate::Error;
use crate::validity::Validity;
use crate::verdict::{Predicate, Prepared, Rejection, Setup, Verdict};

/// One claim, asked of one build of one program.
pub trait Ask: Sync {
    /// The answer; whether the program is fit to be asked about is settled.
    fn ask(&self, program: &Program, setup: &Setup<'_>) -> Result<Verdict, Error>;
}

/// A claim as a predicate; the front end has its say first, where it is asked at all.
pub struct Direct<'a, A> {
    claim: A,
    validity: Option<Validity<'a>>,
}

impl<'a, A: Ask> Direct<'a, A> {
    /// `claim`, about programs that pass `validity`.
    pub fn new(claim: A, validity: Option<Validity<'a>>) -> Self {
        Direct { claim, validity }
    }
}

impl<A: Ask> Predicate for Direct<'_, A> {
    fn prepare<'p>(
        &'p self,
        program: &'p Program,
    ) -> Result<Result<Box<dyn Prepared + 'p>, Rejection>, Error> {
        let validity = self.validity.as_ref();
        if let Some(rejection) = validity.and_then(|validity| validity.warned(program)) {
            return Ok(Err(rejection));
        }
        Ok(Ok(Box::new(Asked {
            claim: &self.claim,
            program,
        })))
    }

    fn accept_warnings_of(&mut self, program: &Program) -> Result<(), Error> {
        if let Some(validity) = &mut self.validity {
            validity.accept_warnings_of(program);
        }
        Ok(())
    }
}

struct Asked<'p, A> {
    claim: &'p A,
    program: &'p Program,
}

impl<A: Ask> Prepared for Asked<'_, A> {
    fn test(&self, setup: &Setup<'_>) -> Result<Verdict, Error> {
        self.claim.ask(self.program, setup)
    }
}
