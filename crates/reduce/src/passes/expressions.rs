//! Expressions give way to a part of themselves, or to a number.

use crate::edit::Edit;
use crate::syntax::{Id, Tree};

/// Kinds that can give way.
const EXPRESSIONS: [&str; 18] = [
    "assignment_expression",
    "binary_expression",
    "call_expression",
    "cast_expression",
    "char_literal",
    "comma_expression",
    "compound_literal_expression",
    "conditional_expression",
    "field_expression",
    "identifier",
    "number_literal",
    "parenthesized_expression",
    "pointer_expression",
    "sizeof_expression",
    "string_literal",
    "subscript_expression",
    "unary_expression",
    "update_expression",
];

/// Whether a node is an expression whose value is used, so that a number can stand there.
fn is_value(tree: &Tree, id: Id) -> bool {
    if !EXPRESSIONS.contains(&tree.kind(id)) {
        return false;
    }
    let Some(parent) = tree.parent(id) else {
        return false;
    };
    let field = tree.node(id).field;
    match tree.kind(parent) {
        "assignment_expression" => field != Some("left"),
        "update_expression" | "field_expression" | "expression_statement" => false,
        "pointer_expression" => !tree.text_of(parent).starts_with('&'),
        "call_expression" => field != Some("function"),
        // parentheses of `if (...)` and the like stay; their inside can give way
        "parenthesized_expression" => true,
        kind if EXPRESSIONS.contains(&kind) => true,
        "argument_list" | "return_statement" | "init_declarator" | "initializer_list"
        | "initializer_pair" | "for_statement" | "case_statement" => {
            tree.kind(id) != "identifier" || tree.is_use(id)
        }
        _ => false,
    }
}

/// Parentheses that belong to a statement.
fn belongs_to_statement(tree: &Tree, id: Id) -> bool {
    tree.kind(id) == "parenthesized_expression" && tree.node(id).field == Some("condition")
}

/// Expressions around a node.
fn level(tree: &Tree, id: Id) -> usize {
    let mut level = 0;
    let mut at = tree.parent(id);
    while let Some(parent) = at {
        if EXPRESSIONS.contains(&tree.kind(parent)) && !belongs_to_statement(tree, parent) {
            level += 1;
        }
        at = tree.parent(parent);
    }
    level
}

/// The deepest level there is.
pub fn deepest(tree: &Tree) -> usize {
    tree.all()
        .filter(|id| is_value(tree, *id))
        .map(|id| level(tree, id))
        .max()
        .unwrap_or(0)
}

/// Values of one level give way to `number`.
pub fn to_number(tree: &Tree, number: &str, wanted: usize) -> Vec<Edit> {
    let mut edits: Vec<Edit> = tree
        .all()
        .filter(|id| is_value(tree, *id) && !belongs_to_statement(tree, *id))
        .filter(|id| level(tree, *id) == wanted)
        .filter(|id| !matches!(tree.text_of(*id), "0" | "1"))
        .map(|id| Edit::replace(tree.range(id), number))
        .collect();
    edits.reverse();
    edits
}

/// Keeps `inner` of `outer`.
fn keep(tree: &Tree, outer: Id, inner: Id) -> Edit {
    let (outer, inner) = (tree.range(outer), tree.range(inner));
    Edit::delete(outer.start..inner.start).and(inner.end..outer.end, "")
}

/// Expressions give way to their first (or last) operand: the right one of an assignment, the
/// branches of a conditional, the arguments of a call, the operand of a cast.
pub fn to_operand(tree: &Tree, first: bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        let kind = tree.kind(id);
        if !EXPRESSIONS.contains(&kind) || belongs_to_statement(tree, id) {
            continue;
        }
        let operands: Vec<Id> = match kind {
            "call_expression" => tree
                .field(id, "arguments")
                .map(|list| tree.named(list).collect())
                .unwrap_or_default(),
            "binary_expression" | "comma_expression" | "conditional_expression" => {
                tree.named(id).collect()
            }
            "assignment_expression" => tree.field(id, "right").into_iter().collect(),
            "cast_expression" => tree.field(id, "value").into_iter().collect(),
            "unary_expression"
            | "update_expression"
            | "pointer_expression"
            | "parenthesized_expression" => tree.named(id).collect(),
            "subscript_expression" | "field_expression" => {
                tree.field(id, "argument").into_iter().collect()
            }
            _ => Vec::new(),
        };
        let chosen = if first {
            operands.first()
        } else if operands.len() > 1 {
            operands.last()
        } else {
            None
        };
        if let Some(operand) = chosen {
            edits.push(keep(tree, id, *operand));
        }
    }
    edits
}

/// What has three parts: the middle one.
pub fn to_middle(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.of_kind("conditional_expression") {
        if let Some(middle) = tree.field(id, "consequence") {
            edits.push(keep(tree, id, middle));
        }
    }
    for id in tree.of_kind("call_expression") {
        let arguments: Vec<Id> = tree
            .field(id, "arguments")
            .map(|list| tree.named(list).collect())
            .unwrap_or_default();
        for argument in arguments.iter().skip(1).rev().skip(1) {
            edits.push(keep(tree, id, *argument));
        }
    }
    edits
}

/// `a += b` becomes `a = b`, and any assignment its target.
pub fn assignments(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.of_kind("assignment_expression") {
        if let Some(operator) = tree.field(id, "operator")
            && tree.text_of(operator) != "="
        {
            edits.push(Edit::replace(tree.range(operator), "="));
        }
        if let Some(left) = tree.field(id, "left") {
            edits.push(keep(tree, id, left));
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

    fn each(text: &str, edits: &[Edit]) -> Vec<String> {
        edits
            .iter()
            .map(|edit| layout(&apply(text, [edit]).unwrap()).trim_end().to_owned())
            .collect()
    }

    #[test]
    fn values_give_way_to_numbers() {
        let text = "int x = f(a + 2) * 3;";
        let tree = parse(text).unwrap();
        assert_eq!(each(text, &to_number(&tree, "0", 0)), ["int x = 0;"]);
        assert_eq!(
            each(text, &to_number(&tree, "0", 1)),
            ["int x = f(a + 2) * 0;", "int x = 0 * 3;"]
        );
        assert!(deepest(&tree) >= 3);
    }

    #[test]
    fn expressions_give_way_to_operands() {
        let text = "int x = c ? (char) a : -b;";
        let tree = parse(text).unwrap();
        let first = each(text, &to_operand(&tree, true));
        assert!(first.contains(&"int x = c;".to_owned()), "{first:?}");
        assert!(
            first.contains(&"int x = c ? a : -b;".to_owned()),
            "{first:?}"
        );
        assert!(
            first.contains(&"int x = c ? (char) a : b;".to_owned()),
            "{first:?}"
        );
        let last = each(text, &to_operand(&tree, false));
        assert_eq!(last, ["int x = -b;"]);
        assert_eq!(each(text, &to_middle(&tree)), ["int x = (char) a;"]);
    }

    #[test]
    fn conditions_of_statements_keep_their_parentheses() {
        let text = "void f(void) { if (a == 1) b = 2; }";
        let tree = parse(text).unwrap();
        let shown = each(text, &to_number(&tree, "1", 0));
        assert!(
            shown.iter().any(|text| text.contains("if (1) b = 2;")),
            "{shown:?}"
        );
        assert!(
            shown
                .iter()
                .any(|text| text.contains("b = 1;") || text.contains("b = 2;"))
        );
    }
}
