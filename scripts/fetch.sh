# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Read by scripts that fetch: packages of Debian, and wheels by their names into a cache that all clones share. Who reads
# it sets `root`, the project's folder, and `speaker`, what its lines begin with, and may set `instead`, what else to do where there is no pip.
#
#   RIESZ_CACHE     where fetched things go (${XDG_CACHE_HOME:-~/.cache}/riesz)

say() { printf '%s: %s\n' "$speaker" "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

if [ -z "${RIESZ_CACHE:-}${XDG_CACHE_HOME:-}${HOME:-}" ]; then
  fail "there is no HOME; name a folder for what is fetched by RIESZ_CACHE"
fi
export RIESZ_CACHE="${RIESZ_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/riesz}"

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

# " (15.9 MB)", which is to be fetched for these packages; "" where apt-get does not say. Takes no root.
size_of_packages() {
  LC_ALL=C apt-get install --print-uris -qq --no-install-recommends "$@" 2>/dev/null </dev/null |
    awk '{ bytes += $3 } END { if (bytes > 0) printf " (%.1f MB)", bytes / 1e6 }'
}

# Installs the packages named, or says how to and stops. Never asks anything.
install_packages() {
  if ! command -v apt-get >/dev/null; then
    fail "this is not a Debian system; install what these packages stand for: $*"
  fi
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    say "some packages are missing, and there is neither root nor sudo without a password. Please run"
    say "    sudo apt-get update && sudo apt-get install --no-install-recommends $*"
    fail "nothing was installed$(size_of_packages "$@"); this goes on once they, or what stands for them, are there"
  fi
  local log
  log="$(mktemp)"
  as_root apt-get update -qq >"$log" 2>&1 </dev/null || true
  say "installing these packages of Debian with what they need$(size_of_packages "$@"): $*"
  say "(to do without: install them, or what stands for them, yourself; what is there is not touched)"
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=600 \
    --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    rm -f "$log"
    fail "could not install $*"
  fi
  rm -f "$log"
}

# One at a time may fetch. What then lies in the cache half made was interrupted.
lock_cache() {
  { mkdir -p "$RIESZ_CACHE" && [ -w "$RIESZ_CACHE" ]; } 2>/dev/null ||
    fail "cannot write to $RIESZ_CACHE; name another folder for what is fetched, by RIESZ_CACHE"
  exec 9>"$RIESZ_CACHE/lock"
  flock -n 9 || { say "waiting for another set-up to finish"; flock 9; }
  rm -rf "$RIESZ_CACHE"/*.part.*
}
unlock_cache() { flock -u 9; }

# Fetches wheels by name and version, which scripts/wheels.txt has with their digests, and unpacks them into a folder, which
# appears whole or not at all. A file with another digest is refused.
fetch_wheels() {
  local folder="$1" wheel
  shift
  if ! python3 -m pip --version >/dev/null 2>&1; then
    install_packages python3-pip
    python3 -m pip --version >/dev/null || fail "this python3 has no pip${instead:-}"
  fi
  local work="$folder.part.$$"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  mkdir -p "$work/wheels" "$work/site" "$work/tmp"
  for wheel in "$@"; do
    grep -F -- "$wheel --hash=" "$root/scripts/wheels.txt" || fail "scripts/wheels.txt has no digest of $wheel"
  done >"$work/wanted"
  # One fixed kind of wheel, whatever python is here: nothing of it is run.
  local glibc platforms=(--platform "manylinux2014_$(uname -m)")
  for glibc in {17..28}; do
    platforms+=(--platform "manylinux_2_${glibc}_$(uname -m)")
  done
  local quiet=()
  [ -t 2 ] || quiet=(--quiet)
  # pip's own pieces lie here too, where an interrupted set-up is cleared and there is room.
  TMPDIR="$work/tmp" python3 -m pip download ${quiet[@]+"${quiet[@]}"} --disable-pip-version-check --no-cache-dir \
    --no-deps --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
    "${platforms[@]}" --dest "$work/wheels" --require-hashes -r "$work/wanted" >&2 </dev/null || fail "could not fetch $*; run this again to retry"
  for wheel in "$work"/wheels/*.whl; do
    python3 -m zipfile -e "$wheel" "$work/site" || fail "could not unpack $wheel; is the disk full?"
  done
  rm -rf "$folder"
  mv "$work/site" "$folder"
  rm -rf "$work"
  trap - EXIT INT TERM HUP
}
