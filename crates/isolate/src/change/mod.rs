//! What the culprit changed: the program before and after it, compared and shortened.
//!
//! `clang` and `gcc` get the two texts; here they are compared, and of a long difference the parts
//! around the variable or line in question are kept.

pub mod clang;
pub mod gcc;

use std::collections::BTreeSet;

use candor_toolchain::rustc::{readable, same_function};
use similar::{ChangeTag, TextDiff};

use crate::answer::Change;

/// What a reader wants to see.
#[derive(Clone, Debug, Default)]
pub struct Focus {
    /// The function in question.
    pub function: Option<String>,
    /// The variable in question, without its path.
    pub variable: Option<String>,
}

/// One function's code, line by line, with the source lines it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Its name.
    pub function: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One line of code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Without numbers that change from dump to dump.
    pub text: String,
    /// The line of the program it comes from.
    pub source: Option<u32>,
}

/// Lines shown at most.
const MOST_LINES: usize = 40;

/// Unchanged lines around a change.
const CONTEXT: usize = 1;

/// The first function, the one in focus if it is among them, that differs.
pub fn compare(before: &[Listing], after: &[Listing], focus: &Focus, of: &str) -> Option<Change> {
    let changed = |listing: &&Listing| {
        let old = before.iter().find(|one| one.function == listing.function);
        old.is_none_or(|old| texts(old) != texts(listing))
    };
    let mut different: Vec<&Listing> = after.iter().filter(changed).collect();
    let in_focus = |name: &String| {
        let focus = focus.function.as_ref();
        focus.is_some_and(|focus| same_function(name, focus))
    };
    different.sort_by_key(|listing| !in_focus(&listing.function));
    let new = different.first()?;
    let empty = Listing::default();
    let old = before
        .iter()
        .find(|one| one.function == new.function)
        .unwrap_or(&empty);
    Some(difference(old, new, focus, of))
}

fn texts(listing: &Listing) -> Vec<&str> {
    listing
        .lines
        .iter()
        .map(|line| line.text.as_str())
        .collect()
}

/// The changed lines, those about the variable first, as many as fit, with what surrounds them.
fn difference(old: &Listing, new: &Listing, focus: &Focus, of: &str) -> Change {
    let (before, after) = (texts(old), texts(new));
    let diff = TextDiff::from_slices(&before, &after);
    let mut rows: Vec<Row> = Vec::new();
    let mut source_lines = BTreeSet::new();
    for change in diff.iter_all_changes() {
        let (sign, line) = match change.tag() {
            ChangeTag::Equal => (' ', None),
            ChangeTag::Delete => ('-', change.old_index().and_then(|at| old.lines.get(at))),
            ChangeTag::Insert => ('+', change.new_index().and_then(|at| new.lines.get(at))),
        };
        source_lines.extend(line.and_then(|line| line.source).filter(|line| *line > 0));
        let about = |name: &String| mentions(change.value(), name);
        rows.push(Row {
            changed: sign != ' ',
            about: sign != ' ' && focus.variable.as_ref().is_some_and(about),
            text: format!("{sign}{}", shorten(change.value())),
        });
    }
    let mut changed: Vec<(bool, usize)> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.changed)
        .map(|(number, row)| (!row.about, number))
        .collect();
    changed.sort_unstable();
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for (_, number) in &changed {
        if kept.len() >= MOST_LINES {
            break;
        }
        kept.extend(number.saturating_sub(CONTEXT)..=(number + CONTEXT).min(rows.len() - 1));
    }
    let left_out = changed
        .iter()
        .filter(|(_, number)| !kept.contains(number))
        .count();
    let mut lines: Vec<String> = Vec::new();
    let mut last = None;
    for (number, row) in rows.into_iter().enumerate() {
        if !kept.contains(&number) {
            continue;
        }
        if last.is_some_and(|last| last + 1 < number) {
            lines.push("  ...".into());
        }
        last = Some(number);
        lines.push(row.text);
    }
    Change {
        of: of.to_owned(),
        function: Some(readable(&new.function)),
        lines,
        left_out,
        source_lines: source_lines.into_iter().collect(),
        command: String::new(),
    }
}

/// One line of a difference.
struct Row {
    changed: bool,
    about: bool,
    text: String,
}

/// Longer lines say no more.
const WIDEST: usize = 160;

fn shorten(text: &str) -> String {
    match text.char_indices().nth(WIDEST) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.to_owned(),
    }
}

/// Whether `name` stands in `text` as a word (`i` in `i_16`, not in `if`).
fn mentions(text: &str, name: &str) -> bool {
    let mut from = 0;
    while let Some(at) = text[from..].find(name).map(|at| at + from) {
        let end = at + name.len();
        let word = |c: char| c.is_ascii_alphanumeric();
        let before = text[..at]
            .chars()
            .next_back()
            .is_some_and(|c| word(c) || c == '_');
        let after = text[end..].chars().next().is_some_and(word);
        if !before && !after {
            return true;
        }
        from = end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(function: &str, lines: &[&str]) -> Listing {
        Listing {
            function: function.into(),
            lines: lines
                .iter()
                .enumerate()
                .map(|(number, text)| Line {
                    text: (*text).to_owned(),
                    source: u32::try_from(number).ok(),
                })
                .collect(),
        }
    }

    #[test]
    fn the_function_in_focus_is_compared_and_its_source_lines_are_named() {
        let before = [
            listing("f", &["a", "b"]),
            listing("g", &["i = 1", "x", "y"]),
        ];
        let after = [
            listing("f", &["a", "c"]),
            listing("g", &["i = 2", "x", "y"]),
        ];
        let focus = Focus {
            function: Some("g".into()),
            variable: Some("i".into()),
        };
        let change = compare(&before, &after, &focus, "IR").unwrap();
        assert_eq!(change.function.as_deref(), Some("g"));
        assert_eq!(change.lines, ["-i = 1", "+i = 2", " x"]);
        assert_eq!(compare(&before, &before, &focus, "IR"), None);
    }

    #[test]
    fn long_differences_keep_what_is_about_the_variable() {
        let text = |value: &str| {
            let mut lines: Vec<String> = (0..400).map(|n| format!("l{n} {value}")).collect();
            for line in lines.iter_mut().step_by(2) {
                *line = "same".into();
            }
            lines[301] = format!("DEBUG i => {value}");
            lines
        };
        let (old, new) = (text("x"), text("y"));
        let lines =
            |lines: &[String]| listing("f", &lines.iter().map(String::as_str).collect::<Vec<_>>());
        let focus = Focus {
            function: None,
            variable: Some("i".into()),
        };
        let change = compare(&[lines(&old)], &[lines(&new)], &focus, "IR").unwrap();
        assert!(
            change.lines.len() <= MOST_LINES + 10,
            "{}",
            change.lines.len()
        );
        assert!(
            change.lines.contains(&"+DEBUG i => y".to_owned()),
            "{:?}",
            change.lines
        );
        assert!(change.left_out > 300, "{}", change.left_out);
    }

    #[test]
    fn names_are_found_as_words() {
        assert!(mentions("# DEBUG i => i_16", "i"));
        assert!(mentions("i_16 = 1", "i"));
        assert!(!mentions("if (x)", "i"));
        assert!(!mentions("my_i = 1", "i"));
    }
}
