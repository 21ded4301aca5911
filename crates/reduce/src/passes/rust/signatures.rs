//! What is written in one place and used in others: parameters, fields, variants, generics; and types.

use crate::edit::Edit;
use crate::syntax::{Id, Tree};

use super::with_comma;

/// A parameter with the arguments of every call of a function of that name.
pub fn parameters(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for function in tree.of_kind("function_item") {
        let (Some(name), Some(list)) = (
            tree.field(function, "name"),
            tree.field(function, "parameters"),
        ) else {
            continue;
        };
        let all: Vec<Id> = tree.named(list).collect();
        let own = all.iter().any(|one| tree.kind(*one) == "self_parameter");
        let typed = all.iter().filter(|one| tree.kind(**one) == "parameter");
        for (number, parameter) in typed.enumerate() {
            let mut passed = None;
            let mut edit = Edit::delete(with_comma(&tree.text, tree.range(*parameter)));
            for call in tree.of_kind("call_expression") {
                let (Some(called), Some(arguments)) =
                    (tree.field(call, "function"), tree.field(call, "arguments"))
                else {
                    continue;
                };
                let method = tree.kind(called) == "field_expression";
                let place = number + usize::from(own && !method);
                if last_name(tree, called) == tree.text_of(name)
                    && let Some(argument) = tree.named(arguments).nth(place)
                {
                    passed = passed.or(Some(argument));
                    edit = edit.join(Edit::delete(with_comma(&tree.text, tree.range(argument))));
                }
            }
            // what is passed may stand for the parameter where that is a literal
            if let (Some(passed), Some(pattern)) = (passed, tree.field(*parameter, "pattern"))
                && tree.kind(passed).ends_with("_literal")
            {
                let uses = tree.below(function).filter(|id| {
                    tree.kind(*id) == "identifier"
                        && tree.text_of(*id) == tree.text_of(pattern)
                        && !tree.is_below(*id, list)
                });
                let constant = uses.fold(edit.clone(), |edit, one| {
                    edit.and(tree.range(one), tree.text_of(passed))
                });
                edits.push(constant);
            }
            edits.push(edit);
        }
    }
    edits
}

/// `f` of `f`, `m::f`, `x.f` and `f::<T>`.
fn last_name(tree: &Tree, called: Id) -> &str {
    let called = match tree.kind(called) {
        "generic_function" => tree.field(called, "function").unwrap_or(called),
        _ => called,
    };
    let text = tree.text_of(called);
    text.rsplit([':', '.']).next().unwrap_or(text).trim()
}

/// A field of a structure with everything that sets or takes it apart by name; a variant with its arms.
pub fn fields(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        let uses: &[&str] = match tree.kind(id) {
            "field_declaration" => &[
                "field_initializer",
                "field_pattern",
                "shorthand_field_initializer",
            ],
            "enum_variant" => &["match_arm"],
            _ => continue,
        };
        let Some(name) = tree.field(id, "name").map(|name| tree.text_of(name)) else {
            continue;
        };
        let mut edit = Edit::delete(with_comma(&tree.text, tree.range(id)));
        for user in tree.all().filter(|user| uses.contains(&tree.kind(*user))) {
            let about = match tree.kind(user) {
                "match_arm" => tree
                    .field(user, "pattern")
                    .is_some_and(|pattern| has_word(tree.text_of(pattern), name)),
                _ => tree
                    .text_of(user)
                    .split(':')
                    .next()
                    .is_some_and(|before| before.trim() == name),
            };
            if about {
                edit = edit.join(Edit::delete(with_comma(&tree.text, tree.range(user))));
            }
        }
        edits.push(edit);
    }
    edits
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|found| found == word)
}

/// Generic parameters that become `i32`; types that need not be written, or become `i32`; what a function returns.
pub fn types(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        match tree.kind(id) {
            "type_parameters" => edits.extend(without_generics(tree, id)),
            "let_declaration" | "parameter" | "const_item" | "static_item"
            | "field_declaration" => {
                let Some(ty) = tree.field(id, "type") else {
                    continue;
                };
                if tree.text_of(ty) != "i32" {
                    edits.push(Edit::replace(tree.range(ty), "i32"));
                }
                let pattern = tree.field(id, "pattern");
                if let (Some(pattern), "let_declaration") = (pattern, tree.kind(id)) {
                    edits.push(Edit::delete(tree.range(pattern).end..tree.range(ty).end));
                }
            }
            "function_item" => edits.extend(without_result(tree, id)),
            "type_arguments" => edits.push(Edit::delete(tree.range(id))),
            // `&'a T`, `dyn`, `&mut`: the type alone
            "reference_type" => {
                if let Some(inner) = tree.named(id).last() {
                    edits.push(Edit::replace(tree.range(id), tree.text_of(inner)));
                }
            }
            _ => {}
        }
    }
    edits
}

