#!/usr/bin/env bash
# Two workers through a broker against a local hunt with two jobs: the same seeds, one after the other, in one run; and
# how many messages and bytes the broker moved per program judged.
#   scripts/fleet-bench.sh [SEEDS] [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-12} runs=${2:-2}
candor=${CANDOR:-$PWD/target/release/candor}
place=$(mktemp -d /var/tmp/fleet-bench.XXXXXX)
port=$((20000 + RANDOM % 20000))
nats-server -js -a 127.0.0.1 -p $port -m $((port + 1)) -sd "$place/broker" >"$place/log" 2>&1 &
server=$!
trap 'kill $server; rm -rf "$place"' EXIT
export XDG_STATE_HOME="$place/state"
settings=(--cc gcc-12 --cc clang-19 --seeds "$seeds" --variants 2 --share 0)
figure() { curl -s "http://127.0.0.1:$((port + 1))/varz" | python3 -c "import json,sys; print(json.load(sys.stdin)['$1'])"; }
milliseconds() { date +%s%3N; }
programs() { grep -h '"event":"ended"' "$@" | python3 -c 'import json,sys; print(sum(json.loads(l)["programs"] for l in sys.stdin))'; }
sleep 1
# The time from the first program begun to the last judged: starting up is the same for both and not the broker's.
for run in $(seq "$runs"); do
  begun=$(milliseconds)
  "$candor" hunt "${settings[@]}" --jobs 2 --store "$place/local$run" >"$place/local$run.json" || true
  local_ms=$(($(milliseconds) - begun))
  before=($(figure in_msgs) $(figure out_msgs) $(figure in_bytes) $(figure out_bytes))
  fleet=(--fleet "nats://127.0.0.1:$port" --campaign "bench$run" --begin --jobs 1)
  begun=$(milliseconds)
  "$candor" hunt "${settings[@]}" "${fleet[@]}" >"$place/a$run.json" & one=$!
  "$candor" hunt "${settings[@]}" "${fleet[@]}" >"$place/b$run.json" & two=$!
  wait $one || true
  wait $two || true
  fleet_ms=$(($(milliseconds) - begun))
  after=($(figure in_msgs) $(figure out_msgs) $(figure in_bytes) $(figure out_bytes))
  ours=$(programs "$place/local$run.json") theirs=$(programs "$place/a$run.json" "$place/b$run.json")
  python3 - "$local_ms" "$fleet_ms" "$ours" "$theirs" "${before[@]}" "${after[@]}" <<'P'
import sys
l, f, ours, theirs, *n = map(int, sys.argv[1:])
b, a = n[:4], n[4:]
rate = lambda count, ms: count * 3600e3 / ms
print(f"local: {ours} programs in {l/1000:.1f} s ({rate(ours, l):.0f}/h); fleet: {theirs} in {f/1000:.1f} s "
      f"({rate(theirs, f):.0f}/h); fleet/local {rate(theirs, f) / rate(ours, l):.3f}; per program: "
      f"{(a[0]-b[0])/theirs:.1f} messages in, {(a[1]-b[1])/theirs:.1f} out, "
      f"{(a[2]-b[2])/theirs/1000:.1f} kB in, {(a[3]-b[3])/theirs/1000:.1f} kB out")
P
done
