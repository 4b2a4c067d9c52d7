#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# cluster.sh COMMAND [ARGUMENT ...]
# Runs a command on the first node of a Slurm cluster: a controller, and two nodes of two processors, near and far, which
# are made of namespaces (tests/hosts/namespaces.sh). Slurm, munge and PMIx are Debian's; scripts/setup_developers.sh slurm
# installs them. It takes root, and leaves nothing behind.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/../hosts/namespaces.sh"

needed=(slurmctld slurmd srun munged)
for program in "${needed[@]}"; do
  command -v "$program" >/dev/null ||
    { echo "cluster: there is no $program; run scripts/setup_developers.sh slurm" >&2 && exit 1; }
done
# Slurm's plugin opens the library by this name, which only libpmix-dev brings.
ls /usr/lib/*/libpmix.so >/dev/null 2>&1 ||
  { echo "cluster: there is no libpmix.so; run scripts/setup_developers.sh slurm" >&2 && exit 1; }

# cred_expire: so many seconds pass before a requeued job starts again.
configure() {
  mkdir "$work/state" "$work/munge"
  dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 status=none
  chmod 400 "$work/munge/key"
  cat >"$work/slurm.conf" <<CONF
ClusterName=two
SlurmctldHost=near(10.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmctldParameters=idle_on_node_suspend
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/%n
TmpFS=$work/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/%n.log
KillWait=30
ReturnToService=2
NodeName=near NodeAddr=10.0.0.1 CPUs=2 State=UNKNOWN
NodeName=far NodeAddr=10.0.0.2 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=near,far Default=YES MaxTime=INFINITE OverSubscribe=NO
CONF
}

start() {
  # As root, in a folder that others may write to above it: hence --force.
  enter near munged --foreground --force --socket "$work/munge/socket" --key-file "$work/munge/key" \
    --pid-file "$work/munge/pid" --log-file "$work/munge/log" --seed-file "$work/munge/seed" >"$work/munge.out" 2>&1 &
  for _ in {1..100}; do
    [ -S "$work/munge/socket" ] && break
    sleep 0.05
  done
  enter near slurmctld -D -f "$work/slurm.conf" >"$work/slurmctld.out" 2>&1 &
  enter near slurmd -D -N near -f "$work/slurm.conf" >"$work/near.out" 2>&1 &
  enter far slurmd -D -N far -f "$work/slurm.conf" >"$work/far.out" 2>&1 &
  for _ in {1..150}; do
    [ "$(enter near sinfo --noheader --format %D --states idle 2>/dev/null)" = 2 ] && return
    sleep 0.1
  done
  tail -n 20 "$work"/*.log "$work"/*.out >&2
  echo "cluster: Slurm did not start within 15 s" >&2
  exit 1
}

make_hosts
configure
export SLURM_CONF="$work/slurm.conf"
start
# Open MPI's mpirun asks root whether it is meant.
status=0
enter near "$@" </dev/null || status=$?
[ -z "${CLUSTER_LOGS:-}" ] || cp "$work"/*.log "$work"/*.out "$CLUSTER_LOGS"
exit "$status"
