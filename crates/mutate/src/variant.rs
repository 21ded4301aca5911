//! Variants: which points get which snippets, the edited text, and the record that rebuilds it.
//!
//! A variant is (program, seed, list of snippets): a finding is minimised by dropping snippets first (paper 004 §5.4).

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use candor_source::EditSet;
use candor_toolchain::Program;
use serde::{Deserialize, Serialize};

use crate::body::Surroundings;
use crate::environment::Environment;
use crate::predicate::Predicate;
use crate::profile::Profile;
use crate::strategy::{Made, Site, Strategy, is_allowed};
use crate::{Error, rules::words};

/// The number in sidecars of this shape.
const FORMAT: u32 = 1;
/// Snippets of one variant, at most.
const MOST_SNIPPETS: usize = 25;
/// Values of a place that a record shows.
const SHOWN_VALUES: usize = 8;

/// A place a snippet relies on, and what the profile saw there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// As C text.
    pub place: String,
    /// The values seen, as text (`1, 2, 3`) or as bounds (`0 to 4711`).
    pub values: String,
}

/// One insertion or deletion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snippet {
    /// Its number in the variant.
    pub id: usize,
    /// Who made it.
    pub strategy: Strategy,
    /// The point, by number.
    pub point: usize,
    /// 1-based line of the seed.
    pub line: u32,
    /// 1-based column in bytes.
    pub column: u32,
    /// The bytes of the seed it replaces; empty for an insertion.
    pub range: Range<usize>,
    /// What is put there.
    pub text: String,
    /// Visits of the point in the profile run.
    pub hits: u64,
    /// The predicates in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<Predicate>,
    /// The part of the profile it relies on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relies_on: Vec<Evidence>,
}

/// A mutated program: what the sidecar JSON holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Version of this record.
    pub format: u32,
    /// The seed program.
    pub program: PathBuf,
    /// Fingerprint of the seed's text: a record fits one text only.
    pub fingerprint: String,
    /// Compiler flags of the seed.
    pub flags: Vec<String>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its standard input, as a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<PathBuf>,
    /// The seed that decided everything random.
    pub seed: u64,
    /// The number of the variant under that seed.
    pub number: u64,
    /// In order of position.
    pub snippets: Vec<Snippet>,
}

/// How variants are made.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The strategies to use.
    pub strategies: Vec<Strategy>,
    /// Share of the usable points that get a snippet.
    pub rate: f64,
    /// Decides everything random.
    pub seed: u64,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            strategies: Strategy::ALL.to_vec(),
            rate: 0.25,
            seed: 1,
        }
    }
}

