//! Functions with all their calls, their parameters with all arguments, their results.

use crate::edit::Edit;
use crate::passes::{top_level, without_call};
use crate::syntax::{Id, Tree};

/// A defined function and everything that speaks of it.
pub struct Function {
    /// Its definition.
    pub definition: Id,
    /// Its name.
    pub name: String,
    /// Declarations of it alone.
    pub prototypes: Vec<Id>,
    /// Its calls.
    pub calls: Vec<Id>,
    /// Other uses of its name: its address.
    pub mentions: Vec<Id>,
}

/// All functions defined in the unit but `main`.
pub fn functions(tree: &Tree) -> Vec<Function> {
    let mut found = Vec::new();
    for definition in tree.of_kind("function_definition") {
        let Some(name) = tree.function_name(definition) else {
            continue;
        };
        if name == "main" {
            continue;
        }
        let prototypes = top_level(tree)
            .into_iter()
            .filter(|item| tree.kind(*item) == "declaration")
            .filter(|item| {
                tree.function_declarator(*item)
                    .and_then(|declarator| tree.declared(declarator))
                    .is_some_and(|id| tree.text_of(id) == name)
            })
            .collect();
        let mut calls = Vec::new();
        let mut mentions = Vec::new();
        for id in tree.of_kind("identifier") {
            if tree.text_of(id) != name || !tree.is_use(id) {
                continue;
            }
            match tree.parent(id) {
                Some(parent)
                    if tree.kind(parent) == "call_expression"
                        && tree.node(id).field == Some("function") =>
                {
                    calls.push(parent);
                }
                _ => mentions.push(id),
            }
        }
        found.push(Function {
            definition,
            name: name.to_owned(),
            prototypes,
            calls,
            mentions,
        });
    }
    found
}

/// Each function goes with its prototypes and calls; 0 stands where its value was used.
pub fn remove(tree: &Tree, keep: Option<&str>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for function in functions(tree) {
        if Some(function.name.as_str()) == keep {
            continue;
        }
        let mut edit = Edit::delete(tree.range(function.definition));
        for prototype in &function.prototypes {
            edit = edit.and(tree.range(*prototype), "");
        }
        for call in &function.calls {
            edit = edit.join(without_call(tree, *call));
        }
        for mention in &function.mentions {
            edit = edit.and(tree.range(*mention), "0");
        }
        edits.push(edit);
    }
    edits.reverse();
    edits
}

/// Each function's body becomes `return 0;` or nothing.
pub fn hollow(tree: &Tree, keep: Option<&str>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for function in functions(tree) {
        let Some(body) = tree.field(function.definition, "body") else {
            continue;
        };
        if Some(function.name.as_str()) == keep {
            continue;
        }
        let text = if returns_nothing(tree, function.definition) {
            "{ }"
        } else {
            "{ return 0; }"
        };
        edits.push(Edit::replace(tree.range(body), text));
    }
    edits
}

fn returns_nothing(tree: &Tree, definition: Id) -> bool {
    let is_void = tree
        .field(definition, "type")
        .is_some_and(|ty| tree.text_of(ty) == "void");
    let plain = tree
        .field(definition, "declarator")
        .is_some_and(|declarator| tree.kind(declarator) == "function_declarator");
    is_void && plain
}

/// The parameters of a declarator.
fn parameters(tree: &Tree, owner: Id) -> Vec<Id> {
    tree.function_declarator(owner)
        .and_then(|declarator| tree.field(declarator, "parameters"))
        .map(|list| {
            tree.named(list)
                .filter(|id| tree.kind(*id) == "parameter_declaration")
                .collect()
        })
        .unwrap_or_default()
}

