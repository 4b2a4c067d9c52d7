#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# What examples/resnet_fashion.toml learns from: the pictures that a ViT learns from.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/fetch_vit_fashion.sh"
