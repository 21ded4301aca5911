//! Whole top-level items: types, globals, prototypes, functions nobody calls.

use std::collections::{BTreeMap, BTreeSet};

use crate::edit::Edit;
use crate::passes::{declarators, top_level};
use crate::syntax::{Id, Tree};

/// The names an item declares: functions, variables, typedefs, tags, enumerators.
fn declared_names(tree: &Tree, item: Id) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    match tree.kind(item) {
        "function_definition" => names.extend(tree.function_name(item)),
        "declaration" | "type_definition" => {
            for declarator in declarators(tree, item) {
                names.extend(tree.declared(declarator).map(|id| tree.text_of(id)));
                // the grammar takes `uint32_t` and its like for keywords
                if tree.kind(declarator) == "primitive_type" {
                    names.insert(tree.text_of(declarator));
                }
            }
        }
        "struct_specifier" | "union_specifier" | "enum_specifier" => {}
        // what the grammar cannot place may declare anything it names
        _ => names.extend(used_names(tree, item)),
    }
    for below in std::iter::once(item).chain(tree.below(item)) {
        match tree.kind(below) {
            "struct_specifier" | "union_specifier" | "enum_specifier"
                if tree.field(below, "body").is_some() =>
            {
                names.extend(tree.field(below, "name").map(|id| tree.text_of(id)));
            }
            "enumerator" => names.extend(tree.field(below, "name").map(|id| tree.text_of(id))),
            _ => {}
        }
    }
    names
}

fn used_names(tree: &Tree, item: Id) -> impl Iterator<Item = &str> {
    tree.below(item)
        .filter(|id| {
            matches!(
                tree.kind(*id),
                "identifier" | "type_identifier" | "primitive_type"
            )
        })
        .map(|id| tree.text_of(id))
}

/// One edit that deletes every item not reachable from `roots`. Directives stay.
pub fn unreachable(tree: &Tree, roots: &[&str]) -> Edit {
    let items = top_level(tree);
    let mut declaring: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
    for item in &items {
        for name in declared_names(tree, *item) {
            declaring.entry(name).or_default().push(*item);
        }
    }
    let mut reached: BTreeSet<Id> = BTreeSet::new();
    let mut open: Vec<&str> = roots.to_vec();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        for item in declaring.get(name).into_iter().flatten() {
            if reached.insert(*item) {
                open.extend(used_names(tree, *item));
            }
        }
    }
    let mut edit = Edit::new();
    for item in items {
        if !reached.contains(&item) && !tree.kind(item).starts_with("preproc") {
            edit = edit.and(tree.range(item), "");
        }
    }
    edit
}

/// Every top-level item on its own, the last first: what comes later needs what comes earlier.
pub fn each(tree: &Tree) -> Vec<Edit> {
    let mut edits: Vec<Edit> = top_level(tree)
        .into_iter()
        .map(|item| Edit::delete(tree.range(item)))
        .collect();
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
    fn what_main_does_not_need_goes() {
        let text = "typedef unsigned int __u;\ntypedef __u uint32_t;\ntypedef uint32_t u32;\ntypedef int unused;\nstruct S { u32 a; };\nenum E { A, B };\n\
                    int printf(const char *, ...);\nint puts(const char *);\nint g(void) { return A; }\n\
                    int h(void) { return g(); }\nstruct S s;\nint main(void) { return s.a + g(); }\n";
        let tree = parse(text).unwrap();
        let reduced = layout(&apply(text, [&unreachable(&tree, &["main"])]).unwrap());
        assert_eq!(
            reduced,
            "typedef unsigned int __u;\ntypedef __u uint32_t;\ntypedef uint32_t u32;\nstruct S { u32 a; };\nenum E { A, B };\nint g(void) {\n  return A;\n}\n\
             struct S s;\nint main(void) {\n  return s.a + g();\n}\n"
        );
    }
}
