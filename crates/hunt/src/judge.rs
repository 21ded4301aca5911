//! One seed: gate, variants, every build of every program, oracles, store.
//!
//! A finding is stored the moment it is confirmed. A seed advances in the store program by program, so whoever goes on
//! with it after a crash begins behind the last one judged; what is judged twice gives findings of the same name.

use std::path::Path;
use std::time::Instant;

use candor_mutate::{Choice, Profile, profile, variant};
use candor_store::{Hash, Lease, Metric, Outcome, Store};
use candor_toolchain::{GateVerdict, Program};

use crate::Error;
use crate::bench::Bench;
use crate::event::Event;
use crate::generate::{CSMITH, Generated, Member, csmith, variant_seed};
use crate::matrix::{Behaviour, Built1, Manner, Seen, build, flags, takes};
use crate::oracle::{Oracle, Trial, Verdicts};
use crate::settings::Settings;
use crate::tally::{Portion, Tally};

/// Whether there is more to do for a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All of it is judged.
    Done,
    /// Asked to stop before.
    Paused,
}

/// What judging needs.
pub(crate) struct Judge<'a> {
    /// Whether the time is over; asked between two builds.
    pub(crate) ending: &'a dyn Fn() -> bool,
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) store: &'a dyn Store,
    pub(crate) tally: &'a Tally,
    pub(crate) watch: &'a (dyn Fn(&Event) + Sync),
}

