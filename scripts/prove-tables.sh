#!/bin/sh
# Makes the measurements of docs/prove.md and docs/repair.md into a folder: scripts/prove-tables.sh OUT [SECONDS]
# One process at a time; on an idle machine about half an hour. SECONDS is the limit for one function on the wall (60).
set -eu
out=${1:?"give a folder for the results"}
limit=${2:-60}
mkdir -p "$out"
cd "$(dirname "$0")/.."
cargo build --release -p candor-prove -p candor-repair --examples
run=target/release/examples
for compiler in gcc-12 clang-19; do
    for level in "O1:-O1" "O2:-O2" "sse:-O3 -msse4.2" "avx:-O3 -mavx2"; do
        name=${level%%:*}
        for source in tsvc own tsvc_function_scope; do
            # shellcheck disable=SC2086
            $compiler -w -g -c ${level#*:} "tests/prove/$source.c" -o "$out/$compiler-$source-$name.o"
        done
        for source in tsvc own; do
            $run/kernels "tests/prove/$source.c" "$out/$compiler-$source-$name.o" "$limit" >"$out/kernels-$compiler-$source-$name.txt"
        done
    done
done
for compiler in gcc-12 clang-19; do
    for name in sse avx; do
        $run/table tests/prove/tsvc_function_scope.c "$out/$compiler-tsvc_function_scope-$name.o" - --ablation >"$out/repair-$compiler-$name.txt"
    done
done
loops="s000 s111 s1111 s1112 s112 s113 s116 s121 s1221 s124 s127 s128 s131 s132 s1351 s1421 s173 s211 s212 s221 s241"
for count in 25 source:10; do
    # shellcheck disable=SC2086
    $run/mutants tests/prove/tsvc.c "$out/gcc-12-tsvc-sse.o" $count 20261116 $loops >>"$out/mutants.txt"
done
$run/bench_prove >"$out/arrays.txt"
