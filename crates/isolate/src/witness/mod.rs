//! Stage 2: which of the compiler's files? Passing programs near the failing one, and what the compiler
//! did for each (paper 003, "DiWi").
//!
//! In: a case, a compiler that records its coverage ([`candor_coverage::CoverageCompiler`]), and what
//! stage 1 found. Out: a [`Location`]: the compiler's files, the most suspicious first, with reasons.
//!
//! The steps, in the order of the files:
//! 1. `tokens`, `protect`, `rules/`: small mutations of the failing program that leave its oracle alone
//!    (§4.1).
//! 2. `judge`: is a mutant a witness? It compiles, its behaviour is defined, the claim fails, its oracle
//!    still looks, and the compiler took another way (§4.1, §4.2).
//! 3. `chain`: which rule next, by Metropolis–Hastings over what the rules achieved so far (§4.2.2).
//! 4. `search`: Algorithm 1, many mutants at a time.
//! 5. `sources`: witnesses that are no mutants: the developers' tests, random programs, the failing
//!    program with a cure of stage 1, an EMI variant without one of its snippets.
//! 6. `locate`: all of it, then the ranking (`candor_coverage::ranking`).
//! 7. `benchmark`: the same over a table of bugs whose files are known (§5); `spectra` keeps what its rankings are made of.

pub mod benchmark;
mod chain;
mod judge;
pub mod locate;
mod protect;
pub mod rules;
mod search;
mod sources;
mod spectra;
mod tokens;

pub use chain::Selection;
pub use judge::Judged;
pub use locate::{Ended, Gathered, Kept, Location, Settings, Sources, gather, locate};
pub use search::Tries;
pub use sources::SuiteMemory;
pub use spectra::Spectra;
