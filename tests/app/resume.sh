#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# resume.sh FOLDER COMMAND CONFIG.toml [WORD ...]: trains eight steps with checkpoints; then as a job does that was killed
# after its sixth, with half a row written and one damaged: what it left, and --resume, give the same losses and the same checkpoint.
set -euo pipefail

folder="$1"
command=("${@:2}")
rm -rf "$folder"
job() { "${command[@]}" train.steps=8 schedule.warm_up=2 train.eval_every=3 checkpoint.every=2 checkpoint.keep=0 "output.folder=$@"; }
losses() { cut -d, -f1-5 "$folder/$1/loss.csv"; }

job "$folder/whole" >/dev/null
cp -r "$folder/whole" "$folder/killed"
rm -r "$folder/killed/checkpoint-6" "$folder/killed/checkpoint-8"
head -7 "$folder/whole/loss.csv" >"$folder/killed/loss.csv"
sed -i '4s/.*/3,damaged/' "$folder/killed/loss.csv"
printf '7,0.1' >>"$folder/killed/loss.csv"
mkdir "$folder/killed/.checkpoint-6.unfinished"
job "$folder/killed" --resume 2>&1 | grep -E "^goes on after step 4, from |/loss.csv" | sed "s,$folder,FOLDER,g"
[ "$(losses whole)" = "$(losses killed)" ] && echo "the same losses, no step twice"
cmp "$folder"/{whole,killed}/checkpoint-8/model.safetensors && cmp "$folder"/{whole,killed}/checkpoint-8/state.json &&
  cmp "$folder"/{whole,killed}/checkpoint-8/optimizer.safetensors && echo "the same last checkpoint"
ls "$folder/killed/checkpoint-8" | tr '\n' ' '
rm -rf "$folder"
