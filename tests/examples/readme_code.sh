#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# readme_code.sh README.md SOURCE.cpp: the README's C++ block is the source's text from its first #include on.
set -euo pipefail

block="$(awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$1")"
source="$(awk '/^#include / { inside = 1 } inside' "$2")"
if [ -z "$block" ] || [ "$block" != "$source" ]; then
  diff <(echo "$block") <(echo "$source") || true
  echo "the C++ code of $1 is not that of $2"
  exit 1
fi
