// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/windowed_function.h"

namespace riesz::detail {

// Which inputs the outputs of a pooling read. Errors begin with `whose`, such as "MaxPool model.pool".

/// A pooling's windows, for inputs of these extents.
struct PoolGeometry {
  std::vector<Window> windows;  ///< with more padding after, where a last window leaves x (`ceil_mode`)
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> outputs;
  std::vector<WindowedDim> dims;
};

/// @throws Error where the numbers do not fit.
PoolGeometry pool_geometry(const std::string& whose, const Space& X, const PoolWindows& windows);

/// The windows of an adaptive pooling: output j of m reads inputs ⌊j·n/m⌋ … ⌈(j + 1)·n/m⌉ − 1 of n.
struct AdaptiveGeometry {
  Space range;
  std::vector<std::int64_t> inputs, outputs;  ///< of each spatial dim
  std::vector<WindowedDim> dims;
};

/// What these outputs of m read of n inputs.
Interval adaptive_reach(std::int64_t n, std::int64_t m, const Interval& outputs);

/// @throws Error where a spatial dim has no elements.
AdaptiveGeometry adaptive_geometry(const std::string& whose, const Space& X, const Space& Y);
/// Y as a layer states it, with X's batch and channels where Y has any.
/// @throws Error where a spatial dim has no known extent in Y.
Space adaptive_range(const std::string& whose, const Space& X, const Space& Y);

}  // namespace riesz::detail
