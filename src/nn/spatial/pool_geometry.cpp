// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/pool_geometry.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/nn/spatial/conv_geometry.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/spatial/windowed_function.h"

namespace riesz::detail {
namespace {

/// The window with so much padding after that it gives torch's number of outputs with ceil_mode. It may then
/// fit fewer inputs than its width.
Window ceiled(Window window, std::int64_t n) {
  const std::int64_t width = window.dilation * (window.kernel - 1) + 1;
  const std::int64_t room = n + window.padding_before + window.padding_after - width;
  if (room + window.stride - 1 < 0) return window;  // not even the first
  std::int64_t outputs = (room + window.stride - 1) / window.stride + 1;
  if ((outputs - 1) * window.stride >= n + window.padding_before) --outputs;
  const std::int64_t more = (outputs - 1) * window.stride - room;
  if (more > 0) window.padding_after += more;
  return window;
}

}  // namespace

PoolGeometry pool_geometry(const std::string& whose, const Space& X, const PoolWindows& windows) {
  check_spatial(whose, X);
  const std::vector<std::int64_t> inputs = spatial_extents(X);
  const std::vector<std::int64_t>& stride = windows.stride.empty() ? windows.kernel : windows.stride;
  const std::vector<std::int64_t> any(inputs.size(), Space::any);
  PoolGeometry geometry{
      windows_of(whose, windows.kernel, any, stride, windows.dilation, {.each = windows.padding}),
      {},
      {},
      {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Window& window = geometry.windows[i];
    geometry.padding.push_back(window.padding_before);
    RIESZ_CHECK(2 * window.padding_before <= window.kernel, whose, ": a padding of ", window.padding_before,
                " in spatial dim ", i, ", with a kernel of ", window.kernel,
                "; it is at most half the kernel");
    if (inputs[i] == Space::any) {
      geometry.outputs.push_back(Space::any);
      continue;
    }
    RIESZ_CHECK(inputs[i] > 0, whose, ": spatial dim ", i, " has no elements, in ", to_string(X));
    if (windows.ceil_mode) window = ceiled(window, inputs[i]);
    check_fits(whose, window, inputs[i], i);
    geometry.outputs.push_back(output_extent(window, inputs[i]));
    const int dim = static_cast<int>(i) + 2;
    geometry.dims.push_back({dim, dim, reading_of(window, inputs[i])});
  }
  return geometry;
}

Interval adaptive_reach(std::int64_t n, std::int64_t m, const Interval& outputs) {
  return {outputs.begin * n / m, (outputs.end * n + m - 1) / m};
}

AdaptiveGeometry adaptive_geometry(const std::string& whose, const Space& X, const Space& Y) {
  const std::vector<std::int64_t> outputs = spatial_extents(Y);
  AdaptiveGeometry geometry{bound(whose, X, Y, outputs), spatial_extents(X), outputs, {}};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t n = geometry.inputs[i], m = outputs[i];
    RIESZ_CHECK(n > 0 && m > 0, whose, ": ", m, " outputs of ", n, " inputs in spatial dim ", i);
    const int dim = static_cast<int>(i) + 2;
    geometry.dims.push_back(
        {dim, dim, {n, m, [n, m](const Interval& some) { return adaptive_reach(n, m, some); }}});
  }
  return geometry;
}

Space adaptive_range(const std::string& whose, const Space& X, const Space& Y) {
  for (const std::int64_t n : spatial_extents(Y))
    RIESZ_CHECK(n != Space::any, whose, ": the result lies in ", to_string(Y),
                "; its spatial dims have a known extent, which windows are fitted to");
  return bound(whose, X, Y, spatial_extents(Y));
}

}  // namespace riesz::detail
