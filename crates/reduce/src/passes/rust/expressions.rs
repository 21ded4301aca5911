//! Expressions that give way to a part of themselves, to what is in them, or to a constant.

use std::collections::BTreeSet;

use crate::edit::Edit;
use crate::syntax::{Id, Tree};

/// Macros that print or test; one that prints a single variable does for any of them.
const SPEAKING: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "eprintln",
    "format",
    "print",
    "println",
    "write",
    "writeln",
];

fn is_expression(kind: &str) -> bool {
    kind.ends_with("_expression")
        || kind.ends_with("_literal")
        || matches!(
            kind,
            "block"
                | "identifier"
                | "macro_invocation"
                | "scoped_identifier"
                | "self"
                | "compound_assignment_expr"
        )
}

/// Loops, branches, matches and blocks that give way to what is in them.
pub fn hoist(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        let put = |with: Id| Edit::replace(tree.range(id), tree.text_of(with));
        match tree.kind(id) {
            "for_expression" | "while_expression" | "loop_expression" | "mod_item"
            | "unsafe_block" | "async_block" => {
                let body = tree.field(id, "body").or_else(|| tree.named(id).last());
                edits.extend(body.map(|body| match tree.kind(id) {
                    "mod_item" => Edit::replace(tree.range(id), inside(tree, body)),
                    _ => put(body),
                }));
            }
            "if_expression" => {
                edits.extend(tree.field(id, "consequence").map(put));
                if let Some(other) = tree.field(id, "alternative") {
                    edits.extend(tree.named(other).last().map(put));
                }
            }
            "match_arm" => {
                let choice = tree.around(id, &["match_expression"]);
                if let (Some(choice), Some(value)) = (choice, tree.field(id, "value")) {
                    edits.push(Edit::replace(tree.range(choice), tree.text_of(value)));
                }
            }
            // the value without a name for it
            "let_declaration" => {
                if let Some(value) = tree.field(id, "value") {
                    edits.push(Edit::replace(
                        tree.range(id),
                        format!("{};", tree.text_of(value)),
                    ));
                }
            }
            "expression_statement" => {
                let only: Vec<Id> = tree.named(id).collect();
                if let [block] = only.as_slice()
                    && tree.kind(*block) == "block"
                {
                    edits.push(Edit::replace(tree.range(id), inside(tree, *block)));
                }
            }
            _ => {}
        }
    }
    edits.reverse();
    edits
}

/// What stands between the braces of a block.
fn inside(tree: &Tree, block: Id) -> String {
    let text = tree.text_of(block);
    let text = text.strip_prefix('{').unwrap_or(text);
    text.strip_suffix('}').unwrap_or(text).to_owned()
}

/// The parts that an expression can give way to.
fn parts(tree: &Tree, id: Id) -> Vec<Id> {
    let mut found = Vec::new();
    for child in tree.named(id) {
        match (tree.kind(child), tree.node(child).field) {
            (_, Some("pattern" | "type" | "field" | "name")) => {}
            // the receiver of a method
            ("field_expression", Some("function")) => found.extend(tree.field(child, "value")),
            (_, Some("function")) => {}
            ("arguments", _) => found.extend(tree.named(child)),
            ("field_initializer_list", _) => {
                let values = tree.named(child).filter_map(|one| tree.field(one, "value"));
                found.extend(values);
            }
            (kind, _) if is_expression(kind) => found.push(child),
            _ => {}
        }
    }
    found
}

/// Operations that give way to an operand, calls to an argument or their receiver, last expressions of blocks to nothing.
pub fn operands(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        let kind = tree.kind(id);
        if kind == "block" {
            let last = tree.named(id).last();
            edits.extend(
                last.filter(|last| is_expression(tree.kind(*last)))
                    .map(|last| Edit::delete(tree.range(last))),
            );
        }
        let is_loop_or_branch = matches!(
            kind,
            "for_expression"
                | "while_expression"
                | "loop_expression"
                | "if_expression"
                | "match_expression"
        );
        // a macro's tokens and a path have no parts that are values
        let has_no_parts = matches!(kind, "block" | "macro_invocation" | "scoped_identifier");
        if !is_expression(kind) || is_loop_or_branch || has_no_parts {
            continue;
        }
        for part in parts(tree, id) {
            edits.push(Edit::replace(tree.range(id), tree.text_of(part)));
        }
    }
    edits
}

/// Whether something that is no value stands here: a name that is declared, called or assigned to.
fn is_place(tree: &Tree, id: Id) -> bool {
    let field = tree.node(id).field;
    let parent = tree.parent(id).map_or("", |parent| tree.kind(parent));
    matches!(
        field,
        Some("pattern" | "name" | "function" | "type" | "field")
    ) || (field == Some("left") && parent.contains("assignment"))
        || matches!(
            parent,
            "reference_expression" | "expression_statement" | "token_tree"
        )
}

