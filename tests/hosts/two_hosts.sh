#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# two_hosts.sh MPIRUN RANKS COMMAND [ARGUMENT ...]
# Runs a job of Open MPI's on two hosts, half of the ranks on each.
#   two_hosts.sh --can      0 if such hosts can be made here
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/namespaces.sh"

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
