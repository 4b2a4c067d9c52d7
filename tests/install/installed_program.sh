#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Trains two steps of an installed example by the installed launcher and program, as another user where that is
# possible, and says whether every user could load what the program loads:  installed_program.sh PREFIX
set -euo pipefail

prefix="$(realpath "$1")"
program=("$prefix/bin/riesz-mpirun" -n 2 "$prefix/bin/riesz" train "$prefix/share/riesz/examples/adder.toml"
  layout.dp=1 data.digits=1 data.held_out=0.1 train.batch=8 train.steps=2 train.eval_size=8 schedule.warm_up=0)

# The first of a file and the folders above it that others may not read or enter; folders above the prefix are not the
# installation's.
closed() {
  local path="$1" mode
  mode="$(stat -c %a "$path")"
  ((mode % 10 & 4)) || { echo "$path" && return; }
  while path="$(dirname "$path")" && [ "$path" != / ] && [[ "$prefix/" != "$path"/?* ]]; do
    mode="$(stat -c %a "$path")"
    ((mode % 10 & 1)) || { echo "$path" && return; }
  done
}

libraries="$(ldd "$prefix/bin/riesz")"
if grep "not found" <<<"$libraries"; then
  exit 1
fi
for library in $(awk '$3 ~ /^\// { print $3 }' <<<"$libraries"); do
  bad="$(closed "$(realpath "$library")")"
  if [ -n "$bad" ]; then
    echo "$library: only its owner may use $bad"
    exit 1
  fi
done
echo "every user can load its libraries"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
chmod 777 "$folder"
cd "$folder"
other=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$folder" TMPDIR="$folder")
if [ "$(id -u)" = 0 ] && "${other[@]}" test -x "$prefix/bin/riesz"; then
  program=("${other[@]}" "${program[@]}")
fi
"${program[@]}" output.folder="$folder/results"
