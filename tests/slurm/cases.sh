#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# cases.sh: what check.sh runs on the first node. The folder has my.toml; the PATH, riesz and riesz-mpirun; EXAMPLES names
# the folder of batch scripts.
set -uo pipefail

small=(data.digits=1 data.held_out=0.1 model.layers=1 train.batch=8 schedule.warm_up=2 train.eval_every=100000)
failed=0
tokens_a_second=1000

# passes NAME COMMAND ...: says whether the command does.
passes() {
  [[ "$1" =~ ${CASES:-} ]] || return 0
  if "${@:2}"; then
    echo "passed: $1"
  else
    echo "FAILED: $1"
    failed=$((failed + 1))
  fi
}

within() { # SECONDS COMMAND ...: until the command succeeds
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}

has() { grep -qE -- "$2" "$1" || { echo "$1 has no line of $2:" && tail -n 40 "$1" && false; }; }
has_once() { [ "$(grep -cE -- "$2" "$1")" = 1 ] || { echo "$1 has not one line of $2:" && tail -n 40 "$1" && false; }; }
rows() { [ -e "$1/loss.csv" ] && [ "$(wc -l <"$1/loss.csv")" -gt "$2" ]; }
queue_is_empty() { [ -z "$(squeue --noheader)" ]; }
has_ended() { ! kill -0 "$1" 2>/dev/null; }
state_is() { [[ "$(scontrol show job "$1")" == *"JobState=$2 "* ]]; }
same_losses() { cmp <(cut -d, -f1,2 "$1/loss.csv") <(cut -d, -f1,2 "$2/loss.csv"); }
saved() { compgen -G "$1/checkpoint-*" >/dev/null; }

# --- srun in place of a launcher ----------------------------------------------------------------------------

trains() {
  srun --mpi=pmix -N 2 -n 4 riesz train my.toml "${small[@]}" train.steps=300 output.folder=srun >srun.txt 2>&1 &&
    has srun.txt "^layout +\(dp=2, tp=2\): 4 ranks$" &&
    riesz-mpirun -n 4 riesz train my.toml "${small[@]}" train.steps=300 output.folder=alone >alone.txt 2>&1 &&
    same_losses srun alone &&
    tokens_a_second="$(sed -n 's/^speed  *\([0-9,]*\) tokens.*/\1/p' srun.txt | tr -d ,)"
}

refuses_no_pmi() {
  local status=0
  srun -N 2 -n 4 riesz train my.toml >no_pmi.txt 2>&1 || status=$?
  [ "$status" = 71 ] && has_once no_pmi.txt "^srun has started 4 processes without PMI, .* start them by srun --mpi=pmix"
}

says_errors_once() {
  local status=0
  srun --mpi=pmix -N 2 -n 4 riesz train my.toml layout.dp=3 >error.txt 2>&1 || status=$?
  [ "$status" = 71 ] && has error.txt "layout.dp x layout.sp x layout.tp = 3 x 1 x 2 workers, but the job has 4 ranks"
}

ends_when_a_rank_is_killed() {
  local status=0 rank
  srun --mpi=pmix --kill-on-bad-exit=1 -N 2 -n 4 riesz train my.toml "${small[@]}" train.steps=1000000 output.folder=killed \
    >killed.txt 2>&1 &
  local job=$!
  within 60 rows killed 3 || return 1
  for rank in /proc/[1-9]*; do
    [ "$rank/exe" -ef "$(command -v riesz)" ] && break
  done
  kill -KILL "${rank#/proc/}"
  within 60 has_ended "$job" || { tail -n 20 killed.txt && return 1; }
  wait "$job" || status=$?
  [ "$status" != 0 ] && has killed.txt "the process of rank [0-9] is gone|Killed"
}

# --- examples/slurm/train.sbatch -----------------------------------------------------------------------------

submit() { # OUTPUT [option ...] script word ...
  sbatch --parsable --ntasks-per-node=2 --open-mode=append --output="$1" "${@:2}"
}

# So many steps that they take 75 s, whatever this machine is: two parts or three, since Slurm looks at time limits every 30 s.
# A step has 24 tokens.
steps_of_parts() { echo $((75 * tokens_a_second / 24)); }

ends_in_time_and_goes_on() {
  local id steps
  steps="$(steps_of_parts)"
  id="$(submit time.txt --time=1 --signal=B:USR1@50 "$EXAMPLES/train.sbatch" my.toml "${small[@]}" "train.steps=$steps")" || return 1
  within 400 state_is "$id" COMPLETED || { squeue && tail -n 60 time.txt && return 1; }
  has time.txt "^stopped by a signal after step" && has time.txt "^goes on after step" || return 1
  riesz-mpirun -n 4 riesz train my.toml "${small[@]}" "train.steps=$steps" output.folder=whole >whole.txt 2>&1
  same_losses "runs/riesz-$id" whole
}

goes_on_when_requeued() {
  local id
  id="$(submit requeued.txt "$EXAMPLES/train.sbatch" my.toml "${small[@]}" train.steps=1000000)" || return 1
  within 60 rows "runs/riesz-$id" 20 || return 1
  scontrol requeue "$id"
  within 60 grep -q "^goes on after step" requeued.txt || { tail -n 60 requeued.txt && return 1; }
  scancel "$id"
  within 60 state_is "$id" CANCELLED && within 40 queue_is_empty &&
    has requeued.txt "^stopped by a signal after step"
}

# --- examples/slurm/mpirun.sbatch ----------------------------------------------------------------------------

by_the_launcher() { # SIGNAL
  local id
  id="$(submit "$1.txt" "$EXAMPLES/mpirun.sbatch" my.toml "${small[@]}" train.steps=1000000 "output.folder=$1")" || return 1
  within 60 rows "$1" 20 || { tail "$1.txt" && return 1; }
  scancel --batch --signal="$1" "$id"
  within 60 state_is "$id" COMPLETED || { tail -n 40 "$1.txt" && return 1; }
  [[ "$(scontrol show job "$id")" == *"ExitCode=0:0"* ]] && has "$1.txt" "^stopped by a signal after step" && saved "$1" ||
    return 1
  id="$(submit "$1.txt" "$EXAMPLES/mpirun.sbatch" my.toml --resume "${small[@]}" train.steps=1000000 "output.folder=$1")" || return 1
  within 60 grep -q "^goes on after step" "$1.txt" || { tail -n 40 "$1.txt" && return 1; }
  scancel "$id"
  within 60 queue_is_empty
}

passes "srun --mpi=pmix trains on two nodes, with the losses of riesz-mpirun" trains
passes "srun without PMI is an error, said once" refuses_no_pmi
passes "an error of the configuration ends all" says_errors_once
passes "a killed rank ends the job" ends_when_a_rank_is_killed
passes "train.sbatch: saves at SIGUSR1 before time is up, requeues itself, and ends with the losses of one run" \
  ends_in_time_and_goes_on
passes "train.sbatch: saves when Slurm requeues it, and goes on" goes_on_when_requeued
passes "mpirun.sbatch: ends at SIGTERM with a checkpoint, and --resume goes on" by_the_launcher TERM
passes "mpirun.sbatch: ends at SIGUSR1 with a checkpoint, and --resume goes on" by_the_launcher USR1
[ "$failed" = 0 ] && echo "all passed" || exit 1
