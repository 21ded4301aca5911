//! One file per command: arguments as typed, then resolved, then run and printed.

pub mod check;
pub mod completions;
pub mod doctor;
pub mod mutate;
