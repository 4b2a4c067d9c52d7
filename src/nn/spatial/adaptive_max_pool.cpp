// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/max.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/on_device.h"
#include "riesz/nn/spatial/adaptive_pool.h"
#include "riesz/nn/spatial/pool_geometry.h"

namespace riesz {
namespace {

/// The greatest elements so far, and if they are wanted their global indices along the dims that were
/// reduced.
struct Greatest {
  at::Tensor values, indices;
};

/// Along one dim: the inputs of each output's window, among those that a slab reads. Windows differ in size;
/// a shorter one has its last input several times, which changes neither the greatest nor the first.
at::Tensor window_reads(std::int64_t n, std::int64_t m, const detail::Slab& slab, at::Device device) {
  std::int64_t widest = 0;
  std::vector<Interval> windows;
  for (std::int64_t j = slab.first_output; j < slab.first_output + slab.outputs.size(); ++j) {
    windows.push_back(detail::adaptive_reach(n, m, {j, j + 1}));
    widest = std::max(widest, windows.back().size());
  }
  std::vector<std::int64_t> reads;
  for (const Interval& window : windows)
    for (std::int64_t i = 0; i < widest; ++i)
      reads.push_back(std::min(window.begin + i, window.end - 1) - slab.first_input);
  return on_device(at::tensor(reads, at::kLong).view({-1, widest}), device);
}

/// z along a dim, an element for each place of each window: the dim becomes (outputs, places).
at::Tensor in_windows(const at::Tensor& z, const at::Tensor& reads, std::int64_t dim) {
  std::vector<std::int64_t> shape = z.sizes().vec();
  shape[static_cast<std::size_t>(dim)] = reads.size(1);
  shape.insert(shape.begin() + dim, reads.size(0));
  return z.index_select(dim, reads.view({-1})).view(shape);
}

/// One dim is reduced. `reads`: as `window_reads` has them; `there`: what they add to an index.
Greatest one_dim_reduced(const Greatest& all, const at::Tensor& reads, const at::Tensor& there,
                         std::int64_t dim) {
  const auto [values, places] = at::max(in_windows(all.values, reads, dim), dim + 1, true);
  if (!all.indices.defined()) return {values.squeeze(dim + 1), {}};
  std::vector<std::int64_t> along(static_cast<std::size_t>(places.dim()), 1);
  std::copy_n(reads.sizes().begin(), 2, along.begin() + dim);
  const at::Tensor indices = in_windows(all.indices, reads, dim).add(there.view(along));
  return {values.squeeze(dim + 1), indices.gather(dim + 1, places).squeeze(dim + 1)};
}

LocalFunction adaptive_max_pool(const std::string& whose, const Space& X, const Space& Y, bool indices) {
  const detail::AdaptiveGeometry geometry = detail::adaptive_geometry(whose, X, Y);
  const auto f = [n = geometry.inputs, m = geometry.outputs, indices](
                     const at::Tensor& x, const std::vector<detail::Slab>& slabs) {
    at::Tensor read = x;
    for (std::size_t i = 0; i < slabs.size(); ++i)
      read = detail::inputs_of(slabs[i], read, static_cast<std::int64_t>(i) + 2);
    Greatest all{read, indices ? at::zeros_like(read, at::kLong) : at::Tensor()};
    std::int64_t stride = 1;
    for (std::size_t i = slabs.size(); i-- > 0;) {
      const at::Tensor reads = window_reads(n[i], m[i], slabs[i], x.device());
      const at::Tensor there = reads.add(slabs[i].first_input).mul(stride);
      all = one_dim_reduced(all, reads, there, static_cast<std::int64_t>(i) + 2);
      stride *= n[i];
    }
    return indices ? all.indices : all.values;
  };
  return detail::windowed_function(whose, X, geometry.range, geometry.dims, f,
                                   indices ? std::optional(at::kLong) : std::nullopt);
}

}  // namespace

AdaptiveMaxPool::AdaptiveMaxPool(OwnerAndName place, const Space& X, const Space& Y)
    : Layer(std::move(place)) {
  const std::string whose = concat("AdaptiveMaxPool ", path());
  set_domain(X);
  set_range(detail::adaptive_range(whose, X, Y));
  if (X.concrete() && range()->concrete()) adaptive_max_pool(whose, X, *range(), false);
}

Vector AdaptiveMaxPool::forward(const Vector& x) {
  return values_(x, [this](const Space& X) {
    return adaptive_max_pool(concat("AdaptiveMaxPool ", path()), X, *range(), false);
  });
}

Vector AdaptiveMaxPool::indices(const Vector& x) {
  return indices_(constant(x), [this](const Space& X) {
    return adaptive_max_pool(concat("AdaptiveMaxPool ", path(), ", indices"), X, *range(), true);
  });
}

std::string AdaptiveMaxPool::describe() const { return "AdaptiveMaxPool"; }

}  // namespace riesz
