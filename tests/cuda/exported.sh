#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# exported.sh LIBRARY: the names of the functions and data that a shared library exports, in one line.
set -euo pipefail
nm -D --defined-only "$1" | awk '$2 ~ /[TDB]/ { print $3 }' | sort | paste -sd ' '
