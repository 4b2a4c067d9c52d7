#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# For whoever has a GPU of NVIDIA: builds Riesz with CUDA, compares it with the CPU, measures it, and prints one table.
#   check_gpu.sh [--quick] [--device cuda|cpu] [--build FOLDER]
#   check_gpu.sh --help
#
# It downloads up to 2.8 GB to ~/.cache/riesz (scripts/setup.sh, scripts/setup_cuda.sh run), which take more than 4 GB there. A driver of NVIDIA,
# 580 or newer, must be installed.
#
#   --quick   sizes that take seconds, and no measure beside PyTorch
#   --device  cpu runs the same programs on the CPU, to try this script where there is no GPU. It too fetches nvcc and NCCL
#   --build   a folder that is configured already; default: build/cuda, which it configures (preset cuda, for these GPUs)
#
# What it does, on 1, 2 and 4 ranks, which share the GPUs where they are fewer (AllReduce only on as many as there are GPUs):
#   tests        what is compiled for GPUs (ctest, label cuda)
#   equivalence  models, layouts, optimizers, ZeRO and schedules: losses, norms and weights are the CPU's, to 1e-10 in fp64 and 1e-4
#                in fp32; losses and norms to 1e-2 in half types
#   layers       of images and volumes, forward and backward in fp64, within 1e-12
#   losses       of 20 steps of a GPT in fp32, within 1e-4 of the CPU's
#   kernels      each, in each type: every element is the CPU's, or within the bound of its formula; and its part of the
#                bandwidth that a copy reaches
#   all_reduce   its sums are right; GB/s as nccl-tests count them: bytes/s times 2(p - 1)/p
#   gpt          GPT-2 124M, 350M and 1.5B in bf16, tokens/s on one GPU, beside torch.compile where python3 has torch
#
# CUDA_VISIBLE_DEVICES says which GPUs it may use. The status is not 0 if a number differs from the CPU's. A speed below its
# target is said in the table, and is no failure.
# NSYS=1 also writes a profile of GPT-2 by nsys, BUILD/check_gpu.nsys-rep, with ranges of layers, phases and operators.
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
    -h | --help)
      sed -n '5,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"  # the text at the top
      exit 0
      ;;
    --quick) quick=1 ;;
    --device | --build)
      [ $# -gt 1 ] || fail "$1 needs a word after it: --device cuda or cpu, --build FOLDER"
      if [ "$1" = --device ]; then device="$2"; else build="$2" configured=1; fi
      shift
      ;;
    *) fail "there is no option $1; there are --quick, --device cuda|cpu, --build FOLDER and --help" ;;
  esac
  shift
done
[ "$device" = cuda ] || [ "$device" = cpu ] || fail "--device is '$device'; it must be cuda or cpu"
[ -z "$configured" ] || [ -e "$build/CMakeCache.txt" ] || fail "--build is '$build', which is not configured"
# The tests that it runs are not to run it again.
[ -z "${RIESZ_CHECKS_GPU:-}" ] || fail "it is running already, and has started this"
export RIESZ_CHECKS_GPU=1

# What is missing is named before anything is built.
gpus=1
architectures=
if [ "$device" = cuda ]; then
  command -v python3 >/dev/null || fail "there is no python3; run scripts/setup.sh first"
  seen="$(python3 "$root/scripts/visible_gpus.py" 2>&1)" || fail "$seen; or try this script by --quick --device cpu"
  seen="$(grep -E '^[0-9]+ ' <<<"$seen")" || fail "scripts/visible_gpus.py names no GPU"  # and not what a driver warns of
  gpus="$(wc -l <<<"$seen")"
  say "$gpus GPU(s): $(cut -d ' ' -f 2- <<<"$seen" | sort -u | paste -sd ',' -)"
  architectures="$(cut -d ' ' -f 1 <<<"$seen" | sort -un | paste -sd ';' -)"
fi

if [ -z "$configured" ]; then
  "$root/scripts/setup.sh"
  "$root/scripts/setup_cuda.sh" "$([ "$device" = cuda ] && echo run)"
  (cd "$root" && cmake --preset cuda ${architectures:+"-DRIESZ_CUDA_ARCHITECTURES=$architectures"} >&2) ||
    fail "configuring failed"
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

# A profile of some steps. Without it all else is said as well.
profile() {
  if ! command -v nsys >/dev/null; then
    say "no profile: there is no nsys in the PATH (Nsight Systems of NVIDIA)"
  elif ! nsys profile --trace cuda,nvtx --force-overwrite true -o "$build/check_gpu" "$build/bench/device_check" gpt \
    --device "$device" --nvtx "$@" >&2; then
    say "no profile: nsys failed"
  fi
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
  part "$count" layers
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
[ -z "${NSYS:-}" ] || profile --size "${sizes[0]%% *}" --context "$context" --steps 5

{
  printf 'what\tvalue\tunit\ttarget\tverdict\n'
  sed -n 's/^row\t//p' "$log"
} | awk -F '\t' '{ printf "%-38s %12s %-16s %10s  %s\n", $1, $2, $3, $4, $5 }'
[ "$failed" = 0 ] || fail "some numbers differ from the CPU's, or a part failed; see above"
