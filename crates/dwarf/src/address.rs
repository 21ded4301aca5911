//! Address kinds and lines as types of their own: an address in the file (stated virtual memory address) is never
//! mixed up with one in the process (actual virtual memory address). The distinction is samply's.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An address as the file states it, before loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Svma(pub u64);

/// An address in the running process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Avma(pub u64);

/// A source line, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Line(pub u32);

impl Svma {
    /// Where this address is in a process whose image was moved by `bias`.
    pub const fn loaded(self, bias: u64) -> Avma {
        Avma(self.0.wrapping_add(bias))
    }
}

impl Avma {
    /// The address in the file of an image that was moved by `bias`.
    pub const fn stated(self, bias: u64) -> Svma {
        Svma(self.0.wrapping_sub(bias))
    }
}

macro_rules! hexadecimal {
    ($($kind:ident),*) => {$(
        impl fmt::LowerHex for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }
        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    )*};
}
hexadecimal!(Svma, Avma);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
