#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# wrong_digest.sh FETCH FOLDER: fetch_wheels of scripts/fetch.sh takes a wheel with the digest that scripts/wheels.txt has,
# and refuses another, of which it leaves nothing. No network: the wheel lies in a folder.
set -euo pipefail

fetch="$1" folder="$2"
rm -rf "$folder"
mkdir -p "$folder/scripts" "$folder/wheels"
wheel="$folder/wheels/nothing-1.0-py3-none-any.whl"
python3 - "$wheel" <<'PY'
import sys
import zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("nothing.py", "")
    wheel.writestr("nothing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n")
    wheel.writestr("nothing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("nothing-1.0.dist-info/RECORD", "")
PY
digest="$(sha256sum "$wheel" | cut -d' ' -f1)"
export RIESZ_CACHE="$folder/cache" PIP_NO_INDEX=1 PIP_FIND_LINKS="$folder/wheels"
root="$folder" speaker=wrong_digest
. "$fetch"

echo "nothing==1.0 --hash=sha256:$digest" >"$folder/scripts/wheels.txt"
(fetch_wheels "$folder/cache/right" nothing==1.0)
[ -e "$folder/cache/right/nothing.py" ] && echo "the right one is unpacked"

last="${digest: -1}"
echo "nothing==1.0 --hash=sha256:${digest%?}$([ "$last" = 0 ] && echo 1 || echo 0)" >"$folder/scripts/wheels.txt"
if (fetch_wheels "$folder/cache/wrong" nothing==1.0); then
  echo "the wrong one is taken"
elif [ "$(ls -A "$folder/cache")" = right ]; then
  echo "the wrong one is refused, and nothing is left"
fi
rm -rf "$folder"