fn without_generics(tree: &Tree, list: Id) -> Option<Edit> {
    let item = tree.parent(list)?;
    let mut edit = Edit::delete(tree.range(list));
    let names: Vec<&str> = tree
        .below(list)
        .filter(|below| {
            tree.kind(*below) == "type_identifier" && tree.node(*below).field == Some("name")
        })
        .map(|below| tree.text_of(below))
        .collect();
    for below in tree.below(item) {
        let inside = tree.is_below(below, list);
        if tree.kind(below) == "where_clause" {
            edit = edit.join(Edit::delete(tree.range(below)));
        } else if tree.kind(below) == "type_identifier"
            && !inside
            && names.contains(&tree.text_of(below))
        {
            edit = edit.and(tree.range(below), "i32");
        }
    }
    Some(edit)
}

/// A function without its result: the last expression becomes a statement, or goes too.
fn without_result(tree: &Tree, function: Id) -> Vec<Edit> {
    let (Some(list), Some(result), Some(body)) = (
        tree.field(function, "parameters"),
        tree.field(function, "return_type"),
        tree.field(function, "body"),
    ) else {
        return Vec::new();
    };
    let gone = Edit::delete(tree.range(list).end..tree.range(result).end);
    let last = tree.named(body).last().filter(|last| {
        let kind = tree.kind(*last);
        !kind.ends_with("_statement") && !kind.ends_with("_declaration") && !kind.ends_with("_item")
    });
    let mut edits = Vec::new();
    if let Some(last) = last {
        let range = tree.range(last);
        edits.push(gone.clone().join(Edit::delete(range.clone())));
        edits.push(gone.clone().and(range.end..range.end, ";"));
    }
    edits.push(gone);
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::rust::testing::makes;

    #[test]
    fn parameters_go_with_their_arguments() {
        assert!(makes(
            parameters,
            "fn f(a: i32, b: u8) {} fn main() { f(1, 2); f(3, 4); }",
            "fn f(a: i32) {} fn main() { f(1); f(3); }"
        ));
        assert!(makes(
            parameters,
            "fn f(a: i32) -> i32 { a + 1 } fn main() { f(7); }",
            "fn f() -> i32 { 7 + 1 } fn main() { f(); }"
        ));
        assert!(makes(
            parameters,
            "impl S { fn f(&self, a: i32) {} } fn main() { s.f(1); S::f(&s, 2); }",
            "impl S { fn f(&self) {} } fn main() { s.f(); S::f(&s); }"
        ));
    }

    #[test]
    fn fields_and_variants_go_with_their_uses() {
        assert!(makes(
            fields,
            "struct P { x: i32, y: i32 } fn main() { let p = P { x: 1, y: 2 }; }",
            "struct P { x: i32 } fn main() { let p = P { x: 1 }; }"
        ));
        assert!(makes(
            fields,
            "enum E { A, B(i32) } fn f(e: E) { match e { E::A => {} E::B(x) => {} } }",
            "enum E { A } fn f(e: E) { match e { E::A => {} } }"
        ));
    }

    #[test]
    fn types_and_generics_go() {
        assert!(makes(
            types,
            "fn f<T: Copy>(a: T) -> T where T: Add { a }",
            "fn f(a: i32) -> i32 { a }"
        ));
        assert!(makes(
            types,
            "fn f() { let x: u64 = 1; }",
            "fn f() { let x = 1; }"
        ));
        assert!(makes(types, "fn f(x: u64) {}", "fn f(x: i32) {}"));
        assert!(makes(types, "fn f() -> i32 { g(); 1 }", "fn f() { g(); }"));
        assert!(makes(
            types,
            "fn f() -> i32 { g(); 1 }",
            "fn f() { g(); 1; }"
        ));
    }
}
