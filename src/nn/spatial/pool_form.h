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

}  // namespace riesz::detail
