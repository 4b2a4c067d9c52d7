#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes the Python environment of the peers and prints its interpreter. The torch in it is the one that
# scripts/setup.sh fetched for building, so that both sides of a comparison run the same kernels; another Python
# than that torch is for gets its own by pip. With all in place it only looks.
#
#   setup.sh [mpi4py]     the packages that some peers need beside torch, each once
#
#   RIESZ_CACHE     where it goes (${XDG_CACHE_HOME:-~/.cache}/riesz), in the folder peers
set -euo pipefail

version=2.11.0
cache="${RIESZ_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/riesz}"
fetched="$cache/libtorch-$version"
peers="$cache/peers"
python="$peers/bin/python"

say() { printf 'peers: %s\n' "$*" >&2; }
works() { "$python" -c 'import torch.distributed.tensor.parallel' 2>/dev/null; }
install() { "$python" -m pip install --quiet --disable-pip-version-check "$@" >&2; }

# The package with a library of CUDA: those of the toolkit by their short name.
package_of() {
  case "$1" in
    libcudnn.so*) echo nvidia-cudnn-cu13==9.19.0.56 ;;
    libcusparseLt.so*) echo nvidia-cusparselt-cu13==0.8.0 ;;
    libnccl.so*) echo nvidia-nccl-cu13==2.28.9 ;;
    libnvshmem_host.so*) echo nvidia-nvshmem-cu13==3.4.5 ;;
    libcublasLt.so*) echo "cuda-toolkit[cublas]==13.0.2" ;;
    libnvJitLink.so*) echo "cuda-toolkit[nvjitlink]==13.0.2" ;;
    libcu*.so*) name="${1%%.so*}" && echo "cuda-toolkit[${name#lib}]==13.0.2" ;;
    libnvrtc*.so*) echo "cuda-toolkit[nvrtc]==13.0.2" ;;
  esac
}

# The libraries of CUDA that this torch loads and that the machine has not: it loads them, and uses none.
missing_cuda() {
  local library
  ldd "$1/lib/libtorch_python.so" | sed -n 's/^\s*\(\S*\) => not found$/\1/p' | sort -u |
    while read -r library; do package_of "$library"; done
}

# Links, file by file: in a folder of its own the wheel finds the libraries that pip puts beside it.
link_fetched_torch() {
  local site packages
  site="$("$python" -c 'import site; print(site.getsitepackages()[0])')"
  cp -rs "$fetched"/{torch,torchgen,functorch} "$site/"
  mapfile -t packages < <(missing_cuda "$site/torch")
  if [ "${#packages[@]}" -gt 0 ]; then install "${packages[@]}" || return 1; fi
  works || { rm -rf "$site"/{torch,torchgen,functorch} && return 1; }
}

make_environment() {
  say "making $peers (once)"
  rm -rf "$peers"
  mkdir -p "$cache"
  python3 -m venv "$peers" || { say "this python3 cannot make an environment; on Debian install python3-venv"; exit 1; }
  install typing_extensions sympy networkx jinja2 fsspec filelock numpy
  if ! [ -d "$fetched/torch" ] || ! link_fetched_torch; then
    say "the torch in $fetched does not run in $(python3 --version); installing one by pip"
    install "torch==$version"
  fi
  works || { "$python" -c 'import torch.distributed.tensor.parallel' >&2 || true; say "no working torch"; exit 1; }
}

main() {
  local package
  works || make_environment
  for package in "$@"; do
    "$python" -c "import $package" 2>/dev/null || install "$package"
  done
  echo "$python"
}

main "$@"
