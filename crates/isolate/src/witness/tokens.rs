//! C text as tokens with their places: where a mutation can be made.
//!
//! Comments, preprocessor lines and the insides of strings are no tokens: nothing there is mutated.

use std::ops::Range;

/// What sort of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Word,
    /// A number.
    Number,
    /// A string or character.
    Quoted,
    /// An operator or bracket.
    Punctuator,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// Its sort.
    pub kind: Kind,
    /// Its text.
    pub text: &'t str,
    /// Where it is.
    pub span: Range<usize>,
}

const LONG: [&str; 24] = [
    "...", "<<=", ">>=", "++", "--", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", "::",
];

const KEYWORDS: [&str; 37] = [
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "_Bool",
    "__extension__",
    "__attribute__",
];

impl Token<'_> {
    /// Whether it is this punctuator or word.
    pub fn is(&self, text: &str) -> bool {
        self.text == text && self.kind != Kind::Quoted
    }

    /// Whether it is a name, not a keyword.
    pub fn is_name(&self) -> bool {
        self.kind == Kind::Word && !KEYWORDS.contains(&self.text)
    }

    /// Whether an operand can end with it: what follows is a binary or postfix operator.
    pub fn ends_operand(&self) -> bool {
        match self.kind {
            Kind::Number | Kind::Quoted => true,
            Kind::Word => self.is_name(),
            Kind::Punctuator => matches!(self.text, ")" | "]"),
        }
    }
}

/// The tokens of a text, in order. Text that is not C gives tokens too, just useless ones.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut found = Vec::new();
    let mut at = 0;
    let mut line_begins = true;
    while at < bytes.len() {
        let here = byte(at);
        if here == b'\n' {
            line_begins = true;
            at += 1;
        } else if here.is_ascii_whitespace() || here == b'\\' {
            at += 1;
        } else if here == b'#' && line_begins {
            at = end_of_directive(bytes, at);
        } else if here == b'/' && byte(at + 1) == b'/' {
            at = text[at..]
                .find('\n')
                .map_or(bytes.len(), |length| at + length);
        } else if here == b'/' && byte(at + 1) == b'*' {
            at = text[at + 2..]
                .find("*/")
                .map_or(bytes.len(), |length| at + length + 4);
        } else {
            line_begins = false;
            let (kind, end) = scan(text, at);
            found.push(Token {
                kind,
                text: text.get(at..end).unwrap_or_default(),
                span: at..end,
            });
            at = end.max(at + 1);
        }
    }
    found
}

fn end_of_directive(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len()
        && (bytes.get(at) != Some(&b'\n') || bytes.get(at.wrapping_sub(1)) == Some(&b'\\'))
    {
        at += 1;
    }
    at
}

fn scan(text: &str, at: usize) -> (Kind, usize) {
    let rest = text.get(at..).unwrap_or_default();
    let mut characters = rest.char_indices();
    let Some((_, first)) = characters.next() else {
        return (Kind::Punctuator, at + 1);
    };
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let length = |more: &dyn Fn(char) -> bool| rest.find(|c| !more(c)).unwrap_or(rest.len());
    let second = characters.next().map(|(_, c)| c);
    if first.is_ascii_digit() || first == '.' && second.is_some_and(|c| c.is_ascii_digit()) {
        let mut end = 0;
        let mut last = ' ';
        for (offset, c) in rest.char_indices() {
            let exponent = matches!(last, 'e' | 'E' | 'p' | 'P') && !rest.starts_with("0x");
            if !(word(c) || c == '.' || exponent && (c == '+' || c == '-')) {
                break;
            }
            last = c;
            end = offset + c.len_utf8();
        }
        return (Kind::Number, at + end);
    }
    if word(first) {
        return (Kind::Word, at + length(&word));
    }
    if first == '"' || first == '\'' {
        let mut escaped = false;
        for (offset, c) in rest.char_indices().skip(1) {
            match c {
                '\n' => return (Kind::Quoted, at + offset),
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == first => return (Kind::Quoted, at + offset + 1),
                _ => {}
            }
        }
        return (Kind::Quoted, text.len());
    }
    let long = LONG.iter().find(|long| rest.starts_with(*long));
    (
        Kind::Punctuator,
        at + long.map_or(first.len_utf8(), |long| long.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn c_is_cut_into_tokens() {
        assert_eq!(
            texts("x <<= 0x1eU+y--; /* + */ // -\ns = \"a\\\"b\" 'c' 1e-3f ..."),
            [
                "x",
                "<<=",
                "0x1eU",
                "+",
                "y",
                "--",
                ";",
                "s",
                "=",
                "\"a\\\"b\"",
                "'c'",
                "1e-3f",
                "..."
            ]
        );
    }

    #[test]
    fn directives_are_left_out_with_their_continuations() {
        assert_eq!(
            texts("#define A 1 + \\\n 2\nint x;\n  #if 0\n#endif"),
            ["int", "x", ";"]
        );
        assert_eq!(texts("#"), [""; 0]);
    }

    #[test]
    fn any_bytes_come_to_an_end() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..300 {
            let text: String = (0..random.usize(0..60)).map(|_| random.char(..)).collect();
            let found = tokens(&text);
            assert!(
                found
                    .iter()
                    .all(|token| text.get(token.span.clone()) == Some(token.text)),
                "{text:?}"
            );
        }
    }
}
