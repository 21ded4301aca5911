//! Types of the IR: sizes and layouts on x86-64.

use std::collections::BTreeMap;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// An integer of this many bits.
    Int(u8),
    /// A pointer.
    Pointer,
    /// An array.
    Array(u64, Box<Type>),
    /// A structure; `true` if packed.
    Struct(Vec<Type>, bool),
    /// Nothing.
    Void,
    /// Whatever has no meaning here, as it was written.
    Other(String),
}

impl Type {
    /// Reads a type.
    pub fn parse(text: &str, named: &BTreeMap<String, Type>) -> Type {
        let text = text.trim();
        if let Some(bits) = text
            .strip_prefix('i')
            .and_then(|bits| bits.parse::<u8>().ok())
            && (1..=64).contains(&bits)
        {
            return Type::Int(bits);
        }
        if text == "ptr" {
            return Type::Pointer;
        }
        if text == "void" {
            return Type::Void;
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'))
            && let Some((count, element)) = inner.split_once(" x ")
            && let Ok(count) = count.trim().parse()
        {
            return Type::Array(count, Box::new(Type::parse(element, named)));
        }
        let (body, packed) = match text.strip_prefix('<').and_then(|t| t.strip_suffix('>')) {
            Some(inner) if inner.starts_with('{') => (inner, true),
            _ => (text, false),
        };
        if let Some(inner) = body.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            let fields = split(inner)
                .iter()
                .map(|field| Type::parse(field, named))
                .collect();
            return Type::Struct(fields, packed);
        }
        match named.get(text) {
            Some(known) => known.clone(),
            None => Type::Other(text.to_owned()),
        }
    }

    /// Size in bytes, padding included; `None` for what has none here.
    pub fn size(&self) -> Option<u64> {
        match self {
            Type::Int(bits) => Some(u64::from(bits.div_ceil(8)).next_power_of_two()),
            Type::Pointer => Some(8),
            Type::Array(count, element) => element.size()?.checked_mul(*count),
            Type::Struct(fields, packed) => {
                let end = self.field_end(fields.len(), *packed)?;
                Some(end.next_multiple_of(self.align()?))
            }
            Type::Other(name) if name == "double" => Some(8),
            Type::Other(name) if name == "float" => Some(4),
            _ => None,
        }
    }

    fn align(&self) -> Option<u64> {
        match self {
            Type::Array(_, element) => element.align(),
            Type::Struct(_, true) => Some(1),
            Type::Struct(fields, false) => fields
                .iter()
                .map(Type::align)
                .try_fold(1, |most, align| Some(most.max(align?))),
            other => other.size(),
        }
    }

    /// End of the first `count` fields.
    fn field_end(&self, count: usize, packed: bool) -> Option<u64> {
        let Type::Struct(fields, _) = self else {
            return None;
        };
        let mut at = 0u64;
        for field in fields.iter().take(count) {
            if !packed {
                at = at.next_multiple_of(field.align()?);
            }
            at = at.checked_add(field.size()?)?;
        }
        Some(at)
    }

    /// Offset and type of a field.
    pub fn field(&self, index: usize) -> Option<(u64, &Type)> {
        let Type::Struct(fields, packed) = self else {
            return None;
        };
        let field = fields.get(index)?;
        let mut at = self.field_end(index, *packed)?;
        if !packed {
            at = at.next_multiple_of(field.align()?);
        }
        Some((at, field))
    }
}

/// Splits at commas outside of brackets.
pub fn split(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut depth = 0i32;
    let mut now = String::new();
    for c in text.chars() {
        match c {
            '[' | '(' | '<' | '{' => depth += 1,
            ']' | ')' | '>' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(now.trim().to_owned());
                now.clear();
                continue;
            }
            _ => {}
        }
        now.push(c);
    }
    if !now.trim().is_empty() {
        parts.push(now.trim().to_owned());
    }
    parts
}
