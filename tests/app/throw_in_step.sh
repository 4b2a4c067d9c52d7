#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# throw_in_step.sh FOLDER COMMAND [ARGUMENT ...]: runs a training in which no rank, one or all give up while a checkpoint
# is being written, and looks at what it left.
set -uo pipefail

folder="$1"
shift
rm -rf "$folder"
for who in none one all; do
  GIVES_UP=$who "$@" checkpoint.every=2 output.folder="$folder/$who"
  status=$?
  cd "$folder/$who" || exit
  rows="$(grep -cE '^[0-9]+(,[-+.0-9e]*){6}$' loss.csv)"
  lines="$(wc -l <loss.csv)" # counts line ends, so a row cut off is one row too many
  if [ "$lines" = $((rows + 1)) ] && [ "$rows" -ge 2 ] && [ "$rows" -le 4 ]; then
    echo "$who: the history has whole rows only"
  else
    cat loss.csv
  fi
  [ $who = none ] && continue
  [ "$(echo *)" = "checkpoint-2 config.toml $(echo events.*) loss.csv metrics.jsonl" ] && [ ! -e .checkpoint-2.unfinished ] &&
    echo "$who: nothing is half-written"
  diff -r ../none/checkpoint-2 checkpoint-2 && echo "$who: what was begun is there"
done
rm -rf "$folder"
exit $status
