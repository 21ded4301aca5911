//! The program does something else when it is optimised.
//!
//! # What it checks
//! The build under test and the reference build of one program end differently: another output,
//! status, signal, or no end at all, in the manner of the claim. The reference build and the build of
//! the sanitizers, which come from different compilers where there are two, agree.
//!
//! # False alarms
//! Undefined behaviour is excluded by the front end's warnings and by UBSan, ASan and MSan, which are
//! asked only when everything else says yes. Programs that print addresses differ between
//! the reference and the sanitizers and are invalid.

use candor_check::Toolset;
use candor_toolchain::{
    Bound, Build, Built, Compiler, Ending, Finished, Job, JobDirectory, Limits, Program, Stage,
};

use crate::Error;
use crate::case::Manner;
use crate::object::{Known, compile, limits};
use crate::validity::Validity;
use crate::verdict::{Evidence, Options, Predicate, Prepared, Rejection, Setup, Verdict};

/// See the module.
pub struct Miscompilation<'a> {
    tools: &'a Toolset<'a>,
    options: Options,
    validity: Validity<'a>,
    against: &'a [String],
    /// The compiler of the reference build, when it is not the one under test.
    reference: Option<Reference<'a>>,
    manner: Option<Manner>,
}

enum Reference<'a> {
    Known(&'a Compiler),
    Own(Box<Compiler>),
}

impl Reference<'_> {
    fn compiler(&self) -> &Compiler {
        match self {
            Reference::Known(compiler) => compiler,
            Reference::Own(compiler) => compiler,
        }
    }
}

impl<'a> Miscompilation<'a> {
    /// Against a build with the flags `against` by `reference`, or by the compiler under test.
    pub fn new(
        tools: &'a Toolset<'a>,
        options: Options,
        validity: Validity<'a>,
        against: &'a [String],
        reference: Option<&str>,
        manner: Option<Manner>,
    ) -> Result<Self, Error> {
        let workshop = tools.workshop;
        let reference = match reference {
            None => None,
            Some(command) => Some(
                match tools.compilers.iter().find(|known| known.name == command) {
                    Some(known) => Reference::Known(known),
                    None => Reference::Own(Box::new(Compiler::probe(
                        workshop.sandbox,
                        workshop.scratch,
                        command,
                    )?)),
                },
            ),
        };
        Ok(Miscompilation {
            tools,
            options,
            validity,
            against,
            reference,
            manner,
        })
    }

    fn build(
        &self,
        program: &Program,
        compiler: &Compiler,
        flags: &[String],
    ) -> Result<(Built, JobDirectory), Error> {
        let workshop = self.tools.workshop;
        compile(
            workshop.sandbox,
            workshop.scratch,
            compiler,
            program,
            flags,
            &limits(self.options.compile),
        )
    }

    /// Links what [`Self::build`] made and runs it.
    fn run(
        &self,
        program: &Program,
        compiler: &Compiler,
        directory: &JobDirectory,
    ) -> Result<Result<Finished, String>, Error> {
        let workshop = self.tools.workshop;
        // addresses need not be fixed here, and not every compiler knows how to
        let mut flags = candor_check::link_flags(program);
        flags.retain(|flag| flag != "-no-pie");
        let link = Build {
            compiler,
            stage: Stage::Executable,
            inputs: vec!["program.o".into()],
            flags,
            output: "program".into(),
        };
        let linked = link.run(
            workshop.sandbox,
            directory.path(),
            &limits(self.options.compile),
        )?;
        let Some(path) = linked.artefact() else {
            return Ok(Err(linked.describe()));
        };
        let job = Job::new(path, directory.path())
            .args(program.arguments.iter().cloned())
            .stdin(program.stdin.clone())
            .without_aslr();
        let limits = Limits::program().with_time(self.options.run);
        Ok(Ok(workshop.sandbox.run(&job, &limits)?))
    }

    /// How the reference build of a program behaves.
    fn expected(
        &self,
        program: &Program,
        compiler: &Compiler,
    ) -> Result<Result<Finished, Rejection>, Error> {
        let (built, directory) = self.build(program, compiler, self.against)?;
        let run = match built {
            Built::Ok { .. } => self.run(program, compiler, &directory)?,
            Built::Rejected { .. } => return Ok(Err(Rejection::Invalid(built.describe()))),
            _ => Err(built.describe()),
        };
        let run = match run {
            Ok(run) => run,
            Err(reason) => {
                return Ok(Err(Rejection::Undecided(format!(
                    "the reference build failed: {reason}"
                ))));
            }
        };
        Ok(match run.ending {
            Ending::Exceeded(bound) => Err(Rejection::Undecided(format!(
                "its reference build was stopped: {bound} reached"
            ))),
            Ending::Signalled(_) => Err(Rejection::Invalid(format!(
                "its reference build dies: {}",
                run.ending
            ))),
            Ending::Exited(_) => Ok(run),
        })
    }

    fn judge(&self, expected: &Finished, met: &Finished, built: Evidence) -> Verdict {
        let Some(manner) = difference(expected, met) else {
            return Verdict::Fails(format!("both builds end alike: {}", expected.ending));
        };
        let seen = format!(
            "it {manner}: {}, the reference {}",
            show(met),
            show(expected)
        );
        if self.manner.is_some_and(|wanted| wanted != manner) {
            return Verdict::Fails(format!("it goes wrong in another way: {seen}"));
        }
        Verdict::Holds(Evidence {
            seen,
            manner: Some(manner),
            ..built
        })
    }

