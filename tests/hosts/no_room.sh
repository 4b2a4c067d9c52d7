#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# no_room.sh COMMAND [ARGUMENT ...]: where /dev/shm has room for one page, as in some containers.
# shellcheck disable=SC2016  # it is the shell's inside
exec unshare --mount bash -c 'mount -t tmpfs -o size=4k tmpfs /dev/shm && exec "$@"' no_room "$@"
