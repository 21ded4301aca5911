//! What is done with a finding after it was found: reduce, exhibit, isolate. Each step is stored when it is made.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use candor_check::PointChoice;
use candor_check::exhibit::{self, BehaviourRequest, DebugRequest, Exhibit};
use candor_isolate::Isolation;
use candor_predicate::{Case, Claim as What, Options};
use candor_store::{Claim, Finding, Improvement, State, Store};
use candor_toolchain::{Compiler, Program};
use serde_json::{Value, json};

use crate::Error;
use crate::bench::Bench;
use crate::event::Event;
use crate::settings::{Run, Settings};

/// In a stored case whose reduction ended before it was done: whoever has the claim next goes on with it.
const CUT: &str = "reduction-cut";
/// Share of what is left of a hunt that a reduction may take: page and culprit need the rest.
const REDUCING: f64 = 0.5;
/// Isolating may take so many times what reducing may: it asks a bounded number of questions, and half an answer is none.
const ISOLATING: u32 = 3;
/// Share of what is left that is kept for storing and leaving.
const MARGIN: f64 = 0.1;

/// What makes a finding unique once its culprit is known. The pass is the best key there is (paper 000 §6.4), but for
/// crashes, which say themselves where they are.
fn key(finding: &Finding, case: &Case, pass: &str) -> String {
    let place = match &case.claim {
        What::Crash { site } => site,
        _ => pass,
    };
    format!("{} | {} | {place}", finding.kind, finding.family)
}

/// How far an improvement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    /// Everything that can be learnt is.
    All,
    /// The hunt had no time for more.
    SoFar,
}

/// A reduced case as it is stored.
fn document(case: &Case, cut: bool) -> Option<Value> {
    let mut document = serde_json::to_value(case).ok()?;
    if cut {
        document.as_object_mut()?.insert(CUT.into(), json!(true));
    }
    Some(document)
}

/// Improves findings.
pub(crate) struct Improver<'a> {
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) run: &'a Run,
    /// When the hunt began.
    pub(crate) begun: Instant,
    pub(crate) store: &'a dyn Store,
    pub(crate) watch: &'a (dyn Fn(&Event) + Sync),
}

