//! The parts of a job array into one campaign.
//!
//! Parts must be of one campaign: the same generator, corpus, variants, levels, oracles and first seed. Their compilers
//! may differ (machines do), and so may how many seeds they were given.

use std::collections::BTreeSet;

use candor_store::{Campaign, Merged, SqliteStore, Store};

use crate::campaign::stored;
use crate::settings::{Settings, Shard};
use crate::{Error, Event};

/// Merges `parts` into `whole`, which may be empty or hold an earlier merge; what each of them added, in order.
///
/// # Errors
/// When the parts do not belong together (nothing is changed then), or a store fails.
pub fn merge(
    whole: &SqliteStore,
    parts: &[SqliteStore],
    watch: &dyn Fn(&Event),
) -> Result<Vec<Merged>, Error> {
    let mut all: Vec<(String, Campaign, Settings)> = Vec::new();
    for store in [whole].into_iter().chain(parts) {
        let name = store.directory().display().to_string();
        match store.campaign()? {
            Some(campaign) => {
                let settings = stored(&campaign)?;
                all.push((name, campaign, settings));
            }
            None if std::ptr::eq(store, whole) => {}
            None => return Err(Error::NoCampaign { store: name }),
        }
    }
    let Some((first, campaign, base)) = all.first() else {
        return Ok(Vec::new());
    };
    for (name, _, settings) in &all {
        let differences = base.differences(settings);
        if !differences.is_empty() {
            return Err(Error::OtherCampaign {
                first: first.clone(),
                other: name.clone(),
                differences: differences.join("; "),
            });
        }
    }
    for text in remarks(&all) {
        watch(&Event::Notice { text });
    }
    let settings = union(all.iter().map(|(_, _, settings)| settings));
    let value = serde_json::to_value(&settings).map_err(|error| Error::BadSetting {
        what: error.to_string(),
    })?;
    // Rows first: a store that has a campaign and half its parts would look complete.
    let merged = parts
        .iter()
        .map(|part| whole.merge(part))
        .collect::<Result<Vec<_>, _>>()?;
    let created = all.iter().map(|(_, campaign, _)| campaign.created).min();
    whole.begin(&Campaign {
        created: created.unwrap_or(campaign.created),
        candor: campaign.candor.clone(),
        settings: value.clone(),
    })?;
    whole.amend(&value)?;
    Ok(merged)
}

/// What all parts together were asked for.
fn union<'a>(all: impl Iterator<Item = &'a Settings>) -> Settings {
    let mut settings: Option<Settings> = None;
    for one in all {
        let Some(known) = &mut settings else {
            settings = Some(one.clone());
            continue;
        };
        known.seeds = known.seeds.zip(one.seeds).map(|(a, b)| a.max(b));
        for compiler in &one.compilers {
            if !known.compilers.contains(compiler) {
                known.compilers.push(compiler.clone());
            }
        }
    }
    Settings {
        shard: Shard::WHOLE,
        ..settings.unwrap_or_default()
    }
}

/// What a person should know about the parts.
fn remarks(all: &[(String, Campaign, Settings)]) -> Vec<String> {
    let mut remarks = Vec::new();
    let counts: BTreeSet<u64> = all.iter().map(|(_, _, s)| s.shard.count).collect();
    // A whole (an earlier merge) says nothing about which parts are in it.
    if let Some(&count) = counts.first()
        && counts.len() == 1
        && count > 1
    {
        let present: BTreeSet<u64> = all.iter().map(|(_, _, s)| s.shard.index).collect();
        let missing = (0..count).filter(|index| !present.contains(index));
        let missing: Vec<String> = missing.map(|i| format!("{}/{count}", i + 1)).collect();
        match &missing[..] {
            [] => {}
            few if few.len() <= 8 => {
                remarks.push(format!("not among these parts: {}", few.join(", ")));
            }
            many => remarks.push(format!("{} of {count} parts are not here", many.len())),
        }
    }
    if all
        .windows(2)
        .any(|pair| pair[0].2.compilers != pair[1].2.compilers)
    {
        remarks.push("the parts did not all have the same compilers".to_owned());
    }
    let versions: BTreeSet<&str> = all.iter().map(|(_, c, _)| c.candor.as_str()).collect();
    if versions.len() > 1 {
        let names: Vec<&str> = versions.into_iter().collect();
        remarks.push(format!(
            "the parts were made by candor {}",
            names.join(", ")
        ));
    }
    remarks
}
