//! Leaves: the scalar parts of variables, and the key that names one across builds.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Line, Route};

/// What sort of scalar a leaf is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScalarKind {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// `_Bool` or `bool`.
    Bool,
    /// A character type of either sign.
    Char,
    /// A binary floating-point type.
    Float,
    /// A pointer or reference.
    Pointer,
    /// An enumeration.
    Enum,
}

/// Names a leaf across builds of one program: never by name alone, for names are shadowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LeafKey {
    /// The function that declares the variable; `None` for a global.
    pub function: Option<Arc<str>>,
    /// The variable's name.
    pub variable: Arc<str>,
    /// The line of its declaration; 0 when the debug information does not say.
    pub decl_line: Line,
    /// The way into it, such as `.f[2].g`, so that `variable` + `path` is a C expression. The parts of a complex number
    /// end in `.__real__` and `.__imag__`, which C writes in front. In Rust `.*` follows a reference, `.Some.0` is a
    /// field of a variant, and `.?` which variant it is.
    pub path: Box<str>,
    /// 0 for the innermost (perhaps inlined) function of the site and for globals; 1 and up for the functions that
    /// it is inlined into.
    pub depth: u16,
}

/// The parts of a complex number: operators of GNU C.
const PARTS: [&str; 2] = ["__real__", "__imag__"];

impl LeafKey {
    /// The part of a complex number that it is (`__real__` or `__imag__`), and the path of the number.
    pub fn complex_part(&self) -> Option<(&'static str, &str)> {
        PARTS.into_iter().find_map(|part| {
            let path = self.path.strip_suffix(part)?.strip_suffix('.')?;
            Some((part, path))
        })
    }
}

impl Leaf {
    /// Whether it is in a member with a name that C keeps for compilers and libraries: what `jmp_buf` or `FILE` hold there
    /// is another matter in each build.
    pub fn is_reserved(&self) -> bool {
        if self.key.complex_part().is_some() {
            return false;
        }
        // `__0` is a field of a Rust tuple
        let mut members = self.key.path.split(".__").skip(1);
        members.any(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
    }
}

impl fmt::Display for LeafKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.complex_part() {
            Some((part, path)) => write!(f, "{part} {}{path}", self.variable),
            None => write!(f, "{}{}", self.variable, self.path),
        }
    }
}

/// The variable of a leaf in the words of [`LeafKey`]'s `Display`: `s` of `s.f[2]` and of `__real__ s.z`.
pub fn root_of(leaf: &str) -> &str {
    let plain = without_part(leaf);
    plain.split(['.', '[']).next().unwrap_or(plain)
}

/// A leaf in the words of [`LeafKey`]'s `Display` without the operator in front that takes a part of a complex number.
pub fn without_part(leaf: &str) -> &str {
    let rest = |part| leaf.strip_prefix(part)?.strip_prefix(' ');
    PARTS.into_iter().find_map(rest).unwrap_or(leaf)
}

/// One scalar part of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Its name across builds.
    pub key: LeafKey,
    /// Its sort.
    pub kind: ScalarKind,
    /// Whether its bits are read as two's complement.
    pub signed: bool,
    /// Where it starts within the variable, in bits.
    pub bit_offset: u64,
    /// How wide it is, in bits.
    pub bit_size: u32,
    /// An inner declaration of the same name hides it: a debugger asked for the name shows another variable.
    pub shadowed: bool,
    /// It is a formal parameter.
    pub parameter: bool,
    /// How it is reached, where it does not simply lie in its variable (Rust).
    pub route: Option<Arc<Route>>,
    /// Names of the types in its variable that may not be `Copy`: a use by value may have moved it away (Rust).
    pub owning: Arc<[Box<str>]>,
}

/// Why a variable, or a part of it, has no leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Omission {
    /// Part of a union that not every store to the union defines.
    UnionPart,
    /// It has more scalars than are looked at of one variable.
    ElementsBeyondLimit,
    /// Its size, or that of something in front of it, is computed at run time.
    RunTimeSize,
    /// Its type has no value that could be compared.
    TypeNotCompared,
}

/// A variable that is not looked at in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omitted {
    /// The function that declares it; `None` for a global.
    pub function: Option<Arc<str>>,
    /// Its name.
    pub variable: Arc<str>,
    /// The line of its declaration.
    pub decl_line: Line,
    /// As in [`LeafKey`].
    pub depth: u16,
    /// It is a formal parameter.
    pub parameter: bool,
    /// Why, each reason once.
    pub reasons: Arc<[Omission]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_complex_numbers_are_written_as_c_writes_them() {
        let key = |path: &str| LeafKey {
            function: None,
            variable: "s".into(),
            decl_line: Line(1),
            path: path.into(),
            depth: 0,
        };
        assert_eq!(key(".z[1].__imag__").to_string(), "__imag__ s.z[1]");
        assert_eq!(key(".__real__").to_string(), "__real__ s");
        assert_eq!(key(".real").to_string(), "s.real");
        assert_eq!(root_of("__imag__ s.z[1]"), "s");
        assert_eq!(root_of("a[3]"), "a");
        assert_eq!(without_part("__real__ s.z"), "s.z");
        assert_eq!(without_part("s.z"), "s.z");
    }
}
