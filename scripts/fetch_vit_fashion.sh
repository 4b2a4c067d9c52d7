#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# What examples/vit_fashion.toml learns from: Fashion-MNIST (Xiao, Rasul and Vollgraf, 1708.07747), 70,000 pictures of
# clothes, as Debian packs it (31 MB). With it in place it only looks.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
speaker=fetch_vit_fashion
. "$(dirname "${BASH_SOURCE[0]}")/fetch.sh"

package=dataset-fashion-mnist
status="$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)"
[ "$status" = installed ] || install_packages "$package"
