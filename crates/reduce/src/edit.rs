//! Edits of one text that can be chosen in any combination.
//!
//! A pass offers edits of the text it parsed; sweeps try them in groups. Edits mostly delete, so that
//! what is inside an edited construct can still be edited by others of the same pass. Where one edit
//! swallows the place of another, the outer one counts.

use std::ops::Range;

/// One change at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Where.
    pub start: usize,
    /// To where.
    pub end: usize,
    /// What is put there.
    pub text: String,
}

/// Changes that only make sense together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The changes.
    pub changes: Vec<Change>,
}

impl Edit {
    /// Nothing yet.
    pub fn new() -> Self {
        Edit::default()
    }

    /// One deletion.
    pub fn delete(range: Range<usize>) -> Self {
        Edit::new().and(range, "")
    }

    /// One replacement.
    pub fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Edit::new().and(range, text)
    }

    /// Adds a change. A blank stands for a deletion, so that tokens around it do not grow together.
    pub fn and(mut self, range: Range<usize>, text: impl Into<String>) -> Self {
        let text = text.into();
        self.changes.push(Change {
            start: range.start,
            end: range.end,
            text,
        });
        self
    }

    /// Adds another edit's changes.
    pub fn join(mut self, other: Edit) -> Self {
        self.changes.extend(other.changes);
        self
    }
}

/// Applies edits to `text`; `None` when two of them cross, or one lies outside the text.
pub fn apply<'e>(text: &str, edits: impl IntoIterator<Item = &'e Edit>) -> Option<String> {
    let mut changes: Vec<&Change> = edits
        .into_iter()
        .flat_map(|edit| edit.changes.iter())
        .collect();
    // outer before inner, insertions at a place before replacements of it
    changes.sort_by(|a, b| {
        let empty = |c: &Change| c.start != c.end;
        (a.start, empty(a), std::cmp::Reverse(a.end), &a.text).cmp(&(
            b.start,
            empty(b),
            std::cmp::Reverse(b.end),
            &b.text,
        ))
    });
    changes.dedup();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for change in changes {
        if change.start < done {
            if change.end <= done {
                continue; // inside what is replaced already
            }
            return None;
        }
        out.push_str(text.get(done..change.start)?);
        out.push(' ');
        out.push_str(&change.text);
        out.push(' ');
        done = change.end;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tight(text: Option<String>) -> Option<String> {
        text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn outer_edits_swallow_inner_ones_and_crossing_ones_are_refused() {
        let text = "a b c d";
        let inner = Edit::replace(2..3, "x");
        let outer = Edit::delete(2..5);
        assert_eq!(tight(apply(text, [&inner, &outer])).as_deref(), Some("a d"));
        assert_eq!(tight(apply(text, [&inner])).as_deref(), Some("a x c d"));
        let crossing = Edit::delete(4..7);
        assert_eq!(apply(text, [&outer, &crossing]), None);
        assert_eq!(apply(text, [&Edit::delete(5..90)]), None);
        let insert = Edit::replace(2..2, "new");
        assert_eq!(
            tight(apply(text, [&insert, &inner])).as_deref(),
            Some("a new x c d")
        );
    }
}
