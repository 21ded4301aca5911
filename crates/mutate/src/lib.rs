//! Equivalent programs for compiler testing: live-code EMI mutation (paper 004, "Hermes").
//!
//! In: a closed, deterministic C program without undefined behaviour, and its input. Out: variants that must print the
//! same and exit the same on that input, each with a record that rebuilds it, wholly or by a subset of its snippets.
//!
//! The steps, in the order the files implement them:
//!
//! 1. `workbench`: the compilers, the probe run-time built for each (`link`: put together), the sanitizer gate.
//! 2. `refuse`: programs that cannot be seeds, with the reason.
//! 3. `rules`, `place`: what inserted code must leave alone, and the integer objects it may name.
//! 4. `probe`, [`profile`](mod@profile), [`environment`]: which points are live, and the joint values seen there by two
//!    compilers (paper §4.1, §4.5.1).
//! 5. [`integer`]: C's integer semantics; [`expression`](mod@expression) and [`predicate`](mod@predicate): SynExpr and
//!    SynPred (paper §4.3).
//! 6. `body`: code that never runs; [`strategy`]: FCB, TG, TCB (paper §4.2, §4.4), Orion and Athena, one file each.
//! 7. [`variant`](mod@variant), [`save`](mod@save): snippets, the edited text, the sidecar.
//! 8. [`verify`](mod@verify): -O0 under two compilers and three sanitizers.
//!
//! Deliberately absent: nothing here compares optimised builds; that is the campaign's (`hunt`).

pub mod environment;
mod error;
pub mod expression;
pub mod integer;
mod link;
pub mod predicate;
pub mod profile;
pub mod save;
pub mod strategy;
pub mod variant;
pub mod verify;

mod body;
mod place;
mod probe;
mod refuse;
mod rules;
mod workbench;

pub use error::Error;
pub use place::Place;
pub use profile::{LivePoint, Profile, Settings, profile};
pub use refuse::admit;
pub use strategy::Strategy;
pub use variant::{Choice, Evidence, Snippet, Variant, variant};
pub use verify::{Verdict, verify};
pub use workbench::Workbench;
