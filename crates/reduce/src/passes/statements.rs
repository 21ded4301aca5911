//! Statements and declarations of blocks, level by level from the outside.

use std::collections::BTreeSet;

use crate::edit::Edit;
use crate::passes::without_statement;
use crate::syntax::{Id, Tree};

/// Blocks around a statement.
fn level(tree: &Tree, id: Id) -> usize {
    let mut level = 0;
    let mut at = tree.parent(id);
    while let Some(parent) = at {
        if matches!(
            tree.kind(parent),
            "compound_statement"
                | "case_statement"
                | "if_statement"
                | "for_statement"
                | "while_statement"
                | "do_statement"
        ) {
            level += 1;
        }
        at = tree.parent(parent);
    }
    level
}

/// The deepest level there is.
pub fn deepest(tree: &Tree) -> usize {
    tree.all()
        .filter(|id| tree.is_statement(*id))
        .map(|id| level(tree, id))
        .max()
        .unwrap_or(0)
}

/// Each statement of one level, the last first. The body of a function is not one.
pub fn at_level(tree: &Tree, wanted: usize) -> Vec<Edit> {
    let mut edits: Vec<Edit> = tree
        .all()
        .filter(|id| tree.is_statement(*id) && level(tree, *id) == wanted && wanted > 0)
        .filter(|id| {
            let parent = tree.parent(*id).map(|parent| tree.kind(parent));
            !matches!(parent, Some("function_definition" | "for_statement"))
                || tree.node(*id).field == Some("body")
        })
        .filter(|id| {
            tree.parent(*id)
                .is_none_or(|parent| tree.kind(parent) != "function_definition")
        })
        .filter(|id| tree.text_of(*id) != ";")
        .map(|id| without_statement(tree, id))
        .collect();
    edits.extend(
        tree.of_kind("else_clause")
            .filter(|id| level(tree, *id) == wanted)
            .map(|id| Edit::delete(tree.range(id))),
    );
    edits.reverse();
    edits
}

/// Statements all of whose lines are among `lines` (from 1), the outermost ones.
pub fn on_lines(tree: &Tree, lines: &BTreeSet<usize>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut done = 0;
    for id in tree.all() {
        let range = tree.range(id);
        let parent = tree.parent(id).map(|parent| tree.kind(parent));
        if range.start < done
            || !tree.is_statement(id)
            || tree.kind(id) == "declaration"
            || parent == Some("function_definition")
        {
            continue;
        }
        let first = tree.text[..range.start].matches('\n').count() + 1;
        // a block or label has no line of its own in a listing; what is in it has
        let here = lines.contains(&first);
        if here && level(tree, id) > 0 {
            edits.push(without_statement(tree, id));
            done = range.end;
        }
    }
    edits.reverse();
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::apply;
    use crate::layout::layout;
    use crate::syntax::parse;

    #[test]
    fn statements_go_level_by_level() {
        let text =
            "int f(void) { int a = 1; if (a) { a = 2; } else a = 3; for (;;) a++; return a; }\n";
        let tree = parse(text).unwrap();
        let outer = at_level(&tree, 1);
        assert_eq!(outer.len(), 4);
        let all = layout(&apply(text, &outer).unwrap());
        assert_eq!(all, "int f(void) {\n}\n");
        let inner = at_level(&tree, 2);
        let shown = layout(&apply(text, &inner).unwrap());
        assert_eq!(
            shown,
            "int f(void) {\n  int a = 1;\n  if (a);\n  for (;;);\n  return a;\n}\n"
        );
        assert!(deepest(&tree) >= 3);
    }
}
