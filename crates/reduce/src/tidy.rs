//! Commas that deletions leave behind. With them gone, any subset of a list can be deleted.

use crate::token::{TokenKind, tokens};

/// `text` without commas that separate nothing.
pub fn tidy(text: &str) -> String {
    let tokens = tokens(text);
    let word = |index: usize| -> &str {
        tokens
            .get(index)
            .and_then(|token| text.get(token.range.clone()))
            .unwrap_or_default()
    };
    // the next token that is not a comma too
    let behind = |index: usize| -> &str {
        let mut next = index + 1;
        while word(next) == "," {
            next += 1;
        }
        word(next)
    };
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    // the last token that stays
    let mut before = "";
    let mut parens = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        let this = word(index);
        match this {
            "(" => parens += 1,
            ")" => parens = parens.saturating_sub(1),
            _ => {}
        }
        let superfluous = token.kind == TokenKind::Punctuator
            && this == ","
            && (matches!(before, "(" | "," | "{" | "[" | ";")
                || (parens == 0 && is_specifier(before))
                || matches!(behind(index), ")" | ";" | "}" | ""));
        if superfluous {
            out.push_str(text.get(done..token.range.start).unwrap_or_default());
            done = token.range.end;
        } else {
            before = this;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Words after which a declarator stands, never a comma.
fn is_specifier(word: &str) -> bool {
    matches!(
        word,
        "int"
            | "char"
            | "short"
            | "long"
            | "unsigned"
            | "signed"
            | "float"
            | "double"
            | "const"
            | "volatile"
            | "static"
            | "return"
    )
}

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn commas_that_separate_nothing_go() {
        for (text, expected) in [
            ("f(, a, , b, )", "f( a,  b )"),
            ("int , x, ;", "int  x ;"),
            ("int x, , , ;", "int x   ;"),
            ("g = { , 1, };", "g = {  1 };"),
            ("f(a, b)", "f(a, b)"),
            (
                "int f(int, char, { { 1 }, { 2 } });",
                "int f(int, char, { { 1 }, { 2 } });",
            ),
            ("s = \",\";", "s = \",\";"),
        ] {
            assert_eq!(tidy(text), expected);
        }
    }
}
