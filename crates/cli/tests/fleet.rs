//! One hunt in several places: job arrays, and workers around a broker.
#![allow(clippy::unwrap_used)]

#[path = "fleet/place.rs"]
mod place;
#[path = "fleet/shards.rs"]
mod shards;
#[path = "fleet/workers.rs"]
mod workers;
