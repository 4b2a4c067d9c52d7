#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# What examples/vit_fashion.toml learns from: Fashion-MNIST (Xiao, Rasul and Vollgraf, 1708.07747), 70,000 pictures of
# clothes, as Debian packs it (31 MB). With it in place it only looks.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

mapfile -t missing < <(not_installed dataset-fashion-mnist)
[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
