//! Which source loop head belongs to which machine loop head, and how many source iterations to one of the machine's.
//!
//! Every visit of a head carries the hash of the set of cells *written so far* (contents would not do: a store that changes
//! nothing would not count). A visit of a machine head can only belong to source visits with the same hash. Within a run
//! of consecutive visits of one machine head the source advances at a constant pace; the largest pace that fits all
//! runs is taken, which also settles loops that write nothing and stores under conditions.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ir::BlockId;
use crate::region::MachineEnd;
use crate::trace::Run;

/// A pairing of heads, and for each run the source visit of every machine visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correlation {
    /// Source head by machine head.
    pub heads: BTreeMap<u64, BlockId>,
    /// Index of the source visit, by run and machine visit.
    pub maps: Vec<Vec<usize>>,
}

/// Consecutive visits of one machine head.
struct Stretch<'p> {
    run: usize,
    head: u64,
    first: usize,
    /// Source visits that each may belong to, ascending.
    candidates: Vec<&'p [usize]>,
}

/// Candidates tried for offsets and paces, at most.
const MOST_OFFSETS: usize = 36;
const MOST_TRIES: usize = 200;

/// Possible correlations, most plausible first.
pub fn correlate(runs: &[Run], source_heads: &[BlockId]) -> Result<Vec<Correlation>, String> {
    let mut places: Vec<FxHashMap<(BlockId, u64), Vec<usize>>> = Vec::new();
    let mut visits: BTreeMap<u64, usize> = BTreeMap::new();
    let mut source_visits: BTreeMap<BlockId, usize> = BTreeMap::new();
    for run in runs {
        let mut at: FxHashMap<(BlockId, u64), Vec<usize>> = FxHashMap::default();
        for (index, visit) in run.source.iter().enumerate() {
            if let Some(head) = visit.head {
                at.entry((head, visit.written)).or_default().push(index);
                *source_visits.entry(head).or_default() += 1;
            }
        }
        places.push(at);
        for visit in &run.machine {
            if let MachineEnd::Head(head) = visit.at {
                *visits.entry(head).or_default() += 1;
            }
        }
    }
    let mut options: Vec<(u64, Vec<BlockId>)> = Vec::new();
    for (head, count) in &visits {
        let mut possible: Vec<(usize, BlockId)> = source_heads
            .iter()
            .filter(|source| {
                runs.iter().zip(&places).all(|(run, places)| {
                    run.machine
                        .iter()
                        .filter(|visit| visit.at == MachineEnd::Head(*head))
                        .all(|visit| places.contains_key(&(**source, visit.written)))
                })
            })
            .map(|source| {
                let theirs = source_visits.get(source).copied().unwrap_or(0);
                (theirs.abs_diff(*count), *source)
            })
            .collect();
        possible.sort_unstable();
        if possible.is_empty() {
            return Err(format!(
                "at the machine loop head {head:#x} memory is never as it is at any source loop head: the compiler reordered the stores of several iterations (it works on several rows at once, or moved a store out of the loop)"
            ));
        }
        options.push((
            *head,
            possible.into_iter().map(|(_, source)| source).collect(),
        ));
    }
    let mut found: Vec<Correlation> = Vec::new();
    for choice in product(
        &options.iter().map(|(_, o)| o.len()).collect::<Vec<_>>(),
        12,
    ) {
        let heads: BTreeMap<u64, BlockId> = options
            .iter()
            .zip(&choice)
            .map(|((head, sources), index)| (*head, sources[*index]))
            .collect();
        let stretches = stretches(runs, &places, &heads);
        let all: Vec<u64> = heads.keys().copied().collect();
        let paces: Vec<Vec<Option<i64>>> =
            all.iter().map(|head| paces(&stretches, *head)).collect();
        let offsets: Vec<usize> = all
            .iter()
            .zip(&paces)
            .map(|(head, paces)| 1 + slack(&stretches, *head, paces[0]).min(MOST_OFFSETS))
            .collect();
        let pace_counts: Vec<usize> = paces.iter().map(Vec::len).collect();
        for offset in product(&offsets, MOST_TRIES) {
            for pace in product(&pace_counts, 4) {
                let settings: BTreeMap<u64, (usize, Option<i64>)> = all
                    .iter()
                    .enumerate()
                    .map(|(index, head)| (*head, (offset[index], paces[index][pace[index]])))
                    .collect();
                if let Some(maps) = assign(runs, &stretches, &heads, &settings) {
                    let correlation = Correlation {
                        heads: heads.clone(),
                        maps,
                    };
                    if !found.contains(&correlation) {
                        found.push(correlation);
                    }
                }
            }
        }
    }
    if found.is_empty() {
        return Err("no pairing of loop heads is consistent over all runs: the order of iterations or of stores differs".to_owned());
    }
    Ok(found)
}

/// The first `most` combinations of indices below the given counts, the last varying fastest.
fn product(counts: &[usize], most: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![0; counts.len()]];
    loop {
        let mut next = all[all.len() - 1].clone();
        let mut position = counts.len();
        loop {
            if position == 0 {
                return all;
            }
            position -= 1;
            next[position] += 1;
            if next[position] < counts[position] {
                break;
            }
            next[position] = 0;
        }
        if all.len() == most {
            return all;
        }
        all.push(next);
    }
}

