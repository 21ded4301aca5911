#!/bin/sh
# Links the driver with the recording libraries; run in the build folder.
set -e
tools=$1
source=$2
read -r compiler <"$tools/compiler"
"${compiler%%++*}${compiler##*++}" -O1 -w -fno-PIE -I"$source/include" -Iinclude -c "$tools/driver.c" -o "$tools/driver.o"
# The parts one by one: all of "x86" would want libraries that no compilation needs and that are not built.
parts="passes x86codegen x86asmparser x86desc x86info bitreader core target"
# shellcheck disable=SC2086
libraries=$(bin/llvm-config --link-static --libs $parts)
# shellcheck disable=SC2086
system=$(bin/llvm-config --link-static --system-libs $parts)
# shellcheck disable=SC2086
"$compiler" -no-pie "$tools/driver.o" "$tools/trace_pc.o" -Llib $libraries $system -o llvm
