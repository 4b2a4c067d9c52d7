# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# shellcheck shell=bash
# Read by scripts that need two hosts on one machine: near (10.0.0.1) and far (10.0.0.2), or other `names`. A host is made of namespaces: a
# network, a host name, process numbers, /dev/shm and a folder for temporary files of its own; a pair of virtual network
# cards joins the two. Nothing of them has a name outside, and all goes with this process, however that ends.
#   make_hosts                  makes them
#   enter HOST COMMAND ...      runs a command on one
#   $work                       a folder that both see and that goes at the end; $work/HOST is its TMPDIR
PATH="$PATH:/usr/sbin:/sbin"
work="$(mktemp -d)"
hosts=()
names=(near far)
trap 'disown -a; kill -KILL "${hosts[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

enter() { # HOST COMMAND ...
  local process
  process="$(<"$work/$1.process")"
  TMPDIR="$work/$1" nsenter --target "$process" --net --uts --pid --mount --ipc --wdns="$PWD" -- "${@:2}"
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
  printf '127.0.0.1 localhost\n10.0.0.1 %s\n10.0.0.2 %s\n' "${names[@]}" >"$work/hosts"
  make_host "${names[0]}"
  make_host "${names[1]}"
  for _ in {1..200}; do
    [ -e "$work/${names[0]}.process" ] && [ -e "$work/${names[1]}.process" ] && break
    kill -0 "${hosts[0]}" && kill -0 "${hosts[1]}" # else there is nothing to wait for
    sleep 0.05
  done
  nsenter --target "$(<"$work/${names[0]}.process")" --net -- \
    ip link add veth0 type veth peer name veth0 netns "$(<"$work/${names[1]}.process")"
  local host number=1
  for host in "${names[@]}"; do
    enter "$host" ip link set lo up
    enter "$host" ip address add "10.0.0.$number/24" dev veth0
    enter "$host" ip link set veth0 up
    number=2
  done
}
