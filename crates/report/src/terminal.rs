//! The overview as plain text: what `candor report` prints.

use std::fmt::Write as _;

use crate::data::Overview;
use crate::words::{count, duration, number, time};

/// Findings listed; the rest is counted.
const MOST_LISTED: usize = 40;

/// The summary of a campaign.
pub fn terminal(overview: &Overview) -> String {
    let mut text = String::new();
    let amounts = &overview.amounts;
    if let Some(begun) = overview.begun {
        let _ = write!(text, "begun {}", time(begun));
        if let Some(span) = overview.duration() {
            let _ = write!(text, ", {} long", duration(span));
        }
        let _ = writeln!(
            text,
            "{}",
            if overview.running {
                ", still running"
            } else {
                ""
            }
        );
    }
    let _ = writeln!(
        text,
        "{}, {}, {}: {}, {} unique",
        count(amounts.programs, "program"),
        count(amounts.builds, "build"),
        count(amounts.checks, "check"),
        count(amounts.findings, "finding"),
        number(overview.findings.len() as u64)
    );
    if !overview.compilers.is_empty() {
        let mut table = Columns::new(&["compiler", "version", "builds", "findings", "unique"], 2);
        for row in &overview.compilers {
            table.row(&[
                row.compiler.clone(),
                row.version.clone(),
                number(row.amounts.builds),
                number(row.findings),
                number(row.unique),
            ]);
        }
        let _ = write!(text, "\n{table}");
    }
    if !overview.matrix.is_empty() {
        let mut header = vec!["findings by kind", "compiler"];
        header.extend(overview.levels.iter().map(String::as_str));
        let mut table = Columns::new(&header, 2);
        for matrix in &overview.matrix {
            for (compiler, levels) in &matrix.cells {
                let mut row = vec![matrix.kind.clone(), compiler.clone()];
                row.extend(overview.levels.iter().map(|level| {
                    levels
                        .get(level)
                        .map_or_else(|| "·".to_owned(), |count| number(*count))
                }));
                table.row(&row);
            }
        }
        let _ = write!(text, "\n{table}");
    }
    if !overview.findings.is_empty() {
        let _ = writeln!(text);
    }
    for entry in overview.findings.iter().take(MOST_LISTED) {
        let _ = writeln!(
            text,
            "{}  {}: {}\n{:18}{} {}{}{}{}",
            visible(&entry.id),
            entry.kind,
            visible(&entry.title),
            "",
            visible(&entry.compiler),
            visible(&entry.level),
            match &entry.culprit {
                Some(pass) => format!(", pass {}", visible(pass)),
                None => String::new(),
            },
            match entry.state {
                candor_store::State::Found => "",
                candor_store::State::Reduced => ", reduced",
                candor_store::State::Isolated => ", reduced and isolated",
            },
            match entry.findings {
                0 | 1 => String::new(),
                more => format!(", found {more} times"),
            }
        );
    }
    let more = overview.findings.len().saturating_sub(MOST_LISTED);
    if more > 0 {
        let _ = writeln!(
            text,
            "and {} (candor report --json has them all)",
            count(more as u64, "more finding")
        );
    }
    if overview.findings.is_empty() {
        let _ = writeln!(text, "nothing found");
    }
    text
}

/// Control characters of a program or a compiler have no business on a terminal.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Aligned columns; those from `right` on are numbers.
struct Columns {
    rows: Vec<Vec<String>>,
    right: usize,
}

impl Columns {
    fn new(header: &[&str], right: usize) -> Self {
        Columns {
            rows: vec![header.iter().map(|cell| (*cell).to_owned()).collect()],
            right,
        }
    }

    fn row(&mut self, cells: &[String]) {
        self.rows
            .push(cells.iter().map(|cell| visible(cell)).collect());
    }
}

impl std::fmt::Display for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = width(column);
                line += &if column >= self.right {
                    format!("{cell:>width$}  ")
                } else {
                    format!("{cell:width$}  ")
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
