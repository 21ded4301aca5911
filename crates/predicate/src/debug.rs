//! The debug information is wrong about a variable, in the same way.
//!
//! # What it checks
//! Some point of the program shows the claim's variable (same function, same name; the path may
//! change) with a violation of the claim's kind, as the native engine sees it. Debuggers are asked at
//! the end of a reduction, not here: `candor_check::check` confirms.
//!
//! # In which order
//! The cheapest no comes first: the front end and its warnings, the variable's very existence, in the
//! debug information of the build under test too; that build against one reference build; where the pass to blame is known, that the claim
//! fails without it. Only then the other references and the sanitizers.
//!
//! # Source
//! Paper 000, §4: the oracle of `candor check`, which see.

use candor_check::{
    Executable, Held, Kind, Object, Plan, PointChoice, Reference, Seen, Settings, Sighting,
    Toolset, Truth, Watch, is_described, look, look_quietly, references_of,
};
use candor_toolchain::{Built, Compiler, Program, Sanitizer};

use crate::case::{Claim, Pass, Subject};
use crate::object::{Known, limits, quiet_producer};
use crate::validity::Validity;
use crate::verdict::{Evidence, Options, Predicate, Prepared, Rejection, Setup, Verdict};
use crate::{Case, Error};

/// See the module. Lost values are asked about in the same way ([`crate::Claim::Lost`]): there the
/// build under test must not show the variable somewhere it has a value, and the build with the
/// claim's other flags must show it wherever it has one.
pub struct Debug<'a> {
    tools: &'a Toolset<'a>,
    options: Options,
    validity: Validity<'a>,
    claim: &'a Claim,
    subject: &'a Subject,
    pass: Option<&'a Pass>,
    references: Vec<Reference<'a>>,
    settings: Settings,
    points: PointChoice,
}

/// What is true of a program, as the round that the claim was seen in wants it.
enum Witness {
    /// Values at barrier calls.
    Barriers(Box<Truth>),
    /// Values without barriers, of all references at once.
    Quiet(Held),
}

impl Witness {
    fn stops(&self) -> u64 {
        match self {
            Witness::Barriers(truth) => truth.recording.len() as u64,
            Witness::Quiet(_) => 0,
        }
    }
}

/// What one look at a build comes to, before others are heard.
type Look = Result<Evidence, String>;

impl<'a> Debug<'a> {
    /// The claim of `case`, which is about `subject`.
    pub fn new(
        tools: &'a Toolset<'a>,
        options: Options,
        validity: Validity<'a>,
        case: &'a Case,
        subject: &'a Subject,
    ) -> Result<Self, Error> {
        let settings = Settings {
            time: options.run,
            globals: subject.function.is_none(),
            max_stops: options.max_stops,
            jobs: 1,
            ..Settings::default()
        };
        Ok(Debug {
            tools,
            options,
            validity,
            claim: &case.claim,
            subject,
            pass: case.pass.as_ref().filter(|pass| !pass.disable.is_empty()),
            references: references_of(
                tools.workshop,
                tools.compilers,
                &case.program.program(),
                None,
            )?,
            settings,
            points: case.points(),
        })
    }

    /// Whether sanitizers are asked: rustc judges Rust itself.
    fn sanitizes(&self, program: &Program) -> bool {
        self.options.sanitize && !program.is_rust()
    }

