#!/bin/sh
# Reads prefix.h once, with the flags of an object that uses it; run in the build folder. Where that fails the build is only
# slower, so this never fails.
tools=$1
read -r compiler <"$tools/compiler"
object=lib/Transforms/Scalar/CMakeFiles/LLVMScalarOpts.dir/DCE.cpp.o
command=$(ninja -t commands "$object" | tail -n 1)
flags=${command%% -MD*}
flags=${flags#* }
rm -f "$tools/prefix.pch"
# The flags are words of a command line that ninja would hand to a shell.
eval "\"\$compiler\" $flags -fpch-instantiate-templates -x c++-header \"\$tools/prefix.h\" -o \"\$tools/prefix.new\"" &&
  mv "$tools/prefix.new" "$tools/prefix.pch"
exit 0
