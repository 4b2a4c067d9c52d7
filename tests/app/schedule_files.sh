#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# schedule_files.sh FOLDER RIESZ: tables that the program writes and reads, in the folder.
set -euo pipefail
folder="$1"
riesz="$2"
mkdir -p "$folder"
cd "$folder"

drawn="$("$riesz" schedule one_f_one_b --stages 4 --micro-batches 8 --csv table.csv --costs 1,1,1,1 --svg timeline.svg)"
read_again="$("$riesz" schedule table.csv --costs 1,1,1,1)"
[ "$drawn" = "$read_again" ] && echo "the same from its own file"
grep '^span' <<<"$drawn"
echo "a picture with $(grep -c '<title>[0-9]' timeline.svg) boxes"

printf '0F0,0F1\n1F0\n1F1,1F0\n' | sed 2d >wrong.csv
! "$riesz" schedule wrong.csv