    /// The program with its barriers, if the variable is still in it.
    fn plan(&self, program: &Program) -> Result<Result<Plan, Rejection>, Error> {
        let unit = match self.validity.parsed(program) {
            Ok(unit) => unit,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let functions = unit.functions();
        // a line or a frame is in a function, and is no variable
        let is_place = matches!(self.claim, Claim::Debug { kind, .. } if kind.is_about_place());
        let has_function = || {
            let mut names = functions
                .iter()
                .map(|function| Some(function.name.as_str()));
            names.any(|name| name == self.subject.function.as_deref())
        };
        let is_subject = |variable: &candor_source::Variable| {
            let function = variable.function.and_then(|index| functions.get(index));
            // Rust's closures and generic instances have names that the source does not spell
            variable.name == self.subject.root()
                && (program.is_rust()
                    || function.map(|function| function.name.as_str())
                        == self.subject.function.as_deref())
        };
        let is_in_it = match is_place {
            true => has_function(),
            false => unit.variables().iter().any(is_subject),
        };
        if !is_in_it {
            return Ok(Err(Rejection::Invalid(format!(
                "{} is not in it",
                self.subject
            ))));
        }
        match Plan::of(unit, program, &self.points) {
            Ok(mut plan) => {
                plan.only = Some(self.subject.root().to_owned());
                Ok(Ok(plan))
            }
            Err(candor_check::Error::Unfit { reason }) => Ok(Err(Rejection::Invalid(reason))),
            Err(error) => Err(error.into()),
        }
    }

    fn compile(
        &self,
        program: &Program,
        plan: &Plan,
        compiler: &Compiler,
        flags: &[String],
    ) -> Result<Result<Object, Built>, Error> {
        let mut flags = flags.to_vec();
        flags.extend(quiet_producer(compiler).map(str::to_owned));
        let limits = limits(self.options.compile);
        let workshop = self.tools.workshop;
        Ok(workshop.compile(compiler, program, &plan.text, &flags, &limits)?)
    }

    /// Compiles and links; the inner error says why there is no build.
    fn build(
        &self,
        program: &Program,
        plan: &Plan,
        compiler: &Compiler,
        flags: &[String],
    ) -> Result<Result<Executable, String>, Error> {
        match self.compile(program, plan, compiler, flags)? {
            Ok(object) => Ok(self.tools.workshop.link(compiler, program, object)?),
            Err(built) => Ok(Err(built.describe())),
        }
    }

    /// What the first reference says.
    fn first_truth(
        &self,
        program: &Program,
        plan: &Plan,
    ) -> Result<Result<Witness, Rejection>, Error> {
        if self.points == PointChoice::None {
            let (workshop, references) = (self.tools.workshop, &self.references);
            let held = Held::establish(workshop, references, program, plan, &self.settings);
            return Ok(fit(held)?
                .and_then(|held| held.map_err(Rejection::Invalid))
                .map(Witness::Quiet));
        }
        let Some(first) = self.references.first() else {
            return Ok(Err(Rejection::Undecided(
                "there is no reference build".into(),
            )));
        };
        let executable = match self.build(program, plan, first.compiler, &first.flags)? {
            Ok(executable) => executable,
            Err(reason) => {
                return Ok(Err(Rejection::Invalid(format!(
                    "its reference build failed: {reason}"
                ))));
            }
        };
        let workshop = self.tools.workshop;
        let truth = fit(Truth::record(
            workshop,
            program,
            plan,
            &executable,
            &self.settings,
        ))?;
        Ok(truth
            .map(Box::new)
            .map(Witness::Barriers)
            .and_then(|witness| {
                if self.options.whole_runs && witness.stops() >= self.options.max_stops {
                    return Err(Rejection::Undecided("its run takes too long".into()));
                }
                Ok(witness)
            }))
    }

    /// The references to hear after the first: of those by its own compiler none, where another
    /// compiler fills its stack with a pattern too. A whole check hears all.
    fn others(&self) -> impl Iterator<Item = &Reference<'a>> {
        let first = self.references.first().map(|first| &first.compiler.name);
        let rest = self.references.iter().skip(1);
        let patterned = rest.clone().any(|reference| {
            Some(&reference.compiler.name) != first
                && reference
                    .flags
                    .iter()
                    .any(|flag| flag.ends_with("=pattern"))
        });
        rest.filter(move |reference| !patterned || Some(&reference.compiler.name) != first)
    }

    /// Hears the other references.
    fn hear_others(
        &self,
        program: &Program,
        plan: &Plan,
        witness: &mut Witness,
    ) -> Result<Result<(), Rejection>, Error> {
        let Witness::Barriers(truth) = witness else {
            return Ok(Ok(()));
        };
        for reference in self.others() {
            let built = self.build(program, plan, reference.compiler, &reference.flags)?;
            let executable = match built {
                Ok(executable) => executable,
                Err(reason) => {
                    return Ok(Err(Rejection::Invalid(format!(
                        "a reference build failed: {reason}"
                    ))));
                }
            };
            let workshop = self.tools.workshop;
            let heard = truth.hear(workshop, program, &executable, &self.settings, reference);
            if let Err(rejection) = fit(heard)? {
                return Ok(Err(rejection));
            }
        }
        Ok(Ok(()))
    }

