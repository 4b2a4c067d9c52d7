// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/parameter.h"
#include "riesz/partition/vector.h"

namespace riesz::detail {

/// Where a parameter with an element for each channel of Y lies: Sharded as Y's channels, dim 1, are; else
/// Replicated.
Space channel_space(const Space& Y);

/// y + bias, for each channel. Collective over both partitions.
Vector with_channel_bias(const Vector& y, const Parameter& bias);

}  // namespace riesz::detail
