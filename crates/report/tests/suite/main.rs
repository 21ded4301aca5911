//! Reports of real findings and of invented, hostile ones; pages in a real browser.

#![allow(clippy::unwrap_used)]

mod browser;
mod fixture;
mod hostile;
mod real;
mod sarif;
mod served;
mod snapshots;
mod written;
