//! A whole program, every line coloured by how truthful its variables are: a coverage report of debug
//! information.

use askama::Template;
use candor_check::exhibit::{SourceView, Value};
use candor_check::{Class, Counts};

use super::{Frame, Part, counts_words, line_class, share};
use crate::Error;
use crate::plot::class_name;
use crate::words::number;

#[derive(Template)]
#[template(path = "source.html")]
struct Page {
    frame: Frame,
    crumbs: Vec<(String, String)>,
    program: String,
    build: String,
    note: Option<String>,
    summary: String,
    share: Vec<Part>,
    lines: Vec<Line>,
}

struct Line {
    number: u32,
    text: String,
    class: &'static str,
    title: String,
    share: Vec<Part>,
    values: Vec<Shown>,
}

struct Shown {
    class: &'static str,
    variable: String,
    arrow: String,
    title: String,
}

/// The page of one build. `crumbs` are (address, name) of the pages above.
pub(crate) fn render(
    view: &SourceView,
    frame: Frame,
    crumbs: Vec<(String, String)>,
) -> Result<String, Error> {
    let page = Page {
        frame,
        crumbs,
        program: view.program.clone(),
        build: format!("{} {}", view.build.compiler, view.build.level),
        note: view.note.clone(),
        summary: summary(&view.counts),
        share: share(&view.counts),
        lines: view
            .lines
            .iter()
            .map(|line| Line {
                number: line.number,
                text: line.text.clone(),
                class: line_class(&line.counts),
                title: match line.counts.total() {
                    0 => String::new(),
                    _ => counts_words(&line.counts),
                },
                share: share(&line.counts),
                values: line
                    .values
                    .iter()
                    .filter(|value| value.class > Class::OptimisedOut)
                    .map(shown)
                    .collect(),
            })
            .collect(),
    };
    Ok(page.render()?)
}

fn shown(value: &Value) -> Shown {
    Shown {
        class: class_name(value.class),
        variable: match value.parts {
            1 => value.variable.clone(),
            parts => format!("{} ×{parts}", value.variable),
        },
        arrow: match &value.truth {
            Some(truth) => format!("{truth} → {}", value.shown),
            None => value.shown.clone(),
        },
        title: format!("visit {}; {}", value.visit, counts_words(&value.counts)),
    }
}

fn summary(counts: &Counts) -> String {
    match counts.total() {
        0 => "No value was compared.".into(),
        total => {
            let truthful = counts.equal as f64 / total as f64 * 100.0;
            format!(
                "Of {} values {truthful:.1} % are shown and true: {}.",
                number(total),
                counts_words(counts)
            )
        }
    }
}

#[derive(Template)]
#[template(path = "builds.html")]
struct Builds {
    frame: Frame,
    program: String,
    rows: Vec<BuildRow>,
}

struct BuildRow {
    href: String,
    build: String,
    equal: String,
    out: String,
    wrong: String,
    ill: String,
    note: String,
}

/// The page above the builds of one program: (address, view) of each.
pub(crate) fn index(views: &[(String, &SourceView)]) -> Result<String, Error> {
    let page = Builds {
        frame: Frame::alone(""),
        program: views
            .first()
            .map_or_else(|| "no builds".into(), |(_, view)| view.program.clone()),
        rows: views
            .iter()
            .map(|(href, view)| BuildRow {
                href: href.clone(),
                build: format!("{} {}", view.build.compiler, view.build.level),
                equal: number(view.counts.equal),
                out: number(view.counts.optimised_out),
                wrong: number(view.counts.wrong),
                ill: number(view.counts.ill_formed),
                note: view.note.clone().unwrap_or_default(),
            })
            .collect(),
    };
    Ok(page.render()?)
}