    /// Looks at one build; the inner error says what was seen instead.
    fn look(
        &self,
        program: &Program,
        plan: &Plan,
        witness: &Witness,
        executable: &Executable,
    ) -> Result<Look, Error> {
        let truth = match witness {
            Witness::Barriers(truth) => truth,
            Witness::Quiet(held) => {
                let workshop = self.tools.workshop;
                let settings = &self.settings;
                let seen = look_quietly(workshop, program, plan, held, executable, settings)?;
                return Ok(seen.and_then(|seen| self.judge(seen)));
            }
        };
        let watch = Watch::new(
            self.subject.function.clone(),
            self.subject.root().to_owned(),
        );
        let seen = look(
            self.tools.workshop,
            program,
            plan,
            truth,
            executable,
            &self.settings,
            Some(watch),
        )?;
        Ok(seen.and_then(|seen| self.judge(seen)))
    }

    /// Whether a build cannot show the variable wrong because it does not show it anywhere.
    fn is_nowhere(&self, executable: &Executable) -> bool {
        let Claim::Debug {
            kind: Kind::WrongValue,
            ..
        } = self.claim
        else {
            return false;
        };
        let function = self.subject.function.as_deref();
        !is_described(executable, function, self.subject.root())
    }

    fn judge(&self, seen: Seen) -> Look {
        match self.claim {
            Claim::Debug { kind, .. } => {
                let ours = |sighting: &&Sighting| {
                    sighting.root == self.subject.root()
                        && sighting.function == self.subject.function
                };
                let mut about: Vec<&Sighting> = seen.sightings.iter().filter(ours).collect();
                // the place the claim names, where it is one of them
                about.sort_by_key(|s| (s.kind != *kind, s.line != self.subject.line));
                match about.first() {
                    Some(sighting) if sighting.kind == *kind => Ok(Evidence {
                        seen: words(sighting),
                        line: Some(sighting.line),
                        variable: Some(sighting.variable.clone()),
                        ..Evidence::default()
                    }),
                    Some(other) => Err(format!("{} instead: {}", other.kind, words(other))),
                    None => Err(format!("{} is shown right or not at all", self.subject)),
                }
            }
            _ => {
                let lost = seen.watch.and_then(|watch| {
                    let (line, times) = watch.lost.iter().next()?;
                    Some((*line, *times))
                });
                match lost {
                    Some((line, times)) => Ok(Evidence {
                        seen: format!("{} is not shown at line {line} ({times}x)", self.subject),
                        line: Some(line),
                        variable: Some(self.subject.variable.clone()),
                        ..Evidence::default()
                    }),
                    None => Err(format!("{} is shown wherever it has a value", self.subject)),
                }
            }
        }
    }

    /// The second build a claim needs: one that must *not* show the same, and its flags.
    fn counter_flags(&self, setup: &Setup<'_>) -> Option<Vec<String>> {
        match (self.claim, self.pass) {
            (Claim::Lost { against, .. }, _) => (!against.is_empty()).then(|| against.clone()),
            (_, Some(pass)) => {
                let mut flags = setup.flags.clone();
                flags.extend(pass.disable.iter().cloned());
                Some(flags)
            }
            _ => None,
        }
    }

    /// Whether the build that must not show the same does not.
    fn counter(
        &self,
        program: &Program,
        plan: &Plan,
        truth: &Witness,
        setup: &Setup<'_>,
    ) -> Result<Option<Verdict>, Error> {
        let Some(flags) = self.counter_flags(setup) else {
            return Ok(None);
        };
        let executable = match self.build(program, plan, setup.compiler, &flags)? {
            Ok(executable) => executable,
            Err(reason) => return Ok(Some(Verdict::Undecided(reason))),
        };
        Ok(self
            .look(program, plan, truth, &executable)?
            .ok()
            .map(|evidence| {
                Verdict::Fails(format!(
                    "another matter: with {} too, {}",
                    flags.join(" "),
                    evidence.seen
                ))
            }))
    }
}

/// A program that is no use is a rejection, anything else an error.
fn fit<T>(result: Result<T, candor_check::Error>) -> Result<Result<T, Rejection>, Error> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(candor_check::Error::Unfit { reason }) => Ok(Err(Rejection::Invalid(reason))),
        Err(error) => Err(error.into()),
    }
}

fn words(sighting: &Sighting) -> String {
    let place = match &sighting.function {
        Some(function) => format!("in {function}, "),
        None => String::new(),
    };
    let truth = match &sighting.expected {
        Some(expected) => format!(", true value {expected}"),
        None => String::new(),
    };
    format!(
        "`{}` {place}line {} shows {}{truth} [{}]",
        sighting.variable, sighting.line, sighting.shown, sighting.location
    )
}

/// A compiler call that gave no object, as a verdict.
fn not_built(built: &Built) -> Verdict {
    match built {
        Built::Rejected { .. } => Verdict::Invalid(built.describe()),
        other => Verdict::Undecided(other.describe()),
    }
}