/// Each parameter goes, with its argument in every call. A parameter that is used becomes a local
/// variable that holds what the first call passes, where that is a number, or 0.
pub fn remove_parameters(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for function in functions(tree) {
        if !function.mentions.is_empty() {
            continue;
        }
        for (index, parameter) in parameters(tree, function.definition).iter().enumerate() {
            let name = tree
                .field(*parameter, "declarator")
                .and_then(|declarator| tree.declared(declarator))
                .map(|id| tree.text_of(id));
            let Some(body) = tree.field(function.definition, "body") else {
                continue;
            };
            let mut edit = Edit::delete(tree.range(*parameter));
            for prototype in &function.prototypes {
                if let Some(other) = parameters(tree, *prototype).get(index) {
                    edit = edit.and(tree.range(*other), "");
                }
            }
            let mut passed = None;
            for call in &function.calls {
                let argument = tree
                    .field(*call, "arguments")
                    .and_then(|list| tree.named(list).nth(index));
                if let Some(argument) = argument {
                    edit = edit.and(tree.range(argument), "");
                    passed.get_or_insert(argument);
                }
            }
            let is_used = name.is_some_and(|name| {
                tree.below(body)
                    .any(|id| tree.kind(id) == "identifier" && tree.text_of(id) == name)
            });
            if is_used {
                let value = passed
                    .filter(|id| tree.kind(*id) == "number_literal")
                    .map_or("0", |id| tree.text_of(id));
                let start = tree.range(body).start + 1;
                let declaration = format!("{} = {value};", tree.text_of(*parameter));
                edit = edit.and(start..start, declaration);
            }
            edits.push(edit);
        }
    }
    edits.reverse();
    edits
}

/// Results nobody uses: the function becomes `void`.
pub fn drop_results(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for function in functions(tree) {
        if returns_nothing(tree, function.definition) || !function.mentions.is_empty() {
            continue;
        }
        let ignored = |call: &Id| {
            tree.parent(*call)
                .is_some_and(|parent| tree.kind(parent) == "expression_statement")
        };
        if !function.calls.iter().all(ignored) {
            continue;
        }
        let owners = std::iter::once(function.definition).chain(function.prototypes.clone());
        let mut edit = Edit::new();
        for owner in owners {
            let (Some(ty), Some(declarator)) =
                (tree.field(owner, "type"), tree.function_declarator(owner))
            else {
                continue;
            };
            // the stars of a pointer result go too
            edit = edit
                .and(tree.range(ty), "void")
                .and(tree.range(ty).end..tree.range(declarator).start, "");
        }
        for id in tree.below(function.definition) {
            if tree.kind(id) == "return_statement" {
                edit = edit.and(tree.range(id), "return;");
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

    const TEXT: &str = "int f(int, int);\nint f(int a, int b) { return a; }\nint g(void) { f(1, 2); return f(3, 4) + 1; }\n";

    fn show(edit: &Edit) -> String {
        layout(&tidy(&apply(TEXT, [edit]).unwrap()))
    }

    #[test]
    fn a_function_goes_with_its_calls() {
        let tree = parse(TEXT).unwrap();
        let edits = remove(&tree, Some("g"));
        assert_eq!(edits.len(), 1);
        assert_eq!(show(&edits[0]), "int g(void) {\n  return 0 + 1;\n}\n");
    }

    #[test]
    fn parameters_go_with_their_arguments() {
        let tree = parse(TEXT).unwrap();
        let mut edits = remove_parameters(&tree);
        // `(void)` is a parameter list that can go too
        assert!(show(&edits.remove(0)).contains("int g() {"));
        assert_eq!(
            show(&edits[0]),
            "int f(int);\nint f(int a) {\n  return a;\n}\nint g(void) {\n  f(1);\n  return f(3) + 1;\n}\n"
        );
        assert_eq!(
            show(&edits[1]),
            "int f(int);\nint f(int b) {\n  int a = 1;\n  return a;\n}\nint g(void) {\n  f(2);\n  return f(4) + 1;\n}\n"
        );
        let both = layout(&tidy(&apply(TEXT, &edits).unwrap()));
        assert!(
            both.contains("int f();") && both.contains("f() + 1"),
            "{both}"
        );
    }

    #[test]
    fn ignored_results_go() {
        let text = "static int *f(void) { return 0; }\nint main(void) { f(); return 0; }\n";
        let tree = parse(text).unwrap();
        let edits = drop_results(&tree);
        let shown = layout(&apply(text, &edits).unwrap());
        assert!(
            shown.starts_with("static void f(void) {\n  return;\n}\n"),
            "{shown}"
        );
    }
}