    /// The sanitizers' word on the reference's behaviour.
    fn confirmed(
        &self,
        program: &Program,
        expected: &Finished,
    ) -> Result<Option<Rejection>, Error> {
        if !self.options.sanitize {
            return Ok(None);
        }
        Ok(match self.validity.sanitized(program)? {
            Err(rejection) => Some(rejection),
            Ok(run) if run.stdout != expected.stdout || run.ending != expected.ending => {
                Some(Rejection::Invalid(format!(
                    "its reference build and its sanitized build disagree: {} and {}",
                    show(expected),
                    show(&run)
                )))
            }
            Ok(_) => None,
        })
    }

    /// The reference's compiler for a build by `compiler`.
    fn reference_of<'c>(&'c self, compiler: &'c Compiler) -> &'c Compiler {
        match &self.reference {
            Some(reference) => reference.compiler(),
            None => compiler,
        }
    }
}

/// In which way two runs differ.
fn difference(expected: &Finished, met: &Finished) -> Option<Manner> {
    match met.ending {
        Ending::Exceeded(Bound::Wall | Bound::Cpu) => Some(Manner::Endless),
        Ending::Exceeded(_) => Some(Manner::Output),
        Ending::Signalled(_) => Some(Manner::Signal),
        Ending::Exited(_) if met.stdout != expected.stdout => Some(Manner::Output),
        Ending::Exited(_) if met.ending != expected.ending => Some(Manner::Status),
        Ending::Exited(_) => None,
    }
}

/// An ending with the beginning of the output.
fn show(run: &Finished) -> String {
    let text = run.stdout_text();
    let first: String = text
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(60)
        .collect();
    format!("{} printing `{first}`", run.ending)
}

impl Predicate for Miscompilation<'_> {
    fn prepare<'p>(
        &'p self,
        program: &'p Program,
    ) -> Result<Result<Box<dyn Prepared + 'p>, Rejection>, Error> {
        if let Some(rejection) = self.validity.warned(program) {
            return Ok(Err(rejection));
        }
        // One reference serves all flags; the compiler of the first question makes it when the
        // claim names none.
        Ok(Ok(Box::new(Asked {
            parent: self,
            program,
            expected: std::sync::Mutex::new(None),
            known: Known::default(),
        })))
    }

    fn accept_warnings_of(&mut self, program: &Program) -> Result<(), Error> {
        self.validity.accept_warnings_of(program);
        Ok(())
    }

    /// The sanitizers come last: most candidates of a reduction fail before.
    fn test(&self, program: &Program, setup: &Setup<'_>) -> Result<Verdict, Error> {
        if let Some(rejection) = self.validity.warned(program) {
            return Ok(rejection.into());
        }
        let expected = match self.expected(program, self.reference_of(setup.compiler))? {
            Ok(expected) => expected,
            Err(rejection) => return Ok(rejection.into()),
        };
        let (built, directory) = self.build(program, setup.compiler, &setup.flags)?;
        let verdict = self.verdict(program, setup, &expected, &built, &directory)?;
        if !verdict.holds() {
            return Ok(verdict);
        }
        Ok(match self.confirmed(program, &expected)? {
            Some(rejection) => rejection.into(),
            None => verdict,
        })
    }
}

impl Miscompilation<'_> {
    fn verdict(
        &self,
        program: &Program,
        setup: &Setup<'_>,
        expected: &Finished,
        built: &Built,
        directory: &JobDirectory,
    ) -> Result<Verdict, Error> {
        let Built::Ok { cpu, .. } = built else {
            return Ok(Verdict::Undecided(built.describe()));
        };
        let evidence = Evidence {
            compile: *cpu,
            ..Evidence::default()
        };
        Ok(match self.run(program, setup.compiler, directory)? {
            Ok(met) => self.judge(expected, &met, evidence),
            Err(reason) => Verdict::Undecided(format!("it does not link: {reason}")),
        })
    }
}

struct Asked<'p> {
    parent: &'p Miscompilation<'p>,
    program: &'p Program,
    expected: std::sync::Mutex<Option<Result<Finished, Rejection>>>,
    known: Known,
}

impl Prepared for Asked<'_> {
    fn test(&self, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let expected = {
            let mut slot = self
                .expected
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            match &*slot {
                Some(made) => made.clone(),
                None => {
                    let compiler = self.parent.reference_of(setup.compiler);
                    let mut made = self.parent.expected(self.program, compiler)?;
                    if let Ok(run) = &made
                        && let Some(rejection) = self.parent.confirmed(self.program, run)?
                    {
                        made = Err(rejection);
                    }
                    slot.insert(made).clone()
                }
            }
        };
        let expected = match expected {
            Ok(expected) => expected,
            Err(rejection) => return Ok(rejection.into()),
        };
        let (built, directory) = self
            .parent
            .build(self.program, setup.compiler, &setup.flags)?;
        let judge = || {
            self.parent
                .verdict(self.program, setup, &expected, &built, &directory)
        };
        match built.artefact().map(std::fs::read) {
            Some(Ok(object)) => self.known.or_judge(object, judge),
            _ => judge(),
        }
    }
}
