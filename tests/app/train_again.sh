#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# train_again.sh FOLDER COMMAND [WORD ...]: trains on the sources of a folder, into that folder; then the same again; then
# what the first run wrote as its configuration, from elsewhere, into a folder there. All three have the same losses. The
# same without a word of a folder is in the first one's.
set -euo pipefail

folder="$1"
shift
rm -rf "$folder"
mkdir -p "$folder/project/src" "$folder/elsewhere"
for i in $(seq 40); do echo "line $i of a source"; done >"$folder/project/src/a.md"
cp "$(dirname "${BASH_SOURCE[0]}")/text_of_a_folder.toml" "$folder/project/job.toml"
losses() { cut -d, -f1-3 "$1/loss.csv"; }

cd "$folder/project"
"$@" train job.toml data.text=. >/dev/null
first="$(losses runs/job)"
"$@" train job.toml data.text=. >/dev/null
[ "$(losses runs/job)" = "$first" ] && echo "the same losses in the same folder"
cd ../elsewhere
"$@" train ../project/runs/job/config.toml output.folder=again >/dev/null
[ "$(losses again)" = "$first" ] && echo "the same losses of the configuration it wrote"
rm -r again
"$@" train ../project/runs/job/config.toml train.steps=2 >/dev/null
[ "$(ls)$(wc -l <../project/runs/job/loss.csv)" = 3 ] && echo "in the folder that it names, wherever it starts"
[ "$(wc -l <<<"$first")" = 4 ] && echo "of three steps"
rm -rf "$folder"
