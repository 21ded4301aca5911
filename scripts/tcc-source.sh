#!/usr/bin/env bash
# Fetches the source tree of Tiny C that Debian ships: the tests of `candor isolate` plant bugs in it and
# build it for coverage. tcc is LGPL-2.1 and stays out of this repository. 700 KB are downloaded.
#
#   scripts/tcc-source.sh /var/tmp/tcc
#
# Needs no root: apt's source lists are read in a directory of our own, from this machine's mirrors.
set -euo pipefail

if [ $# -ne 1 ]; then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi
target=$1
if [ -f "$target/tccgen.c" ]; then
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/files" "$(dirname "$target")"
chmod 755 "$work" "$work/files"
# The mirrors this machine is set up with, asked for sources.
cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed 's/^Types: *deb *$/Types: deb-src/' >"$work/own.sources" || true
if ! grep -q '^URIs:' "$work/own.sources"; then
  sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$work/own.list"
  rm "$work/own.sources"
fi
apt=(apt-get -q -o "Dir::Etc::sourcelist=$(ls "$work"/own.*)" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$work/lists" -o "APT::Sandbox::User=$(id -un)")
"${apt[@]}" update >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; exit 2; }
(cd "$work/files" && "${apt[@]}" source --download-only tcc) >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; exit 2; }
# Upstream's tree as it is; only whole trees get the final name.
archive=$(ls "$work"/files/tcc_*.orig.tar.*)
mkdir "$work/tree"
tar -xf "$archive" -C "$work/tree"
root=$(dirname "$(find "$work/tree" -maxdepth 2 -name tccgen.c)")
rm -rf "$target"
mv "$root" "$target"
echo "$target: tcc $(cat "$target/VERSION")"
