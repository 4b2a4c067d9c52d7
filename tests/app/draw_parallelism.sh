#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# draw_parallelism.sh RIESZ CONFIG: what docs/reference/layouts.md shows of each layout, under lines "== NAME".
set -euo pipefail
riesz="$1"
config="$2"

draw() {
  local name="$1"
  shift
  echo "== $name"
  "$riesz" explain "$config" layout.dp=1 model.layers=1 --spaces --layer transformer.h.0 "$@" 2>/dev/null
}

draw 1d layout.tp=3
draw sp layout.tp=3 layout.tensor=sp
draw 2d model.heads=4 layout.tp=4 layout.tensor=2d
draw 2.5d model.heads=4 layout.tp=8 layout.tensor=2.5d
draw 3d model.heads=4 layout.tp=8 layout.tensor=3d
draw ring layout.tp=1 layout.sp=3 layout.sequence=ring
draw ulysses layout.tp=1 layout.sp=3 layout.sequence=ulysses

draw_experts() {
  local name="$1"
  shift
  echo "== $name"
  "$riesz" explain "$config" layout.dp=1 layout.tp=1 model.layers=1 model.kind=mixtral model.experts=4 --spaces \
    --layer model.layers.0 "$@" 2>/dev/null
}

draw_experts ep layout.ep=2
draw_experts ep_in_tp layout.ep=2 layout.experts=tp
