//! The compiler does not finish.
//!
//! # What it checks
//! One compiler call uses up the claim's CPU time. Wall-clock time says nothing: a loaded machine is
//! not the compiler's fault.

use std::time::Duration;

use candor_check::Toolset;
use candor_toolchain::{Built, Program};

use crate::Error;
use crate::object::{compile, limits};
use crate::validity::Validity;
use crate::verdict::{Evidence, Predicate, Prepared, Rejection, Setup, Verdict};

/// See the module.
pub struct Hang<'a> {
    tools: &'a Toolset<'a>,
    time: Duration,
    validity: Validity<'a>,
}

impl<'a> Hang<'a> {
    /// More than `seconds` of CPU time.
    pub fn new(tools: &'a Toolset<'a>, seconds: u64, validity: Validity<'a>) -> Self {
        Hang {
            tools,
            time: Duration::from_secs(seconds.max(1)),
            validity,
        }
    }
}

impl Predicate for Hang<'_> {
    fn prepare<'p>(
        &'p self,
        program: &'p Program,
    ) -> Result<Result<Box<dyn Prepared + 'p>, Rejection>, Error> {
        if let Some(rejection) = self.validity.warned(program) {
            return Ok(Err(rejection));
        }
        Ok(Ok(Box::new(Asked {
            hang: self,
            program,
        })))
    }

    fn accept_warnings_of(&mut self, program: &Program) -> Result<(), Error> {
        self.validity.accept_warnings_of(program);
        Ok(())
    }
}

struct Asked<'p> {
    hang: &'p Hang<'p>,
    program: &'p Program,
}

/// CPU time of a child is counted in ticks; less than this share of the limit was not a hang.
const NEARLY: f64 = 0.9;

impl Prepared for Asked<'_> {
    fn test(&self, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let workshop = self.hang.tools.workshop;
        let (built, _) = compile(
            workshop.sandbox,
            workshop.scratch,
            setup.compiler,
            self.program,
            &setup.flags,
            &limits(self.hang.time),
        )?;
        Ok(match built {
            Built::TimedOut { cpu } if cpu >= self.hang.time.mul_f64(NEARLY) => {
                Verdict::Holds(Evidence {
                    seen: built.describe(),
                    compile: cpu,
                    ..Evidence::default()
                })
            }
            Built::TimedOut { .. } => {
                Verdict::Undecided(format!("the machine was too busy: {}", built.describe()))
            }
            Built::Ok { cpu, .. } => Verdict::Fails(format!(
                "the compiler finished after {:.1} s",
                cpu.as_secs_f64()
            )),
            Built::Rejected { .. } => Verdict::Invalid(built.describe()),
            _ => Verdict::Fails(built.describe()),
        })
    }
}
