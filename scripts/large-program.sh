#!/usr/bin/env bash
# Builds a large program for `repair`: a loop of our own (large.c, function `f`) and Csmith programs around it, with full debug information.
# Two Csmith programs are compiled again and again: generating large ones takes longer than compiling them.
# usage: scripts/large-program.sh DIRECTORY UNITS     (a unit is about 1 MB; writes DIRECTORY/large and DIRECTORY/large.c)
set -euo pipefail
directory=$1 units=$2
mkdir -p "$directory"
cd "$directory"
{
  echo 'int a[4096], b[4096];'
  echo '__attribute__((noinline)) void f(void) { for (int i = 0; i < 4000; i++) a[i] = b[i] + 1; }'
} >large.c
echo 'void f(void); int main(void) { f(); return 0; }' >main.c
for ((unit = 1; unit <= units; unit++)); do
  [ -f "unit$unit.o" ] && continue
  seed=$((unit % 2 + 1))
  [ -f "csmith$seed.c" ] || csmith --seed "$seed" --max-funcs 40 --no-argc >"csmith$seed.c"
  gcc-12 -w -O0 -g3 "-Dmain=main_$unit" -I/usr/include/csmith -c "csmith$seed.c" -o "unit$unit.tmp"
  mv "unit$unit.tmp" "unit$unit.o"
done
gcc-12 -O2 -g -c large.c main.c
# the loop's unit is neither the first nor the last
gcc-12 main.o unit[1-9].o large.o $(ls unit[1-9][0-9]*.o 2>/dev/null) -o large
ls -l large
