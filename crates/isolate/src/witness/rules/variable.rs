//! Qualifiers, modifiers, and which variable is named (paper 003, Table 1, first row).

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::tokens::Token;
use super::{Edit, Rule, Subject};

const QUALIFIERS: [&str; 3] = ["volatile", "const", "restrict"];
const MODIFIERS: [&str; 4] = ["long", "short", "signed", "unsigned"];
const TYPES: [&str; 10] = [
    "int", "char", "float", "double", "long", "short", "signed", "unsigned", "void", "_Bool",
];

pub(super) fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for qualifier in QUALIFIERS {
        rules.extend([
            Rule::InsertQualifier(qualifier),
            Rule::RemoveQualifier(qualifier),
        ]);
    }
    for modifier in MODIFIERS {
        rules.extend([
            Rule::InsertModifier(modifier),
            Rule::RemoveModifier(modifier),
        ]);
        let others = MODIFIERS.into_iter().filter(|other| *other != modifier);
        rules.extend(others.map(|other| Rule::ReplaceModifier(modifier, other)));
    }
    rules.push(Rule::ReplaceVariable);
    rules
}

pub(super) fn examples() -> Vec<(Rule, String, String)> {
    rules()
        .into_iter()
        .map(|rule| {
            let (before, after) = match rule {
                Rule::InsertQualifier("restrict") => ("int *p;".into(), "int *restrict p;".into()),
                Rule::InsertQualifier(word) | Rule::InsertModifier(word) => {
                    ("int x;".into(), format!("{word} int x;"))
                }
                Rule::RemoveQualifier(word) => (format!("int * {word} p;"), "int *  p;".into()),
                Rule::RemoveModifier(word) => (format!("{word} int x;"), " int x;".into()),
                Rule::ReplaceModifier(from, to) => (format!("{from} x;"), format!("{to} x;")),
                _ => (
                    "int a, b; int f(void) { return a; }".into(),
                    "int a, b; int f(void) { return b; }".into(),
                ),
            };
            (rule, before, after)
        })
        .collect()
}

pub(super) fn edits(rule: Rule, subject: &Subject<'_>) -> Vec<Edit> {
    let tokens = &subject.tokens;
    let whole = |token: &Token<'_>, text: &str| Edit {
        span: token.span.clone(),
        text: text.to_owned(),
    };
    let before = |token: &Token<'_>, text: &str| Edit {
        span: token.span.start..token.span.start,
        text: format!("{text} "),
    };
    let words = |wanted: &'static str| tokens.iter().filter(move |token| token.is(wanted));
    match rule {
        Rule::InsertQualifier("restrict") => after_stars(tokens)
            .map(|token| inserted(token, "restrict"))
            .collect(),
        Rule::InsertQualifier(word) => {
            let types = specifier_starts(tokens).map(|token| before(token, word));
            types
                .chain(after_stars(tokens).map(|token| inserted(token, word)))
                .collect()
        }
        Rule::InsertModifier(word) => {
            let takes = |token: &&Token<'_>| {
                ["int", "char", "double", "long", "short"].contains(&token.text)
            };
            specifier_starts(tokens)
                .filter(takes)
                .map(|token| before(token, word))
                .collect()
        }
        Rule::RemoveQualifier(word) => words(word).map(|token| whole(token, "")).collect(),
        Rule::RemoveModifier(word) => {
            let with_type = |at: usize| {
                let other = |token: &Token<'_>| TYPES.contains(&token.text);
                let next = tokens.get(at + 1).is_some_and(other);
                next || at > 0 && tokens.get(at - 1).is_some_and(other)
            };
            let each = tokens
                .iter()
                .enumerate()
                .filter(|(_, token)| token.is(word));
            each.map(|(at, token)| whole(token, if with_type(at) { "" } else { "int" }))
                .collect()
        }
        Rule::ReplaceModifier(from, to) => words(from).map(|token| whole(token, to)).collect(),
        Rule::ReplaceVariable => replaced(subject),
        _ => Vec::new(),
    }
}

fn inserted(star: &Token<'_>, word: &str) -> Edit {
    Edit {
        span: star.span.end..star.span.end,
        text: format!("{word} "),
    }
}

