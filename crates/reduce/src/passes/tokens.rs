//! Whatever no grammar suggests: a few neighbouring tokens go. The last pass, when there is little left.

use crate::edit::Edit;
use crate::syntax::Tree;
use crate::token::tokens;

/// The widest window.
pub const WIDEST: usize = 6;

/// Every run of `width` tokens.
pub fn windows(tree: &Tree, width: usize) -> Vec<Edit> {
    let tokens = tokens(&tree.text);
    tokens
        .windows(width)
        .filter_map(|window| {
            let (first, last) = (window.first()?, window.last()?);
            Some(Edit::delete(first.range.start..last.range.end))
        })
        .collect()
}
