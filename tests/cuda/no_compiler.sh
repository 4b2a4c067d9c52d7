#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# A C++ compiler that is too new for nvcc.
echo "#error -- unsupported GNU version! gcc versions later than 15 are not supported!" >&2
exit 1
