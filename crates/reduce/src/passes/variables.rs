//! Variables with all their uses: removed, made scalar, replaced by what they point to.

use crate::edit::Edit;
use crate::passes::{declarators, function_of, uses_of};
use crate::syntax::{Id, Tree};

/// A declared variable.
struct Variable<'t> {
    /// The declaration.
    declaration: Id,
    /// Its declarator there.
    declarator: Id,
    /// The only one there.
    alone: bool,
    /// Its name.
    name: &'t str,
    /// What it starts with.
    initial: Option<Id>,
    /// Uses of its name in its function, or everywhere for a global.
    uses: Vec<Id>,
}

fn variables(tree: &Tree) -> Vec<Variable<'_>> {
    let mut found = Vec::new();
    for declaration in tree.of_kind("declaration") {
        if tree.function_declarator(declaration).is_some() {
            continue;
        }
        let all = declarators(tree, declaration);
        for declarator in &all {
            let Some(id) = tree.declared(*declarator) else {
                continue;
            };
            let name = tree.text_of(id);
            let within = function_of(tree, declaration);
            let uses = uses_of(tree, name)
                .filter(|id| within.is_none() || function_of(tree, *id) == within)
                .collect();
            found.push(Variable {
                declaration,
                declarator: *declarator,
                alone: all.len() == 1,
                name,
                initial: tree.field(*declarator, "value"),
                uses,
            });
        }
    }
    found
}

fn without_declarator(tree: &Tree, variable: &Variable<'_>) -> Edit {
    let range = if variable.alone {
        tree.range(variable.declaration)
    } else {
        tree.range(variable.declarator)
    };
    Edit::delete(range)
}

/// Each variable goes: assignments to it keep their right side, reads give its first value or 0.
pub fn remove(tree: &Tree, keep: Option<&str>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for variable in variables(tree) {
        if Some(variable.name) == keep {
            continue;
        }
        let value = variable
            .initial
            .filter(|id| matches!(tree.kind(*id), "number_literal" | "identifier"))
            .map_or("0", |id| tree.text_of(id));
        let mut edit = without_declarator(tree, &variable);
        for id in &variable.uses {
            edit = edit.join(without_use(tree, *id, value));
        }
        edits.push(edit);
    }
    edits.reverse();
    edits
}

/// A use of a variable, with the subscripts and fields behind it.
fn whole_access(tree: &Tree, id: Id) -> Id {
    let mut at = id;
    while let Some(parent) = tree.parent(at) {
        let deeper = matches!(
            tree.kind(parent),
            "subscript_expression" | "field_expression"
        ) && tree.node(at).field == Some("argument");
        if !deeper {
            break;
        }
        at = parent;
    }
    at
}

fn without_use(tree: &Tree, id: Id, value: &str) -> Edit {
    let access = whole_access(tree, id);
    let parent = tree.parent(access);
    match parent.map(|parent| (parent, tree.kind(parent))) {
        Some((parent, "assignment_expression")) if tree.node(access).field == Some("left") => {
            let end = tree
                .field(parent, "right")
                .map_or(tree.range(access).end, |right| tree.range(right).start);
            Edit::delete(tree.range(access).start..end)
        }
        Some((parent, "update_expression")) => Edit::replace(tree.range(parent), value),
        Some((parent, "pointer_expression")) => Edit::replace(tree.range(parent), value),
        _ => Edit::replace(tree.range(access), value),
    }
}

/// Each array becomes a scalar: declarator, first initialiser and every access follow.
pub fn scalarise(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for variable in variables(tree) {
        let declarator = match tree.kind(variable.declarator) {
            "init_declarator" => match tree.field(variable.declarator, "declarator") {
                Some(inner) => inner,
                None => continue,
            },
            _ => variable.declarator,
        };
        if tree.kind(declarator) != "array_declarator" {
            continue;
        }
        let mut innermost = declarator;
        let mut dimensions = 0;
        while tree.kind(innermost) == "array_declarator" {
            dimensions += 1;
            match tree.field(innermost, "declarator") {
                Some(inner) => innermost = inner,
                None => break,
            }
        }
        let mut edit = Edit::replace(tree.range(declarator), tree.text_of(innermost));
        if let Some(initial) = variable.initial {
            let mut first = initial;
            while tree.kind(first) == "initializer_list" {
                match tree.named(first).next() {
                    Some(inner) => first = inner,
                    None => break,
                }
            }
            let text = match tree.kind(first) {
                "initializer_list" => "0",
                _ => tree.text_of(first),
            };
            edit = edit.and(tree.range(initial), text);
        }
        for id in &variable.uses {
            let mut at = *id;
            for _ in 0..dimensions {
                match tree.parent(at) {
                    Some(parent) if tree.kind(parent) == "subscript_expression" => at = parent,
                    _ => break,
                }
            }
            edit = edit.and(tree.range(at), variable.name);
        }
        edits.push(edit);
    }
    edits
}

