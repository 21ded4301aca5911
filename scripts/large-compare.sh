#!/usr/bin/env bash
# Whether everything but one function's unit reads as before: llvm-dwarfdump, gdb and lldb on both files.
# usage: scripts/large-compare.sh BEFORE AFTER UNIT.c
set -euo pipefail
unit=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# under one name, which debuggers print
mkdir "$work/1" "$work/2"
cp "$1" "$work/1/program"
cp "$2" "$work/2/program"
before=$work/1/program after=$work/2/program
failed=0

# the text of each unit, the changed one and the empty unit that it leaves behind aside
units() {
  llvm-dwarfdump-19 --debug-info "$1" | python3 -c '
import sys
name = "\"%s\"" % sys.argv[1]
unit, changed, entries = [], False, 0
def flush():
    if unit and not changed and entries > 1:
        sys.stdout.writelines(unit)
for line in sys.stdin:
    if " Unit: length = " in line:
        flush()
        unit, changed, entries = [], False, 0
        line = line.split(": length")[0] + "\n"
    elif "file format" in line:
        continue
    entries += "DW_TAG_" in line
    changed = changed or ("DW_AT_name" in line and name in line)
    unit.append(line)
flush()' "$unit"
}
units "$before" >"$work/before"
units "$after" >"$work/after"
echo "llvm-dwarfdump: $(wc -l <"$work/before") lines of other units, $(diff "$work/before" "$work/after" | grep -c '^[<>]' || true) differ"
cmp -s "$work/before" "$work/after" || failed=1
for section in --debug-line --debug-macro --debug-aranges --debug-frame; do
  for file in before after; do
    llvm-dwarfdump-19 $section "${!file}" 2>/dev/null | grep -v 'file format' >"$work/$file" || true
  done
  # a unit that moved is named by its new place
  echo "llvm-dwarfdump $section: $(wc -l <"$work/before") lines, $(diff "$work/before" "$work/after" | grep -c '^[<>]' || true) differ"
done

gdb_says() {
  gdb -nx -batch -iex 'set auto-load no' -ex 'info functions main_' -ex 'info line main_7' -ex 'info scope main_5' -ex 'ptype main_3' \
    -ex 'info types S[0-9]' -ex 'info variables g_1' "$1" 2>&1
}
lldb_says() {
  lldb-19 --no-lldbinit --batch -o "image lookup -v -n main_7" -o "image lookup -t S0" "$1" 2>&1 | sed "s#$1##g"
}
for debugger in gdb lldb; do
  ${debugger}_says "$before" >"$work/before"
  ${debugger}_says "$after" >"$work/after"
  cmp -s "$work/before" "$work/after" || failed=1
  echo "$debugger: $(wc -l <"$work/before") lines, $(diff "$work/before" "$work/after" | grep -c '^[<>]' || true) differ"
done
exit $failed
