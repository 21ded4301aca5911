//! What people look at: the findings of a store as pages, terminal text, JSON, SARIF and bug reports.
//!
//! In: a [`candor_store::Store`]. Out: text and bytes; nothing here judges, builds or runs anything, so a report
//! of a thousand findings is made in the time it takes to write it.
//!
//! The steps, in the order of the files:
//! 1. `data`: what a store holds, read once: [`Overview`] (what ran, rates, unique findings) and [`Dossier`]
//!    (everything about one finding). As JSON they are what `candor report --json` prints. `culprit` reads what
//!    isolate said.
//! 2. `words`: numbers, times and kinds as people read them.
//! 3. `plot`: coordinates of the plots; the templates draw them.
//! 4. `pages`: one file per page (overview, finding, source, conform, repair), each a template compiled in; `site` gives every
//!    page and file of a report by its path. A page is the same from disk and from the server.
//! 5. `terminal`, `sarif`, `tracker`: the other forms.
//! 6. `serve`: the same site, live, on the loopback interface.
//!
//! Every text that comes from a program, a compiler or a store is hostile: the templates escape all of it, and
//! no page needs a script to be read.

mod culprit;
mod data;
mod error;
mod pages;
mod plot;
mod sarif;
mod serve;
mod site;
mod terminal;
mod tracker;
mod words;

pub use culprit::Culprit;
pub use data::{
    Amounts, CompilerRow, Dossier, Duplicate, Entry, KindMatrix, Overview, RatePoint, SCHEMA,
};
pub use error::Error;
pub use pages::conform::ConformRun;
pub use pages::isolate::{IsolateRun, SuspectFile};
pub use pages::repair::{RepairRun, RepairedCell, RepairedFunction, RepairedRow};
pub use pages::{finding_page, overview_page, source_page};
pub use sarif::sarif;
pub use serve::{ServeOptions, serve};
pub use site::{Content, Site, conform_site, isolate_site, repair_site, source_site};
pub use terminal::terminal;
pub use tracker::{Tracker, tracker};
