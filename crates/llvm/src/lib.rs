//! A chosen libLLVM at run time: loaded, watched, driven, and its addresses named.
//!
//! In: a libLLVM by version or path, and runs (an IR input and a pipeline). Out: a [`Trace`] per run:
//! the functions before and after with every instruction's identity and debug location, and what was
//! done to each instruction between, with the call stack of who did it. Paper 002 (Huang, Liang, Su,
//! Zhang, PLDI 2025, section 4) gets the same by rewriting and rebuilding the passes; here the stock
//! library is watched.
//!
//! The steps, in the order of the files:
//! - `elf` and `library` find and read the library's file; `hooks` has the functions to watch.
//! - `pool` forks the processes in which everything else happens.
//! - `api` loads the library, `layout` measures its objects, `detour` and `thunk` divert its
//!   functions into `record`, which makes the events of `event`; `resident` makes forks cheap.
//! - `engine` does one run: parse, `debugify`, snapshot (`module`), pass, snapshot.
//! - `attribute` names addresses: exported symbols, the `-dev` package's archives, a recompiled pass.
//!
//! Only this crate knows libLLVM.

mod error;

pub mod elf;
mod hooks;
mod library;

mod pool;

mod api;
mod detour;
mod layout;
mod resident;
mod thunk;

mod event;
mod record;
mod walk;

mod engine;
mod module;

pub mod attribute;

pub use candor_dwarf::Svma;
pub use engine::{Engine, Refusal, Run, SelfCheck, Trace};
pub use error::Error;
pub use event::{Deed, Event, Insertion, InstId, Recording, StackId};
pub use hooks::Hook;
pub use library::{Library, versions};
pub use module::{Block, Function, Inst, Location, Opcode};
pub use pool::{Ending, Limits, Loading, Pool, Work};
