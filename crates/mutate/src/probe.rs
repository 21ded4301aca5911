//! Probes: the text that reports what a point sees, and the file the run-time writes it to (`runtime.c`).
//!
//! A light probe counts visits; a full one also reports the values of chosen places as one joint tuple. Over
//! [`CAP`] different tuples only each place's bounds are kept.

use std::path::{Path, PathBuf};

use candor_source::{EditSet, Unit};
use candor_toolchain::JobDirectory;

use crate::Error;
use crate::place::Place;

/// Different joint tuples kept per point.
pub const CAP: usize = 64;
/// Places of one point.
pub const MOST_PLACES: usize = 8;
/// What the run-time writes when it has mapped the file.
const MAPPED: u64 = 0x0043_4e44_525f_4f4b;
/// Words of a record before its bounds.
const HEAD: usize = 5;

/// The run-time's source.
pub const RUNTIME: &str = include_str!("runtime.c");

/// What is asked at a point.
#[derive(Debug, Clone)]
pub enum Probe {
    /// Nothing.
    Absent,
    /// How often it is visited.
    Light,
    /// The joint values of these places.
    Full(Vec<Place>),
}

/// One probe per point.
pub type Plan = Vec<Probe>;

/// The program with the probes of `plan` in it, one per point.
pub fn instrument(
    unit: &Unit,
    file_name: &str,
    prefix: &str,
    plan: &Plan,
) -> Result<String, Error> {
    let mut edits = EditSet::new();
    edits.insert(
        0,
        format!(
            "extern void __candor_live(int);extern void __candor_probe(int,const unsigned long long*);\n#line 1 \"{}\"\n",
            file_name.escape_default()
        ),
    );
    for (point, probe) in unit.points().points.iter().zip(plan) {
        let text = match probe {
            Probe::Absent => continue,
            Probe::Light => format!("__candor_live({});", point.id),
            Probe::Full(places) => {
                let values: Vec<String> = places
                    .iter()
                    .map(|place| format!("(unsigned long long)({})", place.text))
                    .collect();
                format!(
                    "{{unsigned long long {prefix}t[]={{{}}};__candor_probe({},{prefix}t);}}",
                    values.join(","),
                    point.id
                )
            }
        };
        edits.insert(point.offset, text);
    }
    Ok(edits.apply(unit.text())?)
}

fn record_words(places: usize) -> usize {
    HEAD + 4 * places + CAP + CAP * places
}

/// Makes the empty file a run writes to.
pub fn prepare(directory: &JobDirectory, name: &str, plan: &Plan) -> Result<PathBuf, Error> {
    let mut words = vec![0, plan.len() as u64];
    let mut next = 2 + 2 * plan.len();
    for probe in plan {
        match probe {
            Probe::Absent | Probe::Light => words.push(0),
            Probe::Full(places) => {
                words.push(next as u64);
                next += record_words(places.len());
            }
        }
    }
    words.resize(next, 0);
    for (index, probe) in plan.iter().enumerate() {
        let start = words.get(2 + index).copied().unwrap_or_default() as usize;
        if let (Probe::Full(places), Some(word)) = (probe, words.get_mut(start)) {
            *word = places.len() as u64;
        }
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Ok(directory.write(name, bytes)?)
}

/// What one point saw in one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Visits.
    pub hits: u64,
    /// More than [`CAP`] tuples.
    pub over: bool,
    /// Places that held an uninitialised value at least once (known from MSan builds only).
    pub undefined: u64,
    /// Per place: signed and unsigned bounds.
    pub bounds: Vec<[u64; 4]>,
    /// The joint tuples, in order of appearance.
    pub tuples: Vec<Vec<u64>>,
}

/// Reads the file a run has written.
pub fn read(path: &Path, plan: &Plan) -> Result<Vec<Seen>, Error> {
    let damaged = || {
        Error::unfit(
            "none of its probes reported: no statement in front of which code can be put is executed on this input, or \
             the program changes its environment",
        )
    };
    let bytes = std::fs::read(path)
        .map_err(|source| candor_toolchain::Error::file("read", path, source))?;
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .filter_map(|chunk| Some(u64::from_ne_bytes(chunk.try_into().ok()?)))
        .collect();
    let at = |index: usize| words.get(index).copied().ok_or_else(damaged);
    if at(0)? != MAPPED {
        return Err(damaged());
    }
    let mut all = Vec::with_capacity(plan.len());
    for (index, probe) in plan.iter().enumerate() {
        let mut seen = Seen::default();
        match probe {
            Probe::Absent => {}
            Probe::Light => seen.hits = at(2 + plan.len() + index)?,
            Probe::Full(places) => {
                let start = usize::try_from(at(2 + index)?).map_err(|_| damaged())?;
                let n = places.len();
                seen.hits = at(start + 1)?;
                let rows = usize::try_from(at(start + 2)?)
                    .map_err(|_| damaged())?
                    .min(CAP);
                seen.over = at(start + 3)? != 0;
                seen.undefined = at(start + 4)?;
                let bounds = start + HEAD;
                let tuples = bounds + 4 * n + CAP;
                let slice =
                    |from: usize, length: usize| words.get(from..from + length).ok_or_else(damaged);
                for place in 0..n {
                    let four = slice(bounds + 4 * place, 4)?;
                    seen.bounds.push(four.try_into().map_err(|_| damaged())?);
                }
                for row in 0..rows {
                    seen.tuples.push(slice(tuples + row * n, n)?.to_vec());
                }
            }
        }
        all.push(seen);
    }
    Ok(all)
}