impl Improver<'_> {
    /// Learns what can be learnt of a claim's finding, on `jobs` cores, and settles the claim.
    pub(crate) fn improve(&self, claim: &Claim, jobs: usize) -> Result<(), Error> {
        match self.steps(claim, jobs) {
            Ok(Done::All) => Ok(self.store.settle(claim, None)?),
            // The claim goes back when we leave; the next hunt on this store goes on with it.
            Ok(Done::SoFar) => Ok(()),
            Err(error @ Error::CompilerGone { .. }) => Err(error),
            Err(error) if error.is_interrupt() || error.is_fatal() => Err(error),
            Err(error) => {
                if error.is_missing_program() {
                    for target in &self.bench.targets {
                        self.bench.still_works(target.compiler)?;
                    }
                }
                let reason = error.to_string();
                self.store.settle(claim, Some(&reason))?;
                (self.watch)(&Event::Unimproved {
                    id: claim.finding.id.clone(),
                    reason,
                });
                Ok(())
            }
        }
    }

    fn steps(&self, claim: &Claim, jobs: usize) -> Result<Done, Error> {
        let begun = Instant::now();
        let finding = &claim.finding;
        let original = self.case(&self.store.case(&finding.case)?)?;
        let compiler = self.compiler(&original)?;
        let mut state = finding.state;
        // Whoever had the claim before came this far.
        let (known, mut cut) = match &finding.reduced {
            Some(reduced) => {
                let document = self.store.case(reduced)?;
                (Some(self.case(&document)?), document.get(CUT).is_some())
            }
            None => (None, true),
        };
        let mut case = match known {
            Some(case) if !cut => case,
            known => {
                let from = known.as_ref().unwrap_or(&original);
                let (case, ended) = self.reduce(from, compiler, jobs)?;
                cut = ended == Done::SoFar;
                // A reduction without time for a single step is none.
                if case.program.text.len() < from.program.text.len() {
                    state = self.learn(
                        claim,
                        Improvement {
                            reduced: document(&case, cut),
                            ..Improvement::default()
                        },
                    )?;
                    case
                } else {
                    from.clone()
                }
            }
        };
        // The page first: it is worth more than the culprit when the time runs out between them.
        self.exhibit(claim, &case, &original, compiler)?;
        let mut culprit = None;
        match self.isolate(&case, compiler, jobs) {
            Ok(isolation) => {
                cut |= isolation.culprit().is_none() && self.short();
                candor_isolate::complete(&mut case, &isolation);
                culprit = case.pass.as_ref().map(|pass| pass.name.clone());
                if let Some(pass) = &culprit {
                    state = self.learn(
                        claim,
                        Improvement {
                            reduced: document(&case, cut),
                            culprit: serde_json::to_value(&isolation).ok(),
                            key: Some(key(finding, &case, pass)),
                            ..Improvement::default()
                        },
                    )?;
                }
            }
            // A compiler whose passes cannot be told apart: the finding stays reduced.
            Err(Error::Isolate(
                candor_isolate::Error::Family { .. } | candor_isolate::Error::Flag { .. },
            )) => {}
            Err(error) => return Err(error),
        }
        (self.watch)(&Event::Improved {
            id: finding.id.clone(),
            state,
            lines: case.program.text.lines().count(),
            culprit,
            seconds: begun.elapsed().as_secs_f64(),
        });
        Ok(if cut { Done::SoFar } else { Done::All })
    }

    fn learn(&self, claim: &Claim, improvement: Improvement) -> Result<State, Error> {
        Ok(self.store.improve(&claim.finding.id, &improvement)?)
    }

    /// The case with a small program, and whether it could be made smaller in more time than this hunt has.
    fn reduce(&self, case: &Case, compiler: &Compiler, jobs: usize) -> Result<(Case, Done), Error> {
        let budget = self.budget(REDUCING, self.run.reduction);
        let short = budget < self.run.reduction;
        let settings = candor_reduce::Settings {
            jobs,
            time: self.settings.run_time(),
            budget: Some(budget),
            ..candor_reduce::Settings::default()
        };
        let reduction =
            candor_reduce::reduce(&self.bench.tools, case, compiler, &settings, &|_| {})?;
        if reduction.verified.is_none() {
            // Only an interruption leaves a result unverified; it is not stored.
            return Err(candor_toolchain::Error::Interrupted.into());
        }
        let cut = short && reduction.stopped.is_some();
        Ok((reduction.case, if cut { Done::SoFar } else { Done::All }))
    }

    /// Which pass it is.
    fn isolate(&self, case: &Case, compiler: &Compiler, jobs: usize) -> Result<Isolation, Error> {
        let settings = candor_isolate::Settings {
            jobs,
            options: Options {
                run: self.settings.run_time(),
                compile: self.settings.compile_time(),
                ..Options::default()
            },
            budget: Some(self.budget(1.0 - MARGIN, self.run.reduction * ISOLATING)),
            ..candor_isolate::Settings::default()
        };
        let isolation =
            candor_isolate::isolate(&self.bench.tools, case, compiler, &settings, &|_| {})?;
        if self.bench.sandbox().interrupted() && isolation.culprit().is_none() {
            return Err(candor_toolchain::Error::Interrupted.into());
        }
        Ok(isolation)
    }

    /// The time one step may take: `most`, and this share of what is left of the hunt.
    fn budget(&self, share: f64, most: Duration) -> Duration {
        match self.run.left(self.begun.elapsed()) {
            Some(left) => left.mul_f64(share).min(most),
            None => most,
        }
    }

    /// Whether the hunt ends before an isolation would have had all its time.
    fn short(&self) -> bool {
        let most = self.run.reduction * ISOLATING;
        self.budget(1.0, most) < most
    }

    fn case(&self, value: &Value) -> Result<Case, Error> {
        Ok(Case::from_json(
            "a stored case".as_ref(),
            &value.to_string(),
        )?)
    }

    /// The compiler of a case, which may be gone.
    fn compiler(&self, case: &Case) -> Result<&Compiler, Error> {
        self.bench
            .targets
            .iter()
            .map(|target| target.compiler)
            .find(|compiler| compiler.name == case.compiler)
            .ok_or_else(|| Error::BadSetting {
                what: format!("{} is not under test here (any more)", case.compiler),
            })
    }

    /// What the report's page shows, and which builds show the reduced program wrong.
    fn exhibit(
        &self,
        claim: &Claim,
        case: &Case,
        original: &Case,
        compiler: &Compiler,
    ) -> Result<State, Error> {
        let program = case.program.program();
        let whole = original.program.program();
        let whole = (case.program != original.program).then_some(&whole);
        let exhibit = match self.make_exhibit(case, &program, whole, compiler) {
            Ok(exhibit) => exhibit,
            // No page with values is no reason to lose what is known.
            Err(candor_check::Error::Unfit { .. }) => return Ok(claim.finding.state),
            Err(error) => return Err(error.into()),
        };
        let mut affected: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for build in &exhibit.builds {
            if build.state == exhibit::State::Affected {
                let levels = affected.entry(&build.compiler).or_default();
                levels.push(&build.level);
            }
        }
        let improvement = Improvement {
            affected: (!affected.is_empty()).then(|| json!(affected)),
            exhibit: serde_json::to_value(&exhibit).ok(),
            ..Improvement::default()
        };
        Ok(self.store.improve(&claim.finding.id, &improvement)?)
    }

    fn make_exhibit(
        &self,
        case: &Case,
        program: &Program,
        original: Option<&Program>,
        compiler: &Compiler,
    ) -> Result<Exhibit, candor_check::Error> {
        let settings = candor_check::Settings {
            time: self.settings.run_time(),
            jobs: 1,
            ..candor_check::Settings::default()
        };
        let level = case.flags.join(" ");
        let builds = |unoptimised: bool| {
            let mut builds = Vec::new();
            for target in &self.bench.targets {
                for level in &self.settings.levels {
                    if unoptimised || level != "-O0" {
                        builds.push((target.compiler, level.clone()));
                    }
                }
            }
            builds
        };
        match &case.claim {
            What::Debug { kind, subject, .. } => exhibit::debug(
                &self.bench.tools,
                &DebugRequest {
                    program,
                    original,
                    compiler,
                    level: &level,
                    kind: *kind,
                    function: subject.function.as_deref(),
                    variable: &subject.variable,
                    line: subject.line,
                    points: {
                        let usual = DebugRequest::usual_points(subject.line, &subject.variable);
                        std::iter::once(case.points())
                            .filter(|own| *own == PointChoice::Own)
                            .chain(usual)
                            .collect()
                    },
                    builds: builds(false),
                    settings,
                },
            ),
            claim => {
                let reference = match claim {
                    What::Miscompilation {
                        against, reference, ..
                    } => {
                        let named = |name: &str| {
                            let all = self.bench.tools.compilers;
                            all.iter().find(|compiler| compiler.name == name)
                        };
                        let by = reference.as_deref().and_then(named).unwrap_or(compiler);
                        Some((by, against.join(" ")))
                    }
                    _ => None,
                };
                exhibit::behaviour(
                    &self.bench.tools,
                    &BehaviourRequest {
                        program,
                        original,
                        compiler,
                        level: &level,
                        reference,
                        builds: builds(true),
                        settings,
                    },
                )
            }
        }
    }
}
