#!/usr/bin/env bash
# Fetches a gcc source tree that Debian ships as a package (gcc-12-source, ...), for
# `candor isolate --prepare gcc --source DIRECTORY/gcc-12.2.0 -o covgcc`. gcc is GPL-3 and stays out of
# this repository. About 80 MB are downloaded and removed again, 900 MB remain.
#
#   scripts/gcc-source.sh 12 /var/tmp/gcc        the sources of this machine's suite
#   scripts/gcc-source.sh 13 /var/tmp/gcc sid    those of another suite
#
# Needs no root: apt's lists are read in a directory of our own, for the suite asked for.
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: $0 RELEASE DIRECTORY [SUITE]      (e.g. $0 12 /var/tmp/gcc)" >&2
  exit 2
fi
release=$1
target=$2
suite=${3:-$(. /etc/os-release && echo "$VERSION_CODENAME")}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$target"
# The mirrors this machine is set up with, and no others.
mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -v security | head -n 1)
[ -n "$mirror" ] || mirror=$(sed -n 's/^deb  *\(\[[^]]*\]  *\)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list | head -n 1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $mirror $suite main" >"$work/source.list"
apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/source.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$work/lists")
"${apt[@]}" update >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 2; }
(cd "$work" && "${apt[@]}" download "gcc-$release-source") >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 2; }
inside=$(dpkg-deb --fsys-tarfile "$work"/*.deb | tar -tf - | grep -E 'gcc-[0-9.]+(-dfsg)?\.tar\.xz$' | head -n 1)
dpkg-deb --fsys-tarfile "$work"/*.deb | tar -xf - -C "$work" "$inside"
tar -xJf "$work/$inside" -C "$target"
for tree in "$target"/gcc-"$release".*; do
  echo "$tree: $(cat "$tree/gcc/BASE-VER")"
done
