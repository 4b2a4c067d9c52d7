#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# draw_experts.sh RIESZ CONFIG TEXT: what docs/guides/experts.md shows of each layout, under lines "== NAME".
set -euo pipefail
riesz="$1" config="$2" text="$3"

draw() {
  echo "== $1"
  "$riesz" explain "$config" data.text="$text" layout.dp=1 --layer transformer.h.1.mlp "${@:2}" 2>/dev/null
}

draw tp layout.tp=2
draw ep layout.ep=2
