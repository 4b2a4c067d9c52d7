// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/upsample.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/on_device.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/spatial/windowed_function.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz {
namespace {

/// One spatial dim: m outputs sampled from n inputs.
struct Sampled {
  std::int64_t n, m;
  Sampling by;

  std::int64_t first(std::int64_t j) const {
    return by == Sampling::nearest ? nearest_input(n, m, j)
                                   : linear_input(n, m, j, by == Sampling::linear_aligned);
  }
  /// The weight of the second input.
  double second(std::int64_t j) const {
    const auto at = static_cast<double>(j), inputs = static_cast<double>(n), outputs = static_cast<double>(m);
    const double place = by == Sampling::linear_aligned ? (m == 1 ? 0 : at * (inputs - 1) / (outputs - 1))
                                                        : std::max(0.0, (at + 0.5) * inputs / outputs - 0.5);
    return place - static_cast<double>(first(j));
  }
  Interval reach(const Interval& outputs) const {
    return by == Sampling::nearest ? needed_nearest(n, m, outputs)
                                   : needed_linear(n, m, outputs, by == Sampling::linear_aligned);
  }
};

/// Outputs of a slab along one dim, of what it reads.
at::Tensor sampled(const Sampled& dim, const detail::Slab& slab, const at::Tensor& x, std::int64_t along) {
  const std::int64_t m = slab.outputs.size();
  const at::Tensor first = at::zeros({m}, at::kLong), second = at::zeros({m}, at::kLong),
                   weight = at::zeros({m}, at::kDouble);
  for (std::int64_t j = 0; j < m; ++j) {
    const std::int64_t i = dim.first(slab.first_output + j);
    first.mutable_data_ptr<std::int64_t>()[j] = i - slab.first_input;
    second.mutable_data_ptr<std::int64_t>()[j] = std::min(i + 1, dim.n - 1) - slab.first_input;
    if (dim.by != Sampling::nearest) weight.mutable_data_ptr<double>()[j] = dim.second(slab.first_output + j);
  }
  const at::Tensor a = x.index_select(along, on_device(first, x.device()));
  if (dim.by == Sampling::nearest) return a;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(along)] = m;
  const at::Tensor w = on_device(weight.to(x.scalar_type()).view(shape), x.device());
  return a.mul(w.neg().add(1)).add(x.index_select(along, on_device(second, x.device())).mul(w));
}

LocalFunction upsample(const std::string& whose, const Space& X, const Space& Y, Sampling by) {
  const Space range = detail::bound(whose, X, Y, detail::spatial_extents(Y));
  std::vector<Sampled> each;
  std::vector<detail::WindowedDim> dims;
  for (int dim = 2; dim < X.dims(); ++dim) {
    const auto at = static_cast<std::size_t>(dim);
    const Sampled one{X.shape()[at], range.shape()[at], by};
    RIESZ_CHECK(one.n > 0 && one.m > 0, whose, ": ", one.m, " outputs of ", one.n, " inputs in spatial dim ",
                dim - 2);
    each.push_back(one);
    dims.push_back({dim, dim, {one.n, one.m, [one](const Interval& some) { return one.reach(some); }}});
  }
  const auto f = [each, by](const at::Tensor& x, const std::vector<detail::Slab>& slabs) {
    at::Tensor y = by == Sampling::nearest ? x : detail::to_accumulation_type(x);
    for (std::size_t i = 0; i < slabs.size(); ++i) {
      const std::int64_t dim = static_cast<std::int64_t>(i) + 2;
      y = sampled(each[i], slabs[i], detail::inputs_of(slabs[i], y, dim), dim);
    }
    return y.to(x.scalar_type());
  };
  return detail::windowed_function(whose, X, range, dims, f);
}

}  // namespace

Upsample::Upsample(OwnerAndName place, const Space& X, const Space& Y, Sampling sampling)
    : Layer(std::move(place)), sampling_(sampling) {
  const std::string whose = concat("Upsample ", path());
  for (const std::int64_t n : detail::spatial_extents(Y))
    RIESZ_CHECK(n != Space::any, whose, ": the result lies in ", to_string(Y),
                "; its spatial dims have a known extent (resampled(X, factor))");
  set_domain(X), set_range(detail::bound(whose, X, Y, detail::spatial_extents(Y)));
  if (X.concrete() && range()->concrete()) upsample(whose, X, *range(), sampling);
}

Vector Upsample::forward(const Vector& x) {
  return functions_(
      x, [this](const Space& X) { return upsample(concat("Upsample ", path()), X, *range(), sampling_); });
}

std::string Upsample::describe() const {
  constexpr const char* names[] = {"nearest", "linear", "linear with aligned corners"};
  return concat("Upsample, ", names[static_cast<int>(sampling_)]);
}

Space resampled(const Space& S, double factor) {
  std::vector<std::int64_t> shape = S.shape();
  for (std::size_t dim = 2; dim < shape.size(); ++dim)
    if (shape[dim] != Space::any)
      shape[dim] = static_cast<std::int64_t>(std::floor(static_cast<double>(shape[dim]) * factor));
  return S.with_shape(shape);
}

}  // namespace riesz
