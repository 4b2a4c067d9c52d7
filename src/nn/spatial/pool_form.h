// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/windowed_function.h"

namespace riesz::detail {

/// A pooling's windows, for inputs of these extents.
struct PoolForm {
  std::vector<Window> windows;  ///< with more padding after, where a last window leaves x (`ceil_mode`)
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> outputs;
  std::vector<WindowedDim> dims;
};

/// @throws Error on behalf of `whose` where the numbers do not fit.
PoolForm pool_form(const std::string& whose, const Space& X, const PoolWindows& by);

/// The windows of an adaptive pooling: output j of m reads inputs ⌊j·n/m⌋ … ⌈(j + 1)·n/m⌉ − 1 of n.
struct AdaptiveForm {
  Space range;
  std::vector<std::int64_t> inputs, outputs;  ///< of each dim of space
  std::vector<WindowedDim> dims;
};

/// What these outputs of m read of n inputs.
Interval adaptive_reach(std::int64_t n, std::int64_t m, const Interval& outputs);

/// The form from X to Y.
/// @throws Error on behalf of `whose` where a dim of space has no elements, or no known extent in Y.
AdaptiveForm adaptive_form(const std::string& whose, const Space& X, const Space& Y);
/// Y as a layer states it, with X's extents where X has any. @throws Error on
/// behalf of `whose` where a dim of space has no known extent in Y.
Space adaptive_range(const std::string& whose, const Space& X, const Space& Y);

}  // namespace riesz::detail
