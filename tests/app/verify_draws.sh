#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# verify_draws.sh FOLDER RIESZ CONFIG: the picture of a fault that riesz verify finds, in the folder.
set -uo pipefail
folder="$1"
riesz="$2"
stages=("$3" layout.pp=3 layout.dp=1 layout.tp=1 train.micro_batches=6 train.batch=12 pipeline.schedule=zb_v)
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

RIESZ_UNTAKEN=1 "$riesz" verify "${stages[@]}" --svg fault.svg >/dev/null 2>&1
echo "status $?, workers $(grep -o 'font-weight="bold">[^<]*' fault.svg | sed 's/.*>//' | tr '\n' ' ')"
echo "$(grep -c 'height="42.0" fill="#d1495b"' fault.svg) boxes of the fault"
"$riesz" verify "${stages[@]}" --svg none.svg >/dev/null && [ ! -e none.svg ] && echo "no picture where nothing is wrong"
RIESZ_UNTAKEN=1 "$riesz" verify "${stages[@]}" --svg none/fault.svg 2>&1 | grep -o "^workers wait for each other in a circle\|none/fault.svg.*"
echo "status ${PIPESTATUS[0]} where it cannot be written"
