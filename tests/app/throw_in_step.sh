#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# throw_in_step.sh FOLDER COMMAND [ARGUMENT ...]: runs a training that ends early, and looks at the history it left.
set -uo pipefail

folder="$1"
shift
rm -rf "$folder"
"$@" output.folder="$folder"
status=$?

history="$folder/loss.csv"
rows="$(grep -cE '^[0-9]+(,[-+.0-9e]*){6}$' "$history")"
lines="$(wc -l <"$history")" # counts line ends, so a row cut off is one row too many
if [ "$lines" = $((rows + 1)) ] && [ "$rows" -ge 2 ] && [ "$rows" -le 4 ]; then
  echo "the history has whole rows only"
else
  cat "$history"
fi
[ "$(cd "$folder" && echo *)" = "config.toml $(cd "$folder" && echo events.*) loss.csv metrics.jsonl" ] && echo "and nothing is half-written"
rm -rf "$folder"
exit $status
