#!/usr/bin/env bash
# Installs what candor needs and this machine lacks (Debian 12). Quick, and needs no root, when
# nothing is missing. Called by `make demo` and `make test`.
set -euo pipefail

packages=(
  # compilers under test, and their run-time libraries
  gcc gcc-11 gcc-12 clang-14 clang-16 clang-19 tcc libc6-dev
  # sanitizers (the gate against undefined behaviour)
  libclang-rt-19-dev
  # reading C; LLVM's tools and library
  libclang1-19 llvm-19 libllvm19 llvm-16 libllvm16
  # debuggers that confirm findings
  gdb lldb-19 python3-lldb-19
  # program generator, reducer, solver, benchmarks
  csmith libcsmith-dev cvise z3 hyperfine
  # what the Rust crates link with
  make pkg-config
)

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
  echo "candor needs a Rust toolchain (1.88 or later): https://rustup.rs" >&2
  exit 2
fi
