#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# For whoever has a GPU of NVIDIA: builds Riesz with CUDA, compares it with the CPU, measures it, and prints one table.
#   check_gpu.sh [--quick] [--device cuda|cpu] [--build FOLDER]
#
#   --quick   sizes that take seconds, and no measure beside PyTorch
#   --device  cpu runs the same programs on the CPU, to try this script where there is no GPU
#   --build   a folder that is configured already; default: build/cuda, which it configures (preset cuda)
#
# What it does, on 1, 2 and 4 ranks, which share the GPUs where they are fewer (AllReduce only on as many as there are GPUs):
#   tests        what is compiled for GPUs (ctest, label cuda)
#   equivalence  models, layouts, optimizers, ZeRO and schedules: losses and weights are the CPU's
#   losses       of 20 steps of a GPT in fp32, within 1e-4 of the CPU's
#   kernels      each gives what the CPU gives; its part of the bandwidth that a copy reaches
#   all_reduce   GB/s as nccl-tests count them: bytes/s times 2(p - 1)/p
#   gpt          GPT-2 124M, 350M and 1.5B in bf16, tokens/s on one GPU, beside torch.compile where python3 has torch 2.11
#
# The status is not 0 if a number differs from the CPU's. A speed below its target is said in the table, and is no failure.
# NSYS=1 also writes a profile of GPT-2 124M by nsys, with ranges of layers and operators.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="$root/build/cuda"
device=cuda
quick=
configured=
say() { printf 'check_gpu: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=1 ;;
    --device) device="${2:-}" && shift ;;
    --build) build="${2:-}" configured=1 && shift ;;
    *) fail "there is no option $1; there are --quick, --device cuda|cpu and --build FOLDER" ;;
  esac
  shift
done
[ "$device" = cuda ] || [ "$device" = cpu ] || fail "--device is '$device'; it must be cuda or cpu"

# One line a GPU; what is missing is named before anything is built.
gpus=1
if [ "$device" = cuda ]; then
  command -v nvidia-smi >/dev/null ||
    fail "there is no nvidia-smi, so no driver of NVIDIA: install it, or try this script by --quick --device cpu"
  names="$(nvidia-smi --query-gpu=name --format=csv,noheader)" || fail "nvidia-smi sees no GPU: $names"
  gpus="$(grep -c . <<<"$names")" || fail "nvidia-smi sees no GPU"
  say "$gpus GPU(s): $(sort -u <<<"$names" | paste -sd ',' -)"
fi

if [ -z "$configured" ]; then
  "$root/scripts/setup.sh"
  "$root/scripts/setup_cuda.sh" "$([ "$device" = cuda ] && echo run)"
  (cd "$root" && cmake --preset cuda >/dev/null)
fi
cmake --build "$build" --target device_check >&2 || fail "the build failed"

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
failed=0

# part RANKS NAME OPTION...: its rows go to the log. What it says besides goes to standard error.
part() {
  local ranks="$1" name="$2"
  shift 2
  say "$name on $ranks rank(s)"
  if ! "$build/mpirun" -n "$ranks" "$build/bench/device_check" "$name" --device "$device" "$@" |
    tee -a "$log" | { grep -v '^row' >&2 || true; }; then
    printf 'row\t%s, %s ranks\t-\t\t\tFAILED\n' "$name" "$ranks" >>"$log"
    failed=1
  fi
}

# Tokens a second of compiled PyTorch for a size; nothing where python3 has no torch.
peer() {
  python3 -c 'import torch' 2>/dev/null || return 0
  (cd "$root/bench/peers" && python3 gpt_compiled.py --device "$device" "$@") | sed -n 's/^tokens\/s //p' || true
}

ranks=(1 2 4)
stride=1
elements=$((1 << 26))
context=1024
losses=(--size 124M --batch 1 --context 64)
sizes=("124M 12 12 768 8 530000" "350M 24 16 1024 8 208000" "1.5B 48 25 1600 4 54000")
if [ -n "$quick" ]; then
  stride=40
  elements=4096
  context=16
  losses=(--size tiny --batch 2 --context 16)
  sizes=("tiny 2 2 32 2 0")
fi

if [ "$device" = cuda ]; then
  cmake --build "$build" --target test_cuda riesz >&2 || fail "the build failed"
  (cd "$build" && ctest -L cuda --output-on-failure >&2) || failed=1
fi
for count in "${ranks[@]}"; do
  part "$count" equivalence --stride "$stride"
  part "$count" losses "${losses[@]}"
done
part 1 kernels --elements "$elements"
for count in "${ranks[@]:1}"; do
  # Ranks that share a GPU do not exchange by NCCL, whose speed this is.
  if [ "$device" = cpu ] || [ "$count" -le "$gpus" ]; then part "$count" all_reduce --elements "$elements"; fi
done
for line in "${sizes[@]}"; do
  read -r size layers heads width batch target <<<"$line"
  rate=
  [ -n "$quick" ] || rate="$(peer --layers "$layers" --heads "$heads" --width "$width" --vocabulary 50304 \
    --context "$context" --batch "$batch")"
  part 1 gpt --size "$size" --batch "$batch" --context "$context" --target "$target" --peer "${rate:-0}" \
    --steps "$([ -n "$quick" ] && echo 3 || echo 20)"
done
if [ -n "${NSYS:-}" ]; then
  nsys profile -o "$build/check_gpu" "$build/bench/device_check" gpt --size 124M --context "$context" --steps 5 >&2
fi

{
  printf 'what\tvalue\tunit\ttarget\tverdict\n'
  sed -n 's/^row\t//p' "$log"
} | awk -F '\t' '{ printf "%-38s %12s %-16s %10s  %s\n", $1, $2, $3, $4, $5 }'
[ "$failed" = 0 ] || fail "some numbers differ from the CPU's, or a part failed; see above"
