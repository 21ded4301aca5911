//! The whole way: runs judged, verdicts gathered, addresses turned into lines, and for one site
//! everything a reader needs.

use std::collections::BTreeSet;
use std::path::Path;

use candor_llvm::Run;
use candor_llvm::attribute::{Lines, Names};

use crate::Error;
use crate::input::Test;
use crate::judge::Explanation;
use crate::reduce::{Budget, reduce};
use crate::session::{Outcome, Session};
use crate::site::{Findings, Site, findings};
use crate::skeleton::{Skeleton, regression_test, skeleton};
use crate::verdict::{Confidence, Settings};

/// Judges all tests and gathers the sites. `lines` adds source lines to those that are not low.
pub fn examine(
    session: &Session,
    names: &Names,
    lines: Option<&Lines<'_>>,
    tests: &[Test],
    settings: &Settings,
    interrupted: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(usize) + Sync),
) -> Result<Findings, Error> {
    let runs: Vec<Run> = tests.iter().map(|test| test.run.clone()).collect();
    let outcomes = session.judge_all(&runs, interrupted, done)?;
    let mut found = findings(&session.library, names, tests, &outcomes, settings);
    if let Some(lines) = lines {
        let shown = |site: &&Site| site.confidence > Confidence::Low;
        let addresses: BTreeSet<_> = found
            .sites
            .iter()
            .filter(shown)
            .map(|site| site.address)
            .collect();
        let known = lines.of(&session.library, names, &addresses)?;
        found.without_lines = known.problems;
        for site in &mut found.sites {
            if let Some(lines) = known.lines.get(&site.address) {
                site.lines.clone_from(lines);
            }
        }
    }
    Ok(found)
}

/// All there is to say about a site.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Detail {
    /// The graphs, sets and paths; none when no rule has a source.
    pub explanation: Option<Explanation>,
    /// What to add to the pass.
    pub skeleton: Skeleton,
    /// A test for LLVM's suite.
    pub regression_test: String,
    /// The input, reduced if that was asked for.
    pub input: String,
}

/// Looks at a site's smallest input again; `budget` reduces it first.
pub fn detail(
    session: &Session,
    names: &Names,
    tests: &[Test],
    site: &Site,
    settings: &Settings,
    sources: Option<&Path>,
    budget: Option<Budget>,
) -> Result<Detail, Error> {
    let mut site = site.clone();
    let mut run = tests
        .get(site.example.test)
        .map(|test| test.run.clone())
        .unwrap_or_default();
    run = session.with_text(run)?;
    if let Some(budget) = budget {
        let mut still =
            |candidate: &Run| Ok(same(session, names, candidate, &site, settings)?.is_some());
        run = reduce(&run, budget, &mut still)?;
        if let Some(smaller) = same(session, names, &run, &site, settings)? {
            site.example.update = smaller.example.update;
            site.example.verdict = smaller.example.verdict;
        }
    }
    let explanation =
        session.explain(&run, site.example.update.number, site.example.verdict.rule)?;
    let before = match session.transform(&run)? {
        Ok((before, _)) => before,
        Err(_) => String::from_utf8_lossy(&run.input).into_owned(),
    };
    Ok(Detail {
        explanation,
        skeleton: skeleton(&site, sources),
        regression_test: regression_test(&site, &run, &before),
        input: String::from_utf8_lossy(&run.input).into_owned(),
    })
}

/// The same site in another run, if it is there.
fn same(
    session: &Session,
    names: &Names,
    run: &Run,
    site: &Site,
    settings: &Settings,
) -> Result<Option<Site>, Error> {
    let outcome = session.judge(0, run, &|| false)?;
    if !matches!(outcome, Outcome::Judged(_)) {
        return Ok(None);
    }
    let test = Test {
        file: run.name.clone().into(),
        run_line: None,
        run: run.clone(),
    };
    let found = findings(&session.library, names, &[test], &[outcome], settings);
    let same = |other: &Site| {
        other.address == site.address
            && other.class == site.class
            && other.required == site.required
    };
    Ok(found.sites.into_iter().find(same))
}
