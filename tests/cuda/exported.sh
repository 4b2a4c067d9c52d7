#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# exported.sh LIBRARY: the names of all that a shared library exports, weak and unique symbols too, in one line.
set -euo pipefail
nm -D --defined-only "$1" | awk '{ print $3 }' | sort | paste -sd ' '
