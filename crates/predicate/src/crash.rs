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

use crate::direct::Ask;
use crate::object::{compile, limits};
use crate::verdict::{Evidence, Options, Setup, Verdict};
use crate::{Error, case};

/// See the module.
pub struct Crash<'a> {
    tools: &'a Toolset<'a>,
    options: Options,
    site: &'a str,
}

impl<'a> Crash<'a> {
    /// Crashes at `site`; at any when it is empty.
    pub fn new(tools: &'a Toolset<'a>, options: Options, site: &'a str) -> Self {
        Crash {
            tools,
            options,
            site,
        }
    }
}

impl Ask for Crash<'_> {
    fn ask(&self, program: &Program, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let workshop = self.tools.workshop;
        let (built, _) = compile(
            workshop.sandbox,
            workshop.scratch,
            setup.compiler,
            program,
            &setup.flags,
            &limits(self.options.compile),
        )?;
        Ok(match built {
            Built::Crashed { site, .. } if case::same_site(self.site, &site) => {
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
