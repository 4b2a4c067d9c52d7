#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command and checks what it printed (both streams) and returned:
#   expect_run.sh [--exit zero|nonzero] [--seconds S] [--matches RE]... [--once RE]... [--lacks RE]...
#                 [--leaves_nothing PATH]... -- COMMAND [ARGUMENT ...]
set -uo pipefail

exit_rule=zero seconds=0
matches=() once=() lacks=() leftovers=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case "$1" in
    --exit) exit_rule="$2" ;;
    --seconds) seconds="$2" ;;
    --matches) matches+=("$2") ;;
    --once) once+=("$2") ;;
    --lacks) lacks+=("$2") ;;
    --leaves_nothing) leftovers+=("$2") ;;
    *) echo "expect_run: unknown option $1" >&2 && exit 2 ;;
  esac
  shift 2
done
shift
if [ $# = 0 ] || [[ ! "$exit_rule" =~ ^(zero|nonzero)$ ]]; then
  echo "expect_run: needs -- COMMAND, and --exit zero or nonzero" >&2
  exit 2
fi

rm -rf ${leftovers[@]+"${leftovers[@]}"}
output="$(mktemp)"
trap 'rm -f "$output"' EXIT
timeout --kill-after=5 "$seconds" "$@" >"$output" 2>&1 </dev/null
status=$?
cat "$output"

wrong=0
complain() {
  echo "expect_run: $*"
  wrong=1
}
found() { grep -oE -e "$1" "$output" | wc -l; }

if [ "$seconds" != 0 ] && [ $status -ge 124 ] && [ $status -le 137 ] && [ $status != 134 ]; then
  complain "ended by status $status; it may take $seconds seconds"
elif [ "$exit_rule" = zero ] && [ $status != 0 ]; then
  complain "returned $status, expected zero"
elif [ "$exit_rule" = nonzero ] && [ $status = 0 ]; then
  complain "returned 0, expected non-zero"
fi
for regex in ${matches[@]+"${matches[@]}"}; do
  [ "$(found "$regex")" -ge 1 ] || complain "nothing printed matches '$regex'"
done
for regex in ${once[@]+"${once[@]}"}; do
  count="$(found "$regex")"
  [ "$count" = 1 ] || complain "'$regex' was printed $count times, expected once"
done
for regex in ${lacks[@]+"${lacks[@]}"}; do
  [ "$(found "$regex")" = 0 ] || complain "printed '$regex', which it must not"
done
for path in ${leftovers[@]+"${leftovers[@]}"}; do
  [ ! -e "$path" ] || complain "left $path behind"
done
exit $wrong
