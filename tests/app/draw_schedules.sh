#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# draw_schedules.sh RIESZ: what docs/reference/schedules.md shows of each schedule, under lines "== NAME".
set -euo pipefail
riesz="$1"

draw() {
  echo "== $1"
  shift
  "$riesz" schedule "$@" 2>/dev/null
}

draw gpipe gpipe --stages 4 --micro-batches 8
draw gpipe_recompute gpipe --recompute --stages 4 --micro-batches 4
draw one_f_one_b one_f_one_b --stages 4 --micro-batches 8
draw interleaved interleaved --stages 4 --micro-batches 4
draw varuna varuna --stages 4 --micro-batches 8
draw zb_h1 zb_h1 --stages 4 --micro-batches 8
draw zb_h2 zb_h2 --stages 4 --micro-batches 8
draw zb_v zb_v --stages 2 --micro-batches 4
draw v_half v_half --stages 2 --micro-batches 4
draw v_min v_min --stages 2 --micro-batches 4
draw pipedream pipedream --stages 4 --micro-batches 6
draw two_bw two_bw --stages 3 --micro-batches 9
draw ampnet ampnet --stages 3 --micro-batches 8 --in-flight 5 --update-interval 4
draw forward zb_v --forward-only --stages 2 --micro-batches 4
