#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# explain_is_the_report.sh FOLDER RIESZ LAUNCHER ... RIESZ CONFIG.toml [key=value ...]: explains a configuration in one
# process, trains it for a step under the launcher, and compares the table of both.
set -euo pipefail

folder="$1"
riesz="$2"
shift 2
words=()
while [ "${1##*.}" != toml ]; do
  words+=("$1")
  shift
done
table() { sed -n '/each rank sends in a step$/,/^  in all/p' | tail -n +2; }

rm -rf "$folder"
plan="$("$riesz" explain "$@" --all | table)"
"${words[@]}" train "$@" train.steps=1 output.folder="$folder" >/dev/null
report="$(table <"$folder/report.txt")"
rm -rf "$folder"
echo "$plan"
[ -n "$plan" ] && [ "$plan" = "$report" ] && echo "the report says what the plan does" || echo "$report"