/// Values that give way to constants, numbers to smaller ones.
pub fn constants(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        let (kind, text) = (tree.kind(id), tree.text_of(id));
        let put = |with: &str| Edit::replace(tree.range(id), with);
        match kind {
            "integer_literal" => {
                let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
                if digits.len() < text.len() {
                    edits.push(put(&digits));
                }
                if text.len() > 1 {
                    edits.extend(["0", "1", "3"].map(put));
                }
            }
            "string_literal" if text.len() > 2 => edits.push(put("\"\"")),
            _ if tree.node(id).field == Some("condition")
                && tree
                    .parent(id)
                    .is_some_and(|parent| tree.kind(parent) == "if_expression") =>
            {
                edits.extend(["true", "false"].map(put));
            }
            "call_expression"
            | "binary_expression"
            | "index_expression"
            | "field_expression"
            | "match_expression"
            | "if_expression"
            | "unary_expression"
            | "type_cast_expression"
            | "method_call_expression"
            | "try_expression"
            | "parenthesized_expression"
                if !is_place(tree, id) =>
            {
                edits.extend(["0", "1"].map(put));
            }
            "array_expression" | "tuple_expression" | "arguments" => {
                for element in tree.named(id) {
                    edits.push(Edit::delete(super::with_comma(
                        &tree.text,
                        tree.range(element),
                    )));
                }
            }
            _ => {}
        }
    }
    edits
}

/// What is printed or tested gives way to printing one variable; lists in `vec!` get shorter.
pub fn macros(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.of_kind("macro_invocation") {
        let Some(name) = tree.node(id).children.first() else {
            continue;
        };
        let tokens = tree
            .below(id)
            .find(|below| tree.kind(*below) == "token_tree");
        let Some(tokens) = tokens else { continue };
        if tree.text_of(*name) == "vec" {
            for element in tree.named(tokens) {
                edits.push(Edit::delete(super::with_comma(
                    &tree.text,
                    tree.range(element),
                )));
            }
        }
        if SPEAKING.contains(&tree.text_of(*name)) {
            let end = match tree.text_of(id).ends_with(';') {
                true => ";",
                false => "",
            };
            for variable in names_in(tree.text_of(tokens)) {
                for form in ["", ":?"] {
                    let text = format!("println!(\"{{{variable}{form}}}\"){end}");
                    edits.push(Edit::replace(tree.range(id), text));
                }
            }
        }
    }
    edits
}

/// Words in a text that may be variables, format strings included.
fn names_in(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| c.is_lowercase() || c == '_') && *word != "_")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::rust::testing::makes;

    #[test]
    fn control_flow_gives_way_to_what_is_in_it() {
        assert!(makes(
            hoist,
            "fn f() { for i in 0..3 { g(); } }",
            "fn f() { { g(); } }"
        ));
        assert!(makes(hoist, "fn f() { { g(); } }", "fn f() { g(); }"));
        assert!(makes(
            hoist,
            "fn f() { if a { g(); } else { h(); } }",
            "fn f() { { h(); } }"
        ));
        assert!(makes(
            hoist,
            "fn f() -> i32 { match x { 1 => 2, _ => 3 } }",
            "fn f() -> i32 { 3 }"
        ));
        assert!(makes(
            hoist,
            "fn f() { unsafe { g(); } }",
            "fn f() { { g(); } }"
        ));
        assert!(makes(hoist, "mod m { fn f() {} }", "fn f() {}"));
        assert!(makes(
            hoist,
            "fn f() { let (a, b) = g(); }",
            "fn f() { g(); }"
        ));
    }

    #[test]
    fn expressions_give_way_to_their_parts() {
        let of = |value: &str| format!("fn f() {{ let x = {value}; }}");
        for (value, wanted) in [
            ("a + b", "b"),
            ("a.iter().map(|i| i * 2)", "a.iter()"),
            ("g(a, b)", "b"),
            ("&a[1]", "a[1]"),
            ("a as u8", "a"),
            ("P { x: a, y: b }", "a"),
            ("(a, b)", "a"),
        ] {
            assert!(makes(operands, &of(value), &of(wanted)), "{value}");
        }
        assert!(makes(operands, "fn f() { g(); h() }", "fn f() { g(); }"));
        for (value, wanted) in [
            ("12u8", "12"),
            ("120", "0"),
            ("g(a)", "1"),
            ("[1, 2, 3]", "[1, 3]"),
            ("[1, 2, 3]", "[1, 2]"),
        ] {
            assert!(makes(constants, &of(value), &of(wanted)), "{value}");
        }
        assert!(makes(
            constants,
            "fn f() { if a < b { } }",
            "fn f() { if true { } }"
        ));
        // a name that is assigned to is no value
        assert!(!makes(
            constants,
            "fn f() { a[1] = 2; }",
            "fn f() { 0 = 2; }"
        ));
    }

    #[test]
    fn what_is_printed_becomes_one_variable() {
        let text = "fn f() { println!(\"{} {sum}\", a + 1); }";
        assert!(makes(macros, text, "fn f() { println!(\"{sum}\"); }"));
        assert!(makes(macros, text, "fn f() { println!(\"{a:?}\"); }"));
        assert!(makes(
            macros,
            "fn f() { let x = vec![1, 2]; }",
            "fn f() { let x = vec![2]; }"
        ));
    }
}
