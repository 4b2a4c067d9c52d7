// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/comm/on_device.h"
#include "riesz/nn/spatial/adaptive_pool.h"
#include "riesz/nn/spatial/pool_geometry.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz {
namespace {

/// The means along one dim of what a slab reads. Windows may share an input, and differ in size.
at::Tensor means_of(std::int64_t n, std::int64_t m, const detail::Slab& slab, const at::Tensor& x,
                    std::int64_t dim) {
  const std::int64_t outputs = slab.outputs.size();
  std::vector<std::int64_t> reads, owners;
  const at::Tensor share = at::zeros({outputs}, at::kDouble);
  for (std::int64_t j = 0; j < outputs; ++j) {
    const Interval window = detail::adaptive_reach(n, m, {slab.first_output + j, slab.first_output + j + 1});
    for (std::int64_t i = window.begin; i < window.end; ++i)
      reads.push_back(i - slab.first_input), owners.push_back(j);
    share.mutable_data_ptr<double>()[j] = 1.0 / static_cast<double>(window.size());
  }
  std::vector<std::int64_t> shape = x.sizes().vec(), along(shape.size(), 1);
  shape[static_cast<std::size_t>(dim)] = along[static_cast<std::size_t>(dim)] = outputs;
  const at::Tensor read = x.index_select(dim, on_device(at::tensor(reads), x.device()));
  const at::Tensor sums =
      at::zeros(shape, x.options()).index_add(dim, on_device(at::tensor(owners), x.device()), read);
  return sums.mul(on_device(share.to(x.scalar_type()).view(along), x.device()));
}

LocalFunction adaptive_pool(const std::string& whose, const Space& X, const Space& Y) {
  const detail::AdaptiveGeometry geometry = detail::adaptive_geometry(whose, X, Y);
  const auto f = [extents = geometry.inputs, outputs = geometry.outputs](
                     const at::Tensor& x, const std::vector<detail::Slab>& slabs) {
    at::Tensor y = detail::to_accumulation_type(x);
    for (std::size_t i = 0; i < slabs.size(); ++i) {
      const std::int64_t dim = static_cast<std::int64_t>(i) + 2;
      y = means_of(extents[i], outputs[i], slabs[i], detail::inputs_of(slabs[i], y, dim), dim);
    }
    return y.to(x.scalar_type());
  };
  return detail::windowed_function(whose, X, geometry.range, geometry.dims, f);
}

}  // namespace

AdaptiveAvgPool::AdaptiveAvgPool(OwnerAndName place, const Space& X, const Space& Y)
    : Layer(std::move(place)) {
  const std::string whose = concat("AdaptiveAvgPool ", path());
  set_domain(X);
  set_range(detail::adaptive_range(whose, X, Y));
  if (X.concrete() && range()->concrete()) adaptive_pool(whose, X, *range());
}

Vector AdaptiveAvgPool::forward(const Vector& x) {
  return values_(
      x, [this](const Space& X) { return adaptive_pool(concat("AdaptiveAvgPool ", path()), X, *range()); });
}

std::string AdaptiveAvgPool::describe() const { return "AdaptiveAvgPool"; }

}  // namespace riesz
