// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool3d_with_indices.h>
#include <ATen/ops/remainder.h>

#include <limits>
#include <tuple>
#include <utility>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/nn/spatial/pool_geometry.h"
#include "riesz/nn/spatial/spatial_dims.h"

namespace riesz {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

struct Pooled {
  at::Tensor values, indices;
};

/// One spatial dim is the last of two.
std::vector<std::int64_t> of_two(std::vector<std::int64_t> numbers, std::int64_t first) {
  if (numbers.size() == 1) numbers.insert(numbers.begin(), first);
  return numbers;
}

/// Of x with its padding, which the windows fill.
Pooled pooled(const std::vector<Window>& windows, const at::Tensor& x) {
  std::vector<std::int64_t> kernel, stride, dilation;
  for (const Window& window : windows) {
    kernel.push_back(window.kernel), stride.push_back(window.stride), dilation.push_back(window.dilation);
  }
  if (windows.size() == 3) {
    const auto [y, where] = at::max_pool3d_with_indices(x, kernel, stride, {0, 0, 0}, dilation, false);
    return {y, where};
  }
  const at::Tensor plane = windows.size() == 1 ? x.unsqueeze(2) : x;
  const auto [y, where] = at::max_pool2d_with_indices(plane, of_two(kernel, 1), of_two(stride, 1), {0, 0},
                                                      of_two(dilation, 1), false);
  return windows.size() == 1 ? Pooled{y.squeeze(2), where.squeeze(2)} : Pooled{y, where};
}

at::Tensor window_maxima_in_memory(const std::vector<Window>& windows, const at::Tensor& read) {
  return pooled(windows, read).values;
}

/// On a GPU the gradient of LibTorch's pool of three dims adds in an order left to chance, and throws where
/// one order is asked for. That of an element that is taken by its index has one.
at::Tensor window_maxima_elsewhere(const std::vector<Window>& windows, const at::Tensor& read) {
  if (windows.size() < 3) return pooled(windows, read).values;
  const at::Tensor where = pooled(windows, read.detach()).indices;
  return read.flatten(2).gather(2, where.flatten(2)).view(where.sizes());
}

constexpr Dispatched<at::Tensor(const std::vector<Window>&, const at::Tensor&)> window_maxima{
    window_maxima_in_memory, window_maxima_elsewhere};

/// Indices in the slab that was read, as indices in all of x. In a window of nothing but −∞ the first
/// element may be padding; then that of x is meant, some dilations on.
at::Tensor global_indices_of(at::Tensor where, const std::vector<Window>& windows,
                             const std::vector<detail::Slab>& slabs, const at::IntArrayRef read,
                             const at::IntArrayRef whole) {
  at::Tensor global = where.mul(0);
  std::int64_t step = 1;
  for (std::size_t i = slabs.size(); i-- > 0;) {
    at::Tensor here = where.remainder(read[i]).add(slabs[i].first_input);
    const std::int64_t apart = windows[i].dilation;
    if (slabs[i].before > 0)
      here = here.add(here.neg().clamp_min(0).add(apart - 1).div(apart, "floor").mul(apart));
    global = global.add(here.mul(step));
    where = where.div(read[i], "floor");
    step *= whole[i];
  }
  return global;
}

LocalFunction max_pool(const std::string& whose, const Space& X, const Space& Y, const PoolWindows& by,
                       bool indices) {
  const detail::PoolGeometry geometry = detail::pool_geometry(whose, X, by);
  const Space range = detail::bound(whose, X, Y, geometry.outputs);
  const auto f = [windows = geometry.windows, whole = detail::spatial_extents(X), indices](
                     const at::Tensor& x, const std::vector<detail::Slab>& slabs) {
    const at::Tensor read = detail::padded_inputs(x, slabs, kNone);
    if (!indices) return window_maxima(read.device(), windows, read);
    return global_indices_of(pooled(windows, read).indices, windows, slabs, read.sizes().slice(2), whole);
  };
  return detail::windowed_function(whose, X, range, geometry.dims, f,
                                   indices ? std::optional(at::kLong) : std::nullopt);
}

}  // namespace

MaxPool::MaxPool(OwnerAndName place, const Space& X, const Space& Y, const PoolWindows& windows)
    : Layer(std::move(place)), windows_(windows) {
  const std::string whose = concat("MaxPool ", path());
  set_domain(X);
  set_range(detail::bound(whose, X, Y, detail::pool_geometry(whose, X, windows).outputs));
  if (X.concrete() && range()->concrete()) max_pool(whose, X, *range(), windows, false);
}

Vector MaxPool::forward(const Vector& x) {
  return values_(x, [this](const Space& X) {
    return max_pool(concat("MaxPool ", path()), X, *range(), windows_, false);
  });
}

Vector MaxPool::indices(const Vector& x) {
  return indices_(constant(x), [this](const Space& X) {
    return max_pool(concat("MaxPool ", path(), ", indices"), X, *range(), windows_, true);
  });
}

std::string MaxPool::describe() const {
  return concat("MaxPool of ", at::IntArrayRef(windows_.kernel), ", stride ",
                at::IntArrayRef(windows_.stride.empty() ? windows_.kernel : windows_.stride));
}

}  // namespace riesz
