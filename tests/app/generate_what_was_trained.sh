#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# generate_what_was_trained.sh FOLDER MPIRUN RIESZ EXAMPLES TEXT: the examples of bytes and of sums in a few steps, with no
# word of checkpoints. The folder of the training is then what all commands take; they take its best checkpoint, whose held-out
# loss is made the least by hand, so that it is not the last.
set -euo pipefail

folder="$1" mpirun="$2" riesz="$3" examples="$4" text="$5"
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
few=(train.steps=4 train.eval_every=2 train.eval_size=8 schedule.warm_up=0)

"$mpirun" -n 2 "$riesz" train "$examples/text.toml" data.text="$text" layout.dp=2 layout.tp=1 model.layers=1 model.width=32 \
  data.length=32 data.sample=4 "${few[@]}" output.folder=text | tail -n 2 | sed "s,$folder,FOLDER,g"
python3 - text/checkpoint-4/state.json <<'PY'
import json
import sys
with open(sys.argv[1], encoding="utf-8") as file:
    state = json.load(file)
state["best"]["step"] = 2
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(state, file)
PY
ls text/checkpoint-2 | tr '\n' ' ' && echo
"$riesz" generate text "To be" --max-tokens 12 --json >by_run 2>says
grep -o "the model is that of .*" says
"$mpirun" -n 2 "$riesz" generate text/checkpoint-2 "To be" --max-tokens 12 --json --quiet >by_best
cmp by_run by_best && grep -q '"prompt":"To be"' by_run && echo "generates from bytes, from the best one"
[ "$("$riesz" evaluate text "$text" 2>/dev/null | sed 2q)" = "$("$riesz" evaluate text/checkpoint-2 "$text" | sed 2q)" ] &&
  echo "evaluates it"
[ "$("$riesz" inspect text 2>/dev/null)" = "$("$riesz" inspect text/checkpoint-2)" ] && echo "inspects it"
"$riesz" convert text -o converted >/dev/null && cmp converted/model.safetensors text/checkpoint-2/model.safetensors &&
  cmp converted/tokenizer.json text/checkpoint-2/tokenizer.json && echo "converts it"
"$riesz" train text/config.toml layout.dp=1 model.from=text output.folder=on >/dev/null && grep -c , on/loss.csv

"$riesz" train "$examples/adder.toml" layout.dp=1 layout.tp=1 "${few[@]}" output.folder=adder >/dev/null
"$riesz" generate adder 8550 --quiet | grep -E "^[0-9]{3}$" | sed 's/.*/three digits/'
"$riesz" train "$examples/adder.toml" layout.dp=1 layout.tp=1 "${few[@]}" output.folder=adder 2>&1 >/dev/null | grep "earlier training"
ls adder/earlier-1 | tr '\n' ' ' && echo
"$riesz" train "$examples/adder.toml" layout.dp=1 layout.tp=1 "${few[@]}" output.folder=none checkpoint.save=false >/dev/null
"$riesz" generate none 8550 2>&1 | grep -o "nor a training's checkpoint-STEP; it has .*" || true
cd / && rm -rf "$folder"
