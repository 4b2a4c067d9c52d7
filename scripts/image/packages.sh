#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# packages.sh: in an image's last stage, the packages of Debian that the program loads. Open MPI starts processes on other
# hosts by ssh.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends openmpi-bin libopenmpi3 libjemalloc2 libpcre2-8-0 libpng16-16 \
  libtomlplusplus3 libturbojpeg0 zlib1g openssh-client </dev/null
rm -rf /var/lib/apt/lists/*
