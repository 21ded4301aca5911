//! A statement is left out: the candidates that a reducer rejects because the bug is gone are witnesses,
//! and near ones.

use std::ops::Range;

use super::super::tokens::Token;
use super::{Edit, Subject};

/// Simple statements inside functions, each with its semicolon.
pub(super) fn statements(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut depth, mut brackets) = (0usize, 0usize);
    let mut first: Option<usize> = None;
    for token in tokens {
        match token.text {
            "{" | "}" => {
                depth = match token.text {
                    "{" => depth + 1,
                    _ => depth.saturating_sub(1),
                };
                first = None;
                brackets = 0;
                continue;
            }
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        let begin = *first.get_or_insert(token.span.start);
        if token.is(";") && brackets == 0 {
            if depth > 0 {
                found.push(begin..token.span.end);
            }
            first = None;
        }
    }
    found
}

pub(super) fn edits(subject: &Subject<'_>) -> Vec<Edit> {
    let empty = |span: &Range<usize>| Edit {
        span: span.clone(),
        text: String::new(),
    };
    subject.statements.iter().map(empty).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_brackets() {
        let text = "int a; void f(void) { for (i = 0; i < 3; i++) x += i; y = 1; }";
        let tokens = super::super::super::tokens::tokens(text);
        let found: Vec<&str> = statements(&tokens)
            .into_iter()
            .map(|span| &text[span])
            .collect();
        assert_eq!(found, ["for (i = 0; i < 3; i++) x += i;", "y = 1;"]);
    }
}
