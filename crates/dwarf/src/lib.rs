//! Debug information of x86-64 ELF programs, and what it says about a stopped process.
//!
//! In: an ELF file with DWARF 4 or 5 (gcc 9–16, clang 9–23, rustc), an address, and a stopped process behind the
//! [`Machine`] trait. Out: the functions, lines and variables at that address ([`Site`]), and for each scalar part of
//! each variable ([`Leaf`]) an [`Observation`]: its value, that it is optimised out, that its location is ill-formed,
//! or that it cannot be read. This is the debugger half of the debug-information oracle of paper 000 (Li, Ding, Zhang,
//! Italiano: Debug Information Validation for Optimized Code, PLDI 2020, sections 3 and 4), without the debugger.
//!
//! The steps, in the order of the files:
//! - [`Image`] (`image`) opens a file: `elf` gives bytes, sections and symbols; `units` the units and the references
//!   between their entries; `tree` the entries of one unit, read when first asked for; `lines` the line table; `cfi` the
//!   call frame information.
//! - [`Image::site`] (`site`) takes the variables around an address from `scopes`. For each, `layout` (with `rust_layout`
//!   and `route` for Rust) flattens the type into leaves and `place` finds the location that holds there, which `expression` decodes. `globals` are
//!   prepared once per unit.
//! - [`Image::observe`] (`observe`) evaluates them on a [`Machine`]: `frame` has registers and frame address, `evaluate`
//!   runs expressions on the typed values of `stack`, `caller` finds what only the caller knows. [`Image::look`]
//!   (`sight`) does so at one stop after the other, and looks again only at globals whose bytes changed. [`Image::walk`] and
//!   [`Image::chain`] (`chain`) find the frames further up, whose variables [`Image::observe_frame`] evaluates.
//! - `describe`, `listing` and `spans` serve reports and tests; `calls` serves coverage; `unwind` serves stack walks.
//! - [`rewrite`] changes the locations of variables in a file; it shares nothing with the rest.
//!
//! Malformed debug information is never a panic: in one variable it is [`Observation::IllFormed`], in a unit an
//! [`Error`] for what needs that unit. Only this crate names gimli types.

mod address;
mod error;
mod leaf;
mod literal;
mod machine;
mod observation;

mod image;

mod cfi;
mod elf;
mod lines;
mod tree;
mod units;

mod coverage;
mod expression;
mod globals;
mod layout;
mod length;
mod place;
mod route;
mod rust_layout;
mod scopes;
mod site;

mod caller;
mod chain;
mod evaluate;
mod frame;
mod observe;
mod sight;
mod stack;

mod calls;
mod describe;
mod listing;
mod spans;
mod unwind;

pub mod rewrite;

pub use address::{Avma, Line, Svma};
pub use chain::{Chain, ChainEnd, ChainFrame, Stack, Way};
pub use elf::{Symbol, SymbolKind};
pub use error::Error;
pub use image::Image;
pub use leaf::{Leaf, LeafKey, Omission, Omitted, ScalarKind, root_of, without_part};
pub use lines::{LineRow, StatementStop};
pub use listing::{Instruction, ListedLocation};
pub use literal::{Before, Literal};
pub use machine::Machine;
pub use observation::{Observation, PointerValue, Value};
pub use route::{Condition, Reading, Route, Step as RouteStep};
pub use sight::Sight;
pub use site::{Leaves, Site, SiteOptions, Storage};
pub use spans::{Function, LocationKind, LocationSpan};
pub use unwind::{FrameBase, Step, Unwinder};
