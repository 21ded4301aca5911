//! C text as tokens: what sizes are counted in, and what layout is made from.

use std::ops::Range;

/// What a token is, as far as layout cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or keyword.
    Word,
    /// A number.
    Number,
    /// A string or character constant.
    Quoted,
    /// An operator or bracket.
    Punctuator,
    /// A whole preprocessor line, continuations included.
    Directive,
}

/// A token and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub range: Range<usize>,
}

/// Punctuators of more than one character, longest first.
const LONG: [&str; 23] = [
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "^=", "|=", "##",
];

/// The tokens of `text`; comments and blanks are passed over. Any text has tokens: what is not C
/// comes out as single characters.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut line_start = true;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let kind = match byte {
            b'\n' => {
                line_start = true;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => {
                at += 2;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = end_of_line(bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text
                    .get(at + 2..)
                    .and_then(|rest| rest.find("*/"))
                    .map_or(bytes.len(), |end| at + 2 + end + 2);
                continue;
            }
            b'#' if line_start => {
                at = end_of_line(bytes, at);
                TokenKind::Directive
            }
            b'"' | b'\'' => {
                at = end_of_quote(bytes, at);
                TokenKind::Quoted
            }
            b'0'..=b'9' => {
                at = end_of_number(bytes, at);
                TokenKind::Number
            }
            b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                at = end_of_number(bytes, at);
                TokenKind::Number
            }
            _ if is_word(byte) => {
                while bytes.get(at).copied().is_some_and(is_word) {
                    at += 1;
                }
                TokenKind::Word
            }
            _ => {
                let rest = &bytes[at..];
                let long = LONG.iter().find(|long| rest.starts_with(long.as_bytes()));
                at += long.map_or(1, |long| long.len());
                TokenKind::Punctuator
            }
        };
        line_start = false;
        let range = start..at.min(bytes.len());
        found.push(Token { kind, range });
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The end of a line with its continuations, the line break left out.
fn end_of_line(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => break,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn end_of_quote(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            _ if Some(&byte) == bytes.get(start) => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A preprocessing number: digits, letters, dots, and signs behind an exponent.
fn end_of_number(bytes: &[u8], mut at: usize) -> usize {
    let hexadecimal = matches!(bytes.get(at..at + 2), Some(b"0x" | b"0X"));
    while let Some(&byte) = bytes.get(at) {
        let before = bytes.get(at.wrapping_sub(1)).copied().unwrap_or(0);
        let exponent = match before {
            b'e' | b'E' => !hexadecimal,
            b'p' | b'P' => true,
            _ => false,
        };
        if !is_word(byte) && byte != b'.' && !(exponent && matches!(byte, b'+' | b'-')) {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text)
            .into_iter()
            .map(|token| &text[token.range])
            .collect()
    }

    #[test]
    fn c_is_cut_into_tokens() {
        assert_eq!(
            words("#define A(x) \\\n x\nint a=0x1e+1; // b\nx>>=1.5e-3f/* c */;s=\"a\\\"b\";"),
            [
                "#define A(x) \\\n x",
                "int",
                "a",
                "=",
                "0x1e",
                "+",
                "1",
                ";",
                "x",
                ">>=",
                "1.5e-3f",
                ";",
                "s",
                "=",
                "\"a\\\"b\"",
                ";"
            ]
        );
    }

    #[test]
    fn any_text_has_tokens() {
        for text in ["", "\"", "/*", "'\\", "#", "0x", "\u{e9}@`", "1e", "."] {
            let end = tokens(text).last().map_or(0, |token| token.range.end);
            assert!(end <= text.len(), "{text:?}");
        }
    }
}
