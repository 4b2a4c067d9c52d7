#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command and checks what it printed (both streams) and returned:
#   expect_run.sh [--exit zero|nonzero] [--seconds S] [--matches RE]... [--once RE]... [--lacks RE]...
#                 [--leaves_nothing PATH]... -- COMMAND [ARGUMENT ...]
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/slowness.sh"

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
trap 'rm -f "$output" "$output.late"' EXIT

# Ends the job when its seconds are over, which are longer the more else the machine has to do.
keep_time() {
  local left=$((seconds * 1000000)) before="${EPOCHREALTIME/[.,]/}" now
  while [ "$left" -gt 0 ]; do
    sleep 0.2
    now="${EPOCHREALTIME/[.,]/}"
    left=$((left - 100 * (now - before) / $(slowness)))
    before=$now
  done
  touch "$output.late"
  kill -TERM -- "-$job"
  sleep 5
  kill -KILL -- "-$job"
}
set -m # a process group of its own
"$@" >"$output" 2>&1 </dev/null &
job=$!
set +m
clock=
if [ "$seconds" != 0 ]; then
  keep_time >/dev/null 2>&1 &
  clock=$!
fi
wait "$job"
status=$?
[ -z "$clock" ] || kill "$clock" 2>/dev/null
cat "$output"

wrong=0
complain() {
  echo "expect_run: $*"
  wrong=1
}
found() { grep -oE -e "$1" "$output" | wc -l; }

if [ -e "$output.late" ]; then
  complain "was ended after its time; it may take $seconds seconds of a quiet machine"
elif [ "$seconds" != 0 ] && [ $status -ge 124 ] && [ $status -le 137 ] && [ $status != 134 ]; then
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
