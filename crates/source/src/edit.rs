//! Edits by byte range of the original text, applied all at once.
//!
//! Offsets always mean the original text, so edits can be collected in any order from any walk. Whether two
//! edits contradict each other is found when they are applied, and is an error: the caller meant something
//! that cannot be had.

use std::ops::Range;

use crate::Error;

/// A set of insertions, replacements and deletions.
///
/// Several insertions at one offset keep the order in which they were made. An insertion at the first byte of
/// a replaced range goes in front of the replacement, one at its end goes behind it. Lines keep their
/// numbers when no inserted text has a newline and no removed text had one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditSet {
    edits: Vec<(Range<usize>, String)>,
}

impl EditSet {
    /// No edits: applying it gives the text back.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `text` in front of the byte at `offset` (or at the end of the text).
    pub fn insert(&mut self, offset: usize, text: impl Into<String>) -> &mut Self {
        self.replace(offset..offset, text)
    }

    /// Puts `text` in the place of `range`.
    pub fn replace(&mut self, range: Range<usize>, text: impl Into<String>) -> &mut Self {
        self.edits.push((range, text.into()));
        self
    }

    /// Takes `range` away.
    pub fn remove(&mut self, range: Range<usize>) -> &mut Self {
        self.replace(range, String::new())
    }

    /// How many edits there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The edited text.
    ///
    /// # Errors
    /// [`Error::Edit`] when an edit lies outside `original` or inside a character, or when two edits
    /// overlap (an insertion strictly inside a replaced range counts).
    pub fn apply(&self, original: &str) -> Result<String, Error> {
        let mut sorted: Vec<&(Range<usize>, String)> = self.edits.iter().collect();
        // A stable sort: insertions at one place stay in order, and come before a range that starts there.
        sorted.sort_by_key(|(range, _)| (range.start, !range.is_empty()));

        let added: usize = self.edits.iter().map(|(_, text)| text.len()).sum();
        let mut out = String::with_capacity(original.len() + added);
        let mut done = 0;
        for (range, text) in sorted {
            let error = |reason: &str| Error::Edit {
                start: range.start,
                end: range.end,
                reason: reason.to_string(),
            };
            if range.start > range.end {
                return Err(error("ends before it starts"));
            }
            if range.start < done {
                return Err(error(&format!("overlaps another that ends at byte {done}")));
            }
            if original.get(range.clone()).is_none() {
                return Err(error(&format!(
                    "is not a range of whole characters in a text of {} bytes",
                    original.len()
                )));
            }
            let Some(kept) = original.get(done..range.start) else {
                return Err(error("starts inside a character"));
            };
            out.push_str(kept);
            out.push_str(text);
            done = range.end;
        }
        out.push_str(original.get(done..).unwrap_or_default());
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn several_insertions_keep_their_order_around_a_replacement() {
        let mut edits = EditSet::new();
        edits
            .replace(1..3, "XY")
            .insert(1, "a")
            .insert(3, "c")
            .insert(1, "b")
            .insert(3, "d");
        assert_eq!(edits.apply("0123").unwrap(), "0abXYcd3");
    }

    #[test]
    fn edits_that_contradict_each_other_are_errors() {
        let apply = |edits: &[(Range<usize>, &str)]| {
            let mut set = EditSet::new();
            for (range, text) in edits {
                set.replace(range.clone(), *text);
            }
            set.apply("0é34").map_err(|e| e.to_string())
        };
        assert!(
            apply(&[(0..3, "a"), (1..1, "b")])
                .unwrap_err()
                .contains("overlaps")
        );
        assert!(
            apply(&[(0..1, "a"), (0..3, "b")])
                .unwrap_err()
                .contains("overlaps")
        );
        assert!(
            apply(&[(2..2, "a")])
                .unwrap_err()
                .contains("whole characters")
        );
        assert!(apply(&[(4..9, "a")]).unwrap_err().contains("5 bytes"));
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = apply(&[(4..3, "a")]);
        assert!(reversed.unwrap_err().contains("before it starts"));
        assert_eq!(
            apply(&[(0..1, "a"), (1..3, "b"), (5..5, "c")]).unwrap(),
            "ab34c"
        );
    }

    /// The reference: cut the text at every non-overlapping range, one byte at a time.
    fn reference(text: &str, edits: &[(Range<usize>, String)]) -> String {
        let mut out = String::new();
        for offset in 0..=text.len() {
            for (range, new) in edits {
                if range.is_empty() && range.start == offset {
                    out.push_str(new);
                }
            }
            for (range, new) in edits {
                if !range.is_empty() && range.start == offset {
                    out.push_str(new);
                }
            }
            let covered = edits.iter().any(|(range, _)| range.contains(&offset));
            if !covered && let Some(byte) = text.get(offset..=offset) {
                out.push_str(byte);
            }
        }
        out
    }

    /// Ranges that do not overlap: sorted cuts, taken two by two; and insertions on their borders or outside.
    fn edits() -> impl Strategy<Value = (String, Vec<(Range<usize>, String)>)> {
        (
            "[a-z\n]{0,60}",
            prop::collection::vec((0usize..61, "[A-Z]{0,4}", any::<bool>()), 0..12),
        )
            .prop_map(|(text, mut raw)| {
                for (offset, ..) in &mut raw {
                    *offset = (*offset).min(text.len());
                }
                let mut cuts: Vec<usize> = raw.iter().map(|(offset, ..)| *offset).collect();
                cuts.sort_unstable();
                let mut list: Vec<(Range<usize>, String)> = Vec::new();
                for (pair, (_, new, _)) in cuts.chunks_exact(2).zip(&raw) {
                    list.push((pair[0]..pair[1], new.clone()));
                }
                for (offset, new, insert) in raw {
                    let inside = list.iter().any(|(r, _)| r.start < offset && offset < r.end);
                    if insert && !inside {
                        list.push((offset..offset, new));
                    }
                }
                (text, list)
            })
    }

    proptest! {
        #[test]
        fn apply_is_the_reference((text, list) in edits()) {
            let mut set = EditSet::new();
            for (range, new) in &list {
                set.replace(range.clone(), new.clone());
            }
            prop_assert_eq!(set.apply(&text).unwrap(), reference(&text, &list));
        }

        #[test]
        fn insertions_keep_the_text_and_its_lines((text, list) in edits()) {
            let mut set = EditSet::new();
            for (range, new) in &list {
                set.insert(range.start, new.clone());
            }
            let edited = set.apply(&text).unwrap();
            prop_assert_eq!(edited.matches('\n').count(), text.matches('\n').count());
            // Only capitals were inserted, and the text has none.
            prop_assert_eq!(edited.replace(|c: char| c.is_ascii_uppercase(), ""), text);
        }
    }
}
