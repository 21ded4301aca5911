//! Binary operators become others of their category, unary ones become others or go (paper 003, Table 1,
//! second row). Bitwise operators are a category of their own here; the paper names arithmetic, relational
//! and logical ones as examples.

use super::super::tokens::{Kind, Token};
use super::{Edit, Rule, Subject};

const ARITHMETIC: [&str; 5] = ["+", "-", "*", "/", "%"];
const RELATIONAL: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];
const BITWISE: [&str; 5] = ["&", "|", "^", "<<", ">>"];
const LOGICAL: [&str; 2] = ["&&", "||"];

/// A unary operator of the paper's list, and the two it leaves out (negation, complement).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Unary {
    PrefixIncrement,
    PostfixIncrement,
    PrefixDecrement,
    PostfixDecrement,
    Not,
    Negate,
    Complement,
}

const LISTED: [Unary; 5] = [
    Unary::PrefixIncrement,
    Unary::PostfixIncrement,
    Unary::PrefixDecrement,
    Unary::PostfixDecrement,
    Unary::Not,
];

impl Unary {
    fn token(self) -> &'static str {
        match self {
            Unary::PrefixIncrement | Unary::PostfixIncrement => "++",
            Unary::PrefixDecrement | Unary::PostfixDecrement => "--",
            Unary::Not => "!",
            Unary::Negate => "-",
            Unary::Complement => "~",
        }
    }

    fn is_postfix(self) -> bool {
        matches!(self, Unary::PostfixIncrement | Unary::PostfixDecrement)
    }

    fn applied(self, operand: &str) -> String {
        match self.is_postfix() {
            true => format!("{operand}{}", self.token()),
            false => format!("{}{operand}", self.token()),
        }
    }
}

impl std::fmt::Display for Unary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.applied("x"))
    }
}

pub(super) fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for category in [&ARITHMETIC[..], &RELATIONAL, &BITWISE, &LOGICAL] {
        for from in category {
            let others = category.iter().filter(|to| *to != from);
            rules.extend(others.map(|to| Rule::ReplaceBinary(from, to)));
        }
    }
    for from in LISTED {
        let others = LISTED.into_iter().filter(|to| *to != from);
        rules.extend(others.map(|to| Rule::ReplaceUnary(from, to)));
        rules.push(Rule::RemoveUnary(from));
    }
    let ours = [Unary::Negate, Unary::Complement];
    rules.extend([
        Rule::ReplaceUnary(ours[0], ours[1]),
        Rule::ReplaceUnary(ours[1], ours[0]),
    ]);
    rules.extend(ours.map(Rule::RemoveUnary));
    rules.push(Rule::ReplaceUnary(Unary::Complement, Unary::Not));
    rules.push(Rule::ReplaceUnary(Unary::Not, Unary::Complement));
    rules.push(Rule::ReplaceUnary(Unary::Negate, Unary::Not));
    rules.push(Rule::ReplaceUnary(Unary::Not, Unary::Negate));
    rules.extend([
        Rule::ReplaceBinary("&", "&&"),
        Rule::ReplaceBinary("|", "||"),
    ]);
    rules
}

pub(super) fn examples() -> Vec<(Rule, String, String)> {
    let example = |rule: Rule| match rule {
        Rule::ReplaceBinary(from, to) => {
            (rule, format!("x = a {from} b;"), format!("x = a {to} b;"))
        }
        Rule::ReplaceUnary(from, to) => (
            rule,
            format!("x = {};", from.applied("a[1]")),
            format!("x = {};", to.applied("a[1]")),
        ),
        Rule::RemoveUnary(operator) => (
            rule,
            format!("x = {};", operator.applied("a")),
            "x = a;".to_owned(),
        ),
        _ => (rule, String::new(), String::new()),
    };
    rules().into_iter().map(example).collect()
}

pub(super) fn edits(rule: Rule, subject: &Subject<'_>) -> Vec<Edit> {
    let tokens = &subject.tokens;
    let mut edits = Vec::new();
    for (at, token) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.kind == Kind::Punctuator)
    {
        let behind_operand = at > 0 && tokens.get(at - 1).is_some_and(Token::ends_operand);
        match rule {
            Rule::ReplaceBinary(from, to) if token.is(from) && behind_operand => edits.push(Edit {
                span: token.span.clone(),
                text: to.to_owned(),
            }),
            Rule::ReplaceUnary(from, to) => {
                let Some((span, operand)) = applied_at(from, subject, at, behind_operand) else {
                    continue;
                };
                edits.push(Edit {
                    span,
                    text: to.applied(operand),
                });
            }
            Rule::RemoveUnary(operator) => {
                let Some((span, operand)) = applied_at(operator, subject, at, behind_operand)
                else {
                    continue;
                };
                edits.push(Edit {
                    span,
                    text: operand.to_owned(),
                });
            }
            _ => {}
        }
    }
    edits
}

