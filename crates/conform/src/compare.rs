//! Two versions side by side: what got fixed, what is new.
//!
//! Addresses and lines differ from version to version; the same site is the same function of the pass
//! with the same kind of error on the same kind of instruction.

use crate::site::{Findings, Site};

/// Sites by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Compared {
    /// In the old version only.
    pub fixed: Vec<Site>,
    /// In the new version only.
    pub new: Vec<Site>,
    /// In both, as the new version has them.
    pub both: Vec<Site>,
    /// In the old version, and the smallest test that shows them does not run on the new one.
    pub unknown: Vec<Site>,
}

/// Compares the findings on two versions.
pub fn compare(old: &Findings, new: &Findings) -> Compared {
    let mut compared = Compared::default();
    let not_run = |site: &Site| {
        let name = &site.example.name;
        new.tally.not_judged.iter().any(|(test, _)| test == name)
    };
    for site in &old.sites {
        if new.sites.iter().any(|other| same(site, other)) {
            continue;
        }
        match not_run(site) {
            true => compared.unknown.push(site.clone()),
            false => compared.fixed.push(site.clone()),
        }
    }
    for site in &new.sites {
        match old.sites.iter().any(|other| same(site, other)) {
            true => compared.both.push(site.clone()),
            false => compared.new.push(site.clone()),
        }
    }
    compared
}

fn same(one: &Site, other: &Site) -> bool {
    one.class == other.class
        && one.function() == other.function()
        && !one.opcodes.is_disjoint(&other.opcodes)
}
