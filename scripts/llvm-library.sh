#!/usr/bin/env bash
# Fetches a libLLVM that this Debian does not have from a newer suite, with the C library it needs and the
# archives that name its functions, and makes a wrapper that runs candor with them.
#
#   scripts/llvm-library.sh 23                                     where candor finds it by itself
#   scripts/llvm-library.sh 23 /var/tmp/llvm-23-library sid
#   /var/tmp/llvm-23-library/run PROGRAM ARGUMENTS...
#
# A library that wants a newer libc cannot be loaded into a process that started with the old one: candor starts
# itself again under the newer suite's loader, and the wrapper does so for other programs. Needs no root; 60-120 MB are downloaded.
# Suites (2026): trixie has 17, 18, 19, 22; sid has 19, 21, 22, 23.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 3 ]; then
  echo "usage: $0 VERSION [DIRECTORY [SUITE]]      (e.g. $0 23 /var/tmp/llvm-23-library sid)" >&2
  exit 2
fi
version=$1
place=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/candor/llvm-$version}
mkdir -p "$place"
target=$(cd "$place" && pwd)
case "$version" in 17 | 18 | 19 | 22) default=trixie ;; *) default=sid ;; esac
suite=${3:-$default}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
: >"$work/status"
cat >"$work/library.sources" <<END
Types: deb
URIs: http://deb.debian.org/debian
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
# An empty status file: nothing counts as installed, so that all that is needed is listed.
apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/library.sources" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status" -o "Dir::Cache::archives=$work/archives"
  -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Debug::NoLocking=1 -o APT::Install-Recommends=false)
"${apt[@]}" update >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 2; }

download() { "${apt[@]}" install --download-only -y "$1" >"$work/log" 2>&1; }
download "libllvm$version" || download "libllvm${version}t64" || {
  echo "Debian $suite has no libllvm$version" >&2
  exit 2
}
for package in "$work"/archives/*.deb; do
  dpkg-deb -x "$package" "$target/root"
done
(cd "$work" && "${apt[@]}" download "llvm-$version-dev" >"$work/log" 2>&1) || { cat "$work/log" >&2; exit 2; }
dpkg-deb --fsys-tarfile "$work"/llvm-*-dev_*.deb | tar -x -C "$target" --wildcards './usr/lib/llvm-*/lib/*.a'

# The library stands beside its archives, where candor looks for them.
found=$(find "$target/root/usr/lib" -name "libLLVM*.so*" -type f | head -n 1)
mv "$target/usr/lib/llvm-$version/lib" "$target/lib"
rm -r "$target/usr"
cp "$found" "$target/lib/"
ln -sf "lib/${found##*/}" "$target/libLLVM.so"
cat >"$target/run" <<END
#!/bin/sh
# run PROGRAM ARGUMENTS...: under the loader and the libraries of Debian $suite.
program=\$(command -v "\$1") || { echo "\$1 is not there" >&2; exit 2; }
shift
exec "$target/root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$target/root/usr/lib/x86_64-linux-gnu" "\$program" "\$@"
END
chmod +x "$target/run"
echo "$target/libLLVM.so: LLVM $version of Debian $suite"
