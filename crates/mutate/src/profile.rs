//! The profile: which points the input reaches, and which joint values their places have had there.
//!
//! Paper 004 §4.1 and §4.5.1 (sparse profiling). The steps: a liveness build of light probes (tcc where it can, else gcc);
//! full probes at a sample of the live points, built by gcc and by clang with MSan; runs, twice with gcc; and then only
//! what all runs agree on and MSan calls initialised is kept.

use std::time::Duration;

use candor_source::{Point, Unit};
use candor_toolchain::{Ending, Finished, Program};

use crate::Error;
use crate::body::Surroundings;
use crate::environment::Environment;
use crate::place::Survey;
use crate::probe::{self, MOST_PLACES, Plan, Probe, Seen};
use crate::refuse;
use crate::rules::{Facts, Rules};
use crate::strategy::is_allowed;
use crate::workbench::{Executable, Prober, Workbench};

/// How much is profiled, and for how long.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Share of the live points that get full probes.
    pub density: f64,
    /// Most full probes; beyond it, points in loops are preferred.
    pub most_points: usize,
    /// Most unreached points kept for the dead-code strategies: each has to be watched in every build.
    pub most_dead: usize,
    /// Time one run may take.
    pub time: Duration,
    /// Decides which points and places are taken.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            density: 1.0,
            most_points: 70,
            most_dead: 40,
            time: Duration::from_secs(5),
            seed: 1,
        }
    }
}

/// A live point with what is known there.
#[derive(Debug)]
pub struct LivePoint {
    /// Index into the unit's points.
    pub point: usize,
    /// Visits.
    pub hits: u64,
    /// Joint values.
    pub environment: Environment,
    pub(crate) surroundings: Surroundings,
}

/// The profile of a program on its input.
#[derive(Debug)]
pub struct Profile {
    /// The parsed program.
    pub unit: Unit,
    pub(crate) facts: Facts,
    /// Live points with a usable environment.
    pub live: Vec<LivePoint>,
    /// Points that no build reached, or a sample of them.
    pub dead: Vec<usize>,
    /// Points in all.
    pub points: usize,
    /// Points some build reached.
    pub reached: usize,
    /// What the program printed and how it ended.
    pub outcome: (Vec<u8>, Ending),
}

impl Profile {
    pub(crate) fn survey(&self) -> Survey<'_> {
        Survey {
            unit: &self.unit,
            facts: &self.facts,
            rules: Rules::default(),
        }
    }

    pub(crate) fn point(&self, id: usize) -> Option<&Point> {
        self.unit.points().points.get(id)
    }
}

/// One probed build's run.
struct Observed {
    finished: Finished,
    seen: Vec<Seen>,
}

/// Profiles `program` on its input.
///
/// # Errors
/// [`Error::Unfit`] for programs that cannot be mutated soundly, with the reason.
pub fn profile(
    bench: &Workbench<'_>,
    program: &Program,
    settings: &Settings,
) -> Result<Profile, Error> {
    let unit = bench
        .clang
        .parse(&program.path, Some(&program.text), &program.flags)?;
    let facts = Facts::of(&unit);
    refuse::by_text(&unit, &facts)?;
    let survey = Survey {
        unit: &unit,
        facts: &facts,
        rules: Rules::default(),
    };
    let mut random = fastrand::Rng::with_seed(settings.seed);

    let light: Plan = vec![Probe::Light; unit.points().points.len()];
    let visits = liveness(bench, program, &survey, &light, settings)?;
    let full = choose(&survey, &visits, settings, &mut random);

    let name = program.file_name();
    let text = probe::instrument(&unit, &name, &facts.prefix, &full)?;
    // The two builds do not depend on each other.
    let (gcc, msan) = std::thread::scope(|scope| {
        let gcc = scope.spawn(|| build(bench, &bench.gcc, program, &text));
        let msan = build(bench, &bench.msan, program, &text);
        (gcc.join(), msan)
    });
    let gcc = gcc.unwrap_or_else(|_| Err(Error::unfit("a profile build was interrupted")))?;
    let msan = msan?;
    refuse::by_symbols(&gcc.path)?;

    let mut runs = Vec::new();
    for (executable, is_sanitized) in [(&gcc, false), (&gcc, false), (&msan, true)] {
        let number = runs.len();
        let file = format!("candor-profile-{number}");
        let path = probe::prepare(&executable.directory, &file, &full)?;
        let finished = bench.run(
            executable,
            program,
            settings.time,
            is_sanitized,
            Some(path.as_path()),
        )?;
        refuse::by_outcome(&finished, settings.time)?;
        if let Some(first) = runs.first() {
            let first: &Observed = first;
            refuse::by_difference(&first.finished, &finished, is_sanitized)?;
        }
        let seen = probe::read(&path, &full)?;
        runs.push(Observed { finished, seen });
    }
    let outcome = runs
        .first()
        .map(|run| (run.finished.stdout.clone(), run.finished.ending))
        .ok_or_else(|| Error::unfit("it was not run"))?;

    let mut live = Vec::new();
    let mut dead = Vec::new();
    let mut reached = 0;
    for (index, probe) in full.iter().enumerate() {
        let seen: Vec<&Seen> = runs.iter().filter_map(|run| run.seen.get(index)).collect();
        let Some(point) = unit.points().points.get(index) else {
            continue;
        };
        let visited = visits.get(index).is_some_and(|visits| *visits > 0);
        reached += usize::from(visited || seen.iter().any(|seen| seen.hits > 0));
        match probe {
            Probe::Light if !visited && seen.iter().all(|seen| seen.hits == 0) => dead.push(index),
            Probe::Absent | Probe::Light => {}
            Probe::Full(places) => {
                let environment = Environment::agreed(places, &seen);
                if let Some(environment) = environment.filter(|e| !e.is_empty()) {
                    live.push(LivePoint {
                        point: index,
                        hits: seen.first().map_or(0, |seen| seen.hits),
                        environment,
                        surroundings: Surroundings::at(&survey, point, &mut random),
                    });
                }
            }
        }
    }
    Ok(Profile {
        points: full.len(),
        unit,
        facts,
        live,
        dead,
        reached,
        outcome,
    })
}

