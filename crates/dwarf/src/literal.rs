//! What a pointer into read-only data points to, where no object of the source has that address: a string literal, most
//! likely. Literals have no names, and each build puts them elsewhere and merges other ones, so two builds' pointers can
//! only be held against each other by the bytes behind them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Bytes kept from the address on, and in front of it.
pub(crate) const KEPT: usize = 64;

/// Read-only bytes that a pointer leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Literal {
    /// The bytes up to a NUL, without it, or the first 64.
    pub bytes: Arc<[u8]>,
    /// A NUL follows them: they are a string.
    pub complete: bool,
    /// What is right in front of the address.
    pub before: Before,
}

/// What is in front of an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Before {
    /// Nothing: a section starts here.
    Nothing,
    /// A byte that is not NUL: the address is inside of something.
    Inside,
    /// A NUL and this string in front of it: the address is where a literal starts, or just past the one in front.
    String(Arc<[u8]>),
    /// An object of the program that ends here, with its size: the address is where a literal starts, or just past it.
    Object(Arc<str>, u64),
}

impl Literal {
    /// What is at an offset of a section.
    pub(crate) fn at(
        section: &[u8],
        offset: usize,
        object: Option<(Arc<str>, u64)>,
    ) -> Option<Literal> {
        let (front, from) = section.split_at_checked(offset)?;
        let window = from.get(..KEPT).unwrap_or(from);
        let end = window.iter().position(|byte| *byte == 0);
        let before = match (object, front.split_last()) {
            (Some((name, size)), _) => Before::Object(name, size),
            (None, None) => Before::Nothing,
            (None, Some((0, rest))) => {
                let window = rest.get(rest.len().saturating_sub(KEPT)..).unwrap_or(rest);
                let start = window.iter().rposition(|byte| *byte == 0);
                let string = start.map_or(window, |at| window.get(at + 1..).unwrap_or_default());
                Before::String(string.into())
            }
            (None, Some(_)) => Before::Inside,
        };
        Some(Literal {
            bytes: window.get(..end.unwrap_or(window.len()))?.into(),
            complete: end.is_some(),
            before,
        })
    }

    /// Whether two builds' pointers lead to the same; `None` when that cannot be told. Just past a literal are other
    /// bytes in each build, so different bytes mean something only where both pointers cannot be just past the same.
    pub(crate) fn agrees(&self, other: &Literal) -> Option<bool> {
        if self.bytes == other.bytes && self.complete == other.complete {
            return Some(true);
        }
        let past_the_same = match (&self.before, &other.before) {
            (Before::Nothing | Before::Inside, _) | (_, Before::Nothing | Before::Inside) => false,
            // a linker may have merged one string into the end of a longer one
            (Before::String(a), Before::String(b)) => a.ends_with(b) || b.ends_with(a),
            (Before::Object(..), _) | (_, Before::Object(..)) => true,
        };
        (self.complete && other.complete && !past_the_same).then_some(false)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.complete { "" } else { "..." };
        write!(f, "\"{}\"{more}", self.bytes.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(section: &[u8], offset: usize) -> Literal {
        Literal::at(section, offset, None).unwrap()
    }

    #[test]
    fn strings_are_compared_by_their_bytes() {
        let one = b"first\0second\0";
        let two = b"xx\0second\0other\0first\0";
        assert_eq!(at(one, 6).to_string(), "\"second\"");
        assert_eq!(at(one, 6).agrees(&at(two, 3)), Some(true));
        assert_eq!(at(one, 6).agrees(&at(two, 10)), Some(false));
        assert_eq!(at(one, 8).agrees(&at(two, 5)), Some(true), "inside");
        assert_eq!(at(one, 8).agrees(&at(two, 6)), Some(false), "inside");
        assert_eq!(at(one, 6).before, Before::String(b"first"[..].into()));
        assert_eq!(at(one, 0).before, Before::Nothing);
    }

    #[test]
    fn just_past_a_literal_are_other_bytes_in_each_build() {
        let one = b"end\0next\0";
        let two = b"weekend\0other\0";
        assert_eq!(at(one, 4).agrees(&at(two, 8)), None);
        let object =
            |section: &[u8]| Literal::at(section, 4, Some((Arc::from("table"), 4))).unwrap();
        assert_eq!(object(one).agrees(&object(b"end\0last\0")), None);
        assert_eq!(object(one).agrees(&object(b"end\0next\0")), Some(true));
        assert_eq!(object(one).agrees(&at(two, 8)), None);
    }

    #[test]
    fn what_does_not_end_is_no_string() {
        let long = [b'a'; 200];
        let mut other = long;
        other[10] = b'b';
        assert!(!at(&long, 0).complete);
        assert_eq!(at(&long, 0).agrees(&at(&long, 1)), Some(true));
        assert_eq!(at(&long, 0).agrees(&at(&other, 0)), None);
        assert_eq!(at(b"ab", 2).bytes.len(), 0);
        assert!(Literal::at(b"ab", 3, None).is_none());
    }
}
