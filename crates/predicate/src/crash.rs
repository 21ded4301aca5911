//! The compiler crashes, at the same place.
//!
//! # What it checks
//! Compiling the program ends in a crash whose site ([`candor_toolchain::build::crash_site`]) is the
//! one of the claim. Nothing is run, so sanitizers have no say; the front end's warnings have, as far
//! as the original was free of them: a crash on a program that is not C is worth less.
//!
//! # False alarms
//! Running out of memory or time is not a crash here.

use candor_check::Toolset;
use candor_toolchain::{Built, Program};

use crate::object::{compile, limits};
use crate::validity::Validity;
use crate::verdict::{Evidence, Options, Predicate, Prepared, Rejection, Setup, Verdict};
use crate::{Error, case};

/// See the module.
pub struct Crash<'a> {
    tools: &'a Toolset<'a>,
    options: Options,
    site: &'a str,
    validity: Validity<'a>,
}

impl<'a> Crash<'a> {
    /// Crashes at `site`; at any when it is empty.
    pub fn new(
        tools: &'a Toolset<'a>,
        options: Options,
        site: &'a str,
        validity: Validity<'a>,
    ) -> Self {
        Crash {
            tools,
            options,
            site,
            validity,
        }
    }
}

impl Predicate for Crash<'_> {
    fn prepare<'p>(
        &'p self,
        program: &'p Program,
    ) -> Result<Result<Box<dyn Prepared + 'p>, Rejection>, Error> {
        if let Some(rejection) = self.validity.warned(program) {
            return Ok(Err(rejection));
        }
        Ok(Ok(Box::new(Asked {
            crash: self,
            program,
        })))
    }

    fn accept_warnings_of(&mut self, program: &Program) -> Result<(), Error> {
        self.validity.accept_warnings_of(program);
        Ok(())
    }
}

struct Asked<'p> {
    crash: &'p Crash<'p>,
    program: &'p Program,
}

impl Prepared for Asked<'_> {
    fn test(&self, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let workshop = self.crash.tools.workshop;
        let (built, _) = compile(
            workshop.sandbox,
            workshop.scratch,
            setup.compiler,
            self.program,
            &setup.flags,
            &limits(self.crash.options.compile),
        )?;
        Ok(match built {
            Built::Crashed { site, .. } if case::same_site(self.crash.site, &site) => {
                Verdict::Holds(Evidence {
                    seen: site,
                    ..Evidence::default()
                })
            }
            Built::Crashed { site, .. } => {
                Verdict::Fails(format!("the compiler crashes elsewhere: {site}"))
            }
            Built::TimedOut { .. } => Verdict::Undecided(built.describe()),
            Built::Rejected { .. } => Verdict::Invalid(built.describe()),
            _ => Verdict::Fails(format!("no crash: {}", built.describe())),
        })
    }
}
