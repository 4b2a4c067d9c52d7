#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# commands_of_a_page.sh PAGE RIESZ NAME...: runs each line of the page that gives riesz one of the commands named, as it stands.
set -euo pipefail

page="$1" riesz="$2"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for name in "${@:3}"; do
  grep "^build/release/app/riesz $name " "$page" || { echo "$page has no command $name" >&2 && exit 1; }
done | sed "s|^build/release/app/riesz|$riesz|" | bash -euo pipefail
