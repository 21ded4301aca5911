//! Neighbouring declarations of one type become one.

use crate::edit::Edit;
use crate::passes::declarators;
use crate::syntax::{Id, Tree};

/// Each declaration is joined to the one before it, where specifiers are the same.
pub fn merge(tree: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for id in tree.all() {
        let children: Vec<Id> = match tree.kind(id) {
            "translation_unit" | "compound_statement" => tree.named(id).collect(),
            _ => continue,
        };
        for pair in children.windows(2) {
            let [first, second] = pair else { continue };
            let (Some(a), Some(b)) = (specifiers(tree, *first), specifiers(tree, *second)) else {
                continue;
            };
            if a.0 == b.0 {
                edits.push(Edit::replace(tree.range(*first).end - 1..b.1, ", "));
            }
        }
    }
    edits
}

/// The words before the first declarator, and where that begins.
fn specifiers(tree: &Tree, declaration: Id) -> Option<(&str, usize)> {
    if tree.kind(declaration) != "declaration" || tree.function_declarator(declaration).is_some() {
        return None;
    }
    let first = *declarators(tree, declaration).first()?;
    let start = tree.range(first).start;
    let words = tree.text.get(tree.range(declaration).start..start)?;
    Some((words.trim(), start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::apply;
    use crate::layout::layout;
    use crate::syntax::parse;

    #[test]
    fn neighbours_of_one_type_become_one() {
        let text =
            "int a;\nint *b = &a;\nint c;\nchar d;\nint f(void) { int x = 1; int y; return 0; }";
        let shown = layout(&apply(text, &merge(&parse(text).unwrap())).unwrap());
        assert_eq!(
            shown,
            "int a, *b = &a, c;\nchar d;\nint f(void) {\n  int x = 1, y;\n  return 0;\n}\n"
        );
    }
}
