#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# train_from.sh FOLDER MPIRUN RIESZ EXAMPLES TEXT: the examples of tokens in a few steps of tiny sizes. gpt2_text.toml trains
# a model; a small Llama is trained likewise, and put where Hugging Face's libraries keep what they fetch; and
# finetune_smollm2.toml goes on from it by its name: on one rank, on two, and in two stages, with the same losses. What that
# leaves is gone on from again.
set -euo pipefail

folder="$1" mpirun="$2" riesz="$3" examples="$4" text="$5"
rm -rf "$folder"
mkdir -p "$folder"
"$riesz" tokenize "$text" -o "$folder/tokens" --vocab-size 400 >/dev/null
few=(data.tokens="$folder/tokens" data.length=24 data.held_out=0.1 data.sample=4 train.steps=4 train.eval_every=4 train.batch=4
  train.eval_size=8 schedule.warm_up=0 checkpoint.every=4)
small=(model.layers=2 model.heads=4 model.width=32 model.context=32)

"$mpirun" -n 2 "$riesz" train "$examples/gpt2_text.toml" "${few[@]}" "${small[@]}" output.folder="$folder/gpt2" 2>/dev/null |
  sed -n 's/^model  *//p'
ls "$folder/gpt2/checkpoint-4" | tr '\n' ' '
echo
"$riesz" generate "$folder/gpt2" "The" --max-tokens 4 --json --quiet | grep -q '"prompt":"The"' && echo "generates from what it learnt"
"$riesz" train "$examples/gpt2_text.toml" layout.dp=1 "${few[@]}" "${small[@]}" model.kind=llama model.key_value_heads=2 \
  output.folder="$folder/llama" >/dev/null
hub="$folder/hub/models--HuggingFaceTB--SmolLM2-135M"
mkdir -p "$hub/refs" "$hub/snapshots"
printf 0a1b >"$hub/refs/main"
mv "$folder/llama/checkpoint-4" "$hub/snapshots/0a1b"
rm "$hub/snapshots/0a1b/optimizer.safetensors" "$hub/snapshots/0a1b/state.json"

export HF_HUB_CACHE="$folder/hub"
go_on() { "$mpirun" -n "$1" "$riesz" train "$examples/finetune_smollm2.toml" "${few[@]}" output.folder="$folder/$2" "${@:3}"; }
go_on 1 one layout.tp=1 2>/dev/null | sed -n 's/^model  *//p'
go_on 2 two layout.zero=2 >/dev/null
go_on 2 stages layout.tp=1 layout.pp=2 train.micro_batches=2 >/dev/null
paste -d , "$folder"/{one,two,stages}/loss.csv | awk -F , '
  NR > 1 { rows++; for (i = 9; i <= 16; i += 7) { far = $2 - $i; if (far < 0) far = -far; if (far > 1e-4) { bad++; print } } }
  END { if (rows == 4 && !bad) print "the same losses on one rank, on two and in stages" }'
cmp "$hub/snapshots/0a1b/tokenizer.json" "$folder/two/checkpoint-4/tokenizer.json" && echo "with its tokenizer"
go_on 1 again layout.tp=1 model.from="$folder/two/checkpoint-4" train.steps=1 >/dev/null && echo "and gone on from again"

# What does not fit is named.
"$riesz" tokenize "$text" -o "$folder/other" --vocab-size 390 >/dev/null
{ go_on 1 other layout.tp=1 data.tokens="$folder/other" 2>&1 >/dev/null || true; } |
  grep -o "another tokenizer than the model's in .*: token" | sed "s,$folder,FOLDER,"
rm -rf "$folder"
