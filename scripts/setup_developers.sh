#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs Debian's packages for tests that are no part of ./run test. Nothing else calls it.
#   setup_developers.sh slurm       tests/slurm/check.sh: Slurm, munge, and the PMIx that Slurm opens
#   setup_developers.sh hosts       tests/hosts/check_hostfile.sh: a server and a client of ssh
#   setup_developers.sh containers  tests/containers/check.sh: buildah and debootstrap
#   setup_developers.sh site        scripts/site.sh check: what makes the web site, and chromium, which reads it
#   setup_developers.sh benchmarks  bench/: Google's library of benchmarks
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
speaker=setup_developers
. "$root/scripts/fetch.sh"
usage() { sed -n 's/^#   //p' "${BASH_SOURCE[0]}" >&2 && exit 2; }

case "${1:-}" in
  slurm) needed=(slurmctld slurmd slurm-client munge libpmix-dev) ;;
  hosts) needed=(openssh-server openssh-client) ;;
  containers) needed=(buildah debootstrap) ;;
  site) needed=(doxygen mkdocs mkdocs-material chromium) ;;
  benchmarks) needed=(libbenchmark-dev) ;;
  *) usage ;;
esac
missing=()
for package in "${needed[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" = 0 ] || install_packages "${missing[@]}"
