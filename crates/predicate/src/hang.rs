//! The compiler does not finish.
//!
//! # What it checks
//! One compiler call uses up the claim's CPU time. Wall-clock time says nothing: a loaded machine is
//! not the compiler's fault.

use std::time::Duration;

use candor_check::Toolset;
use candor_toolchain::{Built, Limits, Program};

use crate::Error;
use crate::direct::Ask;
use crate::object::{compile, limits};
use crate::verdict::{Evidence, Setup, Verdict};

/// See the module.
pub struct Hang<'a> {
    tools: &'a Toolset<'a>,
    time: Duration,
}

impl<'a> Hang<'a> {
    /// More than `seconds` of CPU time.
    pub fn new(tools: &'a Toolset<'a>, seconds: u64) -> Self {
        Hang {
            tools,
            time: Duration::from_secs(seconds.max(1)),
        }
    }
}

/// CPU time of a child is counted in ticks; less than this share of the limit was not a hang.
const NEARLY: f64 = 0.9;

impl Ask for Hang<'_> {
    fn ask(&self, program: &Program, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let workshop = self.tools.workshop;
        let (built, _) = compile(
            workshop.sandbox,
            workshop.scratch,
            setup.compiler,
            program,
            &setup.flags,
            &Limits {
                // a busy machine gives the compiler its CPU time late
                wall: self.time * 20,
                ..limits(self.time)
            },
        )?;
        Ok(match built {
            Built::TimedOut { cpu } if cpu >= self.time.mul_f64(NEARLY) => {
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
