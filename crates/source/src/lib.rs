//! C and Rust source as candor sees it: where something can be inserted, what is in scope there, and of which type.
//!
//! In: a user's C file and the flags they compile it with, or a Rust file. Out: a [`Unit`] — plain data, no libclang in
//! it, free to travel between threads — and edited copies of the text.
//!
//! The steps, in the order the files implement them:
//!
//! 1. [`library`]: find a libclang and load it at run time; one [`Clang`] serves every thread.
//! 2. [`text`]: read the file, refuse what is not text, make stray bytes harmless without moving lines.
//! 3. `walk`, `statement`, `declare`, `types_from_clang`: parse, then one walk over the main file's function bodies that
//!    collects scopes, variables, types, and the points: the places before a statement where a statement
//!    can be put. This is the pre-processing of paper 000 §4.1 (the set V_s of each location s).
//! 4. [`mod@unit`], [`types`]: what the walk found, and the questions it answers ([`Unit::visible_at`]).
//! 5. [`edit`]: insertions, replacements and deletions on the original text.
//! 6. [`instrument`]: barriers (line augmentation, paper 000 §4.3), print statements (shadow programs, §4.2).
//! 7. [`rust`]: the same for Rust, with syn in the place of libclang.
//!
//! Deliberately absent: nothing here runs a compiler, decides which points to take, or judges a program.
//! Every program is parsed in a child with limits before it is parsed here (`trial`): macro bombs and initialisers of
//! gigabytes end the child.

pub mod edit;
pub mod error;
pub mod instrument;
pub mod library;
pub mod rust;
pub mod text;
pub mod types;
pub mod unit;

mod api;
mod declare;
mod reads;
mod statement;
mod trial;
mod types_from_clang;
mod walk;

pub use edit::EditSet;
pub use error::{Diagnostic, Error};
pub use library::{Clang, candidates};
pub use text::includes_csmith;
pub use types::{
    ArrayLength, Field, IntegerKind, IntegerType, Pointee, Qualifiers, Record, Shape, Type,
};
pub use unit::{
    Attributes, ExpressionKind, Function, Origin, Point, Points, SkipReason, StatementKind,
    Storage, Unit, Variable, VariableKind,
};
