#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh [BUILD]: Riesz under Debian's Slurm, on two nodes that are made of namespaces: srun without a launcher, and the
# batch scripts of examples/slurm. It takes root, two processors, four minutes, and `scripts/setup_developers.sh slurm`.
# It is no part of ./run test. CASES=REGEX chooses cases. BUILD is a build of Riesz, by default build/release.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$build/app/riesz" "$folder/bin/riesz"
ln -s "$build/mpirun" "$folder/bin/riesz-mpirun"
cp "$root/examples/adder.toml" "$folder/my.toml"
cd "$folder"
# Four ranks share two processors, and take turns.
PATH="$folder/bin:$PATH" EXAMPLES="$root/examples/slurm" OMPI_MCA_mpi_yield_when_idle=1 \
  "$here/cluster.sh" "$here/cases.sh"
