//! Debug information of x86-64 ELF programs, and what it says about a stopped process.
//!
//! In: an ELF file with DWARF 4 or 5 (gcc 9–16, clang 9–23, rustc), an address, and a stopped process behind the
//! [`Machine`] trait. Out: the functions, lines and variables at that address ([`Site`]), and for each scalar part of
//! each variable ([`Leaf`]) an [`Observation`]: its value, that it is optimised out, that its location is ill-formed,
//! or that it cannot be read. This is the debugger half of the debug-information oracle of paper 000 (Li, Ding, Zhang,
//! Italiano: Debug Information Validation for Optimized Code, PLDI 2020, sections 3 and 4), without the debugger.
//!
//! Malformed debug information is never a panic: in one variable it is [`Observation::IllFormed`], in a unit an
//! [`Error`] for what needs that unit. Only this crate names gimli types.

mod address;
mod caller;
mod cfi;
mod describe;
mod elf;
mod error;
mod expression;
mod frame;
mod image;
mod layout;
mod leaf;
mod lines;
mod machine;
mod observation;
mod observe;
mod place;
mod site;
mod spans;
mod stack;
mod tree;
mod units;

pub use address::{Avma, Line, Svma};
pub use elf::{Symbol, SymbolKind};
pub use error::Error;
pub use image::Image;
pub use leaf::{Leaf, LeafKey, ScalarKind};
pub use lines::{LineRow, StatementStop};
pub use machine::Machine;
pub use observation::{Observation, PointerValue, Value};
pub use site::{Site, SiteOptions};
pub use spans::{Function, LocationKind, LocationSpan};