impl Predicate for Debug<'_> {
    fn prepare<'p>(
        &'p self,
        program: &'p Program,
    ) -> Result<Result<Box<dyn Prepared + 'p>, Rejection>, Error> {
        let plan = match self.plan(program)? {
            Ok(plan) => plan,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let mut truth = match self.first_truth(program, &plan)? {
            Ok(truth) => truth,
            Err(rejection) => return Ok(Err(rejection)),
        };
        if let Err(rejection) = self.hear_others(program, &plan, &mut truth)? {
            return Ok(Err(rejection));
        }
        if self.sanitizes(program)
            && let Err(rejection) = self.validity.sanitized(program)?
        {
            return Ok(Err(rejection));
        }
        Ok(Ok(Box::new(Asked {
            parent: self,
            program,
            plan,
            truth,
            known: Known::default(),
        })))
    }

    fn test(&self, program: &Program, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let plan = match self.plan(program)? {
            Ok(plan) => plan,
            Err(rejection) => return Ok(rejection.into()),
        };
        let object = match self.compile(program, &plan, setup.compiler, &setup.flags)? {
            Ok(object) => object,
            Err(built) => return Ok(not_built(&built)),
        };
        let compile = object.cpu;
        let workshop = self.tools.workshop;
        let executable = match workshop.link(setup.compiler, program, object)? {
            Ok(executable) => executable,
            Err(reason) => return Ok(Verdict::Invalid(format!("it does not link: {reason}"))),
        };
        if self.is_nowhere(&executable) {
            return Ok(Verdict::Fails(format!("{} is nowhere", self.subject)));
        }
        let mut truth = match self.first_truth(program, &plan)? {
            Ok(truth) => truth,
            Err(rejection) => return Ok(rejection.into()),
        };
        if let Err(instead) = self.look(program, &plan, &truth, &executable)? {
            return Ok(Verdict::Fails(instead));
        }
        if let Some(verdict) = self.counter(program, &plan, &truth, setup)? {
            return Ok(verdict);
        }
        if self.sanitizes(program)
            && let Err(rejection) = self
                .validity
                .sanitized_by(program, Sanitizer::UndefinedAndAddress)?
        {
            return Ok(rejection.into());
        }
        if let Err(rejection) = self.hear_others(program, &plan, &mut truth)? {
            return Ok(rejection.into());
        }
        let mut evidence = match self.look(program, &plan, &truth, &executable)? {
            Ok(evidence) => evidence,
            Err(instead) => {
                return Ok(Verdict::Fails(format!(
                    "the references disagree on its value: {instead}"
                )));
            }
        };
        if self.sanitizes(program)
            && let Err(rejection) = self.validity.sanitized_by(program, Sanitizer::Memory)?
        {
            return Ok(rejection.into());
        }
        evidence.compile = compile;
        evidence.stops = Some(truth.stops());
        Ok(Verdict::Holds(evidence))
    }

    fn accept_warnings_of(&mut self, program: &Program) -> Result<(), Error> {
        self.validity.accept_warnings_of(program);
        Ok(())
    }
}

struct Asked<'p> {
    parent: &'p Debug<'p>,
    program: &'p Program,
    plan: Plan,
    truth: Witness,
    known: Known,
}

impl Prepared for Asked<'_> {
    fn test(&self, setup: &Setup<'_>) -> Result<Verdict, Error> {
        let parent = self.parent;
        let compiled = parent.compile(self.program, &self.plan, setup.compiler, &setup.flags)?;
        let object = match compiled {
            Ok(object) => object,
            Err(built) => return Ok(not_built(&built)),
        };
        let compile = object.cpu;
        let judge = |object: Object| -> Result<Verdict, Error> {
            let workshop = parent.tools.workshop;
            let linked = workshop.link(setup.compiler, self.program, object)?;
            let executable = match linked {
                Ok(executable) => executable,
                Err(reason) => return Ok(Verdict::Undecided(reason)),
            };
            Ok(
                match parent.look(self.program, &self.plan, &self.truth, &executable)? {
                    Ok(evidence) => Verdict::Holds(evidence),
                    Err(instead) => Verdict::Fails(instead),
                },
            )
        };
        let mut verdict = self.known.or_judge(object.bytes()?, || judge(object))?;
        if let Verdict::Holds(evidence) = &mut verdict {
            evidence.compile = compile;
        }
        Ok(verdict)
    }

    fn text(&self) -> Option<&str> {
        Some(&self.plan.text)
    }
}
