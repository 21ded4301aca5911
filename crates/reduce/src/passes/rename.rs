//! Short names, at the end: `a`, `b`, ... for variables, `f`, `g`, ... for functions, `S` for types.

use std::collections::{BTreeMap, BTreeSet};

use crate::edit::Edit;
use crate::passes::declarators;
use crate::syntax::{Id, Tree};

/// What becomes of names, in the order they first appear.
pub type Names = BTreeMap<String, String>;

/// New names for everything this unit defines; `main` and what it only declares keep theirs.
pub fn names(tree: &Tree) -> Names {
    let mut functions = Vec::new();
    let mut variables = Vec::new();
    let mut types = Vec::new();
    let mut fields = Vec::new();
    for id in tree.all() {
        match tree.kind(id) {
            "function_definition" => functions.extend(tree.function_name(id)),
            "declaration" if tree.function_declarator(id).is_none() => {
                let extern_only = tree.named(id).any(|child| tree.text_of(child) == "extern");
                if !extern_only {
                    for declarator in declarators(tree, id) {
                        variables.extend(tree.declared(declarator).map(|id| tree.text_of(id)));
                    }
                }
            }
            "parameter_declaration" => {
                let declarator = tree.field(id, "declarator");
                let name = declarator.and_then(|id| tree.declared(id));
                variables.extend(name.map(|id| tree.text_of(id)));
            }
            "struct_specifier" | "union_specifier" | "enum_specifier"
                if tree.field(id, "body").is_some() =>
            {
                types.extend(tree.field(id, "name").map(|id| tree.text_of(id)));
            }
            "type_definition" => {
                for declarator in declarators(tree, id) {
                    types.extend(tree.declared(declarator).map(|id| tree.text_of(id)));
                }
            }
            "field_declaration" => {
                for declarator in declarators(tree, id) {
                    fields.extend(tree.declared(declarator).map(|id| tree.text_of(id)));
                }
            }
            "enumerator" => variables.extend(tree.field(id, "name").map(|id| tree.text_of(id))),
            "labeled_statement" => {
                fields.extend(tree.field(id, "label").map(|id| tree.text_of(id)))
            }
            _ => {}
        }
    }
    let defined: BTreeSet<&str> = functions
        .iter()
        .chain(&variables)
        .chain(&types)
        .chain(&fields)
        .copied()
        .collect();
    let mut taken: BTreeSet<String> = tree
        .all()
        .filter(|id| is_name(tree, *id) && !defined.contains(tree.text_of(*id)))
        .map(|id| tree.text_of(id).to_owned())
        .collect();
    // `i` and the like are not type names anywhere, but keywords and library functions are taken
    taken.extend(["do", "if", "y0", "y1", "j0", "j1", "yn", "jn", "or"].map(String::from));
    let mut names = Names::new();
    for (group, alphabet) in [
        (functions, "fghklmnopqr"),
        (variables, "abcdexyzuvwijst"),
        (types, "STUVWXYZ"),
        (fields, "mnpqrstuvw"),
    ] {
        for name in group {
            if name == "main" || names.contains_key(name) {
                continue;
            }
            let new = fresh(alphabet, &taken);
            taken.insert(new.clone());
            names.insert(name.to_owned(), new);
        }
    }
    names
}

/// The first free name: one letter, else one letter and a number.
fn fresh(alphabet: &str, taken: &BTreeSet<String>) -> String {
    let single = alphabet.chars().map(String::from);
    let numbered = (1..).flat_map(|n| alphabet.chars().take(1).map(move |c| format!("{c}{n}")));
    single
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

fn is_name(tree: &Tree, id: Id) -> bool {
    matches!(
        tree.kind(id),
        "identifier" | "type_identifier" | "field_identifier" | "statement_identifier"
    )
}

/// All uses of the given names get their new ones.
pub fn rename(tree: &Tree, names: &Names) -> Edit {
    let mut edit = Edit::new();
    for id in tree.all().filter(|id| is_name(tree, *id)) {
        if let Some(new) = names.get(tree.text_of(id)) {
            edit = edit.and(tree.range(id), new.as_str());
        }
    }
    edit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::apply;
    use crate::layout::layout;
    use crate::syntax::parse;

    #[test]
    fn everything_defined_gets_a_short_name() {
        let text = "int printf(const char *, ...);\nstruct Long { int field; };\nstruct Long g_1;\nint func_1(int p_2) { return g_1.field + p_2; }\nint main(void) { printf(\"a\"); return func_1(1); }";
        let tree = parse(text).unwrap();
        let edit = rename(&tree, &names(&tree));
        let shown = layout(&apply(text, [&edit]).unwrap());
        assert_eq!(
            shown,
            "int printf(const char *, ...);\nstruct S { int m; };\nstruct S a;\nint f(int b) {\n  return a.m + b;\n}\n\
             int main(void) {\n  printf(\"a\");\n  return f(1);\n}\n"
        );
    }
}
