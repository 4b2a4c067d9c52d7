#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# setup_without_root.sh [--test] SETUP [MISSING ...]: scripts/setup.sh, or setup.sh test, as the user nobody, with a cache of
# its own and a closed input, on a machine that seems to lack these packages and commands. The cache has what root's has.
#   setup_without_root.sh --can      0 if root runs this, and may mount
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/fetch.sh"
if [ "${RIESZ_OWN_MOUNTS:-}" = "" ]; then
  RIESZ_OWN_MOUNTS=yes exec unshare --mount "$0" "$@"
fi
[ "$1" != --can ] || exit 0
words=()
if [ "$1" = --test ]; then
  words=(test)
  shift
fi
setup="$1"
shift
work="$(mktemp -d)"
trap 'umount "$work/cache" "$work/libtorch" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"
mkdir "$work/cache" "$work/libtorch"
[ ! -d "$RIESZ_CACHE" ] || mount --bind "$RIESZ_CACHE" "$work/cache"
named=()
if [ -n "${RIESZ_LIBTORCH:-}" ]; then
  mount --bind "$RIESZ_LIBTORCH" "$work/libtorch"
  named=("RIESZ_LIBTORCH=$work/libtorch")
fi
cp /var/lib/dpkg/status "$work/status"
for package in "$@"; do
  if command=$(PATH="$PATH:/usr/sbin:/sbin" command -v "$package"); then
    mount --bind /dev/null "$(realpath "$command")"  # which nobody can execute
  fi
  sed -i "/^Package: $package\$/,/^\$/d" "$work/status"
done
mount --bind "$work/status" /var/lib/dpkg/status
status=0
setpriv --reuid=65534 --regid=65534 --clear-groups env -i "PATH=/usr/bin:/bin" "RIESZ_CACHE=$work/cache" "${named[@]}" \
  "$setup" "${words[@]}" <&- || status=$?
[ "$status" != 0 ] || echo "all is there"
exit "$status"