/// FNV-1a: tells texts apart, not adversaries.
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The `number`-th variant of `program`. The same profile, choice and number give the same variant.
#[must_use]
pub fn variant(program: &Program, profile: &Profile, choice: &Choice, number: u64) -> Variant {
    let mut random =
        fastrand::Rng::with_seed(choice.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut snippets = Vec::new();
    dead_snippets(profile, choice, &mut random, &mut snippets);
    live_snippets(profile, choice, &mut random, &mut snippets);
    snippets.sort_by_key(|snippet| (snippet.range.start, snippet.range.end));
    for (id, snippet) in snippets.iter_mut().enumerate() {
        snippet.id = id;
    }
    Variant {
        format: FORMAT,
        program: program.path.clone(),
        fingerprint: fingerprint(&program.text),
        flags: program.flags.clone(),
        arguments: program.arguments.clone(),
        stdin: None,
        seed: choice.seed,
        number,
        snippets,
    }
}

fn wanted(choice: &Choice, live: bool) -> Vec<Strategy> {
    let of_kind = |strategy: &&Strategy| strategy.is_live() == live;
    choice.strategies.iter().filter(of_kind).copied().collect()
}

/// A sample of `all`, `rate` of it but at least one, at most `most`.
fn sample<T>(mut all: Vec<T>, rate: f64, most: usize, random: &mut fastrand::Rng) -> Vec<T> {
    random.shuffle(&mut all);
    let many = (all.len() as f64 * rate).ceil() as usize;
    all.truncate(many.clamp(1, most));
    all
}

fn live_snippets(
    profile: &Profile,
    choice: &Choice,
    random: &mut fastrand::Rng,
    snippets: &mut Vec<Snippet>,
) {
    let strategies = wanted(choice, true);
    if strategies.is_empty() {
        return;
    }
    let points = profile.live.iter().collect();
    for live in sample(points, choice.rate, MOST_SNIPPETS, random) {
        let Some(point) = profile.point(live.point) else {
            continue;
        };
        let site = Site {
            point,
            unit: &profile.unit,
            environment: &live.environment,
            surroundings: &live.surroundings,
            prefix: &profile.facts.prefix,
        };
        let mut order = strategies.clone();
        random.shuffle(&mut order);
        let made = order
            .into_iter()
            .find_map(|strategy| Some((strategy, strategy.make(&site, random)?)));
        if let Some((strategy, made)) = made {
            let relies_on = evidence(&live.environment, &made);
            snippets.push(record(&site, strategy, made, live.hits, relies_on));
        }
    }
}

fn dead_snippets(
    profile: &Profile,
    choice: &Choice,
    random: &mut fastrand::Rng,
    snippets: &mut Vec<Snippet>,
) {
    let strategies = wanted(choice, false);
    if strategies.is_empty() || profile.dead.is_empty() {
        return;
    }
    let nothing = Environment::default();
    let survey = profile.survey();
    // With live strategies beside them, the dead ones are the smaller part.
    let share = if strategies.len() < choice.strategies.len() {
        2
    } else {
        1
    };
    let points = profile.dead.clone();
    for id in sample(
        points,
        choice.rate / share as f64,
        MOST_SNIPPETS / share,
        random,
    ) {
        let Some(point) = profile.point(id).filter(|point| is_allowed(&survey, point)) else {
            continue;
        };
        let surroundings = Surroundings::at(&survey, point, random);
        let site = Site {
            point,
            unit: &profile.unit,
            environment: &nothing,
            surroundings: &surroundings,
            prefix: &profile.facts.prefix,
        };
        let mut order = strategies.clone();
        random.shuffle(&mut order);
        let made = order.into_iter().find_map(|strategy| {
            let made = strategy.make(&site, random)?;
            let range = range_of(&site, &made);
            fits(snippets, &range).then_some((strategy, made))
        });
        if let Some((strategy, made)) = made {
            snippets.push(record(&site, strategy, made, 0, Vec::new()));
        }
    }
}

fn range_of(site: &Site<'_>, made: &Made) -> Range<usize> {
    made.removed
        .clone()
        .unwrap_or(site.point.offset..site.point.offset)
}

/// Whether a range overlaps none that is taken: no insertion into a deletion, no deletion in another.
fn fits(snippets: &[Snippet], range: &Range<usize>) -> bool {
    snippets.iter().all(|taken| {
        let taken = &taken.range;
        range.end < taken.start || taken.end < range.start
    })
}

fn record(
    site: &Site<'_>,
    strategy: Strategy,
    made: Made,
    hits: u64,
    relies_on: Vec<Evidence>,
) -> Snippet {
    Snippet {
        id: 0,
        strategy,
        point: site.point.id,
        line: site.point.line,
        column: site.point.column,
        range: range_of(site, &made),
        text: made.text,
        hits,
        predicates: made.predicates,
        relies_on,
    }
}

/// The places of the environment that the snippet names, with what was seen.
fn evidence(environment: &Environment, made: &Made) -> Vec<Evidence> {
    let used: BTreeSet<&str> = words(&made.text).collect();
    let names = |text: &str| words(text).next().is_some_and(|name| used.contains(name));
    let columns = environment.columns.iter().map(|column| {
        let mut values = column.values.clone();
        values.sort_unstable();
        values.dedup();
        let shown: Vec<String> = values
            .iter()
            .take(SHOWN_VALUES)
            .map(i128::to_string)
            .collect();
        let more = values.len().saturating_sub(SHOWN_VALUES);
        let rest = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        (&column.place.text, format!("{}{rest}", shown.join(", ")))
    });
    let intervals = environment.intervals.iter().map(|interval| {
        let values = format!("{} to {}", interval.low, interval.high);
        (&interval.place.text, values)
    });
    columns
        .chain(intervals)
        .filter(|(place, _)| names(place) && made.text.contains(place.as_str()))
        .map(|(place, values)| Evidence {
            place: place.clone(),
            values,
        })
        .collect()
}

impl Variant {
    /// The text with all snippets applied to `seed`.
    ///
    /// # Errors
    /// When the record does not fit the text.
    pub fn text(&self, seed: &str) -> Result<String, Error> {
        self.text_with(seed, |_| true)
    }

    /// The text with only the snippets that `keep` takes.
    ///
    /// # Errors
    /// When the record does not fit the text.
    pub fn text_with(&self, seed: &str, keep: impl Fn(&Snippet) -> bool) -> Result<String, Error> {
        let mut edits = EditSet::new();
        for snippet in self.snippets.iter().filter(|snippet| keep(snippet)) {
            edits.replace(snippet.range.clone(), snippet.text.clone());
        }
        Ok(edits.apply(seed)?)
    }

    /// Whether the record was made for this text.
    #[must_use]
    pub fn fits(&self, seed: &str) -> bool {
        self.fingerprint == fingerprint(seed)
    }

    /// Reads a sidecar.
    ///
    /// # Errors
    /// [`Error::Sidecar`] when it is not one.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let bad = |reason: String| Error::Sidecar {
            path: path.to_owned(),
            reason,
        };
        let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        let variant: Self = serde_json::from_slice(&bytes)
            .map_err(|error| bad(format!("expected the JSON beside a variant: {error}")))?;
        if variant.format != FORMAT {
            return Err(bad(format!(
                "expected format {FORMAT}, met {}; make the variant anew",
                variant.format
            )));
        }
        Ok(variant)
    }

    /// The seed the sidecar speaks of, with its flags and input.
    ///
    /// # Errors
    /// [`Error::Sidecar`] when the seed has changed since.
    pub fn seed_program(&self, sidecar: &Path) -> Result<Program, Error> {
        let mut program = Program::load(&self.program)?;
        if !self.fits(&program.text) {
            return Err(Error::Sidecar {
                path: sidecar.to_owned(),
                reason: format!(
                    "was made for another text of {}; restore the seed, or make the variant anew with --seed {}",
                    self.program.display(),
                    self.seed
                ),
            });
        }
        program.flags.clone_from(&self.flags);
        program.arguments.clone_from(&self.arguments);
        if let Some(input) = &self.stdin {
            program.stdin = std::fs::read(input)
                .map_err(|source| candor_toolchain::Error::file("read", input, source))?;
        }
        Ok(program)
    }
}
