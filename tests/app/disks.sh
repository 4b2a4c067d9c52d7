#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# disks.sh FOLDER COMMAND [ARGUMENT ...]: trainings whose disk takes a checkpoint slower than the deadline, not at all, or
# never returns; what they say, with which status they end, and what they leave.
set -uo pipefail

folder="$1"
shift
rm -rf "$folder"
export GIVES_UP=none RIESZ_DEADLINE=3
job() { DISK=$1 "${command[@]}" checkpoint.every=4 checkpoint.background="$2" output.folder="$folder/$1-$2" "${@:3}" 2>&1; }
command=("$@")

for background in false true; do
  job slow $background >/dev/null && ls "$folder/slow-$background/checkpoint-4" | tr '\n' ' ' && echo "after a slow disk, $background"
done
for background in false true; do
  job full $background
  echo "status $? on a full disk, $background, with $(wc -l <"$folder/full-$background/loss.csv") lines and $(ls "$folder/full-$background/report.txt" | wc -l) report"
done
# Files that are longer than this process may write, but not those of the MPI library, and no memory that is shared.
(ulimit -f 20000 && export RIESZ_TRANSPORT=mpi && job limited false model.width=1152 model.heads=8 train.steps=1)
echo "status $? beyond a limit of files"
for background in false true; do
  job stuck $background
  echo "status $? on a stuck disk, $background"
done
cd "$folder" && "$@" output.folder=unread 2>/dev/null | head -1 | sed 's,.*,the first line alone,'
[ -e unread/report.txt ] && echo "nobody reads, and the report is written"
rm -rf "$folder"