fn build(
    bench: &Workbench<'_>,
    prober: &Prober<'_>,
    program: &Program,
    text: &str,
) -> Result<Executable, Error> {
    bench
        .build_probed(prober, program, text)?
        .map_err(|reason| {
            Error::unfit(format!(
                "its profile build with {} failed: {reason}",
                prober.compiler
            ))
        })
}

/// How often each point is visited, by the fastest compiler that can build the program.
fn liveness(
    bench: &Workbench<'_>,
    program: &Program,
    survey: &Survey<'_>,
    light: &Plan,
    settings: &Settings,
) -> Result<Vec<u64>, Error> {
    let name = program.file_name();
    let text = probe::instrument(survey.unit, &name, &survey.facts.prefix, light)?;
    let observe = |executable: &Executable| -> Result<Option<Vec<u64>>, Error> {
        let path = probe::prepare(&executable.directory, "candor-liveness", light)?;
        let finished = bench.run(
            executable,
            program,
            settings.time,
            false,
            Some(path.as_path()),
        )?;
        // Without end here, without end everywhere: no need to wait for the other builds.
        refuse::by_outcome(&finished, settings.time)?;
        let seen = probe::read(&path, light).ok();
        Ok(seen.map(|seen| seen.iter().map(|seen| seen.hits).collect()))
    };
    if let Some(tcc) = &bench.tcc
        && let Ok(executable) = bench.build_probed(tcc, program, &text)?
        && let Some(visits) = observe(&executable)?
    {
        return Ok(visits);
    }
    let executable = build(bench, &bench.gcc, program, &text)?;
    // What went wrong is said by the full runs, which are judged.
    Ok(observe(&executable)?.unwrap_or_else(|| vec![1; light.len()]))
}

/// Full probes for a sample of the live points, light ones for a sample of the dead.
fn choose(
    survey: &Survey<'_>,
    visits: &[u64],
    settings: &Settings,
    random: &mut fastrand::Rng,
) -> Plan {
    let points = &survey.unit.points().points;
    let mut plan: Plan = vec![Probe::Absent; points.len()];
    let mut candidates: Vec<(u64, &Point)> = Vec::new();
    let mut dead: Vec<usize> = Vec::new();
    for (point, visits) in points.iter().zip(visits) {
        if *visits == 0 {
            dead.push(point.id);
        } else if is_allowed(survey, point) && random.f64() < settings.density {
            // Most value sets are singletons; those of points in loops are not.
            let weight = u64::from(random.u32(..)) >> (if *visits > 1 { 2 } else { 0 });
            candidates.push((weight, point));
        }
    }
    candidates.sort_by_key(|(weight, point)| (*weight, point.id));
    candidates.truncate(settings.most_points);
    for (_, point) in candidates {
        let places = survey.places(point, MOST_PLACES, random);
        if let Some(slot) = plan.get_mut(point.id)
            && !places.is_empty()
        {
            *slot = Probe::Full(places);
        }
    }
    random.shuffle(&mut dead);
    dead.truncate(settings.most_dead);
    // One probe that is surely reached tells a silent run-time from a program with nothing to report.
    let reached = visits.iter().position(|visits| *visits > 0);
    for id in dead.into_iter().chain(reached) {
        if let Some(slot) = plan.get_mut(id)
            && matches!(slot, Probe::Absent)
        {
            *slot = Probe::Light;
        }
    }
    plan
}
