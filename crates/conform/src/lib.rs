//! Control-flow conformance of debug locations: what an LLVM pass did to every debug location, and
//! what it should have done (paper 002: Huang, Liang, Su, Zhang: Robustifying Debug Information Updates
//! in LLVM via Control-Flow Conformance Analysis, PLDI 2025).
//!
//! In: a stock libLLVM, passes, and IR inputs. Out: per *site* (one place in a pass's source) the
//! destination, its sources, what was done to the location, what should have been done (Preserve, Merge
//! or Drop), the evidence, an update skeleton and a regression test.
//!
//! The steps, in the order of the files:
//! 1. `input`: files, C programs and LLVM's own regression tests with their RUN lines become runs;
//!    `pipeline` takes pipelines apart.
//! 2. `session`: the runs go to the workers of the llvm crate, where, in the child of each run,
//! 3. `sources` reads the events (Algorithm 1, section 3.1, and three rules beyond it),
//! 4. `paths` and `judge` compare location sets (Algorithm 2, section 3.2) into `update`s.
//! 5. `verdict` compares with what was done (Algorithm 3, section 3.3), past the `filters`.
//! 6. `site` gathers verdicts by the place in the pass; `skeleton` words the fix (section 4),
//!    `reduce` makes the input small, `per_pass` walks a pipeline, `examine` does all of it, and
//!    `compare` puts two versions side by side.

mod error;

pub mod input;
pub mod pipeline;

mod session;

mod judge;
mod paths;
mod sources;
mod update;

pub mod filters;
mod verdict;

mod site;
mod skeleton;

pub mod per_pass;
mod reduce;

mod compare;
mod examine;

pub use compare::{Compared, compare};
pub use error::Error;
pub use examine::{Detail, detail, examine};
pub use filters::{Class, Filters};
pub use input::Test;
pub use judge::{Cfg, CfgBlock, Explanation, Judgement};
pub use paths::{Avoid, Reading};
pub use reduce::{Budget, reduce};
pub use session::{Outcome, Session};
pub use site::{Example, Findings, Site, Tally, Witness, findings};
pub use skeleton::{Skeleton, regression_test, skeleton};
pub use update::{Candidate, Effect, Evidence, Operation, Origin, Required, Rule, Source, Update};
pub use verdict::{Confidence, Removed, Settings, Verdict, verdict};
