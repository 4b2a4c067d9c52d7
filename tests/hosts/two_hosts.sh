#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# two_hosts.sh MPIRUN RANKS COMMAND [ARGUMENT ...]
# Runs a job of Open MPI's on two hosts, half of the ranks on each. A host is made of namespaces: a network, a host name,
# process numbers, /dev/shm and a folder for temporary files of its own; a pair of virtual network cards joins the two.
# Nothing of them has a name outside, and all goes with this process, however that ends.
#   two_hosts.sh --can      0 if such hosts can be made here
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
PATH="$PATH:/usr/sbin:/sbin"
work="$(mktemp -d)"
hosts=()
trap 'disown -a; kill -KILL "${hosts[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

enter() { # HOST COMMAND ...
  local process
  process="$(<"$work/$1.process")"
  TMPDIR="$work/$1" nsenter --target "$process" --net --uts --pid --mount --ipc -- "${@:2}"
}

# The first process of a host; it alone keeps the host, and whoever kills it kills all of the host's processes. That the
# shell reads its number from /proc tells the number that is known outside.
make_host() { # HOST
  mkdir "$work/$1"
  # shellcheck disable=SC2016  # they are the shell's inside
  setpriv --pdeathsig KILL unshare --net --uts --pid --mount --ipc --fork --kill-child bash -c '
    set -e
    read -r outside _ </proc/self/stat
    mount -t proc proc /proc
    mount -t tmpfs tmpfs /dev/shm
    mount --bind "$0/hosts" /etc/hosts
    echo "$1" >/proc/sys/kernel/hostname
    echo "$outside" >"$0/$1.part" && mv "$0/$1.part" "$0/$1.process"
    exec sleep infinity' "$work" "$1" &
  hosts+=($!)
}

make_hosts() {
  printf '127.0.0.1 localhost\n10.0.0.1 near\n10.0.0.2 far\n' >"$work/hosts"
  make_host near
  make_host far
  for _ in {1..200}; do
    [ -e "$work/near.process" ] && [ -e "$work/far.process" ] && break
    kill -0 "${hosts[0]}" && kill -0 "${hosts[1]}" # else there is nothing to wait for
    sleep 0.05
  done
  nsenter --target "$(<"$work/near.process")" --net -- \
    ip link add veth0 type veth peer name veth0 netns "$(<"$work/far.process")"
  local host number=1
  for host in near far; do
    enter "$host" ip link set lo up
    enter "$host" ip address add "10.0.0.$number/24" dev veth0
    enter "$host" ip link set veth0 up
    number=2
  done
}

# What Open MPI starts its daemon on the other host by, instead of ssh: AGENT HOST COMMAND. It runs on the near host, from
# where the far one cannot be entered, so it asks for that through this door.
make_door() {
  mkfifo "$work/door"
  exec 3<>"$work/door"
  # shellcheck disable=SC2016  # they are the agent's
  printf '#!/usr/bin/env bash\nshift\necho "$*" >%q\nexec sleep infinity\n' "$work/door" >"$work/agent"
  chmod +x "$work/agent"
}

if [ "${1:-}" = --can ]; then
  make_hosts >/dev/null 2>&1
  answer="$(enter near bash -c 'exec 3<>/dev/tcp/far/9' 2>&1 || true)"
  [[ "$answer" == *"Connection refused"* ]] && exit 0 || exit 1
fi
mpirun="$1" ranks="$2"
shift 2
make_hosts
make_door
export OMPI_MCA_btl_tcp_if_include=veth0 OMPI_MCA_oob_tcp_if_include=veth0 OMPI_MCA_plm_rsh_agent="$work/agent"
enter near "$mpirun" --host "near:$((ranks / 2)),far:$((ranks / 2))" -n "$ranks" "$@" </dev/null 3<&- &
job=$!
while kill -0 "$job" 2>/dev/null; do
  if read -r -t 0.2 -u 3 command; then
    enter far bash -c "$command" </dev/null 3<&- &
  fi
done
status=0
wait "$job" || status=$?
exit "$status"
