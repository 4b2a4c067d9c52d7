#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# check_hostfile.sh [BUILD]: the commands of docs/start/several_hosts.md, as the page has them, on two hosts that are made of
# namespaces, node1 and node2, each with a server of ssh. It takes root, and `scripts/setup_developers.sh hosts`. It is no
# part of ./run test. BUILD is a build of Riesz, by default build/release.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
. "$here/namespaces.sh"
command -v sshd >/dev/null ||
  { echo "check_hostfile: there is no sshd; run scripts/setup_developers.sh hosts" >&2 && exit 1; }

# ssh as a user has it who needs no password: only where the key and the known hosts lie is told, by Open MPI's setting.
start_servers() { # HOST ...
  local host
  ssh-keygen -q -t ed25519 -N '' -f "$work/key"
  mkdir -p /run/sshd
  for host in "$@"; do
    ssh-keygen -q -t ed25519 -N '' -f "$work/$host/host_key"
    echo "$host $(<"$work/$host/host_key.pub")" >>"$work/known_hosts"
    enter "$host" "$(command -v sshd)" -D -e -f /dev/null -h "$work/$host/host_key" -o ListenAddress=0.0.0.0 \
      -o AuthorizedKeysFile="$work/key.pub" -o StrictModes=no -o PermitRootLogin=yes -o PidFile=none \
      >"$work/$host/sshd.log" 2>&1 &
  done
  export OMPI_MCA_plm_rsh_args="-i $work/key -o UserKnownHostsFile=$work/known_hosts -o BatchMode=yes"
  for host in "$@"; do
    for _ in {1..100}; do
      enter "$1" bash -c "exec 3<>/dev/tcp/$host/22" 2>/dev/null && break
      sleep 0.05
    done
  done
}

# The lines of the page that begin with riesz-mpirun and choose hosts.
commands() { sed -n 's/^\(riesz-mpirun --host.*\)$/\1/p' "$root/docs/start/several_hosts.md"; }

names=(node1 node2)
make_hosts
start_servers node1 node2
mkdir "$work/bin" "$work/examples"
ln -s "$build/app/riesz" "$work/bin/riesz"
ln -s "$build/mpirun" "$work/bin/riesz-mpirun"
cp "$root/examples/hostfile" "$work/examples/"
# A training that any of the layouts fits, short.
sed -e 's/^heads = .*/heads = 4/' -e 's/^steps = .*/steps = 4/' -e 's/^warm_up = .*/warm_up = 2/' "$root/examples/adder.toml" \
  >"$work/my.toml"
export OMPI_MCA_mpi_yield_when_idle=1
cd "$work"
failed=0
mapfile -t all < <(commands)
[ "${#all[@]}" -ge 3 ] || { echo "the page has ${#all[@]} commands" && exit 1; }
for command in "${all[@]}"; do
  status=0
  rm -rf runs
  PATH="$work/bin:$PATH" enter node1 bash -c "$command" >"$work/output" 2>&1 </dev/null || status=$?
  if [ "$status" = 0 ] && grep -qE "^step 4/4|all is right|look at the lines" "$work/output"; then
    echo "passed: $command"
    [ "${SHOW:-}" = "" ] || cat "$work/output"
  else
    cat "$work/output"
    echo "FAILED with status $status: $command"
    failed=1
  fi
done
# Where only the first host has the program, its absence is said.
mkdir "$work/alone"
enter node1 mount -t tmpfs tmpfs "$work/alone"
enter node1 cp /bin/true "$work/alone/program"
PATH="$work/bin:$PATH" enter node1 riesz-mpirun --host node1:1,node2:1 -n 2 "$work/alone/program" >"$work/output" 2>&1 || true
if [ "$(grep -c "^mpirun: the job has failed: there is no program '$work/alone/program' on node2; every host needs it at the same path$" "$work/output")" = 1 ]; then
  echo "passed: a program that another host has not"
else
  cat "$work/output"
  echo "FAILED: a program that another host has not"
  failed=1
fi
[ "$failed" = 0 ] && echo "all passed" || exit 1
