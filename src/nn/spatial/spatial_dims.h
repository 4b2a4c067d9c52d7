// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::detail {

// Images and fields have a batch, channels, and 1 to 3 spatial dims: (batch, channels, [depth,] height,
// width). Errors begin with `whose`, such as "Conv model.stem".

/// The spatial dims of X: 2 and those behind it.
std::vector<int> spatial_dims(const Space& X);
/// Their extents.
std::vector<std::int64_t> spatial_extents(const Space& X);

/// @throws Error unless X has a batch, channels and 1 to 3 spatial dims.
void check_spatial(const std::string& whose, const Space& X);
/// @throws Error likewise, and unless the channels have a known extent.
void check_known_channels(const std::string& whose, const Space& X);

/// Y with every dim bound: the batch of X, these channels (by default those of X), and these spatial extents.
/// @throws Error where Y has another extent, or another number of dims than X.
Space bound(const std::string& whose, const Space& X, const Space& Y,
            const std::vector<std::int64_t>& outputs, std::optional<std::int64_t> channels = std::nullopt);

/// S, whose dim `dim` is sharded as the channels of Y are, on the axes that shard nothing else of S.
Space sharded_as_channels(Space S, int dim, const Space& Y);

}  // namespace riesz::detail
