//! Tests against the real compilers, in one binary: linking is most of what a test costs.
#![allow(clippy::unwrap_used)]

mod bench;
mod integers;
mod profiles;
mod refusals;
mod slice;
mod variants;
