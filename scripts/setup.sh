#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Brings a Debian machine to where Riesz builds: packages, LibTorch, and the two CUDA runtime libraries that
# LibTorch loads. Nothing is done twice: with all in place it only looks, and touches no network.
#   setup.sh        what the program is built of
#   setup.sh test   also what ./run test runs
#
# It asks nothing. Where packages are missing it needs root, or sudo without a password; else it says the line that installs
# them, and fails.
#
#   RIESZ_LIBTORCH  a folder of LibTorch to use instead of fetching one
#   RIESZ_CACHE     where fetched libraries go, shared by all clones (scripts/fetch.sh)
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
speaker=setup
instead="; name a LibTorch by RIESZ_LIBTORCH instead"
. "$root/scripts/fetch.sh"
torch_version=2.11.0
wanted="${1:-}"
cuda_wheels=(nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85)

# --- Debian packages ---------------------------------------------------------------------------------------

# A tool counts wherever it comes from, a library by its package.
missing_packages() {
  local -A tools=([cmake]=cmake [g++]=g++ [ninja]=ninja-build [ccache]=ccache [mold]=mold [python3]=python3
    [flock]=util-linux [readelf]=binutils)
  [ "$wanted" != test ] || tools+=([unshare]=util-linux [ip]=iproute2)
  local tool package
  for tool in "${!tools[@]}"; do
    # Where only root's path leads there is enough for root.
    [ -x "$(PATH="$PATH:/usr/sbin:/sbin" command -v "$tool")" ] || echo "${tools[$tool]}"
  done
  # Whichever MPI is there is used, Open MPI or MPICH.
  if ! command -v mpicxx >/dev/null || ! command -v mpiexec >/dev/null; then
    echo libopenmpi-dev openmpi-bin
  fi
  local libraries=(libeigen3-dev libgtest-dev libgmock-dev nlohmann-json3-dev
    libtomlplusplus-dev libcli11-dev libspdlog-dev libjemalloc-dev libpcre2-dev
    libpng-dev libturbojpeg0-dev zlib1g-dev)
  local installed
  installed="$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${libraries[@]}" 2>/dev/null || true)"
  for package in "${libraries[@]}"; do
    grep -qx "installed $package" <<<"$installed" || echo "$package"
  done
  # What LibTorch is fetched by.
  if ! python3 -m pip --version >/dev/null 2>&1 && [ -z "${RIESZ_LIBTORCH:-}" ] &&
    { ! command -v cmake >/dev/null || lacks lib "$(look)"; }; then
    echo python3-pip
  fi
}

# --- LibTorch and the CUDA runtime -------------------------------------------------------------------------

# What cmake/RieszFindLibTorch.cmake sees: lines "libtorch FOLDER", "missing NAME", "note TEXT", "wrong NAME".
look() { cmake -P "$root/cmake/RieszFindLibTorch.cmake"; }
lacks() { grep -q "^missing $1" <<<"$2"; }

fetch_missing() {
  lock_cache
  local seen
  seen="$(look)"
  sed -n 's/^note /setup: /p' <<<"$seen" >&2
  if lacks libtorch "$seen"; then
    say "fetching LibTorch $torch_version (530 MB, once; 1.2 GB unpacked) into $RIESZ_CACHE"
    say "(to do without: name a LibTorch $torch_version by RIESZ_LIBTORCH)"
    fetch_wheels "$RIESZ_CACHE/libtorch-$torch_version" "torch==$torch_version"
    seen="$(look)"
  fi
  if lacks libcu "$seen"; then
    say "fetching the CUDA runtime that LibTorch loads (13 MB, once) into $RIESZ_CACHE"
    fetch_wheels "$RIESZ_CACHE/cuda-runtime-13.0" "${cuda_wheels[@]}"
    seen="$(look)"
  fi
  unlock_cache
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
    fail "RIESZ_LIBTORCH cannot be used: $(sed -n 's/^note //p' <<<"$seen")"
  elif grep -q '^missing' <<<"$seen"; then
    fetch_missing
  fi
}

main
