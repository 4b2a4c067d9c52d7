#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Brings a machine to where the preset "cuda" builds, after scripts/setup.sh. Nothing is done twice.
#   setup_cuda.sh        the compiler nvcc 13.0 and headers (105 MB), and NCCL 2.28 (196 MB): what the build needs
#   setup_cuda.sh run    also what LibTorch loads to compute on a GPU (2.0 GB): cuBLAS, cuDNN and others
#
# It needs no root, no GPU and no driver. A toolkit 13.0 of the machine (nvcc in the PATH, CUDA_HOME or /usr/local/cuda) with
# nccl.h is used as it is. All is fetched from PyPI by name, in the versions that LibTorch asks for (scripts/wheels.txt).
#
#   RIESZ_CACHE     where fetched libraries go, shared by all clones (scripts/fetch.sh)
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
speaker=setup_cuda
instead="; name a toolkit by CUDA_HOME instead"
. "$root/scripts/fetch.sh"
wanted="${1:-}"
[ -z "$wanted" ] || [ "$wanted" = run ] || fail "there is no '$wanted'; it is nothing, or run"

# What is fetched for these names: lines "name==version" of scripts/wheels.txt.
versions() {
  local name
  for name in "$@"; do
    grep -oE "^$name==[^ ]+" "$root/scripts/wheels.txt" || fail "scripts/wheels.txt has no $name"
  done
}
toolkit=(nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl nvidia-nvtx nvidia-nccl-cu13)
libraries=(nvidia-cublas nvidia-cuda-cupti nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile
  nvidia-curand nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13)

# What cmake/RieszFindCuda.cmake sees: lines "nvcc FILE", "missing NAME", "note TEXT".
look() { cmake -P "$root/cmake/RieszFindCuda.cmake"; }

fetch_toolkit() {
  local seen list names
  seen="$(look)"
  sed -n 's/^note /setup_cuda: /p' <<<"$seen" >&2
  grep -q '^missing' <<<"$seen" || return 0
  say "fetching CUDA's compiler and headers (105 MB) and NCCL (196 MB), once, into $RIESZ_CACHE"
  list="$(versions "${toolkit[@]}")"
  mapfile -t names <<<"$list"
  fetch_wheels "$RIESZ_CACHE/cuda-toolkit-13.0" "${names[@]}"
  # Wheels have no links for the linker, and no executables.
  local site="$RIESZ_CACHE/cuda-toolkit-13.0/nvidia"
  ln -sfn libnccl.so.2 "$site/nccl/lib/libnccl.so"
  ln -sfn lib "$site/cu13/lib64"
  chmod +x "$site"/cu13/bin/* "$site"/cu13/nvvm/bin/*
  seen="$(look)"
  if grep -q '^missing' <<<"$seen"; then
    fail "still missing after fetching: $(sed -n 's/^missing //p' <<<"$seen" | tr '\n' ' ')"
  fi
}

# Where the fetched libtorch_cuda.so itself looks for them: beside torch, in nvidia/.
fetch_libraries() {
  local torch site list names
  torch="$(cmake -P "$root/cmake/RieszFindLibTorch.cmake" | sed -n 's/^libtorch //p')"
  [ -n "$torch" ] || fail "there is no LibTorch; run scripts/setup.sh first"
  site="$(dirname "$torch")"
  if [ "$site" != "$RIESZ_CACHE/libtorch-2.11.0" ]; then
    say "LibTorch is $torch, which is not of this cache; the libraries that it loads come with it"
    return 0
  fi
  [ ! -e "$site/nvidia" ] || return 0
  if [ ! -d "$RIESZ_CACHE/cuda-libraries-13.0" ]; then
    say "fetching what LibTorch loads to compute on a GPU (2.0 GB, once) into $RIESZ_CACHE"
    list="$(versions "${libraries[@]}")"
    mapfile -t names <<<"$list"
    fetch_wheels "$RIESZ_CACHE/cuda-libraries-13.0" "${names[@]}"
  fi
  ln -sfn ../cuda-libraries-13.0/nvidia "$site/nvidia"
}

command -v cmake >/dev/null || fail "there is no cmake; run scripts/setup.sh first"
lock_cache
fetch_toolkit
[ "$wanted" != run ] || fetch_libraries
unlock_cache
