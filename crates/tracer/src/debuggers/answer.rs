//! What a debugger said about one leaf, and whether that is what the native engine saw.

use candor_dwarf::{Avma, Image, Observation, PointerValue, Value};

/// What a debugger said about one leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A scalar value.
    Value(Value),
    /// Something that is no plain scalar, such as gdb's `<synthetic pointer>`.
    Text(String),
    /// The debugger says that there is no value.
    OptimisedOut,
    /// The debugger refused, in its own words.
    Error(String),
    /// The place was not reached that often, or the session ended before.
    NotReached,
}

impl Answer {
    /// Whether the debugger shows what the native engine saw at the same place in the same build; `None`
    /// when the two cannot be compared.
    pub fn agrees(&self, seen: &Observation) -> Option<bool> {
        match (self, seen) {
            (Answer::NotReached, _) | (_, Observation::Unreadable(_)) => None,
            // gdb does not know a name that is left only in the abstract instance of an inlined function.
            (Answer::Error(_), Observation::OptimisedOut) => None,
            (Answer::Value(theirs), Observation::Value(ours)) => Some(same(theirs, ours)),
            (
                Answer::Text(_),
                Observation::Value(Value::Pointer(PointerValue::Synthetic { .. })),
            ) => Some(true),
            (Answer::Text(_), _) => None,
            (Answer::OptimisedOut, Observation::OptimisedOut) => Some(true),
            (Answer::Error(_), Observation::IllFormed(_)) => Some(true),
            _ => Some(false),
        }
    }

    /// Reads one answer of a session's script.
    pub(super) fn parse(json: &serde_json::Value, image: &Image, bias: u64) -> Option<Answer> {
        if json.as_str() == Some("o") {
            return Some(Answer::OptimisedOut);
        }
        let parts = json.as_array()?;
        let text = parts.get(1)?.as_str()?;
        let kind = parts.first()?.as_str()?;
        match kind {
            "e" => return Some(Answer::Error(text.to_owned())),
            "t" => return Some(Answer::Text(text.to_owned())),
            "v" => return Some(Answer::Value(Value::Variant(text.into()))),
            _ => {}
        }
        let bits = u128::from_str_radix(text, 16).ok()?;
        let size = u8::try_from(parts.get(2)?.as_u64()?).ok()?;
        Some(Answer::Value(match kind {
            "i" => Value::Signed(sign_extend(bits, size)),
            "u" => Value::Unsigned(bits),
            "f" => Value::Float { bits, size },
            "p" => Value::Pointer(image.pointer(Avma(bits as u64), bias)),
            _ => return None,
        }))
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Answer::Value(value) => value.fmt(f),
            Answer::Text(text) => f.write_str(text),
            Answer::OptimisedOut => f.write_str("<optimised out>"),
            Answer::Error(text) => write!(f, "<error: {text}>"),
            Answer::NotReached => f.write_str("<not reached>"),
        }
    }
}

fn sign_extend(bits: u128, size: u8) -> i128 {
    let unused = 128u32.saturating_sub(u32::from(size) * 8).min(127);
    ((bits << unused) as i128) >> unused
}

/// Equal values of one build. Debuggers differ in whether an enumeration or character is signed, so integers
/// compare by number; and stack addresses are equal only when the debugger's inferior has the same stack.
fn same(theirs: &Value, ours: &Value) -> bool {
    use PointerValue::Opaque;
    match (theirs, ours) {
        (Value::Signed(a), Value::Unsigned(b)) | (Value::Unsigned(b), Value::Signed(a)) => {
            i128::try_from(*b).is_ok_and(|b| *a == b)
        }
        (Value::Pointer(Opaque(a)), Value::Pointer(Opaque(b))) => a == b,
        (Value::Pointer(a), Value::Pointer(b)) => a.agrees(b) == Some(true),
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_extension() {
        assert_eq!(sign_extend(0xff, 1), -1);
        assert_eq!(sign_extend(0x7f, 1), 127);
        assert_eq!(sign_extend(0xffff_fffd, 4), -3);
        assert_eq!(sign_extend(u128::MAX, 16), -1);
    }

    #[test]
    fn integers_compare_by_number() {
        let seen = |value| Observation::Value(value);
        let said = |value| Answer::Value(value);
        assert_eq!(
            said(Value::Signed(3)).agrees(&seen(Value::Unsigned(3))),
            Some(true)
        );
        assert_eq!(
            said(Value::Signed(-1)).agrees(&seen(Value::Unsigned(u128::MAX))),
            Some(false)
        );
        assert_eq!(
            Answer::OptimisedOut.agrees(&seen(Value::Signed(0))),
            Some(false)
        );
        assert_eq!(
            Answer::OptimisedOut.agrees(&Observation::OptimisedOut),
            Some(true)
        );
        assert_eq!(Answer::NotReached.agrees(&Observation::OptimisedOut), None);
    }
}
