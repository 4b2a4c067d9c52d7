#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh: builds the Dockerfile by buildah, without a Docker engine and without a registry of images, and runs the image.
# The base is made by debootstrap of Debian's packages. It takes root, 25 GB of disk, `scripts/setup_developers.sh
# containers`, and as long as a build of Riesz. It is no part of ./run test.
#
#   BASE     a folder with a minimal Debian, to use instead of making one
#   BUILT    a folder with an installed Riesz of this Debian, LibTorch included, to put into the image instead of compiling one:
#            then the Dockerfile's first stage is left out
#   FOLDER   where images lie (a new folder, removed at the end)
#   JOBS     so many compilations at once
#   OPTIONS  more options of `buildah build`, such as -v /root/.cache/ccache:/root/.cache/ccache
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
for program in buildah debootstrap; do
  PATH="$PATH:/usr/sbin" command -v "$program" >/dev/null ||
    { echo "check: there is no $program; run scripts/setup_developers.sh containers" >&2 && exit 1; }
done
folder="${FOLDER:-$(mktemp -d -p /var/tmp)}"
[ -n "${FOLDER:-}" ] || trap 'rm -rf --one-file-system "$folder"' EXIT
mkdir -p "$folder/tmp"
export TMPDIR="$folder/tmp" BUILDAH_ISOLATION=chroot
# Without a registry nothing is asked for what images may be trusted.
echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$folder/policy.json"
store=(--root "$folder/images" --runroot "$folder/run" --storage-driver vfs)

make_base() {
  local base="${BASE:-$folder/base}" container
  [ -d "$base" ] || debootstrap --variant=minbase bookworm "$base" >"$folder/debootstrap.log"
  container="$(buildah "${store[@]}" from scratch)"
  buildah "${store[@]}" add --quiet "$container" "$base" / >/dev/null
  buildah "${store[@]}" config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  buildah "${store[@]}" commit --quiet --rm --signature-policy "$folder/policy.json" "$container" localhost/debian:bookworm >/dev/null
}

# The context of the Dockerfile's last stage alone, with what the first would have made.
last_stage() {
  rm -rf "$folder/context"
  mkdir -p "$folder/context/scripts" "$folder/context/opt"
  cp -r "$root/scripts/image" "$folder/context/scripts/"
  cp -r "$BUILT" "$folder/context/opt/riesz"
  sed -e '/ AS build$/,/image\/build.sh$/d' -e 's|--from=build /opt/riesz|opt/riesz|' "$root/Dockerfile" >"$folder/context/Dockerfile"
}

build() {
  local context="$root"
  if [ -n "${BUILT:-}" ]; then
    last_stage
    context="$folder/context"
  fi
  # shellcheck disable=SC2086  # they are several words
  buildah "${store[@]}" build --signature-policy "$folder/policy.json" --pull-never ${OPTIONS:-} \
    --build-arg BASE=localhost/debian:bookworm --build-arg JOBS="${JOBS:-$(nproc)}" --tag localhost/riesz "$context"
}

failed=0
passes() { # NAME PATTERN command ...
  local text status=0
  text="$("${@:3}" 2>&1)" || status=$?
  if [ "$status" = 0 ] && grep -qE -- "$2" <<<"$text"; then
    echo "passed: $1"
  else
    echo "$text"
    echo "FAILED with status $status: $1"
    failed=1
  fi
}

buildah "${store[@]}" inspect localhost/debian:bookworm >/dev/null 2>&1 || make_base
build
container="$(buildah "${store[@]}" from --pull-never --signature-policy "$folder/policy.json" localhost/riesz)"
image() { buildah "${store[@]}" run "$@"; }
mkdir -p "$folder/work"
sed -e 's/^steps = .*/steps = 4/' -e 's/^warm_up = .*/warm_up = 2/' "$root/examples/adder.toml" >"$folder/work/my.toml"
chown -R 12345:12345 "$folder/work"
passes "the user is not root" "^1000$" image "$container" -- id -u
passes "riesz --version" "^LibTorch 2\.11\.0" image "$container" -- riesz --version
passes "doctor on two ranks" "^all is right$" image "$container" -- riesz-mpirun -n 2 riesz doctor
passes "a training in a mounted folder, as another user" "^step 4/4" \
  image --user 12345:12345 -v "$folder/work:/work" "$container" -- riesz-mpirun -n 4 riesz train my.toml
passes "its files are that user's" "^12345 loss.csv" stat -c '%u loss.csv' "$folder/work/runs/my/loss.csv"
buildah "${store[@]}" images --format '{{.Name}} {{.Size}}' | grep riesz
[ "$failed" = 0 ] && echo "all passed" || exit 1
