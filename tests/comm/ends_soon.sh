#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# ends_soon.sh MILLISECONDS COMMAND [ARGUMENT ...]
# Runs a command that says " at TIME" when it fails; says "ends late" if it runs on for longer than that, and "is left
# behind" if a process of the command's last two words is.
set -uo pipefail

allowed="$1"
shift
output="$("$@" 2>&1)"
status=$?
end="$(date +%s%3N)"
echo "$output"
thrown="$(grep -oE ' at [0-9]+$' <<<"$output" | head -n 1 | tr -dc 0-9)"
if [ -z "$thrown" ] || [ $((end - thrown)) -gt "$allowed" ]; then
  echo "ends late: $((end - ${thrown:-0})) ms after it threw"
fi
if pgrep -f -- "^${*: -2}$" >/dev/null; then
  echo "a process of ${*: -2} is left behind"
fi
exit $status
