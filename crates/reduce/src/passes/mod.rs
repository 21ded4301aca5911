//! What can be made smaller: each pass looks at a syntax tree and offers edits. None of them asks
//! whether an edit is right; the predicate does.

pub mod constants;
pub mod control;
pub mod declarations;
pub mod expressions;
pub mod fields;
pub mod functions;
pub mod inline;
pub mod items;
pub mod merge;
pub mod rename;
pub mod rust;
pub mod statements;
pub mod tokens;
pub mod variables;

use crate::edit::Edit;
use crate::syntax::{Id, Tree};

/// Deletes a statement where it stands; where the grammar needs one, an empty one stays.
pub fn without_statement(tree: &Tree, statement: Id) -> Edit {
    let range = tree.range(statement);
    let parent = tree.parent(statement).map(|parent| tree.kind(parent));
    match parent {
        Some("compound_statement" | "case_statement" | "translation_unit") => Edit::delete(range),
        _ => Edit::replace(range, ";"),
    }
}

/// Deletes a call, with the statement it is where it is one; else 0 stands for its value.
pub fn without_call(tree: &Tree, call: Id) -> Edit {
    match tree.parent(call) {
        Some(parent) if tree.kind(parent) == "expression_statement" => {
            without_statement(tree, parent)
        }
        _ => Edit::replace(tree.range(call), "0"),
    }
}

/// Whether `name` is what an identifier at `id` says.
pub fn says(tree: &Tree, id: Id, name: &str) -> bool {
    tree.text_of(id) == name
}

/// The top-level items of a unit.
pub fn top_level(tree: &Tree) -> Vec<Id> {
    tree.named(0).collect()
}

/// The declarators of a declaration.
pub fn declarators(tree: &Tree, declaration: Id) -> Vec<Id> {
    let children = tree.node(declaration).children.iter().copied();
    children
        .filter(|child| tree.node(*child).field == Some("declarator"))
        .collect()
}

/// Uses of a name as a value, everywhere but below `except`.
pub fn uses_of<'t>(tree: &'t Tree, name: &'t str) -> impl Iterator<Item = Id> + 't {
    tree.of_kind("identifier")
        .filter(move |id| tree.is_use(*id) && says(tree, *id, name))
}

/// The function definition a node is in.
pub fn function_of(tree: &Tree, id: Id) -> Option<Id> {
    tree.around(id, &["function_definition"])
}