fn stretches<'p>(
    runs: &[Run],
    places: &'p [FxHashMap<(BlockId, u64), Vec<usize>>],
    heads: &BTreeMap<u64, BlockId>,
) -> Vec<Stretch<'p>> {
    let mut all: Vec<Stretch<'p>> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let mut previous = None;
        for (index, visit) in run.machine.iter().enumerate() {
            let MachineEnd::Head(head) = visit.at else {
                previous = None;
                continue;
            };
            let key = (heads[&head], visit.written);
            let candidates = places[number].get(&key).map_or(&[][..], Vec::as_slice);
            if previous == Some(head)
                && let Some(last) = all.last_mut()
            {
                last.candidates.push(candidates);
            } else {
                all.push(Stretch {
                    run: number,
                    head,
                    first: index,
                    candidates: vec![candidates],
                });
            }
            previous = Some(head);
        }
    }
    all
}

/// The interval of offsets at which a pace fits a stretch.
fn window(stretch: &Stretch<'_>, pace: i64) -> (i64, i64) {
    let (mut low, mut high) = (i64::MIN, i64::MAX);
    for (step, candidates) in stretch.candidates.iter().enumerate() {
        let (Some(first), Some(last)) = (candidates.first(), candidates.last()) else {
            return (0, -1);
        };
        let moved = pace * step as i64;
        low = low.max(*first as i64 - moved);
        high = high.min(*last as i64 - moved);
    }
    (low, high)
}

/// Paces that fit every stretch of a head, largest first. `None`: no constant pace.
fn paces(stretches: &[Stretch<'_>], head: u64) -> Vec<Option<i64>> {
    let own: Vec<&Stretch<'_>> = stretches
        .iter()
        .filter(|stretch| stretch.head == head && stretch.candidates.len() > 1)
        .collect();
    if own.is_empty() {
        return vec![Some(0)];
    }
    let (mut low, mut high) = (0i64, i64::MAX);
    for stretch in &own {
        let steps = stretch.candidates.len() as i64 - 1;
        let first = &stretch.candidates[0];
        let last = &stretch.candidates[steps as usize];
        if let (Some(a), Some(z), Some(b), Some(y)) =
            (first.first(), last.last(), first.last(), last.first())
        {
            high = high.min((*z as i64 - *a as i64).div_euclid(steps));
            low = low.max(-(*b as i64 - *y as i64).div_euclid(steps));
        }
    }
    let mut all = Vec::new();
    for pace in (low.max(1)..=high.min(low + 300)).rev() {
        let fits = own.iter().all(|stretch| {
            let (from, to) = window(stretch, pace);
            from <= to
        });
        if fits {
            all.push(Some(pace));
        }
        if all.len() == 3 {
            break;
        }
    }
    if all.is_empty() {
        all.push(None);
    }
    all
}

/// How many offsets are possible at most.
fn slack(stretches: &[Stretch<'_>], head: u64, pace: Option<i64>) -> usize {
    let Some(pace) = pace else { return 0 };
    stretches
        .iter()
        .filter(|stretch| stretch.head == head)
        .map(|stretch| {
            let (low, high) = window(stretch, pace);
            (high - low).max(0) as usize
        })
        .max()
        .unwrap_or(0)
}

fn assign(
    runs: &[Run],
    stretches: &[Stretch<'_>],
    heads: &BTreeMap<u64, BlockId>,
    settings: &BTreeMap<u64, (usize, Option<i64>)>,
) -> Option<Vec<Vec<usize>>> {
    let mut maps: Vec<Vec<usize>> = runs
        .iter()
        .map(|run| vec![usize::MAX; run.machine.len()])
        .collect();
    for stretch in stretches {
        let (offset, pace) = settings[&stretch.head];
        let map = &mut maps[stretch.run];
        let Some(pace) = pace else {
            let mut previous: Option<usize> = None;
            for (step, candidates) in stretch.candidates.iter().enumerate() {
                let next = candidates
                    .iter()
                    .find(|candidate| previous.is_none_or(|p| **candidate > p))?;
                map[stretch.first + step] = *next;
                previous = Some(*next);
            }
            continue;
        };
        let (low, high) = window(stretch, pace);
        let start = (low + offset as i64).min(high);
        let wanted = usize::try_from(start).ok()?;
        if start < low || stretch.candidates[0].binary_search(&wanted).is_err() {
            return None;
        }
        for step in 0..stretch.candidates.len() {
            let index = usize::try_from(start + pace * step as i64).ok()?;
            let visit = runs[stretch.run].source.get(index)?;
            if visit.head != Some(heads[&stretch.head]) {
                return None;
            }
            map[stretch.first + step] = index;
        }
    }
    for (run, map) in runs.iter().zip(&mut maps) {
        if let Some(last) = map.last_mut() {
            *last = run.source.len() - 1;
        }
        if map.windows(2).any(|pair| pair[0] > pair[1]) {
            return None;
        }
    }
    Some(maps)
}
