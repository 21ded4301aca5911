//! Variants made by mutation: their snippets are dropped before anything else is tried.
//!
//! The sidecar rebuilds the variant with any subset of its snippets, each of which is valid by
//! construction (paper 004): the coarsest and safest step there is.

use std::collections::BTreeSet;

use candor_mutate::Variant;
use candor_predicate::Case;

use crate::Error;
use crate::jury::Stop;
use crate::sweep::Session;

/// The seed's text and the variant of a case that has one.
pub fn of_case(case: &Case) -> Result<Option<(String, Variant)>, Error> {
    let Some(value) = &case.variant else {
        return Ok(None);
    };
    let bad = |reason: String| Error::Variant { reason };
    let mut value = value.clone();
    let seed = value
        .as_object_mut()
        .and_then(|object| object.remove("seed_text"));
    let variant: Variant = serde_json::from_value(value).map_err(|error| bad(error.to_string()))?;
    let seed = match seed {
        Some(serde_json::Value::String(text)) => text,
        _ => std::fs::read_to_string(&variant.program).map_err(|error| {
            bad(format!(
                "its seed {} cannot be read: {error}",
                variant.program.display()
            ))
        })?,
    };
    if !variant.fits(&seed) {
        return Err(bad("its seed is not the program it was made from".into()));
    }
    Ok(Some((seed, variant)))
}

/// Drops as many snippets as the predicate bears; the numbers of those that stay.
pub fn drop(
    session: &mut Session<'_, '_>,
    seed: &str,
    variant: &Variant,
) -> Result<Vec<usize>, Stop> {
    session.jury.announce("snippets");
    session.jury.be_strict(true);
    let mut kept: Vec<usize> = variant.snippets.iter().map(|snippet| snippet.id).collect();
    let text_of = |kept: &BTreeSet<usize>| -> Option<String> {
        variant
            .text_with(seed, |snippet| kept.contains(&snippet.id))
            .ok()
    };
    let mut chunk = kept.len();
    while chunk >= 1 {
        let mut at = 0;
        while at < kept.len() {
            let starts: Vec<usize> = (at..kept.len()).step_by(chunk).collect();
            let make = |index: usize| {
                let from = *starts.get(index)?;
                let to = (from + chunk).min(kept.len());
                let rest = kept[..from].iter().chain(&kept[to..]).copied().collect();
                text_of(&rest)
            };
            let Some((index, text)) = session.jury.first(starts.len(), &make)? else {
                break;
            };
            let from = starts.get(index).copied().unwrap_or(at);
            let to = (from + chunk).min(kept.len());
            kept.drain(from..to);
            at = from;
            session.take(text)?;
        }
        if chunk == 1 {
            break;
        }
        chunk = chunk.min(kept.len().max(1)).div_ceil(2);
    }
    session.jury.be_strict(false);
    Ok(kept)
}
