//! What is seen of one leaf at one stop: a value, or why there is none and who is to blame for that.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::literal::Literal;

/// What was seen of one leaf.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Observation {
    /// The debug information gives this value.
    Value(Value),
    /// The debug information says that there is none here.
    OptimisedOut,
    /// The debug information breaks the DWARF standard; why.
    IllFormed(Arc<str>),
    /// Well-formed, but a register, memory or the caller cannot be read: not the compiler's fault; why.
    Unreadable(Arc<str>),
}

impl Observation {
    /// The value, when there is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Observation::Value(value) => Some(value),
            _ => None,
        }
    }
}

/// The value of one leaf.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Value {
    /// A signed integer, plain `char` where it is signed, or an enumeration of a signed type.
    Signed(i128),
    /// An unsigned integer, boolean, or an enumeration of an unsigned type.
    Unsigned(u128),
    /// A floating-point number by its bits, so that NaNs compare.
    Float {
        /// The bits; an x87 long double has 80 of them.
        bits: u128,
        /// Bytes in memory: 4, 8 or 16.
        size: u8,
    },
    /// A pointer or reference.
    Pointer(PointerValue),
    /// Which variant an enumeration with data is (Rust).
    Variant(Arc<str>),
}

/// A pointer in terms that mean the same in two builds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PointerValue {
    /// The null pointer.
    Null,
    /// Into or just past an object or function of the program.
    Symbol {
        /// The source name: compilers' suffixes and prefixes (`x.0`, `f.x`, `f.isra.0`) are removed.
        name: Arc<str>,
        /// Bytes from its start.
        offset: u64,
        /// The symbol's own name had such a suffix or prefix, so that it may be only a part of what was written.
        derived: bool,
        /// When the address is also the end of the symbol before: its name and size.
        end_of: Option<(Arc<str>, u64)>,
    },
    /// Into read-only data that no object of the source has: string literals, mostly.
    Literal(Literal),
    /// Anything else: stack, heap. Never compared across builds.
    Opaque(u64),
    /// To something that has no address (`DW_OP_implicit_pointer`).
    Synthetic {
        /// The variable pointed to.
        variable: Arc<str>,
        /// Bytes from its start.
        offset: i64,
    },
}

impl PointerValue {
    /// Whether two builds' pointers are the same pointer of the source; `None` when that cannot be told.
    pub fn agrees(&self, other: &PointerValue) -> Option<bool> {
        use PointerValue::Literal as Read;
        use PointerValue::{Null, Opaque, Symbol, Synthetic};
        match (self, other) {
            (Null, Null) => Some(true),
            (Null, _) | (_, Null) => Some(false),
            (
                Symbol {
                    name: a,
                    offset: i,
                    derived: p,
                    end_of: e,
                },
                Symbol {
                    name: b,
                    offset: j,
                    derived: q,
                    end_of: f,
                },
            ) => {
                let ends = |end: &Option<(Arc<str>, u64)>, name: &str, offset: u64| {
                    end.as_ref()
                        .is_some_and(|(n, size)| **n == *name && *size == offset)
                };
                let end_to_end = e.is_some() && e == f;
                if (a == b && i == j) || ends(e, b, *j) || ends(f, a, *i) || end_to_end {
                    Some(true)
                } else if *p || *q {
                    None
                } else {
                    Some(false)
                }
            }
            (Read(a), Read(b)) => a.agrees(b),
            (Read(_), _) | (_, Read(_)) => None,
            (Synthetic { .. }, Synthetic { .. }) if self == other => Some(true),
            (Synthetic { .. } | Opaque(_), _) | (_, Synthetic { .. } | Opaque(_)) => None,
        }
    }
}

impl fmt::Display for PointerValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointerValue::Null => f.write_str("0x0"),
            PointerValue::Symbol {
                name, offset: 0, ..
            } => write!(f, "&{name}"),
            PointerValue::Symbol { name, offset, .. } => write!(f, "&{name}+{offset}"),
            PointerValue::Literal(literal) => literal.fmt(f),
            PointerValue::Opaque(raw) => write!(f, "{raw:#x}"),
            PointerValue::Synthetic {
                variable,
                offset: 0,
            } => write!(f, "synthetic &{variable}"),
            PointerValue::Synthetic { variable, offset } => {
                write!(f, "synthetic &{variable}{offset:+}")
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Signed(value) => value.fmt(f),
            Value::Unsigned(value) => value.fmt(f),
            Value::Float { bits, size: 4 } => write!(f, "{:?}", f32::from_bits(*bits as u32)),
            Value::Float { bits, size: 8 } => write!(f, "{:?}", f64::from_bits(*bits as u64)),
            Value::Float { bits, .. } => write!(f, "float {bits:#x}"),
            Value::Pointer(pointer) => pointer.fmt(f),
            Value::Variant(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Observation::Value(value) => value.fmt(f),
            Observation::OptimisedOut => f.write_str("<optimised out>"),
            Observation::IllFormed(why) => write!(f, "<ill-formed: {why}>"),
            Observation::Unreadable(why) => write!(f, "<unreadable: {why}>"),
        }
    }
}
