//! One file per command: arguments as typed, then resolved, then run and printed.

pub mod check;
pub mod completions;
pub mod conform;
mod conform_show;
pub mod doctor;
pub mod fleet;
pub mod hunt;
pub mod isolate;
mod isolate_files;
mod isolate_page;
pub mod mutate;
pub mod prove;
pub mod reduce;
pub mod repair;
pub mod report;
