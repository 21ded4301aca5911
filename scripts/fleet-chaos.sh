#!/usr/bin/env bash
# A fleet under attack for ten minutes: three servers that keep everything three times, four workers; workers and one
# server at a time are killed with -9 and started again. See crates/fleet/tests/chaos.rs for what must hold at the end.
#   scripts/fleet-chaos.sh [SECONDS] [RANDOM-SEED] [SEEDS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
export CHAOS_SECONDS=$seconds CHAOS_SEED=${2:-1} CHAOS_SEEDS=${3:-$((seconds * 5 / 3))} CHAOS_PAUSE_MS=500
exec cargo test --workspace --test chaos -- --nocapture
