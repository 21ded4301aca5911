//! Integer constants become their neighbours, their negative, or nothing (paper 003, Table 1, third row; the
//! signs of its four operations are lost in our copy).

use super::super::tokens::Kind;
use super::{Edit, Rule, Subject};

/// What becomes of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Change {
    Increment,
    Decrement,
    Negate,
    Zero,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Change::Increment => "+ 1",
            Change::Decrement => "- 1",
            Change::Negate => "negated",
            Change::Zero => "to 0",
        })
    }
}

pub(super) fn rules() -> Vec<Rule> {
    let changes = [
        Change::Increment,
        Change::Decrement,
        Change::Negate,
        Change::Zero,
    ];
    changes.into_iter().map(Rule::ChangeConstant).collect()
}

pub(super) fn examples() -> Vec<(Rule, String, String)> {
    let after = |rule| match rule {
        Rule::ChangeConstant(Change::Increment) => "x = 0x11u;",
        Rule::ChangeConstant(Change::Decrement) => "x = 0xfu;",
        Rule::ChangeConstant(Change::Negate) => "x = (-0x10u);",
        _ => "x = 0x0u;",
    };
    let example = |rule| (rule, "x = 0x10u;".to_owned(), after(rule).to_owned());
    rules().into_iter().map(example).collect()
}

pub(super) fn edits(rule: Rule, subject: &Subject<'_>) -> Vec<Edit> {
    let Rule::ChangeConstant(change) = rule else {
        return Vec::new();
    };
    let numbers = subject
        .tokens
        .iter()
        .filter(|token| token.kind == Kind::Number);
    let edit = |token: &super::Token<'_>| {
        Some(Edit {
            span: token.span.clone(),
            text: changed(token.text, change)?,
        })
    };
    numbers.filter_map(edit).collect()
}

/// The constant changed, in its own base and with its suffix; `None` for what is no integer, and where
/// nothing would change.
fn changed(text: &str, change: Change) -> Option<String> {
    let digits_end = text.trim_end_matches(['u', 'U', 'l', 'L']).len();
    let (number, suffix) = (text.get(..digits_end)?, text.get(digits_end..)?);
    let lower = number.to_ascii_lowercase();
    let (prefix, radix, digits) = match lower.strip_prefix("0x") {
        Some(digits) => ("0x", 16, digits),
        None => match lower.strip_prefix("0b") {
            Some(digits) => ("0b", 2, digits),
            None if lower.len() > 1 && lower.starts_with('0') => ("0", 8, lower.get(1..)?),
            None => ("", 10, lower.as_str()),
        },
    };
    let value = u128::from_str_radix(digits, radix).ok()?;
    let value = match change {
        Change::Increment => value.checked_add(1)?,
        Change::Decrement if value == 0 => return Some(format!("(-1{suffix})")),
        Change::Decrement => value - 1,
        Change::Negate if value == 0 => return None,
        Change::Negate => return Some(format!("(-{text})")),
        Change::Zero if value == 0 => return None,
        Change::Zero => 0,
    };
    Some(match radix {
        16 => format!("{prefix}{value:x}{suffix}"),
        8 => format!("{prefix}{value:o}{suffix}"),
        2 => format!("{prefix}{value:b}{suffix}"),
        _ => format!("{value}{suffix}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_keep_their_base_and_suffix() {
        let show = |text| changed(text, Change::Increment).unwrap_or_default();
        assert_eq!(
            ["9", "0x0fUL", "017", "0b11", "0"].map(show),
            ["10", "0x10UL", "020", "0b100", "1"]
        );
        assert_eq!(changed("0", Change::Decrement).as_deref(), Some("(-1)"));
        assert_eq!(changed("0", Change::Zero), None);
        assert_eq!(changed("1.5", Change::Increment), None);
        assert_eq!(
            changed(
                "99999999999999999999999999999999999999999",
                Change::Increment
            ),
            None
        );
    }
}
