//! Unwrapping: an `if`, a loop, a `switch` or a block gives way to what is in it.

use crate::edit::Edit;
use crate::syntax::{Id, Tree};

/// Statements that jump out of or on in `around`, and not in something nested.
fn jumps(tree: &Tree, around: Id, of_switch: bool) -> Vec<Id> {
    let catches_break = [
        "for_statement",
        "while_statement",
        "do_statement",
        "switch_statement",
    ];
    let catches_continue = &catches_break[..3];
    tree.below(around)
        .filter(|id| match tree.kind(*id) {
            "break_statement" => tree.around(*id, &catches_break) == Some(around),
            "continue_statement" if !of_switch => {
                tree.around(*id, catches_continue) == Some(around)
            }
            _ => false,
        })
        .collect()
}

fn without_jumps(tree: &Tree, around: Id, of_switch: bool, edit: Edit) -> Edit {
    jumps(tree, around, of_switch)
        .into_iter()
        .fold(edit, |edit, id| edit.and(tree.range(id), ";"))
}

/// Keeps `inner` of `outer`, deleting what is around it.
fn keep(tree: &Tree, outer: Id, inner: Id) -> Edit {
    let (outer, inner) = (tree.range(outer), tree.range(inner));
    Edit::delete(outer.start..inner.start).and(inner.end..outer.end, "")
}

/// Statements give way to their bodies.
pub fn bodies(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        match tree.kind(id) {
            "if_statement" => {
                if let Some(then) = tree.field(id, "consequence") {
                    edits.push(keep(tree, id, then));
                }
            }
            "while_statement" | "do_statement" => {
                if let Some(body) = tree.field(id, "body") {
                    edits.push(without_jumps(tree, id, false, keep(tree, id, body)));
                }
            }
            "for_statement" => {
                if let Some(body) = tree.field(id, "body") {
                    edits.push(without_jumps(tree, id, false, keep(tree, id, body)));
                    if let Some(initial) = tree.field(id, "initializer") {
                        // `for (init; ...) body` becomes `init; body`
                        let range = tree.range(id);
                        let (initial, body) = (tree.range(initial), tree.range(body));
                        let between = if tree.text[initial.clone()].ends_with(';') {
                            ""
                        } else {
                            ";"
                        };
                        let edit = Edit::delete(range.start..initial.start)
                            .and(initial.end..body.start, between);
                        edits.push(without_jumps(tree, id, false, edit));
                    }
                }
            }
            "labeled_statement" => {
                if let Some(last) = tree.named(id).last() {
                    edits.push(keep(tree, id, last));
                }
            }
            "compound_statement" => {
                let inside = tree
                    .parent(id)
                    .is_some_and(|parent| tree.kind(parent) != "function_definition");
                let range = tree.range(id);
                if inside && range.len() >= 2 {
                    edits.push(
                        Edit::delete(range.start..range.start + 1)
                            .and(range.end - 1..range.end, ""),
                    );
                }
            }
            _ => {}
        }
    }
    edits
}

/// The other ways: to the `else` branch, to the condition, to one case.
pub fn others(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        let range = tree.range(id);
        match tree.kind(id) {
            "if_statement" => {
                if let Some(clause) = tree.field(id, "alternative")
                    && let Some(other) = tree.named(clause).last()
                {
                    edits.push(keep(tree, id, other));
                }
                if let Some(condition) = tree.field(id, "condition") {
                    let condition = tree.range(condition);
                    edits.push(
                        Edit::delete(range.start..condition.start)
                            .and(condition.end..range.end, ";"),
                    );
                }
            }
            "while_statement" => {
                if let Some(condition) = tree.field(id, "condition") {
                    // once instead of again and again
                    let edit = Edit::replace(range.start..tree.range(condition).start, "if");
                    edits.push(without_jumps(tree, id, false, edit));
                }
            }
            "for_statement" => {
                for field in ["initializer", "condition", "update"] {
                    if let Some(part) = tree.field(id, field) {
                        let part = tree.range(part);
                        let semicolon = tree.text[part.clone()].ends_with(';');
                        edits.push(Edit::replace(part, if semicolon { ";" } else { "" }));
                    }
                }
            }
            "switch_statement" => {
                let cases: Vec<Id> = tree
                    .below(id)
                    .filter(|case| {
                        tree.kind(*case) == "case_statement"
                            && tree.around(*case, &["switch_statement"]) == Some(id)
                    })
                    .collect();
                for case in cases {
                    let value = tree.field(case, "value");
                    let inside: Vec<Id> = tree
                        .named(case)
                        .filter(|child| Some(*child) != value)
                        .collect();
                    if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
                        let edit = Edit::delete(range.start..tree.range(*first).start)
                            .and(tree.range(*last).end..range.end, "");
                        edits.push(without_jumps(tree, id, true, edit));
                    }
                }
                if let Some(condition) = tree.field(id, "condition") {
                    let condition = tree.range(condition);
                    edits.push(
                        Edit::delete(range.start..condition.start)
                            .and(condition.end..range.end, ";"),
                    );
                }
            }
            "case_statement" => {
                // `case 1:` becomes `default:`
                if let Some(value) = tree.field(id, "value") {
                    edits.push(Edit::replace(range.start..tree.range(value).end, "default"));
                }
            }
            _ => {}
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::apply;
    use crate::layout::layout;
    use crate::syntax::parse;

    fn each(text: &str, pass: fn(&Tree) -> Vec<Edit>) -> Vec<String> {
        let tree = parse(text).unwrap();
        let texts = pass(&tree)
            .into_iter()
            .map(|edit| layout(&apply(text, [&edit]).unwrap()));
        texts
            .map(|text| {
                text.replace('\n', " ")
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    }

    #[test]
    fn loops_give_way_to_their_bodies() {
        let found = each("void f(void) { while (1) { g(); break; } }", bodies);
        assert!(
            found.contains(&"void f(void) { { g(); ; } }".to_owned()),
            "{found:?}"
        );
        let found = each("void f(void) { for (i = 0; i < 3; i++) { g(); } }", bodies);
        assert!(
            found.contains(&"void f(void) { { g(); } }".to_owned()),
            "{found:?}"
        );
        assert!(
            found.contains(&"void f(void) { i = 0; { g(); } }".to_owned()),
            "{found:?}"
        );
        let found = each("void f(void) { { g(); } }", bodies);
        assert_eq!(found, ["void f(void) { g(); }"]);
    }

    #[test]
    fn branches_conditions_and_cases() {
        let found = each("void f(void) { if (a) b(); else c(); }", others);
        assert_eq!(found, ["void f(void) { c(); }", "void f(void) { (a); }"]);
        let found = each(
            "void f(void) { switch (a) { case 1: b(); break; default: c(); } }",
            others,
        );
        assert!(
            found.contains(&"void f(void) { b(); ; }".to_owned()),
            "{found:?}"
        );
        assert!(
            found.contains(&"void f(void) { c(); }".to_owned()),
            "{found:?}"
        );
        let found = each("void f(void) { while (a) b(); }", others);
        assert_eq!(found, ["void f(void) { if (a) b(); }"]);
    }
}
