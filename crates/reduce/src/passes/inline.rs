//! Inlining: a function that is one expression, or is called once, goes into its caller.

use crate::edit::Edit;
use crate::passes::functions::{Function, functions};
use crate::syntax::{Id, Tree};

/// What inlining may add, in tokens: what is inlined is reduced afterwards.
pub const GROWTH: usize = 60;

/// One edit per function that can be inlined everywhere.
pub fn inline(tree: &Tree, keep: Option<&str>) -> Vec<Edit> {
    functions(tree)
        .iter()
        .filter(|function| Some(function.name.as_str()) != keep)
        .filter(|function| function.mentions.is_empty() && !function.calls.is_empty())
        .filter(|function| {
            // not into itself
            function
                .calls
                .iter()
                .all(|call| !tree.is_below(*call, function.definition))
        })
        .filter_map(|function| expression(tree, function).or_else(|| block(tree, function)))
        .map(|(edit, function)| {
            let gone = function.prototypes.iter().chain([&function.definition]);
            gone.fold(edit, |edit, id| edit.and(tree.range(*id), ""))
        })
        .collect()
}

/// Name and whole text of each parameter; `None` when one has no name.
fn parameters<'t>(tree: &'t Tree, function: &Function) -> Option<Vec<(&'t str, &'t str)>> {
    let list = tree
        .function_declarator(function.definition)
        .and_then(|declarator| tree.field(declarator, "parameters"))?;
    let mut found = Vec::new();
    for parameter in tree.named(list) {
        if tree.text_of(parameter) == "void" {
            continue;
        }
        let declarator = tree.field(parameter, "declarator")?;
        let name = tree.text_of(tree.declared(declarator)?);
        found.push((name, tree.text_of(parameter)));
    }
    Some(found)
}

fn arguments(tree: &Tree, call: Id) -> Vec<&str> {
    tree.field(call, "arguments")
        .map(|list| tree.named(list).map(|id| tree.text_of(id)).collect())
        .unwrap_or_default()
}

/// `return E;` is all there is: E stands for each call, with arguments for parameters.
fn expression<'f>(tree: &Tree, function: &'f Function) -> Option<(Edit, &'f Function)> {
    let body = tree.field(function.definition, "body")?;
    let statements: Vec<Id> = tree.named(body).collect();
    let [only] = statements.as_slice() else {
        return None;
    };
    if tree.kind(*only) != "return_statement" {
        return None;
    }
    let value = tree.named(*only).next()?;
    let parameters = parameters(tree, function)?;
    let mut edit = Edit::new();
    for call in &function.calls {
        let arguments = arguments(tree, *call);
        let mut text = String::new();
        let mut done = tree.range(value).start;
        for id in tree.below(value).chain([value]) {
            if tree.kind(id) != "identifier" {
                continue;
            }
            let position = parameters
                .iter()
                .position(|(name, _)| *name == tree.text_of(id));
            if let Some(argument) = position.and_then(|position| arguments.get(position)) {
                let range = tree.range(id);
                text.push_str(tree.text.get(done..range.start)?);
                text.push_str(&format!("({argument})"));
                done = range.end;
            }
        }
        text.push_str(tree.text.get(done..tree.range(value).end)?);
        edit = edit.and(tree.range(*call), format!("({text})"));
    }
    Some((edit, function))
}

/// Called once, as a statement or as all of an assignment's or initialiser's right side: the body
/// goes there, parameters become variables, the last `return E;` the assignment.
fn block<'f>(tree: &Tree, function: &'f Function) -> Option<(Edit, &'f Function)> {
    let [call] = function.calls.as_slice() else {
        return None;
    };
    let body = tree.field(function.definition, "body")?;
    let statements: Vec<Id> = tree.named(body).collect();
    let returns: Vec<Id> = tree
        .below(body)
        .filter(|id| tree.kind(*id) == "return_statement")
        .collect();
    let last = statements.last().copied();
    let value = match returns.as_slice() {
        [] => None,
        [only] if Some(*only) == last => Some(tree.named(*only).next()?),
        _ => return None,
    };
    let parent = tree.parent(*call)?;
    let (statement, target) = match tree.kind(parent) {
        "expression_statement" => (parent, None),
        "assignment_expression" => {
            let statement = tree.parent(parent)?;
            if tree.kind(statement) != "expression_statement" {
                return None;
            }
            (statement, Some(tree.text_of(tree.field(parent, "left")?)))
        }
        _ => return None,
    };
    let mut text = String::from("{ ");
    for ((_, parameter), argument) in parameters(tree, function)?
        .iter()
        .zip(arguments(tree, *call))
    {
        text.push_str(&format!("{parameter} = {argument}; "));
    }
    let end = match returns.first() {
        Some(last) => tree.range(*last).start,
        None => tree.range(body).end.checked_sub(1)?,
    };
    text.push_str(tree.text.get(tree.range(body).start + 1..end)?);
    match (value, target) {
        (Some(value), Some(target)) => {
            text.push_str(&format!("{target} = {}; ", tree.text_of(value)));
        }
        (Some(value), None) => text.push_str(&format!("{}; ", tree.text_of(value))),
        (None, Some(_)) => return None,
        (None, None) => {}
    }
    text.push('}');
    Some((Edit::replace(tree.range(statement), text), function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::apply;
    use crate::layout::layout;
    use crate::syntax::parse;

    fn only(text: &str) -> String {
        let tree = parse(text).unwrap();
        let edits = inline(&tree, None);
        assert_eq!(edits.len(), 1, "{edits:?}");
        layout(&apply(text, &edits).unwrap())
    }

    #[test]
    fn an_expression_stands_for_its_calls() {
        let text = "int add(int a, int b) { return a + b; }\nint main(void) { return add(1, 2) * add(x, 3); }\n";
        assert_eq!(
            only(text),
            "int main(void) {\n  return ((1) + (2)) * ((x) + (3));\n}\n"
        );
    }

    #[test]
    fn a_body_goes_where_it_is_called() {
        let text =
            "int f(int a) { g = a; return g + 1; }\nint main(void) { x = f(2); return 0; }\n";
        assert_eq!(
            only(text),
            "int main(void) {\n  {\n    int a = 2;\n    g = a;\n    x = g + 1;\n  }\n  return 0;\n}\n"
        );
        let recursive = "int f(int a) { return f(a); }\nint main(void) { f(1); f(2); }\n";
        assert!(inline(&parse(recursive).unwrap(), None).is_empty());
    }
}
