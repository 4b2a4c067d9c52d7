#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# build.sh: in an image's first stage, from /src to /opt/riesz: the installed programs, their launcher, LibTorch's CPU half and
# the documents. JOBS: so many compilations at once, of up to 2 GB each; by default one a processor, as far as memory reaches.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# What memory is left, and what the container may have, in GB.
limits() {
  awk '/^MemAvailable:/ { print int($2 / 1e6) }' /proc/meminfo
  awk '/^[0-9]+$/ { print int($1 / 1e9) }' /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || true
}
fit=$(($(limits | sort -n | head -n 1) / 2))
[ "$fit" -gt 0 ] || fit=1
processors="$(nproc)"

cmake --preset release -DRIESZ_BUILD_TESTS=OFF -DRIESZ_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX=/opt/riesz \
  -DRIESZ_INSTALL_LIBTORCH=ON
cmake --build build/release -j "${JOBS:-$((processors < fit ? processors : fit))}" --target riesz riesz_tools riesz_said
cmake --install build/release --component program --strip
