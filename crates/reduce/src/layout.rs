//! One layout for every candidate: one statement a line, two blanks an indent, no comments.
//!
//! Debug information knows lines, so what is tested must be what is written at the end. And two
//! candidates that differ in blanks only are one candidate.

use crate::token::{Token, TokenKind, tokens};

/// Declarations in braces are kept on one line up to this width.
const WIDTH: usize = 88;

/// `text` in the one layout. Depends on the tokens only, so doing it twice changes nothing.
pub fn layout(text: &str) -> String {
    let tokens = tokens(text);
    let mut writer = Writer {
        text,
        tokens: &tokens,
        out: String::with_capacity(text.len()),
        indent: 0,
        braces: Vec::new(),
        parens: 0,
        start: true,
        initialiser: false,
        inline_until: 0,
        ternary: 0,
    };
    for index in 0..tokens.len() {
        writer.token(index);
    }
    writer.line();
    writer.out
}

/// What an open brace holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brace {
    Block { of_do: bool },
    List,
}

struct Writer<'a> {
    text: &'a str,
    tokens: &'a [Token],
    out: String,
    indent: usize,
    braces: Vec<Brace>,
    parens: usize,
    /// At the start of a statement or declaration.
    start: bool,
    /// Behind a `=` or `return` of this statement: braces hold lists.
    initialiser: bool,
    /// Tokens up to here stay on one line.
    inline_until: usize,
    /// Open `?` of this statement.
    ternary: usize,
}

