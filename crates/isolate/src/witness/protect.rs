//! What must not be mutated: the code that decides whether the program passes.
//!
//! A mutant whose check no longer looks passes for the wrong reason (paper 003, §4.1: "fake passing").
//! So statements that print, abort or exit stay, with the conditions on which they do, and so does what
//! `main` returns.

use std::ops::Range;

use super::tokens::Token;

/// Functions through which a program tells what it computed.
const TELLING: [&str; 24] = [
    "abort",
    "__builtin_abort",
    "exit",
    "_exit",
    "__builtin_exit",
    "__builtin_trap",
    "assert",
    "__assert_fail",
    "printf",
    "__builtin_printf",
    "fprintf",
    "sprintf",
    "snprintf",
    "vprintf",
    "puts",
    "__builtin_puts",
    "putchar",
    "__builtin_putchar",
    "fputs",
    "fputc",
    "putc",
    "write",
    "transparent_crc",
    "platform_main_end",
];

/// The protected parts of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    spans: Vec<Range<usize>>,
}

impl Protected {
    /// Nothing is protected: for crashes of the compiler the program is never run.
    pub fn nothing() -> Self {
        Protected::default()
    }

    /// Finds the code that tells.
    pub fn of(tokens: &[Token<'_>]) -> Self {
        let mut spans = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let tells = token.is_name() && TELLING.contains(&token.text);
            if tells || token.is("return") && is_in_main(tokens, at) {
                spans.extend(statement(tokens, at));
            }
        }
        spans.sort_by_key(|span| (span.start, span.end));
        Protected { spans }
    }

    /// Whether a place is protected.
    pub fn contains(&self, at: usize) -> bool {
        self.spans.iter().any(|span| span.contains(&at))
    }
}

/// The statement around a token, with the condition of an `if` whose block begins with it.
fn statement(tokens: &[Token<'_>], at: usize) -> Option<Range<usize>> {
    let ends = |token: &Token<'_>| token.is(";") || token.is("{") || token.is("}");
    let mut first = at;
    while first > 0 && !tokens.get(first - 1).is_some_and(ends) {
        first -= 1;
    }
    if first >= 2 && tokens.get(first - 1)?.is("{") && tokens.get(first - 2)?.is(")") {
        first = opening(tokens, first - 2).unwrap_or(first);
    }
    let last =
        (at..tokens.len()).find(|index| tokens.get(*index).is_some_and(|token| token.is(";")));
    let last = last.unwrap_or(tokens.len() - 1);
    Some(tokens.get(first)?.span.start..tokens.get(last)?.span.end)
}

/// Where the bracket that closes at `at` opens.
fn opening(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for index in (0..=at).rev() {
        let token = tokens.get(index)?;
        depth += usize::from(token.is(")"));
        if token.is("(") {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

/// Whether the function around a token is `main`: the last name before an opened outermost brace.
fn is_in_main(tokens: &[Token<'_>], at: usize) -> bool {
    let mut depth = 0usize;
    let mut inside = false;
    let mut brackets = 0usize;
    let mut candidate = "";
    for token in tokens.iter().take(at) {
        match token.text {
            "{" => {
                if depth == 0 {
                    inside = candidate == "main";
                }
                depth += 1;
            }
            "}" => depth = depth.saturating_sub(1),
            "(" => brackets += 1,
            ")" => brackets = brackets.saturating_sub(1),
            name if depth == 0 && brackets == 0 && token.is_name() => candidate = name,
            _ => {}
        }
    }
    depth > 0 && inside
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    const PROGRAM: &str = "int a, b; int f(int x) { if (x > 3) return 1; return x + 2; }\n\
        int main(void) { b = f(a); if (b != 2) __builtin_abort(); if (a == 7) { printf(\"%d\", a); b = 9; } return b - 2; }";

    fn is_protected(what: &str) -> bool {
        let at = PROGRAM.find(what).unwrap();
        Protected::of(&tokens(PROGRAM)).contains(at)
    }

    #[test]
    fn what_tells_is_protected_with_its_condition() {
        for what in ["b != 2", "abort", "printf", "a == 7", "return b - 2"] {
            assert!(is_protected(what), "{what}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for what in ["int a", "x > 3", "return x + 2", "b = f(a)", "b = 9"] {
            assert!(!is_protected(what), "{what}");
        }
        assert!(!Protected::nothing().contains(0));
    }
}
