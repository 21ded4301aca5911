#!/usr/bin/env bash
# Fetches regression tests of newer gcc releases, for measuring `candor isolate` on real bugs of gcc 12.2
# (docs/isolate.md). They are gcc's (GPL) and stay out of this repository.
#
#   scripts/gcc-tests.sh shared/data/gcc-12.2-bugs.tsv /var/tmp/gcc-tests
#   cargo run --release -p candor-isolate --example gcc_bugs -- shared/data/gcc-12.2-bugs.tsv /var/tmp/gcc-tests
#
# The first column-headed table names the tests (`test`) and the release that has them (`fixed_in`): Debian's
# packages gcc-12-source and gcc-13-source of its newest suite. Needs no root: apt's lists are read in a
# directory of our own. About 170 MB are downloaded and removed again; 60 MB remain.
set -euo pipefail

if [ $# -ne 2 ]; then
  echo "usage: $0 BUGS.tsv DIRECTORY" >&2
  exit 2
fi
bugs=$1
target=$2
mkdir -p "$target"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The machine's own mirror and key, with the newest suite instead of the installed one.
sources=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
mirror=$(sed -n 's/^URIs: *//p' <<<"$sources" | head -1)
key=$(sed -n 's/^Signed-By: *//p' <<<"$sources" | head -1)
if [ -z "$mirror" ]; then
  mirror=$(sed -n 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list | head -1)
fi
if [ -z "$mirror" ]; then
  echo "no Debian mirror is configured in /etc/apt" >&2
  exit 2
fi
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/packages"
echo "deb ${key:+[signed-by=$key]} $mirror sid main" >"$work/sources.list"
apt=(-o "Dir::State=$work/state" -o "Dir::State::status=/var/lib/dpkg/status" -o "Dir::Cache=$work/cache"
  -o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=/nonexistent"
  -o "APT::Sandbox::User=$(id -un)")
apt-get "${apt[@]}" update -q >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; exit 2; }

for release in 12 13; do
  [ -d "$target/$release/gcc.dg" ] && continue
  (cd "$work/packages" && apt-get "${apt[@]}" download -q "gcc-$release-source" >"$work/log" 2>&1) ||
    { tail -n 5 "$work/log" >&2; exit 2; }
  dpkg-deb --fsys-tarfile "$work/packages"/gcc-"$release"-source_*.deb |
    tar -x -C "$work/packages" --wildcards "*/gcc-$release.*.tar.xz"
  archive=$(find "$work/packages" -name "gcc-$release.*.tar.xz")
  mkdir -p "$target/$release"
  tar -x -C "$target/$release" --strip-components=3 -f "$archive" --wildcards \
    '*/gcc/testsuite/gcc.dg' '*/gcc/testsuite/gcc.c-torture' '*/gcc/testsuite/gcc.target/i386' \
    '*/gcc/testsuite/c-c++-common'
done

missing=$(awk -F'\t' 'NR > 1 { split($9, release, "."); print release[1] "/" $7 }' "$bugs" |
  while read -r test; do [ -f "$target/$test" ] || echo "not found: $test"; done)
if [ -n "$missing" ]; then
  echo "$missing" >&2
  exit 1
fi
echo "the tests are in $target"
