//! The store of a campaign: what was judged, what was found, who works on what.
//!
//! In: work that is done (seeds judged, builds counted, findings with their evidence). Out: work to do (leases of
//! seeds, claims on signatures) and everything a report shows. Several processes share one store; each of them may
//! be killed at any moment, and nothing that was stored is lost or stored twice.
//!
//! The parts, in the order of the files:
//! 1. `model`: the nouns. A *worker* is a process that hunts; a *lease* is a seed that a worker judges and nobody
//!    else; a *finding* is a violated expectation; its *signature* says which findings look the same; a *claim* gives
//!    one worker the task to reduce and isolate a signature's representative; its culprit completes the *key* by
//!    which unique findings are counted (paper 000 §6.4: the culprit pass is the best key).
//! 2. `store`: the interface, [`Store`]. Hunt and report know nothing else, so that another engine can stand behind it.
//! 3. `objects`: programs, cases and exhibits as files under the hash of their content.
//! 4. `document`: cases as JSON with the program's text kept apart, so that findings of one program share it.
//! 5. `fact`: what happened as messages, for stores that are a log (the `fleet` crate's).
//! 6. `sqlite`: the embedded implementation (SQLite in WAL mode), [`SqliteStore`]; schema and migrations, liveness of
//!    workers, work, findings, merging the stores of a job array, and a copy of a log to look at.
//!
//! Deliberately absent: the store does not look into cases, culprits or exhibits, starts no process, and decides
//! nothing by the clock (a dead worker is recognised by its file lock, which the kernel drops with the process).

pub mod document;
mod error;
mod fact;
mod model;
mod objects;
mod sqlite;
mod store;

pub use error::Error;
pub use fact::{Fact, Told, state};
pub use model::{
    Campaign, Claim, Count, Event, Finding, FindingId, Grant, Group, Hash, Improvement, Lease,
    Metric, NewFinding, Outcome, Sample, Samples, Seeds, Signature, State, Stream, Timestamp,
    Totals, Wish, Worker, WorkerId,
};
pub use sqlite::{Merged, SqliteStore, exists};
pub use store::Store;
