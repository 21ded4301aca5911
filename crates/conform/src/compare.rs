//! Two versions side by side: what got fixed, what is new.
//!
//! Addresses and lines differ from version to version, and functions of a pass are inlined into each other.
//! The tests do not differ: the same site is one that the same kind of error shows on the same instruction of
//! the same test. Where a version works on other instructions of the test's function, the pass's own
//! function must have the same name.

use std::collections::BTreeSet;

use crate::filters::Class;
use crate::site::{Findings, Site, Witness};

/// Sites by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Compared {
    /// In the old version only.
    pub fixed: Vec<Site>,
    /// In the new version only.
    pub new: Vec<Site>,
    /// In both, as the new version has them.
    pub both: Vec<Site>,
    /// In one version, and no test that shows them runs on the other.
    pub unknown: Vec<Site>,
}

/// Compares the findings on two versions.
pub fn compare(old: &Findings, new: &Findings) -> Compared {
    let mut compared = Compared::default();
    for site in &old.sites {
        if new.sites.iter().any(|other| same(site, other)) {
            continue;
        }
        match runs_nowhere(site, new) {
            true => compared.unknown.push(site.clone()),
            false => compared.fixed.push(site.clone()),
        }
    }
    for site in &new.sites {
        match old.sites.iter().any(|other| same(site, other)) {
            true => compared.both.push(site.clone()),
            false if runs_nowhere(site, old) => compared.unknown.push(site.clone()),
            false => compared.new.push(site.clone()),
        }
    }
    compared
}

/// Whether none of the tests that show a site was judged on the other version.
fn runs_nowhere(site: &Site, other: &Findings) -> bool {
    let not_judged: BTreeSet<&str> = other
        .tally
        .not_judged
        .iter()
        .map(|(test, _)| test.as_str())
        .collect();
    site.witnesses
        .iter()
        .all(|witness| not_judged.contains(witness.test.as_str()))
}

fn same(one: &Site, other: &Site) -> bool {
    let [one, other] = [one, other].map(|site| Seen {
        class: site.class,
        function: site.function(),
        witnesses: &site.witnesses,
    });
    one.same(&other)
}

/// What of a site can be compared.
struct Seen<'a> {
    class: Class,
    function: String,
    witnesses: &'a BTreeSet<Witness>,
}

impl Seen<'_> {
    fn same(&self, other: &Seen<'_>) -> bool {
        let roughly = |witness: &Witness| {
            other.witnesses.iter().any(|one| {
                (&one.test, &one.function, &one.opcode)
                    == (&witness.test, &witness.function, &witness.opcode)
            })
        };
        let exactly = |witness: &Witness| other.witnesses.contains(witness);
        let named_alike = self.function == other.function;
        self.class == other.class
            && (self.witnesses.iter().any(exactly)
                || named_alike && self.witnesses.iter().any(roughly))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witness(function: &str, line: u32) -> BTreeSet<Witness> {
        BTreeSet::from([Witness {
            test: "a.ll".into(),
            function: function.into(),
            opcode: "add".into(),
            lines: BTreeSet::from([line]),
        }])
    }

    fn seen<'a>(name: &str, witnesses: &'a BTreeSet<Witness>) -> Seen<'a> {
        Seen {
            class: Class::Lost,
            function: name.into(),
            witnesses,
        }
    }

    #[test]
    fn a_site_is_known_again_by_what_shows_it() {
        let (here, further, elsewhere) = (witness("f", 3), witness("f", 4), witness("g", 3));
        let old = seen("hoist", &here);
        assert!(old.same(&seen("hoist", &here)));
        assert!(
            old.same(&seen("run", &here)),
            "inlined into another function"
        );
        assert!(old.same(&seen("hoist", &further)), "another source");
        assert!(!old.same(&seen("run", &further)), "another site");
        assert!(
            !old.same(&seen("hoist", &elsewhere)),
            "fixed for this input"
        );
        let dropped = Seen {
            class: Class::ShouldDrop,
            ..seen("hoist", &here)
        };
        assert!(!old.same(&dropped));
    }
}