impl Judge<'_> {
    /// Judges a seed from where it stands. `pause` is asked between programs whether to stop.
    pub(crate) fn seed(
        &self,
        lease: &mut Lease,
        member: Option<&Member>,
        pause: &dyn Fn() -> Result<bool, Error>,
    ) -> Result<Progress, Error> {
        let program = match self.generate(lease, member)? {
            Ok(program) => program,
            Err(reason) => return self.reject(lease, reason),
        };
        let expected = match self.gate(&program)? {
            Ok(expected) => expected,
            Err(reason) => return self.reject(lease, reason),
        };
        let profile = self.profile(lease, &program)?;
        let variants = match &profile {
            Some(_) => self.settings.variants,
            None => 0,
        };
        while lease.done <= variants {
            if pause()? {
                return Ok(Progress::Paused);
            }
            let begun = Instant::now();
            let mut portion = Portion::default();
            let findings = match (&profile, lease.done) {
                (Some(profile), number @ 1..) => self.variant(
                    lease,
                    member,
                    &program,
                    profile,
                    number,
                    &expected,
                    &mut portion,
                )?,
                _ => {
                    let trial = Trial {
                        bench: self.bench,
                        settings: self.settings,
                        lease,
                        member,
                        variant: None,
                        parent: &program,
                        program: &program,
                        expected: &expected,
                    };
                    self.trial(&trial, true, &mut portion)?
                }
            };
            let Some(findings) = findings else {
                return Ok(Progress::Paused);
            };
            portion.add(Metric::Programs, "", 1);
            self.store
                .advance(lease, lease.done + 1, &portion.counts())?;
            self.tally.take(&mut portion);
            (self.watch)(&Event::Judged {
                stream: lease.stream.0.clone(),
                seed: lease.number,
                variant: lease.done,
                builds: portion.sum(Metric::Builds),
                findings,
                seconds: begun.elapsed().as_secs_f64(),
            });
            lease.done += 1;
            // Programs differ in size a hundredfold; a hunt of a week should not keep what the largest took.
            candor_toolchain::memory::give_back();
        }
        self.store.complete(lease, &Outcome::Judged, &[])?;
        Ok(Progress::Done)
    }

    fn generate(&self, lease: &Lease, member: Option<&Member>) -> Result<Generated, Error> {
        match member {
            Some(member) => Ok(match Program::load(&member.path) {
                Ok(program) => Ok(program),
                Err(error) => Err(error.to_string()),
            }),
            None if lease.stream.0 != CSMITH => Ok(self.fetch(lease)?),
            None => csmith(self.bench.sandbox(), self.bench.scratch(), lease.number),
        }
    }

    /// A program of a corpus that another machine has.
    fn fetch(&self, lease: &Lease) -> Result<Generated, Error> {
        let hash = lease.stream.0.strip_prefix("corpus/").and_then(Hash::parse);
        let Some(hash) = hash else {
            return Ok(Err(format!("`{}` is no sequence of seeds", lease.stream.0)));
        };
        let name = lease.file.as_deref().unwrap_or("program.c");
        // Only the name: the folder is another machine's.
        let name = Path::new(name).file_name().unwrap_or("program.c".as_ref());
        Ok(match String::from_utf8(self.store.get(&hash)?) {
            Ok(text) => Ok(Program::from_text(Path::new(name), text)),
            Err(_) => Err("it is not text".to_owned()),
        })
    }

    fn reject(&self, lease: &Lease, reason: String) -> Result<Progress, Error> {
        let mut portion = Portion::default();
        portion.add(Metric::Rejected, "", 1);
        self.store
            .complete(lease, &Outcome::Rejected(reason.clone()), &portion.counts())?;
        self.tally.take(&mut portion);
        (self.watch)(&Event::Rejected {
            stream: lease.stream.0.clone(),
            seed: lease.number,
            reason,
        });
        Ok(Progress::Done)
    }

    /// What the program must do, or why it is no use.
    fn gate(&self, program: &Program) -> Result<Result<Behaviour, String>, Error> {
        if program.is_rust() {
            return self.unoptimised(program);
        }
        let verdict = self
            .bench
            .tools
            .gate
            .judge(program, self.settings.run_time())?;
        Ok(match verdict {
            GateVerdict::Clean { stdout, ending, .. } => Ok(Behaviour { stdout, ending }),
            GateVerdict::Undefined { sanitizer, message } => {
                Err(format!("{}: {message}", sanitizer.name()))
            }
            GateVerdict::Unfit { reason } | GateVerdict::Undecided { reason } => Err(reason),
        })
    }

    /// What a Rust program must do: what it does without optimisation. rustc is its gate.
    fn unoptimised(&self, program: &Program) -> Result<Result<Behaviour, String>, Error> {
        let rustc = |target: &&crate::bench::Target<'_>| takes(target.compiler, program, "-O0");
        let Some(target) = self.bench.targets.iter().find(rustc) else {
            return Ok(Err(
                "it is a Rust program, and no rustc is under test (--cc rustc)".into(),
            ));
        };
        let manner = Manner {
            compile: self.settings.compile_time(),
            run: Some(self.settings.run_time()),
        };
        let seen = build(self.bench, program, target.compiler, &["-O0"], manner)?;
        Ok(match seen {
            Seen::Behaved(behaviour) => Ok(behaviour),
            Seen::Refused { reason } => Err(reason),
            other => Err(format!("its unoptimised build: {other:?}")),
        })
    }

    /// What variants are made from; `None` when none are wanted or the program does not allow any.
    fn profile(&self, lease: &Lease, program: &Program) -> Result<Option<Profile>, Error> {
        let Some(workbench) = self.bench.workbench.as_ref().filter(|_| !program.is_rust()) else {
            return Ok(None);
        };
        let settings = candor_mutate::Settings {
            time: self.settings.run_time(),
            seed: variant_seed(lease),
            ..candor_mutate::Settings::default()
        };
        match profile(workbench, program, &settings) {
            Ok(profile) => Ok(Some(profile)),
            Err(candor_mutate::Error::Unfit { .. } | candor_mutate::Error::Source(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one call, all of them needed")]
    fn variant(
        &self,
        lease: &Lease,
        member: Option<&Member>,
        parent: &Program,
        profile: &Profile,
        number: u64,
        expected: &Behaviour,
        portion: &mut Portion,
    ) -> Result<Option<u64>, Error> {
        let choice = Choice {
            seed: variant_seed(lease),
            ..Choice::default()
        };
        let variant = variant(parent, profile, &choice, number);
        if variant.snippets.is_empty() {
            return Ok(Some(0));
        }
        let program = Program {
            text: variant.text(&parent.text)?,
            ..parent.clone()
        };
        let trial = Trial {
            bench: self.bench,
            settings: self.settings,
            lease,
            member,
            variant: Some(&variant),
            parent,
            program: &program,
            expected,
        };
        // Variants of one seed share most of its debug information: not all of them are looked at.
        let debug = number <= self.settings.debug_variants;
        self.trial(&trial, debug, portion)
    }

    /// Builds a program everywhere and lets the oracles judge; the number of findings, `None` when the time ended
    /// before that.
    fn trial(
        &self,
        trial: &Trial<'_>,
        debug: bool,
        portion: &mut Portion,
    ) -> Result<Option<u64>, Error> {
        let mut findings = 0;
        let mut verdicts = Verdicts::default();
        if self.settings.builds_plainly() {
            let Some(builds) = self.build_all(trial, portion)? else {
                return Ok(None);
            };
            verdicts = trial.judge_builds(&builds)?;
            findings += self.keep(trial, &mut verdicts)?;
        }
        if debug && self.settings.looks(Oracle::Debug) {
            if (self.ending)() {
                return Ok(None);
            }
            match trial.judge_debug(portion, &mut verdicts) {
                Ok(()) => {}
                Err(error) if error.is_fatal() || error.is_interrupt() => return Err(error),
                Err(error) => {
                    self.suspect_compilers(&error)?;
                    verdicts.undecided.push(format!("debug: {error}"));
                }
            }
            findings += self.keep(trial, &mut verdicts)?;
            // An interrupted check returns what it has; that is kept, but the program is not judged.
            if self.bench.sandbox().interrupted() {
                return Err(candor_toolchain::Error::Interrupted.into());
            }
        }
        Trial::count_undecided(portion, &verdicts);
        for reason in verdicts.undecided {
            (self.watch)(&Event::Undecided {
                stream: trial.lease.stream.0.clone(),
                seed: trial.lease.number,
                reason,
            });
        }
        Ok(Some(findings))
    }

    /// `None` when the time ended before all were made.
    fn build_all<'b>(
        &'b self,
        trial: &Trial<'b>,
        portion: &mut Portion,
    ) -> Result<Option<Vec<Built1<'b>>>, Error> {
        let manner = Manner {
            compile: self.settings.compile_time(),
            run: self
                .settings
                .looks(Oracle::Output)
                .then(|| self.settings.run_time()),
        };
        let mut builds = Vec::new();
        for target in trial.targets() {
            for level in &self.settings.levels {
                if !takes(target.compiler, trial.program, level) {
                    continue;
                }
                if (self.ending)() {
                    return Ok(None);
                }
                let flags = flags(target, level);
                let seen = match build(self.bench, trial.program, target.compiler, &flags, manner) {
                    Ok(seen) => seen,
                    Err(error) => {
                        self.suspect_compilers(&error)?;
                        return Err(error);
                    }
                };
                if let Seen::Refused { .. } = seen {
                    self.bench.still_works(target.compiler)?;
                }
                portion.add(Metric::Builds, &target.compiler.name, 1);
                self.tally.take(portion);
                builds.push(Built1 {
                    target,
                    level,
                    seen,
                });
            }
        }
        Ok(Some(builds))
    }

    /// Where a program could not be started, looks whether a compiler vanished; if so, that is the error.
    fn suspect_compilers(&self, error: &Error) -> Result<(), Error> {
        if error.is_missing_program() {
            for compiler in self.bench.tools.compilers {
                self.bench.still_works(compiler)?;
            }
            for target in &self.bench.targets {
                self.bench.still_works(target.compiler)?;
            }
        }
        Ok(())
    }

    /// Stores what was found, and tells.
    fn keep(&self, trial: &Trial<'_>, verdicts: &mut Verdicts) -> Result<u64, Error> {
        let mut findings = 0;
        for discovery in verdicts.discoveries.drain(..) {
            let finding = trial.finding(&discovery);
            let known = self.store.knows(&finding.signature)?;
            if !self.store.add(&finding)? {
                continue;
            }
            findings += 1;
            self.tally.found(&finding.kind);
            let event = Event::Found {
                id: finding.id,
                kind: finding.kind,
                compiler: finding.compiler,
                level: finding.level,
                title: finding.title,
                new: !known,
                replay: discovery.case.replay,
            };
            if !known {
                let body = serde_json::to_value(&event).unwrap_or_default();
                self.store.note("found", &body)?;
            }
            (self.watch)(&event);
        }
        Ok(findings)
    }
}
