//! The page of one finding: everything a person needs to believe it, understand it and report it.

use askama::Template;
use candor_check::exhibit::{BuildState, Exhibit, SourceLine, State, Value};
use candor_check::{Class, Counts};
use candor_predicate::Claim;

use super::{Frame, counts_words, line_class, weight};
use crate::data::{Dossier, Duplicate, Overview};
use crate::plot::{self, Plot, class_name};
use crate::site::{self, program_file};
use crate::words::{compiler_key, count, kind_meaning, level_key, marked, number, time};
use crate::{Culprit, Error, Tracker, tracker};

/// Values shown at a line before the rest is folded away.
const MOST_UNFOLDED: usize = 6;

#[derive(Template)]
#[template(path = "finding.html")]
struct Page {
    frame: Frame,
    slug: String,
    id: String,
    title: String,
    heading: Vec<(bool, String)>,
    kind: String,
    weight: &'static str,
    meaning: &'static str,
    versus: Option<Versus>,
    facts: Vec<(&'static str, String)>,
    unreadable: Vec<String>,
    /// The line it was seen at, to jump to: programs as they were found are long.
    subject_line: Option<u32>,
    unreduced: bool,
    source_title: String,
    source_note: Option<String>,
    program: String,
    build: String,
    has_values: bool,
    lines: Vec<Line>,
    whole: Option<String>,
    runs: Vec<RunBox>,
    plot: Option<Plot>,
    history_title: String,
    moments: Vec<MomentRow>,
    moments_words: String,
    levels: Vec<String>,
    builds: Vec<BuildRow>,
    culprit: Option<Culprit>,
    cures_words: String,
    change: Vec<ChangeLine>,
    change_title: String,
    variable: String,
    locations: Vec<LocationRow>,
    code: Vec<CodeRow>,
    replay: String,
    commands: String,
    files: Vec<FileLink>,
    program_href: String,
    tracker_name: &'static str,
    tracker: String,
    duplicates: Vec<Duplicate>,
    duplicates_words: String,
    key: String,
}

struct Versus {
    truth_label: String,
    truth: String,
    shown_label: String,
    shown: String,
    class: &'static str,
}

struct Line {
    number: u32,
    text: String,
    class: &'static str,
    subject: bool,
    values: Vec<ValueRow>,
    folded: Vec<ValueRow>,
    folded_words: String,
}

struct ValueRow {
    class: &'static str,
    variable: String,
    truth: String,
    shown: String,
    note: String,
    title: String,
}

struct RunBox {
    title: String,
    ending: String,
    output: String,
    expected: bool,
}

struct MomentRow {
    class: &'static str,
    stop: u64,
    line: u32,
    visit: u32,
    truth: String,
    shown: String,
}

struct BuildRow {
    compiler: String,
    version: String,
    cells: Vec<BuildCell>,
}

struct BuildCell {
    class: String,
    text: &'static str,
    title: String,
}

struct ChangeLine {
    class: &'static str,
    text: String,
}

struct LocationRow {
    holds: bool,
    range: String,
    text: String,
}

struct CodeRow {
    holds: bool,
    address: String,
    line: String,
    text: String,
}

struct FileLink {
    name: String,
    href: String,
}

/// The page.
pub(crate) fn render(overview: &Overview, dossier: &Dossier, live: bool) -> Result<String, Error> {
    let entry = &dossier.entry;
    let exhibit = dossier.exhibit.as_ref();
    let case = dossier.case.as_ref();
    let subject = exhibit.and_then(|exhibit| exhibit.subject.as_ref());
    let slug = entry.slug();
    let address = subject.map(|subject| subject.address);
    let history = exhibit.map(|exhibit| &exhibit.history);
    let culprit = dossier.culprit.clone();
    let change = culprit.as_ref().and_then(|culprit| culprit.change.as_ref());
    let (levels, builds) = matrix(dossier);
    let whole = exhibit.and_then(|exhibit| exhibit.whole.as_ref());
    let in_tracker = Tracker::of(&entry.family);
    let page = Page {
        frame: Frame::of(overview, "../", live),
        id: entry.id.clone(),
        heading: marked(&entry.title),
        title: entry.title.clone(),
        kind: entry.kind.clone(),
        weight: weight(&entry.kind),
        meaning: kind_meaning(&entry.kind),
        versus: versus(dossier),
        facts: facts(dossier),
        unreadable: dossier.unreadable.clone(),
        subject_line: match (subject, case.and_then(|case| case.finding.as_ref())) {
            (Some(subject), _) => Some(subject.line),
            (None, Some(finding)) => Some(finding.line),
            (None, None) => None,
        },
        unreduced: !dossier.reduced && case.is_some(),
        source_title: match (dossier.reduced, dossier.original_lines) {
            (true, lines) if lines > shown_lines(dossier) => {
                format!("The program, reduced from {} lines", number(lines as u64))
            }
            _ => "The program".into(),
        },
        source_note: exhibit.and_then(|exhibit| exhibit.source.note.clone()),
        program: case.map_or_else(String::new, |case| case.program.name.clone()),
        build: format!("{} {}", entry.compiler, entry.level),
        has_values: exhibit.is_some_and(|exhibit| exhibit.source.counts.total() > 0),
        lines: lines(dossier),
        whole: whole.map(|view| {
            format!(
                "The program as it was found, line by line ({})",
                count(view.lines.len() as u64, "line")
            )
        }),
        runs: exhibit.map_or_else(Vec::new, runs),
        plot: match (history, subject) {
            (Some(history), Some(subject)) => plot::history(history, &subject.variable),
            _ => None,
        },
        history_title: match (history, subject) {
            (Some(history), Some(subject)) => match history.line {
                Some(line) => format!("{} at each visit of line {line}", subject.variable),
                None => format!("{} at each stop", subject.variable),
            },
            _ => String::new(),
        },
        moments: exhibit.map_or_else(Vec::new, moments),
        moments_words: history.map_or_else(String::new, |history| {
            let kept = history.moments.len() as u64;
            match history.total > kept {
                true => format!(
                    "The first {} of {} looks at it",
                    number(kept),
                    number(history.total)
                ),
                false => format!("All {}", count(kept, "look")),
            }
        }),
        levels,
        builds,
        cures_words: culprit.as_ref().map_or_else(String::new, |culprit| {
            format!("All that makes it vanish ({})", culprit.cures.len())
        }),
        change: change.map_or_else(Vec::new, |change| {
            change
                .lines
                .iter()
                .map(|line| ChangeLine {
                    class: match line.chars().next() {
                        Some('+') => "add",
                        Some('-') => "del",
                        _ => "same",
                    },
                    text: line.clone(),
                })
                .collect()
        }),
        change_title: change.map_or_else(String::new, |change| {
            let of = match change.of.as_str() {
                "" => "What the pass changed".to_owned(),
                of => format!("What the pass changed in the {of}"),
            };
            match change.left_out {
                0 => of,
                more => format!("{of} ({more} more changed lines)"),
            }
        }),
        culprit,
        variable: subject.map_or_else(String::new, |subject| subject.variable.clone()),
        locations: exhibit.map_or_else(Vec::new, |exhibit| locations(exhibit, address)),
        code: exhibit.map_or_else(Vec::new, |exhibit| code(exhibit, address)),
        replay: case.map_or_else(String::new, |case| case.replay.clone()),
        commands: exhibit.map_or_else(String::new, |exhibit| {
            exhibit.reproduction.commands.join("\n")
        }),
        files: site::reproduction(dossier)
            .into_iter()
            .map(|(name, _)| FileLink {
                href: format!("{slug}/reproduce/{name}"),
                name,
            })
            .collect(),
        program_href: case
            .map_or_else(String::new, |case| format!("{slug}/{}", program_file(case))),
        tracker_name: in_tracker.name(),
        tracker: tracker(dossier, in_tracker),
        duplicates: dossier.duplicates.clone(),
        duplicates_words: format!("Found {} times", number(entry.findings)),
        key: entry.key.clone(),
        slug,
    };
    Ok(page.render()?)
}

fn shown_lines(dossier: &Dossier) -> usize {
    let case = dossier.case.as_ref();
    case.map_or(0, |case| case.program.text.lines().count())
}

fn versus(dossier: &Dossier) -> Option<Versus> {
    let build = format!("{} {}", dossier.entry.compiler, dossier.entry.level);
    let finding = dossier.case.as_ref().and_then(|case| case.finding.as_ref());
    let debugger = matches!(
        dossier.entry.kind.as_str(),
        "debugger-disagrees" | "debugger-crash"
    );
    if let (true, Some(finding)) = (debugger, finding) {
        return Some(Versus {
            truth_label: format!("true value of {}", finding.variable),
            truth: finding.expected.clone(),
            shown_label: format!("{} shows", finding.blame),
            shown: finding.shown.clone(),
            class: "wrong",
        });
    }
    let subject = dossier
        .exhibit
        .as_ref()
        .and_then(|exhibit| exhibit.subject.as_ref());
    if let Some(subject) = subject {
        return Some(Versus {
            truth_label: format!("true value of {}", subject.variable),
            truth: subject.truth.clone().unwrap_or_else(|| "unknown".into()),
            shown_label: format!("{build} shows"),
            shown: subject.shown.clone(),
            class: class_name(subject.class),
        });
    }
    let finding = finding?;
    Some(Versus {
        truth_label: format!("true value of {}", finding.variable),
        truth: finding.expected.clone(),
        shown_label: format!("{build} shows"),
        shown: finding.shown.clone(),
        class: if dossier.entry.kind == "ill-formed-location" {
            "ill"
        } else {
            "wrong"
        },
    })
}

fn facts(dossier: &Dossier) -> Vec<(&'static str, String)> {
    let entry = &dossier.entry;
    let case = dossier.case.as_ref();
    let mut facts = vec![(
        "build",
        format!("{} ({}) {}", entry.compiler, entry.version, entry.level),
    )];
    let subject = dossier
        .exhibit
        .as_ref()
        .and_then(|exhibit| exhibit.subject.as_ref());
    if let Some(subject) = subject {
        let function = match &subject.function {
            Some(function) => format!("in {function}, "),
            None => "global, ".into(),
        };
        facts.push((
            "where",
            format!(
                "{function}declared at line {}, seen at line {}, visit {}",
                subject.declared, subject.line, subject.visit
            ),
        ));
        let listed = dossier
            .exhibit
            .as_ref()
            .is_some_and(|exhibit| !exhibit.locations.is_empty());
        if !listed {
            facts.push(("location", subject.location.clone()));
        }
    }
    if let Some(case) = case {
        match &case.claim {
            Claim::Crash { .. } | Claim::Hang { .. } | Claim::Miscompilation { .. } => {
                facts.push(("claim", case.claim.to_string()));
            }
            _ => {}
        }
        if let Some(finding) = &case.finding {
            let debuggers: Vec<String> = finding
                .debuggers
                .iter()
                .map(|(name, text)| format!("{name}: {text}"))
                .collect();
            facts.push((
                "confirmed by",
                match debuggers.is_empty() {
                    true => finding.confirmed_by.join(", "),
                    false => format!(
                        "{} ({})",
                        finding.confirmed_by.join(", "),
                        debuggers.join("; ")
                    ),
                },
            ));
        }
    }
    if let Some(culprit) = &dossier.culprit {
        facts.push(("culprit pass", culprit.pass.clone()));
    }
    facts.push((
        "found",
        format!("{}, on {}", time(entry.found), dossier.origin),
    ));
    if entry.findings > 1 {
        facts.push((
            "how often",
            format!(
                "{} times, last {}",
                number(entry.findings),
                time(entry.latest)
            ),
        ));
    }
    facts
}

fn lines(dossier: &Dossier) -> Vec<Line> {
    let Some(exhibit) = &dossier.exhibit else {
        return plain_lines(dossier);
    };
    let subject = exhibit.subject.as_ref().map(|subject| subject.line);
    exhibit
        .source
        .lines
        .iter()
        .map(|line| source_line(line, subject))
        .collect()
}

/// The program without an exhibit: what the check saw is shown at its line.
fn plain_lines(dossier: &Dossier) -> Vec<Line> {
    let Some(case) = &dossier.case else {
        return Vec::new();
    };
    let class = match dossier.entry.kind.as_str() {
        "ill-formed-location" => "ill",
        _ => "wrong",
    };
    let finding = case.finding.as_ref();
    (1..)
        .zip(case.program.text.lines())
        .map(|(number, text)| {
            let here = finding.filter(|finding| finding.line == number);
            Line {
                number,
                text: text.to_owned(),
                class: if here.is_some() { class } else { "" },
                subject: here.is_some(),
                values: here
                    .map(|finding| ValueRow {
                        class,
                        variable: finding.variable.clone(),
                        truth: finding.expected.clone(),
                        shown: finding.shown.clone(),
                        note: String::new(),
                        title: format!("visit {}", finding.visit),
                    })
                    .into_iter()
                    .collect(),
                folded: Vec::new(),
                folded_words: String::new(),
            }
        })
        .collect()
}

fn source_line(line: &SourceLine, subject: Option<u32>) -> Line {
    let mut values: Vec<ValueRow> = line.values.iter().map(value_row).collect();
    let folded = values.split_off(values.len().min(MOST_UNFOLDED));
    let folded_words = match line.more {
        0 => format!("and {} more", folded.len()),
        more => format!(
            "and {} more ({more} not listed)",
            folded.len() + more as usize
        ),
    };
    Line {
        number: line.number,
        text: line.text.clone(),
        class: line_class(&line.counts),
        subject: subject == Some(line.number),
        values,
        folded,
        folded_words,
    }
}

fn value_row(value: &Value) -> ValueRow {
    let total = value.counts.total();
    let alike = |counts: &Counts| {
        [
            counts.equal,
            counts.optimised_out,
            counts.wrong,
            counts.ill_formed,
            counts.unreadable,
            counts.unaligned,
        ]
        .iter()
        .filter(|amount| **amount > 0)
        .count()
            == 1
    };
    ValueRow {
        class: class_name(value.class),
        variable: match value.parts {
            1 => value.variable.clone(),
            parts => format!("{} ×{parts}", value.variable),
        },
        truth: value.truth.clone().unwrap_or_default(),
        shown: value.shown.clone(),
        note: match (value.parts, alike(&value.counts)) {
            (1, false) => format!("visit {}; {}", value.visit, counts_words(&value.counts)),
            _ => String::new(),
        },
        title: match (value.parts, total) {
            (1, 1) => String::new(),
            _ => format!(
                "visit {}; over all visits {}",
                value.visit,
                counts_words(&value.counts)
            ),
        },
    }
}

fn runs(exhibit: &Exhibit) -> Vec<RunBox> {
    exhibit
        .runs
        .iter()
        .map(|run| RunBox {
            title: match run.expected {
                true => format!("{} (right)", run.build),
                false => run.build.clone(),
            },
            ending: run.ending.clone(),
            output: run.output.clone(),
            expected: run.expected,
        })
        .collect()
}

fn moments(exhibit: &Exhibit) -> Vec<MomentRow> {
    exhibit
        .history
        .moments
        .iter()
        .map(|moment| MomentRow {
            class: class_name(moment.class),
            stop: moment.stop + 1,
            line: moment.line,
            visit: moment.visit,
            truth: moment.truth.clone().unwrap_or_else(|| "unknown".into()),
            shown: match moment.class {
                Class::Unaligned => "not comparable here".into(),
                _ => moment.shown.clone(),
            },
        })
        .collect()
}

/// Compilers by levels.
fn matrix(dossier: &Dossier) -> (Vec<String>, Vec<BuildRow>) {
    let builds = &dossier.builds;
    let mut levels: Vec<String> = builds.iter().map(|build| build.level.clone()).collect();
    levels.sort_by_key(|level| level_key(level));
    levels.dedup();
    let mut compilers: Vec<&str> = builds.iter().map(|build| build.compiler.as_str()).collect();
    compilers.sort_by_key(|name| compiler_key(name));
    compilers.dedup();
    let rows = compilers
        .into_iter()
        .map(|compiler| {
            let of = |level: &str| {
                builds
                    .iter()
                    .find(|build| build.compiler == compiler && build.level == level)
            };
            BuildRow {
                compiler: compiler.to_owned(),
                version: builds
                    .iter()
                    .find(|build| build.compiler == compiler)
                    .map_or_else(String::new, |build| build.version.clone()),
                cells: levels
                    .iter()
                    .map(|level| build_cell(dossier, compiler, level, of(level)))
                    .collect(),
            }
        })
        .collect();
    (levels, rows)
}

fn build_cell(
    dossier: &Dossier,
    compiler: &str,
    level: &str,
    build: Option<&BuildState>,
) -> BuildCell {
    let (class, text) = match build.map(|build| build.state) {
        Some(State::Affected) => ("affected", "wrong"),
        Some(State::Right) => ("right", "right"),
        Some(State::OptimisedOut) => ("optimised-out", "out"),
        Some(State::Unknown) => ("unknown", "?"),
        Some(State::Failed) => ("failed", "–"),
        None => ("none", "·"),
    };
    let here = dossier.entry.compiler == compiler && dossier.entry.level == level;
    BuildCell {
        class: match here {
            true => format!("{class} here"),
            false => class.to_owned(),
        },
        text,
        title: build.map_or_else(String::new, |build| {
            format!("{compiler} {level}: {} {}", build.state.words(), build.note)
        }),
    }
}

fn locations(exhibit: &Exhibit, address: Option<u64>) -> Vec<LocationRow> {
    exhibit
        .locations
        .iter()
        .map(|location| LocationRow {
            holds: match (&location.pc, address) {
                (Some(pc), Some(at)) => pc.start.0 <= at && at < pc.end.0,
                (None, Some(_)) => true,
                _ => false,
            },
            range: match &location.pc {
                Some(pc) => format!("{:x}–{:x}", pc.start.0, pc.end.0),
                None => "everywhere".into(),
            },
            text: location.text.clone(),
        })
        .collect()
}

fn code(exhibit: &Exhibit, address: Option<u64>) -> Vec<CodeRow> {
    exhibit
        .code
        .iter()
        .map(|instruction| CodeRow {
            holds: Some(instruction.at.0) == address,
            address: format!("{:x}", instruction.at.0),
            line: instruction
                .line
                .map_or_else(String::new, |line| line.0.to_string()),
            text: instruction.text.clone(),
        })
        .collect()
}
