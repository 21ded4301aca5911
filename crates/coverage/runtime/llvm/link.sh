#!/bin/sh
# Links the driver with the recording libraries; run in the build folder.
set -e
tools=$1
source=$2
read -r compiler <"$tools/compiler"
"${compiler%%++*}${compiler##*++}" -O1 -w -fno-PIE -I"$source/include" -Iinclude -c "$tools/driver.c" -o "$tools/driver.o"
libraries=$(bin/llvm-config --link-static --libs passes x86 bitreader core target)
system=$(bin/llvm-config --link-static --system-libs)
# shellcheck disable=SC2086
"$compiler" -no-pie "$tools/driver.o" "$tools/trace_pc.o" -Llib $libraries $system -o llvm
