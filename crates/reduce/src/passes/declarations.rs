//! Declarators, initialisers, qualifiers, types: what a declaration can do without.

use std::collections::BTreeMap;

use crate::edit::Edit;
use crate::passes::declarators;
use crate::syntax::{Id, Tree};

/// Each declarator of a declaration that has several, and each enumerator.
pub fn single_declarators(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        if !matches!(
            tree.kind(id),
            "declaration" | "field_declaration" | "type_definition"
        ) {
            continue;
        }
        let declarators = declarators(tree, id);
        if declarators.len() > 1 {
            edits.extend(
                declarators
                    .iter()
                    .map(|declarator| Edit::delete(tree.range(*declarator))),
            );
        }
    }
    edits.extend(
        tree.of_kind("enumerator")
            .map(|id| Edit::delete(tree.range(id))),
    );
    edits.reverse();
    edits
}

/// Each initialiser.
pub fn initialisers(tree: &Tree) -> Vec<Edit> {
    tree.of_kind("init_declarator")
        .filter_map(|id| {
            let declarator = tree.field(id, "declarator")?;
            Some(Edit::delete(tree.range(declarator).end..tree.range(id).end))
        })
        .collect()
}

/// Each item of an initialiser list; `{ 1 }` becomes `1`.
pub fn initialiser_items(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for list in tree.of_kind("initializer_list") {
        let items: Vec<Id> = tree.named(list).collect();
        edits.extend(
            items
                .iter()
                .rev()
                .map(|item| Edit::delete(tree.range(*item))),
        );
    }
    edits
}

/// Lists give way to their first item.
pub fn unwrap_lists(tree: &Tree) -> Vec<Edit> {
    tree.of_kind("initializer_list")
        .filter_map(|list| {
            let first = tree.named(list).next()?;
            let (outer, inner) = (tree.range(list), tree.range(first));
            Some(Edit::delete(outer.start..inner.start).and(inner.end..outer.end, ""))
        })
        .collect()
}

/// Each storage class, qualifier and attribute.
pub fn specifiers(tree: &Tree) -> Vec<Edit> {
    tree.all()
        .filter(|id| {
            matches!(
                tree.kind(*id),
                "storage_class_specifier"
                    | "type_qualifier"
                    | "attribute_specifier"
                    | "attribute_declaration"
                    | "ms_declspec_modifier"
                    | "gnu_asm_expression"
                    | "bitfield_clause"
            )
        })
        .filter(|id| tree.text_of(*id) != "typedef")
        .map(|id| Edit::delete(tree.range(id)))
        .collect()
}

/// Types become `to`, where they are not already.
pub fn types(tree: &Tree, to: &str) -> Vec<Edit> {
    tree.all()
        .filter(|id| {
            matches!(
                tree.kind(*id),
                "primitive_type"
                    | "sized_type_specifier"
                    | "type_identifier"
                    | "struct_specifier"
                    | "union_specifier"
                    | "enum_specifier"
            )
        })
        .filter(|id| tree.node(*id).field == Some("type"))
        .filter(|id| tree.field(*id, "body").is_none())
        .filter(|id| tree.text_of(*id) != to && tree.text_of(*id) != "void")
        .map(|id| Edit::replace(tree.range(id), to))
        .collect()
}

/// Each typedef gives way to what it stands for, where that is a plain type.
pub fn typedefs(tree: &Tree) -> Vec<Edit> {
    let mut uses: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
    // the grammar takes `uint32_t` and its like for keywords
    let names = ["type_identifier", "primitive_type"];
    for id in tree.all().filter(|id| names.contains(&tree.kind(*id))) {
        if tree.node(id).field == Some("type") {
            uses.entry(tree.text_of(id)).or_default().push(id);
        }
    }
    let mut edits = Vec::new();
    for definition in tree.of_kind("type_definition") {
        let all = declarators(tree, definition);
        let (Some(ty), [declarator]) = (tree.field(definition, "type"), all.as_slice()) else {
            continue;
        };
        if !names.contains(&tree.kind(*declarator)) || tree.field(ty, "body").is_some() {
            continue;
        }
        let name = tree.text_of(*declarator);
        let mut edit = Edit::delete(tree.range(definition));
        for id in uses.get(name).into_iter().flatten() {
            edit = edit.and(tree.range(*id), tree.text_of(ty));
        }
        edits.push(edit);
    }
    edits
}

/// `typedef struct { ... } T;` becomes `struct T { ... };` and uses follow.
pub fn untypedef_structs(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for definition in tree.of_kind("type_definition") {
        let all = declarators(tree, definition);
        let (Some(ty), [declarator]) = (tree.field(definition, "type"), all.as_slice()) else {
            continue;
        };
        let Some(body) = tree.field(ty, "body") else {
            continue;
        };
        let keyword = match tree.kind(ty) {
            "struct_specifier" => "struct",
            "union_specifier" => "union",
            _ => continue,
        };
        let name = tree.text_of(*declarator);
        let range = tree.range(definition);
        let mut edit = Edit::replace(
            range.start..tree.range(body).start,
            format!("{keyword} {name}"),
        )
        .and(tree.range(body).end..range.end, ";");
        for id in tree.of_kind("type_identifier") {
            if tree.text_of(id) == name && tree.node(id).field == Some("type") {
                edit = edit.and(tree.range(id), format!("{keyword} {name}"));
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

    fn all(text: &str, pass: impl Fn(&Tree) -> Vec<Edit>) -> String {
        let edits = pass(&parse(text).unwrap());
        layout(&tidy(&apply(text, &edits).unwrap()))
            .trim_end()
            .to_owned()
    }

    #[test]
    fn declarations_lose_what_they_can_do_without() {
        assert_eq!(all("int a = 1, *b = &a;", initialisers), "int a, *b;");
        assert_eq!(
            all("static const int a[2] = { 1, 2 };", specifiers),
            "int a[2] = { 1, 2 };"
        );
        assert_eq!(all("unsigned long a;", |tree| types(tree, "int")), "int a;");
        assert_eq!(all("int x = { 3, 4 };", unwrap_lists), "int x = 3;");
        let text = "typedef int T;\ntypedef T U;\nU x;";
        let tree = parse(text).unwrap();
        let edits = typedefs(&tree);
        assert_eq!(
            layout(&apply(text, [&edits[1]]).unwrap()),
            "typedef int T;\nT x;\n"
        );
        let text = "int a, b, c;";
        let edits = single_declarators(&parse(text).unwrap());
        let two = layout(&tidy(&apply(text, &edits[..2]).unwrap()));
        assert_eq!(two, "int a;\n");
    }

    #[test]
    fn structs_lose_their_typedef() {
        assert_eq!(
            all("typedef struct { int a; } T;\nT x;", untypedef_structs),
            "struct T { int a; };\nstruct T x;"
        );
    }
}
