//! One hunt in several places: job arrays.
#![allow(clippy::unwrap_used)]

#[path = "fleet/place.rs"]
mod place;
#[path = "fleet/shards.rs"]
mod shards;
