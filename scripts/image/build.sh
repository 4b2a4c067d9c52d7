#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# build.sh: in an image's first stage, from /src to /opt/riesz: the installed program, its launcher, LibTorch's CPU half and
# the documents. JOBS: so many compilations at once, of up to 1.5 GB each; by default one a processor.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset release -DRIESZ_BUILD_TESTS=OFF -DRIESZ_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX=/opt/riesz \
  -DRIESZ_INSTALL_LIBTORCH=ON
cmake --build build/release -j "${JOBS:-$(nproc)}"
cmake --install build/release --strip
# The program links Riesz statically: what only compilers read stays behind.
rm -rf /opt/riesz/include
find /opt/riesz/lib \( -name '*.a' -o -name cmake -o -path '*/riesz/torch/include' \) -prune -exec rm -rf {} +
