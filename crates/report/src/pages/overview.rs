//! The first page: what ran, and what was found.

use askama::Template;
use serde_json::Value;

use super::{Frame, weight};
use crate::Error;
use crate::data::{Entry, Overview};
use crate::plot::{self, Plot};
use crate::words::{compiler_key, count, duration, kind_meaning, marked, number, time};

#[derive(Template)]
#[template(path = "overview.html")]
struct Page {
    frame: Frame,
    headline: String,
    subline: String,
    tiles: Vec<Tile>,
    findings: Vec<Item>,
    levels: Vec<String>,
    matrix: Vec<KindRows>,
    plot: Option<Plot>,
    compilers: Vec<Row>,
    settings: Vec<(String, String)>,
}

struct Tile {
    label: &'static str,
    value: String,
}

struct Item {
    slug: String,
    kind: String,
    weight: &'static str,
    meaning: &'static str,
    title: Vec<(bool, String)>,
    compiler: String,
    level: String,
    culprit: Option<String>,
    state: &'static str,
    times: String,
}

struct KindRows {
    kind: String,
    rows: Vec<MatrixRow>,
}

struct MatrixRow {
    compiler: String,
    cells: Vec<Cell>,
}

struct Cell {
    class: &'static str,
    text: String,
}

struct Row {
    compiler: String,
    version: String,
    builds: String,
    checks: String,
    findings: String,
    unique: String,
}

/// The page.
pub(crate) fn render(overview: &Overview, live: bool) -> Result<String, Error> {
    let amounts = &overview.amounts;
    let unique = overview.findings.len() as u64;
    let tile = |label, value: u64| Tile {
        label,
        value: number(value),
    };
    let mut tiles = vec![
        tile("unique findings", unique),
        tile("findings", amounts.findings),
        tile("programs", amounts.programs),
        tile("builds", amounts.builds),
    ];
    if amounts.checks > 0 {
        tiles.push(tile("builds checked", amounts.checks));
    }
    if amounts.values > 0 {
        tiles.push(tile("values compared", amounts.values));
    }
    if let Some(span) = overview.duration() {
        tiles.push(Tile {
            label: "time",
            value: duration(span),
        });
    }
    let headline = match unique {
        0 => "Nothing found".to_owned(),
        _ => format!(
            "{} in {}",
            count(unique, "unique finding"),
            count(
                overview
                    .compilers
                    .iter()
                    .filter(|row| row.unique > 0)
                    .count() as u64,
                "compiler"
            )
        ),
    };
    let page = Page {
        frame: Frame::of(overview, "", live),
        headline,
        subline: subline(overview),
        tiles,
        findings: overview.findings.iter().map(item).collect(),
        levels: overview.levels.clone(),
        matrix: matrix(overview),
        plot: plot::rates(overview),
        compilers: overview
            .compilers
            .iter()
            .map(|row| Row {
                compiler: row.compiler.clone(),
                version: row.version.clone(),
                builds: number(row.amounts.builds),
                checks: number(row.amounts.checks),
                findings: number(row.findings),
                unique: number(row.unique),
            })
            .collect(),
        settings: settings(overview),
    };
    Ok(page.render()?)
}

fn subline(overview: &Overview) -> String {
    let mut words = Vec::new();
    if let Some(begun) = overview.begun {
        words.push(format!("Begun {}", time(begun)));
    }
    words.push(if overview.running {
        "the hunt is running".into()
    } else {
        "the hunt is over".to_owned()
    });
    if overview.workers > 1 {
        words.push(count(overview.workers as u64, "worker"));
    }
    words.join(", ")
}

fn item(entry: &Entry) -> Item {
    Item {
        slug: entry.slug(),
        kind: entry.kind.clone(),
        weight: weight(&entry.kind),
        meaning: kind_meaning(&entry.kind),
        title: marked(&entry.title),
        compiler: entry.compiler.clone(),
        level: entry.level.clone(),
        culprit: entry.culprit.clone(),
        state: match entry.state {
            candor_store::State::Found => "as found",
            candor_store::State::Reduced => "reduced",
            candor_store::State::Isolated => "reduced, isolated",
        },
        times: match entry.findings {
            1 => "found once".into(),
            more => format!("found {} times", number(more)),
        },
    }
}

fn matrix(overview: &Overview) -> Vec<KindRows> {
    let most = overview
        .matrix
        .iter()
        .flat_map(|kind| kind.cells.values().flat_map(|levels| levels.values()))
        .max()
        .copied()
        .unwrap_or(0);
    overview
        .matrix
        .iter()
        .map(|kind| {
            let mut rows: Vec<MatrixRow> = kind
                .cells
                .iter()
                .map(|(compiler, levels)| MatrixRow {
                    compiler: compiler.clone(),
                    cells: overview
                        .levels
                        .iter()
                        .map(|level| cell(levels.get(level).copied().unwrap_or(0), most))
                        .collect(),
                })
                .collect();
            rows.sort_by_key(|row| compiler_key(&row.compiler));
            KindRows {
                kind: kind.kind.clone(),
                rows,
            }
        })
        .collect()
}

fn cell(amount: u64, most: u64) -> Cell {
    let class = match amount {
        0 => "none",
        some if some * 4 >= most * 3 => "heat3",
        some if some * 3 >= most => "heat2",
        _ => "heat1",
    };
    Cell {
        class,
        text: match amount {
            0 => "·".into(),
            some => number(some),
        },
    }
}

/// Settings that are single words or lists of words; what else there is stays in the JSON.
fn settings(overview: &Overview) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let seeds = &overview.seeds;
    if seeds.judged + seeds.rejected > 0 {
        let mut words = vec![
            format!("{} judged", number(seeds.judged)),
            format!("{} rejected", number(seeds.rejected)),
        ];
        if seeds.abandoned > 0 {
            words.push(format!("{} given up", number(seeds.abandoned)));
        }
        rows.push(("seeds".to_owned(), words.join(", ")));
    }
    for (name, value) in overview.settings.as_object().into_iter().flatten() {
        if ["compilers", "seeds"].contains(&name.as_str()) {
            continue;
        }
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Array(items) => {
                let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                words.map(|words| words.join(" ")).unwrap_or_default()
            }
            _ => String::new(),
        };
        if !text.is_empty() {
            rows.push((name.replace('_', " "), text));
        }
    }
    rows
}