/// The operator at a token with its operand: a name with what is behind it (`a[1].x`), or a bracket.
fn applied_at<'t>(
    operator: Unary,
    subject: &Subject<'t>,
    at: usize,
    behind_operand: bool,
) -> Option<(std::ops::Range<usize>, &'t str)> {
    let tokens = &subject.tokens;
    let token = tokens.get(at).filter(|token| token.is(operator.token()))?;
    if operator.is_postfix() {
        let first = behind_operand.then(|| operand_before(tokens, at))??;
        let operand = subject
            .text
            .get(tokens.get(first)?.span.start..token.span.start)?;
        return Some((
            tokens.get(first)?.span.start..token.span.end,
            operand.trim_end(),
        ));
    }
    if behind_operand {
        return None;
    }
    let last = operand_after(tokens, at + 1)?;
    let operand = subject
        .text
        .get(token.span.end..tokens.get(last)?.span.end)?;
    Some((
        token.span.start..tokens.get(last)?.span.end,
        operand.trim_start(),
    ))
}

/// The last token of the operand that begins at `from`.
fn operand_after(tokens: &[Token<'_>], from: usize) -> Option<usize> {
    let first = tokens.get(from)?;
    let mut last = match first.kind {
        Kind::Word if first.is_name() => from,
        Kind::Number => return Some(from),
        _ if first.is("(") => closing(tokens, from)?,
        _ => return None,
    };
    while let Some(next) = tokens.get(last + 1) {
        last = match next.text {
            "(" | "[" => closing(tokens, last + 1)?,
            "." | "->" => last + 2,
            _ => break,
        };
    }
    (last < tokens.len()).then_some(last)
}

/// The first token of the operand that ends just before `at`.
fn operand_before(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut first = at.checked_sub(1)?;
    loop {
        let token = tokens.get(first)?;
        if token.is("]") || token.is(")") {
            first = opening(tokens, first)?;
            let before = first.checked_sub(1)?;
            if !tokens.get(before)?.ends_operand() {
                return Some(first);
            }
            first = before;
            continue;
        }
        let linked = first >= 2
            && tokens
                .get(first - 1)
                .is_some_and(|one| one.is(".") || one.is("->"));
        if !linked {
            return Some(first);
        }
        first -= 2;
    }
}

fn closing(tokens: &[Token<'_>], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        if token.is("(") || token.is("[") {
            depth += 1;
        } else if token.is(")") || token.is("]") {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

fn opening(tokens: &[Token<'_>], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for at in (0..=from).rev() {
        let token = tokens.get(at)?;
        if token.is(")") || token.is("]") {
            depth += 1;
        } else if token.is("(") || token.is("[") {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(rule: Rule, text: &str) -> Vec<String> {
        let subject = Subject::new(text, false);
        rule.edits(&subject)
            .iter()
            .map(|edit| subject.edited(edit))
            .collect()
    }

    #[test]
    fn unary_and_binary_uses_of_one_sign_are_told_apart() {
        assert_eq!(
            made(Rule::ReplaceBinary("-", "+"), "x = a - -b;"),
            ["x = a + -b;"]
        );
        assert_eq!(
            made(Rule::RemoveUnary(Unary::Negate), "x = a - -b;"),
            ["x = a - b;"]
        );
        assert_eq!(
            made(Rule::ReplaceBinary("&", "|"), "x = &y & z;"),
            ["x = &y | z;"]
        );
    }

    #[test]
    fn operands_are_taken_whole() {
        assert_eq!(
            made(
                Rule::ReplaceUnary(Unary::PostfixIncrement, Unary::PrefixDecrement),
                "p->a[i + 1].b++;"
            ),
            ["--p->a[i + 1].b;"]
        );
        assert_eq!(
            made(
                Rule::ReplaceUnary(Unary::Not, Unary::PostfixIncrement),
                "if (!f(x)) {}"
            ),
            ["if (f(x)++) {}"]
        );
        assert_eq!(
            made(Rule::RemoveUnary(Unary::Not), "if (!(a < b)) {}"),
            ["if ((a < b)) {}"]
        );
    }
}
