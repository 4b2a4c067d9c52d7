#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# ends_soon.sh MILLISECONDS COMMAND [ARGUMENT ...]
# Runs a command, with an argument more that is this run's alone, that says " at TIME" when it fails; says "ends late" if
# it runs on for longer than that (on a quiet machine; slowness.sh says what it is on this), and "is left behind" if a process that has the argument is there when that time is up.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../support/slowness.sh"

allowed="$1"
shift
before="$(slowness)"
mark="run_$$_$(date +%s%N)"
output="$("$@" "$mark" 2>&1)"
status=$?
end="$(date +%s%3N)"
after="$(slowness)"
allowed=$((allowed * (after > before ? after : before) / 100))
echo "$output"
thrown="$(grep -oE ' at [0-9]+$' <<<"$output" | head -n 1 | tr -dc 0-9)"
if [ -z "$thrown" ] || [ $((end - thrown)) -gt "$allowed" ]; then
  echo "ends late: $((end - ${thrown:-0})) ms after it threw"
fi
while pgrep -f -- " $mark$" >/dev/null; do
  if [ $(($(date +%s%3N) - ${thrown:-0})) -gt "$allowed" ]; then
    echo "a process of $* is left behind"
    break
  fi
  sleep 0.05
done
exit $status
