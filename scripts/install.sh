#!/usr/bin/env bash
# Installs what candor needs and this machine lacks (Debian 12). Quick, and needs no root, when
# nothing is missing. Called by `make demo` and `make test`; with --tests also what only tests need.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  # compilers under test, and their run-time libraries
  gcc gcc-11 gcc-12 clang-14 clang-16 clang-19 tcc libc6-dev
  # sanitizers (the gate against undefined behaviour), and a linker that is quick with their run-time
  libclang-rt-19-dev lld-19
  # reading C; LLVM's tools and library
  libclang1-19 llvm-19 libllvm19 llvm-16 libllvm16
  # further libraries for conform, and the archives that name their functions
  libllvm14 libllvm15 llvm-16-dev llvm-19-dev
  # debuggers that confirm findings
  gdb lldb-19 python3-lldb-19
  # program generator, reducer, solver, benchmarks
  csmith libcsmith-dev cvise creduce z3 cvc5 hyperfine
  # what the Rust crates link with
  make pkg-config
)

if [ "${1:-}" = --tests ]; then
  # fleets are tested against the real broker, and with clocks that go wrong
  packages+=(nats-server faketime)
  # regression tests that conform writes are tried with FileCheck
  packages+=(llvm-16-tools llvm-19-tools)
  # the report's pages are tested in a real browser
  packages+=(chromium fonts-dejavu-core)
  # others than Debian package these two as one
  command -v node >/dev/null || packages+=(nodejs)
  command -v npm >/dev/null || packages+=(npm)
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ]; then
    echo "candor needs these packages: ${missing[*]}" >&2
    echo "Install them with this one command, then run make again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 2
  fi
  echo "installing: ${missing[*]}"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get update -q && apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt-get failed; the lines above say why" >&2
    exit 2
  fi
fi

if ! command -v cargo >/dev/null; then
  echo "candor needs a Rust toolchain (1.89 or later): https://rustup.rs" >&2
  exit 2
fi

# conform on Rust programs needs a libLLVM that reads rustc's IR, which is newer than Debian 12's
if [ "${1:-}" = --tests ]; then
  needed=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
  if [ "${needed:-0}" -gt 19 ] && ! [ -e "${XDG_CACHE_HOME:-$HOME/.cache}/candor/llvm-$needed/libLLVM.so" ]; then
    ./scripts/llvm-library.sh "$needed"
  fi
fi

if [ "${1:-}" = --tests ] && ! { [ -d tests/browser/node_modules/playwright-core ] && [ -d tests/browser/node_modules/ajv ]; }; then
  npm --prefix tests/browser ci --silent --no-audit --no-fund
fi