/// The first words of types: `int` of `int x`, `unsigned` of `unsigned long x`, `struct` of `struct s x`.
fn specifier_starts<'t>(tokens: &'t [Token<'t>]) -> impl Iterator<Item = &'t Token<'t>> {
    let is_type = |token: &Token<'_>| {
        TYPES.contains(&token.text) || ["struct", "union"].contains(&token.text)
    };
    tokens.iter().enumerate().filter_map(move |(at, token)| {
        let first = at == 0 || !tokens.get(at - 1).is_some_and(is_type);
        (first && is_type(token)).then_some(token)
    })
}

/// The stars of declarators: behind a type or another star, before a name.
fn after_stars<'t>(tokens: &'t [Token<'t>]) -> impl Iterator<Item = &'t Token<'t>> {
    tokens.iter().enumerate().filter_map(move |(at, token)| {
        let typed =
            |token: &Token<'_>| TYPES.contains(&token.text) || token.is("*") || token.is_name();
        let declares = at > 0
            && tokens.get(at - 1).is_some_and(typed)
            && tokens.get(at + 1).is_some_and(Token::is_name);
        // `a * b` looks alike and is refused by the compiler.
        (token.is("*") && declares).then_some(token)
    })
}

/// The variables of a text, each with where it can be named: from its declaration to the end of the
/// block around it. Names behind a type, or behind a comma in a declaration.
pub(super) fn declared(tokens: &[Token<'_>], end: usize) -> Vec<(String, Range<usize>)> {
    let mut open: Vec<Vec<(String, usize)>> = vec![Vec::new()];
    let mut found = Vec::new();
    let mut declares = false;
    let mut brackets = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => {
                open.push(Vec::new());
                declares = false;
            }
            "}" => {
                if open.len() > 1 {
                    let closed = open.pop().unwrap_or_default();
                    found.extend(
                        closed
                            .into_iter()
                            .map(|(name, start)| (name, start..token.span.start)),
                    );
                }
                declares = false;
            }
            ";" => {
                declares = false;
                brackets = 0;
            }
            "(" => brackets += 1,
            ")" => brackets = brackets.saturating_sub(1),
            text if TYPES.contains(&text) => declares = true,
            _ => {}
        }
        let previous = at.checked_sub(1).and_then(|before| tokens.get(before));
        let behind = previous
            .is_some_and(|token| TYPES.contains(&token.text) || token.is("*") || token.is(","));
        let called = tokens.get(at + 1).is_some_and(|next| next.is("("));
        if declares && behind && token.is_name() && !called {
            // Parameters are named outside the block they belong to; the whole text stands for it, and
            // the compiler refuses what is out of scope.
            let scope = match brackets {
                0 => open.last_mut(),
                _ => open.first_mut(),
            };
            if let Some(scope) = scope {
                scope.push((token.text.to_owned(), token.span.end));
            }
        }
    }
    for scope in open {
        found.extend(scope.into_iter().map(|(name, start)| (name, start..end)));
    }
    found.sort_by(|a, b| (a.1.start, &a.0).cmp(&(b.1.start, &b.0)));
    found
}

fn replaced(subject: &Subject<'_>) -> Vec<Edit> {
    let mut names: BTreeMap<&str, ()> = BTreeMap::new();
    for (name, _) in &subject.variables {
        names.insert(name, ());
    }
    let mut edits = Vec::new();
    for (at, token) in subject.tokens.iter().enumerate() {
        let declared = |(_, scope): &(String, Range<usize>)| scope.start == token.span.end;
        let member = at > 0
            && subject
                .tokens
                .get(at - 1)
                .is_some_and(|one| one.is(".") || one.is("->"));
        if !token.is_name()
            || member
            || !names.contains_key(token.text)
            || subject.variables.iter().any(declared)
        {
            continue;
        }
        let others = subject
            .variables
            .iter()
            .filter(|(name, scope)| name != token.text && scope.contains(&token.span.start));
        edits.extend(others.map(|(name, _)| Edit {
            span: token.span.clone(),
            text: name.clone(),
        }));
    }
    edits.dedup();
    edits
}
