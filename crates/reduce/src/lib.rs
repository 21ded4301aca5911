//! The small reproducer: shrinking a program while a predicate holds.
//!
//! In: a [`Case`] (a program, a build, what is wrong) and the tools of a check. Out: a [`Reduction`]:
//! the case again with a program one reads in a minute, verified from scratch.
//!
//! The steps, in the order of the files:
//! 1. `snippets`: what a mutation put in is taken out first (paper 004's variants).
//! 2. `expand`: headers become the few declarations that are needed; `coverage`: what never runs.
//! 3. `token`, `layout`, `tidy`: one layout for all candidates; `syntax`: tree-sitter's tree.
//! 4. `passes`: what can be made smaller, one concern a file; `edit`: their edits, combinable.
//! 5. `sweep`, `jury`, `keep`: delta debugging over edits, candidates in parallel, each text once.
//! 6. `run`: the order of it all. `verify`: once more from scratch, with real debuggers.
//! 7. `cvise`: another reducer as second stage.
//!
//! Passes know nothing of compilers and never judge; the predicate does, validity included. The
//! result depends on the program, the case and the seed, not on the number of jobs.

mod coverage;
mod cvise;
mod edit;
mod error;
mod expand;
mod jury;
mod keep;
mod layout;
mod passes;
mod run;
mod snippets;
mod sweep;
mod syntax;
mod tidy;
mod token;
mod verify;

pub use cvise::Stage;
pub use error::Error;
pub use jury::{Size, Tally};
pub use run::{Progress, Reduction, Settings, Stopped, reduce};
pub use verify::{Verified, verify};

pub use candor_predicate::Case;
