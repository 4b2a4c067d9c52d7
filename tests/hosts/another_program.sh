#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# another_program.sh HOST RIESZ ARGUMENT ...: runs the program riesz, on that host a copy that says another version.
set -euo pipefail

host="$1" program="$2"
shift 2
if [ "$(</proc/sys/kernel/hostname)" = "$host" ]; then
  copy="$(mktemp)"
  LC_ALL=C sed 's/transports: shared memory on one host/transports: shared memory on 1!! host/' "$program" >"$copy"
  chmod +x "$copy"
  program="$copy"
fi
exec "$program" "$@"
