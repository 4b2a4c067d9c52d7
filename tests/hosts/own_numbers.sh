#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# own_numbers.sh COMMAND [ARGUMENT ...]: a rank in a PID namespace of its own, as a container of its own would be. A job's
# ranks so started are on one host and see no process of each other. Their numbers differ: Open MPI's own shared memory
# fails where they are the same.
# shellcheck disable=SC2016  # it is the shell's inside
exec unshare --pid --mount --fork --kill-child --mount-proc bash -c '
  for ((i = 0; i < OMPI_COMM_WORLD_RANK; ++i)); do
    (true)
  done
  "$@"
  exit $?' own_numbers "$@"
