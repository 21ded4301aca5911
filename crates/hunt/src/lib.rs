//! Campaigns: programs are made, judged and explained until somebody says stop (papers 000 and 004).
//!
//! In: compilers, a generator or a corpus, a [`Store`](candor_store::Store). Out: confirmed findings in the store, each
//! with its case (`finding.json`), later with a reduced program, the culprit pass and an exhibit for the report; and
//! events for whoever watches.
//!
//! The steps, in the order of the files:
//! 1. `settings`: what a campaign is and what one process of it is given.
//! 2. [`generate`]: seeds from Csmith with options the seed decides, or files of the user's.
//! 3. `bench`: compilers, sanitizers, references, set up once and again when a compiler vanishes.
//! 4. `judge`: one seed: the gate, its variants (paper 004, `candor-mutate`), every build of each.
//! 5. `matrix`: one program with every compiler at every level.
//! 6. `oracle/`: wrong code, crash, hang, wrong debug information; one file each. What they return is confirmed.
//! 7. `improve`, `share`: reducing, isolating and exhibiting, with a bounded share of the time.
//! 8. `campaign`: threads, leases, time, events. `event`, `tally`: what is told and counted.
//! 9. [`mod@merge`]: the stores of a job array into one.
//!
//! Deliberately absent: nothing here prints, and nothing but the seed decides what is tried. The clock ends a hunt and
//! bounds its parts; it chooses nothing.

mod bench;
mod campaign;
mod error;
mod event;
pub mod generate;
mod improve;
mod judge;
mod matrix;
mod merge;
mod oracle;
mod settings;
mod share;
mod tally;

pub use bench::Means;
pub use campaign::{hunt, stored};
pub use error::Error;
pub use event::{Event, Status};
pub use merge::merge;
pub use oracle::Oracle;
pub use settings::{Generator, Run, Settings, Shard, Tested};
