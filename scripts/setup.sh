#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Brings a Debian machine to where Riesz builds: packages, LibTorch, and the two CUDA runtime libraries that
# LibTorch loads. Nothing is done twice: with all in place it only looks, and touches no network.
#
#   RIESZ_LIBTORCH  a folder of LibTorch to use instead of fetching one
#   RIESZ_CACHE     where fetched libraries go, shared by all clones (${XDG_CACHE_HOME:-~/.cache}/riesz)
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export RIESZ_CACHE="${RIESZ_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/riesz}"
torch_version=2.11.0
cuda_wheels=(nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85)

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# --- Debian packages ---------------------------------------------------------------------------------------

# A tool counts wherever it comes from, a library by its package.
missing_packages() {
  local -A tools=([cmake]=cmake [g++]=g++ [ninja]=ninja-build [ccache]=ccache [mold]=mold [python3]=python3
    [flock]=util-linux [unshare]=util-linux [ip]=iproute2 [readelf]=binutils)
  local tool package
  for tool in "${!tools[@]}"; do
    # Where only root's path leads there is enough for root.
    PATH="$PATH:/usr/sbin:/sbin" command -v "$tool" >/dev/null || echo "${tools[$tool]}"
  done
  # Whichever MPI is there is used, Open MPI or MPICH.
  if ! command -v mpicxx >/dev/null || ! command -v mpiexec >/dev/null; then
    echo libopenmpi-dev openmpi-bin
  fi
  local libraries=(libeigen3-dev libgtest-dev libgmock-dev libbenchmark-dev nlohmann-json3-dev
    libtomlplusplus-dev libcli11-dev libspdlog-dev libjemalloc-dev libpcre2-dev)
  local installed
  installed="$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${libraries[@]}" 2>/dev/null || true)"
  for package in "${libraries[@]}"; do
    grep -qx "installed $package" <<<"$installed" || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

# Installs the packages named, or says how to and stops.
install_packages() {
  if ! command -v apt-get >/dev/null; then
    fail "this is not a Debian system; install what these packages stand for: $*"
  fi
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    say "some packages are missing, and there is neither root nor sudo without a password. Please run"
    say "    sudo apt-get install --no-install-recommends $*"
    exit 1
  fi
  say "installing $*"
  local log
  log="$(mktemp)"
  if ! { as_root apt-get update -qq &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "could not install $*"
  fi
  rm -f "$log"
}

# --- LibTorch and the CUDA runtime -------------------------------------------------------------------------

# Fetches wheels by name and unpacks them into a folder, which appears whole or not at all.
fetch_wheels() {
  local folder="$1"
  shift
  if ! python3 -m pip --version >/dev/null 2>&1; then
    install_packages python3-pip
    python3 -m pip --version >/dev/null || fail "this python3 has no pip; name a LibTorch by RIESZ_LIBTORCH instead"
  fi
  local work="$folder.part.$$"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  mkdir -p "$work/wheels" "$work/site" "$work/tmp"
  # One fixed kind of wheel, whatever python is here: nothing of it is run.
  local glibc platforms=(--platform "manylinux2014_$(uname -m)")
  for glibc in {17..28}; do
    platforms+=(--platform "manylinux_2_${glibc}_$(uname -m)")
  done
  local quiet=()
  [ -t 2 ] || quiet=(--quiet)
  # pip's own pieces lie here too, where an interrupted set-up is cleared and there is room.
  TMPDIR="$work/tmp" python3 -m pip download ${quiet[@]+"${quiet[@]}"} --disable-pip-version-check --no-cache-dir \
    --no-deps --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
    "${platforms[@]}" --dest "$work/wheels" "$@" >&2 || fail "could not fetch $*; run this again to retry"
  local wheel
  for wheel in "$work"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$work/site" || fail "could not unpack $wheel; is the disk full?"
  done
  rm -rf "$folder"
  mv "$work/site" "$folder"
  rm -rf "$work"
  trap - EXIT INT TERM HUP
}

# What cmake/RieszFindLibTorch.cmake sees: lines "libtorch FOLDER", "missing NAME", "note TEXT", "wrong NAME".
look() { cmake -P "$root/cmake/RieszFindLibTorch.cmake"; }
lacks() { grep -q "^missing $1" <<<"$2"; }

fetch_missing() {
  mkdir -p "$RIESZ_CACHE"
  exec 9>"$RIESZ_CACHE/lock"
  flock -n 9 || { say "waiting for another set-up to finish"; flock 9; }
  # Under the lock nobody else unpacks: what lies here was interrupted.
  rm -rf "$RIESZ_CACHE"/*.part.*
  local seen
  seen="$(look)"
  sed -n 's/^note /setup: /p' <<<"$seen" >&2
  if lacks libtorch "$seen"; then
    say "fetching LibTorch $torch_version (530 MB, once) into $RIESZ_CACHE"
    fetch_wheels "$RIESZ_CACHE/libtorch-$torch_version" "torch==$torch_version"
    seen="$(look)"
  fi
  if lacks libcu "$seen"; then
    say "fetching the CUDA runtime that LibTorch loads (13 MB, once) into $RIESZ_CACHE"
    fetch_wheels "$RIESZ_CACHE/cuda-runtime-13.0" "${cuda_wheels[@]}"
    seen="$(look)"
  fi
  flock -u 9
  if grep -q '^missing' <<<"$seen"; then
    fail "still missing after fetching: $(sed -n 's/^missing //p' <<<"$seen" | tr '\n' ' ')"
  fi
}

main() {
  local packages
  mapfile -t packages < <(missing_packages)
  if [ "${#packages[@]}" -gt 0 ]; then
    # shellcheck disable=SC2068  # one line may hold two packages
    install_packages ${packages[@]}
  fi
  local seen
  seen="$(look)"
  if grep -q '^wrong' <<<"$seen"; then
    fail "RIESZ_LIBTORCH does not do: $(sed -n 's/^note //p' <<<"$seen")"
  elif grep -q '^missing' <<<"$seen"; then
    fetch_missing
  fi
}

main
