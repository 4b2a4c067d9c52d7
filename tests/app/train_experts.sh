#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# train_experts.sh FOLDER MPIRUN RIESZ EXAMPLES TEXT: moe_text.toml in a few steps of tiny sizes, by data parallelism and in stages,
# with the same losses. Then a GPT-2 gets experts at another layout, and its held-out loss is still its own.
set -euo pipefail

folder="$1" mpirun="$2" riesz="$3" examples="$4" text="$5"
rm -rf "$folder"
mkdir -p "$folder"
few=(data.text="$text" data.sample=0 model.layers=2 model.width=32 model.context=32 model.dropout=0 train.steps=2 train.batch=8
  train.micro_batches=1 train.eval_every=2 train.eval_size=8 schedule.warm_up=1)
# The last step's loss and held-out loss.
train() {
  "$mpirun" -n 2 "$riesz" train "$examples/$1" "${few[@]}" output.folder="$folder/$2" "${@:3}" >/dev/null 2>&1
  tail -n 1 "$folder/$2/loss.csv" | cut -d , -f 2,3 --output-delimiter=" "
}
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-6) }'; }

read -r loss held_out < <(train moe_text.toml dp checkpoint.save=false)
read -r again held_out_again < <(train moe_text.toml pp layout.dp=1 layout.pp=2 checkpoint.save=false)
near "$loss" "$again" && near "$held_out" "$held_out_again" && echo "the same losses on two ranks and in two stages"

read -r loss held_out < <(train text.toml dense layout.tp=1)
read -r again held_out_again < <(train text.toml upcycled layout.dp=1 model.from="$folder/dense" model.upcycle=true model.experts=3 \
  optimizer.learning_rate=1e-12 schedule.floor=0)
near "$held_out" "$held_out_again" && echo "with experts, the held-out loss of the dense model"
grep -o '"model_type": "gpt2_moe"' "$folder"/upcycled/checkpoint-2/config.json
rm -rf "$folder"