/// Each pointer that starts as `&E` gives way: `*p` becomes `E`, `p` becomes `&E`.
pub fn dereference(tree: &Tree, keep: Option<&str>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for variable in variables(tree) {
        let Some(initial) = variable.initial else {
            continue;
        };
        let text = tree.text_of(initial);
        let is_address = tree.kind(initial) == "pointer_expression" && text.starts_with('&');
        let Some(target) = tree.named(initial).next().filter(|_| is_address) else {
            continue;
        };
        if Some(variable.name) == keep {
            continue;
        }
        let target = tree.text_of(target);
        let mut edit = without_declarator(tree, &variable);
        let mut shallow = Edit::new();
        for id in &variable.uses {
            let parent = tree.parent(*id).map(|parent| (parent, tree.kind(parent)));
            match parent {
                Some((parent, "pointer_expression")) if tree.text_of(parent).starts_with('*') => {
                    edit = edit.and(tree.range(parent), target);
                    shallow = shallow.and(tree.range(parent), target);
                }
                _ => edit = edit.and(tree.range(*id), format!("(&{target})")),
            }
        }
        if !shallow.changes.is_empty() {
            edits.push(shallow);
        }
        edits.push(edit);
    }
    edits
}

/// Each pointer variable becomes an ordinary one: one star fewer where it is declared, none where it
/// is followed, no `&` where it is set.
pub fn less_indirect(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for variable in variables(tree) {
        let declarator = match tree.kind(variable.declarator) {
            "init_declarator" => match tree.field(variable.declarator, "declarator") {
                Some(inner) => inner,
                None => continue,
            },
            _ => variable.declarator,
        };
        if tree.kind(declarator) != "pointer_declarator" {
            continue;
        }
        let start = tree.range(declarator).start;
        let mut edit = Edit::delete(start..start + 1);
        let address = |edit: Edit, id: Id| {
            if tree.kind(id) == "pointer_expression" && tree.text_of(id).starts_with('&') {
                let start = tree.range(id).start;
                edit.and(start..start + 1, "")
            } else {
                edit
            }
        };
        if let Some(initial) = variable.initial {
            edit = address(edit, initial);
        }
        for id in &variable.uses {
            match tree.parent(*id).map(|parent| (parent, tree.kind(parent))) {
                Some((parent, "pointer_expression")) if tree.text_of(parent).starts_with('*') => {
                    let start = tree.range(parent).start;
                    edit = edit.and(start..start + 1, "");
                }
                Some((parent, "assignment_expression")) if tree.node(*id).field == Some("left") => {
                    if let Some(right) = tree.field(parent, "right") {
                        edit = address(edit, right);
                    }
                }
                _ => {}
            }
        }
        edits.push(edit);
    }
    edits
}

/// The declaration moves to where the variable is first assigned: `T a; a = e;` becomes `T a = e;`.
pub fn join_first_assignment(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for variable in variables(tree) {
        if variable.initial.is_some() || !variable.alone {
            continue;
        }
        let Some(first) = variable.uses.first() else {
            continue;
        };
        let Some(assignment) = tree.parent(*first) else {
            continue;
        };
        let statement = tree.parent(assignment);
        let plain = tree.kind(assignment) == "assignment_expression"
            && tree.node(*first).field == Some("left")
            && statement.is_some_and(|id| tree.kind(id) == "expression_statement")
            && statement.and_then(|id| tree.parent(id)) == tree.parent(variable.declaration);
        if let (true, Some(right)) = (plain, tree.field(assignment, "right")) {
            let declaration = tree.text_of(variable.declaration).trim_end_matches(';');
            edits.push(Edit::delete(tree.range(variable.declaration)).and(
                tree.range(assignment),
                format!("{declaration} = {}", tree.text_of(right)),
            ));
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

    fn all(text: &str, pass: impl Fn(&Tree) -> Vec<Edit>) -> String {
        let edits = pass(&parse(text).unwrap());
        assert!(!edits.is_empty());
        layout(&apply(text, &edits).unwrap()).trim_end().to_owned()
    }

    #[test]
    fn a_variable_goes_with_its_uses() {
        assert_eq!(
            all(
                "int f(void) { int a = 2; a = g(); a++; return a + 1; }",
                |t| remove(t, None)
            ),
            "int f(void) {\n  g();\n  2;\n  return 2 + 1;\n}"
        );
    }

    #[test]
    fn arrays_become_scalars() {
        assert_eq!(
            all(
                "int a[2][3] = { { 4 }, { 5 } };\nint f(void) { return a[1][0]; }",
                scalarise
            ),
            "int a = 4;\nint f(void) {\n  return a;\n}"
        );
    }

    #[test]
    fn pointers_give_way_to_what_they_point_to() {
        let text = "int f(void) { int *p = &x.a; *p = 1; return *p; }";
        let edits = dereference(&parse(text).unwrap(), None);
        assert_eq!(
            layout(&apply(text, [&edits[1]]).unwrap()),
            "int f(void) {\n  x.a = 1;\n  return x.a;\n}\n"
        );
        assert_eq!(
            all(
                "int f(void) { int *p = &x; *p = 1; p = &y; return *p; }",
                less_indirect
            ),
            "int f(void) {\n  int p = x;\n  p = 1;\n  p = y;\n  return p;\n}"
        );
        assert_eq!(
            all(
                "int f(void) { int a; g(); a = 3; return a; }",
                join_first_assignment
            ),
            "int f(void) {\n  g();\n  int a = 3;\n  return a;\n}"
        );
    }
}
