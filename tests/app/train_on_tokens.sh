#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# train_on_tokens.sh FOLDER MPIRUN RIESZ TEXT...: makes tokens of texts on three ranks with a vocabulary that is learnt,
# again on one, and trains on them for a few steps on one rank and on two: the same losses.
set -euo pipefail

folder="$1" mpirun="$2" riesz="$3"
shift 3
rm -rf "$folder"
mkdir -p "$folder"
"$mpirun" -n 3 "$riesz" tokenize "$@" -o "$folder/tokens" --vocab-size 600
sums="$(cd "$folder/tokens" && sha256sum -- *)"
"$riesz" tokenize "$@" -o "$folder/tokens" --tokenizer "$folder/tokens" | tail -n 2
[ "$sums" = "$(cd "$folder/tokens" && sha256sum -- *)" ] && echo "the same files again"

cat >"$folder/small.toml" <<'TOML'
[model]
layers = 1
heads = 2
width = 32
context = 16

[data]
task = "tokens"
tokens = "tokens"
sample = 8

[schedule]
warm_up = 2

[train]
steps = 6
batch = 4
eval_every = 3
eval_size = 8
TOML
train() { "$mpirun" -n "$1" "$riesz" train "$folder/small.toml" layout.dp="$1" output.folder="$folder/on_$1"; }
train 1
train 2 >/dev/null
paste -d , "$folder/on_1/loss.csv" "$folder/on_2/loss.csv" | awk -F , '
  NR > 1 { rows++; far = $2 - $9; if (far < 0) far = -far; if (far > 1e-4) { bad++; print } }
  END { if (rows == 6 && !bad) print "the same losses on one rank and on two" }'
# The folder of the training has the tokenizer, with which texts are written, and tokens are made again.
"$riesz" generate "$folder/on_1" "The" --max-tokens 4 --json --quiet | grep -q '"prompt":"The"' && echo "generates from tokens"
"$riesz" tokenize "$@" -o "$folder/again" --tokenizer "$folder/on_1" --quiet >/dev/null &&
  cmp "$folder"/{tokens,again}/tokenizer.json && echo "makes tokens by the folder of the training"
rm -rf "$folder"