impl<'a> Writer<'a> {
    fn word(&self, index: usize) -> &'a str {
        self.tokens
            .get(index)
            .and_then(|token| self.text.get(token.range.clone()))
            .unwrap_or_default()
    }

    fn line(&mut self) {
        while self.out.ends_with(' ') {
            self.out.pop();
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn put(&mut self, index: usize, word: &str) {
        if self.out.is_empty() || self.out.ends_with('\n') {
            self.out.extend(std::iter::repeat_n("  ", self.indent));
        } else if self.spaced(index) {
            self.out.push(' ');
        }
        self.out.push_str(word);
    }

    fn token(&mut self, index: usize) {
        let Some(token) = self.tokens.get(index) else {
            return;
        };
        let word = self.word(index);
        if token.kind == TokenKind::Directive {
            self.line();
            self.out.push_str(word.trim_end());
            self.line();
            self.start = true;
            return;
        }
        let inline = index < self.inline_until;
        match word {
            "{" if inline => self.put(index, word),
            "{" => self.open(index),
            "}" if inline => self.put(index, word),
            "}" => self.close(index),
            ";" => {
                self.put(index, word);
                if self.parens == 0 && !inline {
                    self.end_statement();
                }
                return;
            }
            ":" if self.ternary == 0 && self.parens == 0 && !inline && self.is_label(index) => {
                self.put(index, word);
                self.line();
                self.start = true;
                return;
            }
            _ => {
                match word {
                    "(" | "[" => self.parens += 1,
                    ")" | "]" => self.parens = self.parens.saturating_sub(1),
                    "?" => self.ternary += 1,
                    // not the `=` in the head of a loop: a block follows that
                    "=" | "return" if self.parens == 0 => self.initialiser = true,
                    _ => {}
                }
                self.put(index, word);
                if word == ":" {
                    self.ternary = self.ternary.saturating_sub(1);
                }
            }
        }
        if !matches!(word, "{" | "}") {
            self.start = false;
        }
    }

    fn end_statement(&mut self) {
        self.line();
        self.start = true;
        self.initialiser = false;
        self.ternary = 0;
    }

    fn open(&mut self, index: usize) {
        let before = index.checked_sub(1).map(|i| self.word(i)).unwrap_or("");
        let list = self.braces.last() == Some(&Brace::List)
            || (!self.start && (self.initialiser || (self.parens > 0 && before != ")")));
        if list && !(before == "(" && self.parens > 0) {
            self.braces.push(Brace::List);
            self.put(index, "{");
            return;
        }
        if self.holds_fields(index)
            && let Some(end) = self.closing(index)
            && self.width(index, end) <= WIDTH
        {
            self.inline_until = end + 1;
            self.put(index, "{");
            return;
        }
        self.put(index, "{");
        self.braces.push(Brace::Block {
            of_do: before == "do",
        });
        self.indent += 1;
        self.line();
        self.start = true;
        self.initialiser = false;
    }

    fn close(&mut self, index: usize) {
        let brace = self.braces.pop();
        if brace == Some(Brace::List) {
            self.put(index, "}");
            return;
        }
        self.indent = self.indent.saturating_sub(1);
        self.line();
        self.put(index, "}");
        self.start = true;
        self.initialiser = false;
        let next = self.word(index + 1);
        let of_do = brace == Some(Brace::Block { of_do: true });
        let stays = matches!(next, "else" | ";" | "," | ")") || (of_do && next == "while");
        let declares = self.indent == 0 && self.declares_behind(index);
        if stays || declares {
            self.start = false;
        } else {
            self.line();
        }
    }

    /// Whether the `}` at `index` ends a struct, union or enum that a declarator follows.
    fn declares_behind(&self, index: usize) -> bool {
        let mut depth = 0;
        for i in (0..=index).rev() {
            match self.word(i) {
                "}" => depth += 1,
                "{" => {
                    depth -= 1;
                    if depth == 0 {
                        return self.holds_fields(i);
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Whether the `{` at `index` opens a struct, union or enum.
    fn holds_fields(&self, index: usize) -> bool {
        let is_tag = |word: &str| matches!(word, "struct" | "union" | "enum");
        let back = |n: usize| index.checked_sub(n).map(|i| self.word(i));
        back(1).is_some_and(is_tag) || back(2).is_some_and(is_tag)
    }

    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        for index in open..self.tokens.len() {
            match self.word(index) {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(index);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn width(&self, from: usize, to: usize) -> usize {
        (from..=to).map(|index| self.word(index).len() + 1).sum()
    }

    /// Whether the `:` at `index` ends `case X`, `default` or a label.
    fn is_label(&self, index: usize) -> bool {
        let mut at = index;
        while let Some(before) = at.checked_sub(1) {
            match self.word(before) {
                "case" | "default" => return true,
                ";" | "{" | "}" | ":" => break,
                _ => at = before,
            }
        }
        at + 1 == index && !self.in_fields()
    }

    /// Whether the innermost open brace holds fields, where `:` means a bit-field.
    fn in_fields(&self) -> bool {
        self.indent == 0
    }

    /// Whether a blank belongs before the token at `index`.
    fn spaced(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else {
            return false;
        };
        let (left, right) = (self.word(before), self.word(index));
        let kind = |i: usize| self.tokens.get(i).map(|token| token.kind);
        let wordy = |i| {
            matches!(
                kind(i),
                Some(TokenKind::Word | TokenKind::Number | TokenKind::Quoted)
            )
        };
        match (left, right) {
            ("(" | "[" | "." | "->" | "!" | "~", _) => false,
            (_, ")" | "]" | "," | ";" | "." | "->") => false,
            (_, "[") => false,
            (_, "(") => {
                matches!(
                    left,
                    "if" | "for" | "while" | "switch" | "return" | "=" | ","
                ) || !(wordy(before)
                    || matches!(left, ")" | "]")
                    || (left == "*" && self.unary(before)))
            }
            (_, "++" | "--") if wordy(before) || matches!(left, ")" | "]") => false,
            ("++" | "--", _) => !wordy(index) && right != "(" && right != "*",
            ("-" | "+" | "*" | "&", _) if self.unary(before) => left == right,
            (_, ":") => self.ternary > 0,
            _ => true,
        }
    }

    /// Whether the operator at `index` stands before its only operand (or is a declarator's `*`).
    fn unary(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else {
            return true;
        };
        let left = self.word(before);
        match self.tokens.get(before).map(|token| token.kind) {
            Some(TokenKind::Number | TokenKind::Quoted) => false,
            Some(TokenKind::Word) => {
                left == "return" || left == "case" || (self.word(index) == "*" && is_type(left))
            }
            _ => !matches!(left, ")" | "]") || self.word(before) == "*",
        }
    }
}

/// Words that a declarator's `*` may follow.
fn is_type(word: &str) -> bool {
    matches!(
        word,
        "int"
            | "char"
            | "short"
            | "long"
            | "unsigned"
            | "signed"
            | "void"
            | "float"
            | "double"
            | "const"
            | "volatile"
            | "_Bool"
            | "FILE"
    ) || word.ends_with("_t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_statement_a_line() {
        let text = "struct S{int a;int b:3;};static int a [3]={1,-2,3} , *p=&a[0];int f(int x,char*q)\
                    {if(x){for(int i=0;i<3;i++)a[i]=-x*2;}else{do{x--;}while(x>0);}l:switch(x){case 1:break;\
                    default:;}return x?a[0]:(*q)+1;}";
        let expected = "\
struct S { int a; int b: 3; };
static int a[3] = { 1, -2, 3 }, *p = &a[0];
int f(int x, char *q) {
  if (x) {
    for (int i = 0; i < 3; i++) a[i] = -x * 2;
  } else {
    do {
      x--;
    } while (x > 0);
  }
  l:
  switch (x) {
    case 1:
    break;
    default:
    ;
  }
  return x ? a[0] : (*q) + 1;
}
";
        assert_eq!(layout(text), expected);
        assert_eq!(layout(expected), expected);
    }

    #[test]
    fn directives_and_odd_text_survive() {
        let text = "#include <stdio.h>\n#define A \\\n 1\nint x=A;/* c */ // d\n";
        let expected = "#include <stdio.h>\n#define A \\\n 1\nint x = A;\n";
        assert_eq!(layout(text), expected);
        for odd in ["", "}}}", "{", "int x", ":", "? :", "a\u{e9} @ b"] {
            let once = layout(odd);
            assert_eq!(layout(&once), once, "{odd:?}");
        }
    }

    #[test]
    fn compound_literals_and_nested_lists_stay_inline() {
        let text = "struct S { int a; } s;\nint g[2][2] = { { 1, 2 }, { 3, 4 } };\nint main(void) {\n  s = (struct S) { 1 };\n  return 0;\n}\n";
        assert_eq!(layout(text), text);
    }
}
