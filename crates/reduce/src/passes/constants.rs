//! Numbers and strings become plain ones.

use crate::edit::Edit;
use crate::syntax::Tree;

/// Plainer numbers for `text`, the plainest first.
fn plainer(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut offer = |candidate: String| {
        if candidate != text && !found.contains(&candidate) {
            found.push(candidate);
        }
    };
    if text == "0" {
        return Vec::new();
    }
    offer("0".into());
    if text == "1" {
        return found;
    }
    offer("1".into());
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let plain = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if is_hexadecimal || plain.chars().all(|c| c.is_ascii_digit()) {
        offer(plain.to_owned());
        let value = if is_hexadecimal {
            u64::from_str_radix(plain.get(2..).unwrap_or_default(), 16)
        } else {
            plain.parse()
        };
        if let Ok(value) = value {
            if value.to_string().len() <= text.len() {
                offer(value.to_string());
            }
            for smaller in [
                2,
                3,
                value / 256,
                value / 16,
                value / 2,
                value.saturating_sub(1),
            ] {
                if smaller < value && smaller > 1 {
                    offer(smaller.to_string());
                }
            }
        }
    }
    found
}

/// Each number that is not plain, `rank` steps away from the plainest.
pub fn numbers(tree: &Tree, rank: usize) -> Vec<Edit> {
    tree.of_kind("number_literal")
        .filter_map(|id| {
            let plainer = plainer(tree.text_of(id));
            Some(Edit::replace(tree.range(id), plainer.get(rank)?))
        })
        .collect()
}

/// How many ranks there can be.
pub const RANKS: usize = 10;

/// Strings become empty.
pub fn strings(tree: &Tree) -> Vec<Edit> {
    tree.of_kind("string_literal")
        .filter(|id| tree.text_of(*id).len() > 2)
        .map(|id| Edit::replace(tree.range(id), "\"\""))
        .collect()
}

/// Character constants become numbers.
pub fn characters(tree: &Tree) -> Vec<Edit> {
    tree.of_kind("char_literal")
        .map(|id| Edit::replace(tree.range(id), "1"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    #[test]
    fn numbers_become_plain() {
        assert!(plainer("0").is_empty());
        assert_eq!(plainer("1"), ["0"]);
        let found = plainer("0x1FUL");
        assert_eq!(&found[..4], ["0", "1", "0x1F", "31"]);
        assert!(plainer("1.5e3").contains(&"1".to_owned()));
        let tree = parse("int x = 10L, y = 0;").unwrap();
        assert_eq!(numbers(&tree, 0).len(), 1);
    }
}
