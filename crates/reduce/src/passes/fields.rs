//! Fields of structs and unions, with their place in every initialiser.

use crate::edit::Edit;
use crate::passes::declarators;
use crate::syntax::{Id, Tree};

/// Each field: its declaration, its item in positional initialisers; an access to it becomes 0.
pub fn remove(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for specifier in tree.all() {
        if !matches!(tree.kind(specifier), "struct_specifier" | "union_specifier") {
            continue;
        }
        let Some(body) = tree.field(specifier, "body") else {
            continue;
        };
        let lists = initialisers_of(tree, specifier);
        let mut position = 0;
        for field in tree.named(body) {
            if tree.kind(field) != "field_declaration" {
                continue;
            }
            let declarators = declarators(tree, field);
            for declarator in &declarators {
                let Some(name) = tree.declared(*declarator).map(|id| tree.text_of(id)) else {
                    continue;
                };
                let range = if declarators.len() == 1 {
                    tree.range(field)
                } else {
                    tree.range(*declarator)
                };
                let mut edit = Edit::delete(range);
                for list in &lists {
                    if let Some(item) = tree.named(*list).nth(position) {
                        edit = edit.and(tree.range(item), "");
                    }
                }
                for access in tree.of_kind("field_expression") {
                    let is_it = tree
                        .field(access, "field")
                        .is_some_and(|id| tree.text_of(id) == name);
                    if is_it {
                        edit = edit.join(crate::passes::without_call(tree, access));
                    }
                }
                edits.push(edit);
                position += 1;
            }
        }
    }
    edits.reverse();
    edits
}

/// The innermost initialiser lists of variables declared with this struct's name.
fn initialisers_of(tree: &Tree, specifier: Id) -> Vec<Id> {
    let tag = tree.field(specifier, "name").map(|id| tree.text_of(id));
    let alias = tree
        .parent(specifier)
        .filter(|parent| tree.kind(*parent) == "type_definition")
        .and_then(|parent| declarators(tree, parent).first().copied())
        .map(|id| tree.text_of(id));
    let mut lists = Vec::new();
    for declaration in tree.of_kind("declaration") {
        let Some(ty) = tree.field(declaration, "type") else {
            continue;
        };
        let name = match tree.kind(ty) {
            "struct_specifier" | "union_specifier" => {
                tree.field(ty, "name").map(|id| tree.text_of(id))
            }
            _ => Some(tree.text_of(ty)),
        };
        if name.is_none() || (name != tag && name != alias) {
            continue;
        }
        for declarator in declarators(tree, declaration) {
            if let Some(value) = tree.field(declarator, "value") {
                innermost(tree, value, &mut lists);
            }
        }
    }
    lists
}

fn innermost(tree: &Tree, id: Id, lists: &mut Vec<Id>) {
    if tree.kind(id) != "initializer_list" {
        return;
    }
    let inner: Vec<Id> = tree
        .named(id)
        .filter(|child| tree.kind(*child) == "initializer_list")
        .collect();
    if inner.is_empty() {
        lists.push(id);
    } else {
        for child in inner {
            innermost(tree, child, lists);
        }
    }
}

/// A struct with a variable `v` and accesses `v.f` only: `v` becomes a variable of the field's type.
pub fn unwrap(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for declaration in tree.of_kind("declaration") {
        let Some(ty) = tree.field(declaration, "type") else {
            continue;
        };
        if !matches!(tree.kind(ty), "struct_specifier" | "union_specifier")
            || tree.field(ty, "body").is_some()
        {
            continue;
        }
        let tag = tree.field(ty, "name").map(|id| tree.text_of(id));
        let definition = tree.all().find(|id| {
            tree.field(*id, "body").is_some()
                && tree.kind(*id) == tree.kind(ty)
                && tree.field(*id, "name").map(|id| tree.text_of(id)) == tag
        });
        let fields: Vec<Id> = definition
            .and_then(|id| tree.field(id, "body"))
            .map(|body| tree.named(body).collect())
            .unwrap_or_default();
        let [field] = fields.as_slice() else { continue };
        let Some(field_type) = tree.field(*field, "type") else {
            continue;
        };
        let mut edit = Edit::replace(tree.range(ty), tree.text_of(field_type));
        for declarator in declarators(tree, declaration) {
            let Some(name) = tree.declared(declarator).map(|id| tree.text_of(id)) else {
                continue;
            };
            for access in tree.of_kind("field_expression") {
                let root = tree.field(access, "argument");
                if root.is_some_and(|id| tree.text_of(id) == name) {
                    edit = edit.and(tree.range(access), name);
                }
            }
        }
        edits.push(edit);
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::apply;
    use crate::layout::layout;
    use crate::syntax::parse;
    use crate::tidy::tidy;

    #[test]
    fn a_field_goes_with_its_initialisers() {
        let text = "struct S { int a; char b; };\nstruct S s = { 1, 2 }, t[2] = { { 3, 4 }, { 5, 6 } };\nint f(void) { return s.a + s.b; }";
        let tree = parse(text).unwrap();
        let edits = remove(&tree);
        assert_eq!(edits.len(), 2);
        let shown = layout(&tidy(&apply(text, [&edits[0]]).unwrap()));
        assert!(
            shown.starts_with(
                "struct S { int a; };\nstruct S s = { 1 }, t[2] = { { 3 }, { 5 } };\n"
            ),
            "{shown}"
        );
        assert!(shown.contains("return s.a + 0;"), "{shown}");
    }

    #[test]
    fn a_struct_of_one_field_becomes_that_field() {
        let text = "struct S { int a; };\nstruct S s = { 1 };\nint f(void) { return s.a; }";
        let shown = layout(&apply(text, &unwrap(&parse(text).unwrap())).unwrap());
        assert!(
            shown.contains("int s = { 1 };") && shown.contains("return s;"),
            "{shown}"
        );
    }
}
