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
    /// The way into it, such as `.f[2].g`, so that `variable` + `path` is a C expression. In Rust `.*` follows a
    /// reference, `.Some.0` is a field of a variant, and `.?` which variant it is.
    pub path: Box<str>,
    /// 0 for the innermost (perhaps inlined) function of the site and for globals; 1 and up for the functions that
    /// it is inlined into.
    pub depth: u16,
}

impl Leaf {
    /// Whether it is in a member with a name that C keeps for compilers and libraries: what `jmp_buf` or `FILE` hold there
    /// is another matter in each build.
    pub fn is_reserved(&self) -> bool {
        // `__0` is a field of a Rust tuple
        let mut members = self.key.path.split(".__").skip(1);
        members.any(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
    }
}

impl fmt::Display for LeafKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.variable, self.path)
    }
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
