#!/usr/bin/env bash
# Fetches the regression tests and the pass sources of an LLVM that Debian ships, for
# `candor conform --tests` and `--pass-source`; or, with `whole`, everything that `candor isolate --prepare llvm` builds from
# (and clang's small tests, as the developers' suite). They are LLVM's (Apache-2.0 with LLVM exceptions) and
# stay out of this repository.
#
#   scripts/llvm-source.sh 16 /var/tmp/llvm-16          then: candor conform --llvm 16 --tests /var/tmp/llvm-16/llvm/test/Transforms
#   scripts/llvm-source.sh 16 /var/tmp/llvm-16 whole    then: candor isolate --prepare llvm --source /var/tmp/llvm-16 -o covllvm
#
# Needs no root: apt's source lists are read in a directory of our own. About 140-165 MB are
# downloaded; 150-250 MB remain, 1 GB with `whole`.
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ] || [ "${3:-whole}" != whole ]; then
  echo "usage: $0 VERSION DIRECTORY [whole]      (e.g. $0 16 /var/tmp/llvm-16)" >&2
  exit 2
fi
version=$1
target=$2
parts=('*/llvm/test/Transforms' '*/llvm/lib/Transforms' '*/llvm/lib/Analysis')
wanted=llvm/test/Transforms
if [ "${3:-}" = whole ]; then
  parts=('*/llvm' '*/cmake' '*/third-party' '*/clang/test/CodeGen')
  wanted=llvm/include/llvm-c
fi
if [ -d "$target/$wanted" ]; then
  echo "$target holds them already"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$target"
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
cat >"$work/source.sources" <<END
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: $suite $suite-updates
Components: main
Signed-By: $keyring

Types: deb-src
URIs: http://deb.debian.org/debian-security
Suites: $suite-security
Components: main
Signed-By: $keyring
END
apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/source.sources" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$work/lists")
"${apt[@]}" update >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 2; }
line=$("${apt[@]}" source --print-uris "llvm-toolchain-$version" 2>/dev/null | grep 'orig\.tar' | head -n 1) || {
  echo "Debian $suite has no source package llvm-toolchain-$version" >&2
  exit 2
}
read -r uri _ _ sum <<<"$line"
curl -sSf --retry 3 -o "$work/orig.tar.xz" "$(tr -d \' <<<"$uri")"
echo "${sum#SHA256:}  $work/orig.tar.xz" | sha256sum --quiet --check
tar -xJf "$work/orig.tar.xz" -C "$target" --strip-components=1 --wildcards "${parts[@]}"
echo "$target: $(find "$target/llvm/test/Transforms" -name '*.ll' | wc -l) test files"
