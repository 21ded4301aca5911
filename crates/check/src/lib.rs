//! Does the debugger tell the truth? (paper 000, Debug Information Validation for Optimized Code)
//!
//! In: a closed, deterministic C or Rust program, compilers, optimisation levels, debuggers. Out: a [`Report`]:
//! for every comparable (point, variable, visit) whether an optimised build shows it right, and
//! findings for those it does not, each confirmed by a print statement and a real debugger.
//!
//! The steps, in the order of the files:
//! 1. `plan`: which points get a barrier, and the program with them (§4.3, line augmentation).
//! 2. `workshop`: building it.
//! 3. `recording`, `truth`: what three unoptimised builds agree on (§4.2 for all pairs at once).
//!    `fallback`: other references where a compiler refuses the program.
//! 4. `compare`, `native`: each optimised build against that, stop by stop.
//!    `above`, `doubts`, `chain`, `frames`, `upper`: the functions that have not returned, their lines and variables.
//! 5. `shadow`, `rust_shadow`, `confirm`, `confirm_frames`: the paper's own evidence for what differs, and who is to blame (§4.4).
//! 6. `not_compared`: what is left out. `run`: all of it, on all cores. `finding`: what comes out. `save`: a finding as files.
//! 7. `lines`: two builds made by the user, without barriers.
//! 8. `audit`: debuggers against the debug information.
//! 9. `exhibit`: what a report shows of one finding, and of one program line by line.
//!
//! Oracles never change programs beyond their barriers, and never print.

mod above;
pub mod audit;
mod carry;
#[cfg(test)]
mod carry_tests;
mod chain;
mod compare;
mod confirm;
mod confirm_frames;
mod doubts;
mod error;
pub mod exhibit;
mod fallback;
mod finding;
mod frames;
pub mod lines;
mod native;
mod not_compared;
mod plan;
mod quiet;
mod recording;
pub mod rounds;
mod run;
mod rust_shadow;
pub mod save;
mod shadow;
mod truth;
mod upper;
mod workshop;

pub use compare::Watch;
pub use error::Error;
pub use finding::{
    Class, Counts, Finding, Kind, Place, Report, RoundRow, Row, Signature, Undecided, relation,
};
pub use frames::FrameCounts;
pub use native::{Seen, Sighting, is_described, look, look_quietly};
pub use plan::{Plan, PointChoice, SILENT};
pub use quiet::Held;
pub use rounds::{Effort, Round};
pub use run::{Progress, Replay, Request, Settings, Toolset, check};
pub use truth::{Reference, Truth, references, references_of, same_value};
pub use workshop::{Executable, Object, Workshop, link_flags};
