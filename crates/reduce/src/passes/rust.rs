//! What can be made smaller in a Rust program. rustc is strict, so that most of what is left over after an edit does
//! not compile and is out at once: a few coarse edits go far, and finer ones seldom hold.

use crate::edit::Edit;
use crate::syntax::{Id, Tree};

/// Things that can go as a whole, wherever they stand.
const WHOLE: &[&str] = &[
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
    "inner_attribute_item",
    "let_declaration",
    "line_comment",
    "macro_definition",
    "match_arm",
    "mod_item",
    "static_item",
    "struct_item",
    "trait_item",
    "use_declaration",
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
            let mut range = tree.range(id);
            if tree.text[range.end..].starts_with(',') {
                range.end += 1;
            }
            Edit::delete(range)
        })
        .collect();
    edits.reverse();
    edits
}

/// Loops, branches and matches that give way to what is in them, and operations to one of their operands.
pub fn hoist(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        let range = tree.range(id);
        let put = |with: Id| Edit::replace(range.clone(), tree.text_of(with));
        let field = |name: &str| {
            let children = tree.node(id).children.iter().copied();
            children
                .into_iter()
                .find(|child| tree.node(*child).field == Some(name))
        };
        match tree.kind(id) {
            "for_expression" | "while_expression" | "loop_expression" => {
                edits.extend(field("body").map(put));
            }
            "if_expression" => {
                edits.extend(field("consequence").map(put));
            }
            "match_arm" => {
                let choice = tree.around(id, &["match_expression"]);
                if let (Some(choice), Some(value)) = (choice, field("value")) {
                    edits.push(Edit::replace(tree.range(choice), tree.text_of(value)));
                }
            }
            "binary_expression" => {
                edits.extend(field("left").map(put));
                edits.extend(field("right").map(put));
            }
            _ => {}
        }
    }
    edits.reverse();
    edits
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

    #[test]
    fn a_loop_gives_way_to_its_body() {
        let tree = parse_rust(TEXT).unwrap();
        let texts = texts(&hoist(&tree));
        assert!(
            texts
                .iter()
                .any(|text| !text.contains("for") && text.contains("drop(i)"))
        );
    }
}
