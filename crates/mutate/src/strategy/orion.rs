//! # Orion
//!
//! ## What it does
//! Deletes a statement that was not executed on the input; an empty statement and its line breaks stay.
//!
//! ## Why
//! The compiler must not need the code that never ran, yet what it does with the rest depends on it.
//!
//! ## Example
//! `if (g_3) { ; }` where there was `if (g_3) { l_2 = f(g_3); }`.
//!
//! ## False alarms
//! None: what is deleted was not reached in any of the builds. Statements with labels or `case` inside (reached by a jump,
//! not through the point), declarations, and text that a directive or macro cuts in two are left alone.
//!
//! ## Source
//! Le, Afshari, Su: Compiler Validation via Equivalence Modulo Inputs (PLDI 2014), as described in paper 004 §2.

use candor_source::StatementKind;

use super::{Made, Site};
use crate::rules::words;

pub const ABOUT: &str = "Orion (PLDI 2014, see paper 004 §2): deletes a statement that the input never executes. Line numbers \
stay as they were.";

pub fn make(site: &Site<'_>, _: &mut fastrand::Rng) -> Option<Made> {
    let kind = site.point.statement;
    if matches!(kind, StatementKind::Declaration | StatementKind::Null) {
        return None;
    }
    let text = site.unit.text().get(site.point.span.clone())?;
    let whole = (text.ends_with(';') || text.ends_with('}')) && is_balanced(text);
    let directive = text.lines().any(|line| line.trim_start().starts_with('#'));
    let function = site.unit.functions().get(site.point.function)?;
    let mut found = words(text);
    let entered = found.any(|word| {
        let case = matches!(word, "case" | "default") && kind != StatementKind::Switch;
        case || function.labels.iter().any(|label| label == word)
    });
    // A local label, or a splice that hides the end of a line, is rare enough to be let alone.
    let odd = text.contains("__label__") || text.contains("\\\n");
    if !whole || directive || entered || odd {
        return None;
    }
    Some(Made {
        text: format!(";{}", "\n".repeat(text.matches('\n').count())),
        removed: Some(site.point.span.clone()),
        predicates: Vec::new(),
    })
}

/// Brackets in pairs: the range is a whole statement. Brackets in strings only make this say no.
fn is_balanced(text: &str) -> bool {
    let mut open = Vec::new();
    for c in text.chars() {
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(c) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

#[cfg(test)]
mod tests {
    use super::is_balanced;

    #[test]
    fn half_a_statement_is_not_balanced() {
        assert!(is_balanced("if (a[1]) { f(); }"));
        assert!(!is_balanced("if (a) { f();"));
        assert!(!is_balanced("f(a[)];"));
    }
}
