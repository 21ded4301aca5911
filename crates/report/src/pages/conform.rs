//! What LLVM's passes did to debug locations: a page of all sites, and a page per site with the two
//! control-flow graphs, the location sets, what to add to the pass, and a regression test.

use askama::Template;
use candor_conform::{Cfg, Detail, Explanation, Site, Tally};
use candor_toolchain::rustc::readable;

use super::Frame;
use crate::Error;
use crate::words::number;

/// What was run.
#[derive(Clone, Debug)]
pub struct ConformRun<'a> {
    /// LLVM's version.
    pub version: u32,
    /// The library's file.
    pub library: String,
    /// How many tests.
    pub tests: usize,
    /// What became of them.
    pub tally: &'a Tally,
}

#[derive(Template)]
#[template(path = "conform.html")]
struct Sites {
    frame: Frame,
    version: u32,
    library: String,
    summary: String,
    rows: Vec<Row>,
    not_judged: Vec<(String, String)>,
    not_judged_words: String,
}

struct Row {
    href: String,
    place: String,
    bug: &'static str,
    required: String,
    was: String,
    confidence: String,
    passes: String,
    updates: String,
    tests: String,
}

/// The page of all sites: (address, site) of each.
pub(crate) fn index(run: &ConformRun<'_>, sites: &[(String, &Site)]) -> Result<String, Error> {
    let tally = run.tally;
    let page = Sites {
        frame: Frame::alone(""),
        version: run.version,
        library: run.library.clone(),
        summary: format!(
            "{} of {} tests judged, {} destinations, {} sites.",
            number(tally.judged as u64),
            number(run.tests as u64),
            number(tally.destinations as u64),
            number(sites.len() as u64)
        ),
        rows: sites
            .iter()
            .map(|(href, site)| Row {
                href: href.clone(),
                place: site.place(),
                bug: site.class.bug(),
                required: required(site),
                was: site.example.update.operation.to_string(),
                confidence: site.confidence.to_string(),
                passes: passes(site),
                updates: number(site.updates as u64),
                tests: number(site.tests as u64),
            })
            .collect(),
        not_judged: tally.not_judged.clone(),
        not_judged_words: format!(
            "{} tests were not judged",
            number(tally.not_judged.len() as u64)
        ),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "conform_site.html")]
struct Page {
    frame: Frame,
    place: String,
    headline: String,
    facts: Vec<(&'static str, String)>,
    skeleton: String,
    statement: Option<String>,
    call: String,
    sets: Vec<(&'static str, String)>,
    graphs: Vec<Graph>,
    regression_test: String,
}

struct Graph {
    title: String,
    blocks: Vec<Block>,
}

struct Block {
    name: String,
    on_path: bool,
    lines: Vec<(bool, u32)>,
    successors: String,
}

/// The page of one site.
pub(crate) fn render(site: &Site, detail: &Detail) -> Result<String, Error> {
    let update = &site.example.update;
    let explanation = detail.explanation.as_ref();
    let page = Page {
        frame: Frame::alone(""),
        place: site.place(),
        headline: format!(
            "{}: should be {}, was: {}",
            match site.class.bug() {
                "lost" => "Location lost",
                _ => "Incorrect location",
            },
            required(site),
            update.operation
        ),
        facts: vec![
            ("instruction", update.text.clone()),
            (
                "where",
                format!(
                    "block {} of @{}, ends up with {}",
                    update.block,
                    readable(&update.function),
                    update.location
                ),
            ),
            ("sources", sources(site)),
            (
                "confidence",
                format!("{}: {}", site.confidence, site.reason),
            ),
            ("function", site.frame.describe()),
            (
                "seen",
                format!(
                    "{} instructions in {} tests of {}",
                    number(site.updates as u64),
                    number(site.tests as u64),
                    passes(site)
                ),
            ),
            ("smallest input", site.example.name.clone()),
        ],
        skeleton: detail.skeleton.update.clone(),
        statement: detail.skeleton.statement.clone(),
        call: detail.skeleton.call.clone(),
        sets: explanation.map(sets).unwrap_or_default(),
        graphs: explanation.map_or_else(Vec::new, |one| {
            vec![
                graph("Before", &one.before, &one.avoiding, &[]),
                graph("After", &one.after, &one.carrier, &one.extra),
            ]
        }),
        regression_test: detail.regression_test.clone(),
    };
    Ok(page.render()?)
}

fn required(site: &Site) -> String {
    site.required
        .map_or("?".to_owned(), |required| required.to_string())
}

fn passes(site: &Site) -> String {
    site.passes.iter().cloned().collect::<Vec<_>>().join(", ")
}

fn sources(site: &Site) -> String {
    let update = &site.example.update;
    let deciding = update
        .candidates
        .iter()
        .find(|candidate| candidate.rule == site.example.verdict.rule);
    let all: Vec<String> = deciding
        .iter()
        .flat_map(|candidate| &candidate.sources)
        .map(|source| {
            format!(
                "{} in {}, {}",
                source.opcode.name(),
                source.block,
                source.location
            )
        })
        .collect();
    match all.is_empty() {
        true => "none known".to_owned(),
        false => format!(
            "{} (by rule {})",
            all.join("; "),
            site.example.verdict.rule.letter()
        ),
    }
}

fn sets(one: &Explanation) -> Vec<(&'static str, String)> {
    let list = |lines: &[u32]| {
        let words: Vec<String> = lines.iter().map(ToString::to_string).collect();
        format!("{{{}}}", words.join(", "))
    };
    let mut all = vec![("L_src", list(&one.l_src)), ("L_dst", list(&one.l_dst))];
    if !one.extra.is_empty() {
        all.push((
            "only in L_dst",
            format!("{} on {}", list(&one.extra), one.carrier.join(" → ")),
        ));
    }
    if !one.avoiding.is_empty() {
        all.push(("avoids the source", one.avoiding.join(" → ")));
    }
    all
}

fn graph(when: &str, cfg: &Cfg, path: &[String], extra: &[u32]) -> Graph {
    Graph {
        title: format!("{when}: @{}", readable(&cfg.function)),
        blocks: cfg
            .blocks
            .iter()
            .map(|block| Block {
                name: block.name.clone(),
                on_path: path.contains(&block.name),
                lines: block
                    .lines
                    .iter()
                    .map(|line| (extra.contains(line), *line))
                    .collect(),
                successors: block.successors.join(", "),
            })
            .collect(),
    }
}
