//! What can be made smaller in a Rust program. rustc is strict, so that most of what is left over after an edit does
//! not compile and is out at once: edits that belong together (a parameter and its arguments, a field and its
//! initialisers) are made together.
//!
//! Here: whole items, statements and arms, level by level. `expressions`: what gives way to a part of itself or to a
//! constant. `signatures`: parameters, fields, variants, generics, types.

pub mod expressions;
pub mod signatures;

use crate::edit::Edit;
use crate::syntax::{Id, Tree};

/// Things that can go as a whole, wherever they stand.
const WHOLE: &[&str] = &[
    "associated_type",
    "attribute_item",
    "block_comment",
    "const_item",
    "else_clause",
    "enum_item",
    "enum_variant",
    "expression_statement",
    "field_declaration",
    "field_initializer",
    "function_item",
    "impl_item",
    "foreign_mod_item",
    "inner_attribute_item",
    "label",
    "let_declaration",
    "line_comment",
    "macro_definition",
    "match_arm",
    "mod_item",
    "mutable_specifier",
    "static_item",
    "struct_item",
    "trait_item",
    "type_item",
    "use_declaration",
    "visibility_modifier",
    "where_clause",
];

/// Blocks around a node.
fn level(tree: &Tree, id: Id) -> usize {
    std::iter::successors(tree.parent(id), |id| tree.parent(*id))
        .filter(|id| matches!(tree.kind(*id), "block" | "declaration_list" | "match_block"))
        .count()
}

/// The deepest level there is.
pub fn deepest(tree: &Tree) -> usize {
    tree.all().map(|id| level(tree, id)).max().unwrap_or(0)
}

/// Everything of one level that can go, the last first; with a comma behind it, that goes too.
pub fn remove(tree: &Tree, wanted: usize) -> Vec<Edit> {
    let mut edits: Vec<Edit> = tree
        .all()
        .filter(|id| WHOLE.contains(&tree.kind(*id)) && level(tree, *id) == wanted)
        .map(|id| {
            let range = tree.range(id);
            Edit::delete(match tree.kind(id) {
                "enum_variant" | "field_declaration" | "field_initializer" | "match_arm" => {
                    with_comma(&tree.text, range)
                }
                _ => range,
            })
        })
        .collect();
    edits.reverse();
    edits
}

/// The range with a comma behind it, or else before it.
fn with_comma(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let behind = &text[range.end..];
    let blanks = behind.len() - behind.trim_start().len();
    if behind.trim_start().starts_with(',') {
        return range.start..range.end + blanks + 1;
    }
    let before = text[..range.start].trim_end();
    match before.strip_suffix(',') {
        Some(rest) => rest.len()..range.end,
        None => range,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit;
    use crate::syntax::parse_rust;

    const TEXT: &str =
        "fn f() {}\nfn main() {\n    let a = 1;\n    for i in 0..3 {\n        drop(i);\n    }\n}\n";

    fn texts(edits: &[Edit]) -> Vec<String> {
        edits
            .iter()
            .filter_map(|edit| edit::apply(TEXT, [edit]))
            .collect()
    }

    #[test]
    fn statements_and_items_go_level_by_level() {
        let tree = parse_rust(TEXT).unwrap();
        assert!(!tree.has_error);
        assert_eq!(deepest(&tree), 2);
        let items = texts(&remove(&tree, 0));
        assert!(
            items
                .iter()
                .any(|text| text.trim_start().starts_with("fn main"))
        );
        let statements = texts(&remove(&tree, 1));
        assert!(
            statements
                .iter()
                .any(|text| !text.contains("let a") && text.contains("for i"))
        );
        assert!(
            statements
                .iter()
                .any(|text| text.contains("let a") && !text.contains("for i"))
        );
        let inner = texts(&remove(&tree, 2));
        assert!(inner.iter().any(|text| !text.contains("drop")));
    }
}

#[cfg(test)]
mod testing {
    use crate::edit::{Edit, apply};
    use crate::syntax::{Tree, parse_rust};

    /// Whether one of the edits of `text` makes `wanted` of it, whatever the blanks.
    pub fn makes(pass: fn(&Tree) -> Vec<Edit>, text: &str, wanted: &str) -> bool {
        let tree = parse_rust(text).unwrap();
        assert!(!tree.has_error, "{text}");
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        pass(&tree)
            .iter()
            .filter_map(|edit| apply(text, [edit]))
            .any(|made| plain(&made) == plain(wanted))
    }
}
