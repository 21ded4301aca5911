//! How `candor conform` shows what it found: terminal, JSON, regression tests, lists.

use std::collections::BTreeMap;
use std::path::Path;

use anstream::println;
use anyhow::Context as _;
use candor_conform::input::GROUPS;
use candor_conform::{Cfg, Confidence, Detail, Findings, Site, filters};
use candor_toolchain::rustc::readable;

/// The sites a report shows.
pub fn shown(found: &Findings, all: bool) -> impl Iterator<Item = &Site> {
    found
        .sites
        .iter()
        .filter(move |site| all || site.confidence > Confidence::Low)
}

/// `1 test`, `2 tests`.
pub fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// What was to be done and what was, in one line.
pub fn headline(site: &Site) -> String {
    let required = site
        .required
        .map_or("?".to_owned(), |required| required.to_string());
    let bug = match site.class.bug() {
        "lost" => "location lost",
        _ => "incorrect location",
    };
    format!(
        "{bug}, should be {required}; was: {}",
        site.example.update.operation
    )
}

/// The summary below the sites.
pub fn summary(version: u32, tests: usize, found: &Findings, all: bool, named: bool) {
    let tally = &found.tally;
    let sites = shown(found, all).count();
    let low = found
        .sites
        .iter()
        .filter(|site| site.confidence == Confidence::Low)
        .count();
    println!(
        "LLVM {version}: {} of {} judged, {}, {}",
        tally.judged,
        count(tests, "test"),
        count(tally.destinations, "destination"),
        count(sites, "site")
    );
    if low > 0 && !all {
        println!("{low} more of low confidence (--all shows them)");
    }
    if !tally.not_judged.is_empty() {
        println!("not judged: {}", count(tally.not_judged.len(), "test"));
        for (name, reason) in tally.not_judged.iter().take(5) {
            println!("  {name}: {}", first_lines(reason));
        }
        if tally.not_judged.len() > 5 {
            println!("  and {} more (--json has all)", tally.not_judged.len() - 5);
        }
    }
    for problem in &found.without_lines {
        println!("without lines: {}", first_lines(problem));
    }
    let check = tally.check;
    if check.unknown > 0 {
        println!(
            "partial: {} of {} new instructions unaccounted for; the library was probably built with link-time \
             optimisation, and only instructions whose origin was seen are judged",
            check.unknown,
            check.new + check.unknown
        );
    }
    if !named {
        println!(
            "functions that are not exported have no names: `apt-get install llvm-{version}-dev` brings them"
        );
    }
}

/// The beginning of a reason.
pub fn first_lines(text: &str) -> String {
    text.lines().take(2).collect::<Vec<_>>().join(" / ")
}

/// One site, with everything about it if `detail` is given.
pub fn print_site(site: &Site, detail: Option<&Detail>) {
    let update = &site.example.update;
    println!("{}: {}", site.place(), headline(site));
    println!("    {}", update.text);
    println!(
        "    in {} of @{}, ends up with {}",
        update.block,
        readable(&update.function),
        update.location
    );
    let deciding = update
        .candidates
        .iter()
        .find(|candidate| candidate.rule == site.example.verdict.rule);
    for source in deciding
        .iter()
        .flat_map(|candidate| &candidate.sources)
        .take(4)
    {
        println!(
            "    source: {} in {}, {}",
            source.opcode.name(),
            source.block,
            source.location
        );
    }
    println!("    confidence {}: {}", site.confidence, site.reason);
    let passes: Vec<&str> = site.passes.iter().map(String::as_str).collect();
    let frame = match site.line().is_some() {
        true => format!("{}; ", site.frame.describe()),
        false => String::new(),
    };
    println!(
        "    {frame}{} in {} of {}, the smallest: {}",
        count(site.updates, "instruction"),
        count(site.tests, "test"),
        passes.join(", "),
        site.example.name,
    );
    if let Some(detail) = detail {
        print_detail(detail);
    }
    println!();
}

fn print_detail(detail: &Detail) {
    let skeleton = &detail.skeleton;
    println!("    {}", skeleton.update);
    if let Some(statement) = &skeleton.statement {
        println!("        {statement}");
    }
    println!("      + {}", skeleton.call);
    if let Some(explanation) = &detail.explanation {
        print_cfg("before", &explanation.before);
        print_cfg("after", &explanation.after);
        println!("    L_src = {:?}", explanation.l_src);
        println!("    L_dst = {:?}", explanation.l_dst);
        if !explanation.extra.is_empty() {
            println!(
                "    only in L_dst: {:?}, on {}",
                explanation.extra,
                explanation.carrier.join(" → ")
            );
        }
        if !explanation.avoiding.is_empty() {
            println!(
                "    avoids the source: {}",
                explanation.avoiding.join(" → ")
            );
        }
    }
    println!("    regression test:");
    for line in detail.regression_test.lines() {
        println!("    | {line}");
    }
}

fn print_cfg(when: &str, cfg: &Cfg) {
    println!("    {when} @{}:", readable(&cfg.function));
    for block in &cfg.blocks {
        let lines: Vec<String> = block.lines.iter().map(ToString::to_string).collect();
        println!(
            "      {} [{}] → {}",
            block.name,
            lines.join(" "),
            block.successors.join(", ")
        );
    }
}

/// A regression test per site, each whole or not there.
pub fn write_tests(
    directory: &Path,
    found: &Findings,
    details: &[Detail],
    all: bool,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for (site, detail) in shown(found, all).zip(details) {
        let mut name: String = site
            .place()
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '-' })
            .collect();
        // Two kinds of error can share a place.
        let before = taken.entry(name.clone()).or_default();
        *before += 1;
        if *before > 1 {
            name.push_str(&format!("-{before}"));
        }
        let path = directory.join(format!("{name}.ll"));
        let temporary = path.with_extension("tmp");
        std::fs::write(&temporary, &detail.regression_test)
            .and_then(|()| std::fs::rename(&temporary, &path))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// `--list-passes`.
pub fn list_passes(
    known: &std::collections::BTreeSet<String>,
    as_json: bool,
) -> anyhow::Result<()> {
    if as_json {
        println!("{}", serde_json::to_string_pretty(known)?);
        return Ok(());
    }
    for name in known {
        println!("{name}");
    }
    println!();
    for (group, about) in GROUPS {
        println!("{group}: {about}");
    }
    Ok(())
}

/// `--list-filters`.
pub fn list_filters(as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let all: BTreeMap<&str, &str> = filters::ALL
            .iter()
            .map(|one| (one.name(), one.about()))
            .collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    for one in filters::ALL {
        println!("{}\n    {}\n", one.name(), one.about());
    }
    Ok(())
}
