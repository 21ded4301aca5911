//! Compilers, debuggers, sanitizers: what is there, building with it, and running the result.
//!
//! In: names of compilers, source programs, flags. Out: artefacts and *outcomes* — a compiler that
//! crashes or a program that never ends is an observation here, not an error.
//!
//! The steps, in the order of the files:
//! 1. `scratch`: a place that goes away; `program`: a source file with its inputs.
//! 2. `sandbox`: running any command under hard bounds (the only place that starts processes,
//!    besides the tracer).
//! 3. `compiler`: who a compiler is and what it supports, asked and not assumed; `known`: what was answered before.
//! 4. `build`: program × compiler × flags → artefact, or how that failed.
//! 5. `gate`: sanitizers decide whether a program is free of undefined behaviour on its input
//!    (paper 000 §4.1, paper 004 §5: only such programs may blame a compiler); `miri` does so for Rust with `unsafe`.
//! 6. `inventory`: all of it in one table, for `candor doctor`.
//! 7. `desktop`: showing a page to the user; `restart`: candor itself under another loader.

pub mod build;
pub mod cargo;
pub mod compiler;
pub mod desktop;
mod error;
pub mod gate;
pub mod inventory;
pub mod known;
pub mod memory;
pub mod miri;
pub mod program;
pub mod restart;
pub mod rustc;
pub mod sandbox;
mod scratch;

pub use build::{Build, Built, Stage};
pub use compiler::{Compiler, Family, Version, discover};
pub use error::Error;
pub use gate::{Gate, GateVerdict, Sanitizer};
pub use inventory::Inventory;
pub use miri::{Miri, MiriVerdict};
pub use program::Program;
pub use sandbox::{
    Bound, ChildSetup, Confinement, Ending, Finished, Job, Limits, Sandbox, Session,
};
pub use scratch::{JobDirectory, Scratch};
