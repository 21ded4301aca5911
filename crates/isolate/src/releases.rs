//! The claim across the installed releases of the compiler's family: first bad, last good.

use candor_toolchain::Compiler;

use crate::Error;
use crate::answer::{Release, Releases};
use crate::probe::{Bench, Seen};

/// Asks every installed release of the family, ascending; the one under test is known bad.
pub fn releases(bench: &Bench<'_>, installed: &[Compiler]) -> Result<Releases, Error> {
    bench.report("other releases");
    let under_test = bench.compiler;
    let same = |compiler: &&Compiler| {
        compiler.family == under_test.family && compiler.version != under_test.version
    };
    let mut others: Vec<&Compiler> = installed.iter().filter(same).collect();
    others.sort_by_key(|compiler| compiler.version);
    others.dedup_by_key(|compiler| compiler.version);
    let answers = bench.parallel(&others, |compiler| bench.ask(compiler, &[]))?;
    let mut seen: Vec<(candor_toolchain::Version, Release)> = others
        .iter()
        .zip(answers)
        .map(|(compiler, seen)| {
            let (bad, note) = match seen {
                Seen::Bad => (Some(true), None),
                Seen::Good => (Some(false), None),
                Seen::Broken(words) => (None, Some(words)),
            };
            let release = Release {
                compiler: compiler.name.clone(),
                version: compiler.version.to_string(),
                bad,
                note,
            };
            (compiler.version, release)
        })
        .collect();
    seen.push((
        under_test.version,
        Release {
            compiler: under_test.name.clone(),
            version: under_test.version.to_string(),
            bad: Some(true),
            note: None,
        },
    ));
    seen.sort_by_key(|(version, _)| *version);
    let at = seen
        .iter()
        .position(|(version, _)| *version == under_test.version)
        .unwrap_or(0);
    Ok(summary(seen.into_iter().map(|(_, one)| one).collect(), at))
}

/// The edge below the release under test, which is at `at`.
fn summary(seen: Vec<Release>, at: usize) -> Releases {
    let below = seen.get(..at).unwrap_or_default();
    let last_good = below.iter().rev().find(|one| one.bad == Some(false));
    let from = last_good
        .and_then(|good| seen.iter().position(|one| one == good))
        .map_or(0, |position| position + 1);
    let first_bad = seen
        .iter()
        .skip(from)
        .find(|one| one.bad == Some(true))
        .map(|one| one.version.clone());
    Releases {
        first_bad,
        last_good: last_good.map(|one| one.version.clone()),
        seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str, bad: Option<bool>) -> Release {
        Release {
            compiler: format!("gcc-{version}"),
            version: version.into(),
            bad,
            note: None,
        }
    }

    #[test]
    fn the_edge_below_the_release_under_test_is_named() {
        let seen = vec![
            release("9", Some(true)),
            release("10", Some(false)),
            release("11", None),
            release("12", Some(true)),
            release("13", Some(true)),
            release("14", Some(false)),
        ];
        let found = summary(seen.clone(), 4);
        assert_eq!(found.first_bad.as_deref(), Some("12"));
        assert_eq!(found.last_good.as_deref(), Some("10"));
        let oldest = summary(seen[3..].to_vec(), 1);
        assert_eq!(oldest.first_bad.as_deref(), Some("12"));
        assert_eq!(oldest.last_good, None);
    }
}
