# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# check_ranks NAME RANKS: fails, and says as NAME how many are sensible, if this host cannot hold so many, whatever they
# do. Read by ./run; CMake writes it into the build's mpirun.
check_ranks() {
  local processors free most
  processors="$(nproc 2>/dev/null || echo 1)"
  # Ranks that share a processor take turns; beyond this they only wait for each other.
  most=$((64 * processors))
  # MiB. A rank takes about 60 of its own before it holds anything.
  free="$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null || true)"
  if [ -n "$free" ] && [ $((free / 60)) -lt "$most" ]; then
    most=$((free / 60))
  fi
  # A number of more digits than the shell counts is too many too.
  if [ "${#2}" -gt 9 ] || [ "$2" -gt "$most" ]; then
    echo "$1: $2 ranks do not fit this host: $processors processors and ${free:-unknown} MiB of free memory hold" \
      "at most $most; start $processors, one per processor" >&2
    return 1
  fi
}
