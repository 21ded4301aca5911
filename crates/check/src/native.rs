//! What the native engine alone sees of one build: fast, and not yet a finding.
//!
//! A check asks it once per build and confirms what it suspects. Reduction and isolation ask it
//! thousands of times and confirm at the end, so it is also a door of its own ([`look`]).

use candor_dwarf::Image;
use candor_toolchain::Program;
use candor_tracer::{Mode, Outcome, trace};

use crate::compare::{Comparison, Suspect, Watch};
use crate::finding::{Counts, Kind};
use crate::plan::Plan;
use crate::quiet::Held;
use crate::truth::{Truth, launch, options};
use crate::workshop::{Executable, Workshop};
use crate::{Error, Settings};

/// Something that seems wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// What sort.
    pub kind: Kind,
    /// The function; `None` for a global.
    pub function: Option<String>,
    /// The variable with its path, as a C expression.
    pub variable: String,
    /// The variable alone.
    pub root: String,
    /// Where it is declared.
    pub declared: u32,
    /// Where it was looked at.
    pub line: u32,
    /// The true value; `None` where only the location is known to be ill-formed.
    pub expected: Option<String>,
    /// What is shown.
    pub shown: String,
    /// The location in words.
    pub location: String,
}

/// What was seen of one build.
#[derive(Clone, Debug)]
pub struct Seen {
    /// All values, by what became of them.
    pub counts: Counts,
    /// What seems wrong: per variable and kind, the first place on some lines.
    pub sightings: Vec<Sighting>,
    /// The variable that was followed.
    pub watch: Option<Watch>,
}

/// Whether the debug information gives a variable any place or value at all; `function` is `None` for a
/// global. Nothing is run. Where that cannot be told, it does.
pub fn is_described(executable: &Executable, function: Option<&str>, variable: &str) -> bool {
    let spans = Image::open(&executable.path)
        .and_then(|image| image.location_spans(function.unwrap_or_default(), variable));
    match spans {
        Ok(spans) => !spans.is_empty(),
        Err(error) => !matches!(error, candor_dwarf::Error::Unknown { .. }),
    }
}

/// Runs `executable` and compares it with `truth`. The inner error says why its run cannot be held
/// against it: it computes something else, or did not end.
pub fn look(
    workshop: &Workshop<'_>,
    program: &Program,
    plan: &Plan,
    truth: &Truth,
    executable: &Executable,
    settings: &Settings,
    watch: Option<Watch>,
) -> Result<Result<Seen, String>, Error> {
    let image = match Image::open(&executable.path) {
        Ok(image) => image,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let build = (executable, &image);
    let seen = compare_build(
        workshop,
        program,
        (plan, None),
        truth,
        build,
        settings,
        watch,
    )?;
    Ok(seen.map(|mut comparison| Seen {
        counts: comparison.counts,
        sightings: sightings(comparison.all_suspects().values()),
        watch: comparison.watch,
    }))
}

/// The same of a build without barriers.
pub fn look_quietly(
    workshop: &Workshop<'_>,
    program: &Program,
    plan: &Plan,
    held: &Held,
    executable: &Executable,
    settings: &Settings,
) -> Result<Result<Seen, String>, Error> {
    let image = match Image::open(&executable.path) {
        Ok(image) => image,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let seen = held.compare(workshop, program, plan, (executable, &image), settings)?;
    Ok(seen.map(|quiet| Seen {
        counts: quiet.counts,
        sightings: sightings(quiet.suspects.iter()),
        watch: None,
    }))
}

/// What is to be said of suspects that nobody has confirmed.
fn sightings<'s>(suspects: impl Iterator<Item = &'s Suspect>) -> Vec<Sighting> {
    suspects
        .flat_map(|suspect| &suspect.candidates)
        .map(|candidate| Sighting {
            kind: candidate.kind,
            function: candidate.key.function.as_deref().map(str::to_owned),
            variable: candidate.key.to_string(),
            root: candidate.key.variable.to_string(),
            declared: candidate.key.decl_line.0,
            line: candidate.spot.line,
            expected: match &candidate.clue {
                Some(clue) => Some(clue.expected.to_string()),
                None => (candidate.expected.is_some() || candidate.held.is_some())
                    .then(|| candidate.truth_in_words()),
            },
            shown: match &candidate.clue {
                Some(clue) => clue.shown.to_string(),
                None => candidate.shown.to_string(),
            },
            location: candidate.location.clone(),
        })
        .collect()
}

/// Runs a build under the comparison with `truth`; the inner error says why nothing came of it.
pub(crate) fn compare_build<'a>(
    workshop: &Workshop<'_>,
    program: &Program,
    (plan, calls): (&'a Plan, Option<&'a [u32]>),
    truth: &'a Truth,
    (executable, image): (&Executable, &'a Image),
    settings: &Settings,
    watch: Option<Watch>,
) -> Result<Result<Comparison<'a>, String>, Error> {
    let mut comparison = Comparison::new(truth, plan, image).at(calls);
    comparison.watch = watch;
    let summary = trace(
        workshop.sandbox,
        image,
        &launch(executable, program, settings),
        &Mode::barrier(),
        &options(settings),
        &mut comparison,
    )?;
    let expected = calls.map_or(truth.recording.len(), <[u32]>::len);
    let same_run = summary.stops == expected as u64
        || matches!(summary.outcome, Outcome::Enough | Outcome::StopLimit);
    let same_end = truth.ends_alike(&summary.outcome) && summary.stdout == truth.stdout;
    let cut = matches!(truth.outcome, Outcome::Enough | Outcome::StopLimit);
    if matches!(summary.outcome, Outcome::WallTime | Outcome::CpuTime) {
        return Ok(Err(format!(
            "its run was cut off after {} stops: {} (--timeout, --max-stops)",
            summary.stops, summary.outcome
        )));
    }
    if !same_run || !(same_end || cut) {
        // Not the same computation: nothing its debug information says can be held against it.
        return Ok(Err(format!(
            "the program behaves differently: {} stops, {}; unoptimised {} stops, {}{}. \
             This may be wrong code",
            summary.stops,
            summary.outcome,
            expected,
            truth.outcome,
            if summary.stdout == truth.stdout {
                ""
            } else {
                "; its output differs"
            }
        )));
    }
    Ok(Ok(comparison))
}
