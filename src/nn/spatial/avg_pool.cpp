// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/comm/on_device.h"
#include "riesz/nn/spatial/pool_geometry.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz {
namespace {

/// One spatial dim: how many elements of a window count.
struct Counted {
  Window window;
  std::int64_t inputs;
  std::int64_t padding;
  bool includes_padding;

  std::int64_t operator()(std::int64_t first) const {
    const std::int64_t least = includes_padding ? -padding : 0;
    const std::int64_t most = inputs + (includes_padding ? padding : 0);
    return std::min(first + window.kernel, most) - std::max(first, least);
  }
};

/// Along one dim: 1/count of each output of a slab, to multiply y by.
at::Tensor shares(const Counted& counted, const detail::Slab& slab, const at::Tensor& y, std::int64_t dim) {
  const std::int64_t m = slab.outputs.size();
  const at::Tensor each = at::zeros({m}, at::kDouble);
  auto* numbers = each.mutable_data_ptr<double>();
  for (std::int64_t j = 0; j < m; ++j)
    numbers[j] = 1.0 / static_cast<double>(counted(slab.first_input + j * counted.window.stride));
  std::vector<std::int64_t> shape(static_cast<std::size_t>(y.dim()), 1);
  shape[static_cast<std::size_t>(dim)] = m;
  return on_device(each.to(y.scalar_type()).view(shape), y.device());
}

at::Tensor window_sums_in_memory(const std::vector<Counted>& dims, const at::Tensor& x) {
  std::vector<std::int64_t> kernel, stride;
  for (const Counted& dim : dims) kernel.push_back(dim.window.kernel), stride.push_back(dim.window.stride);
  if (dims.size() == 3) return at::avg_pool3d(x, kernel, stride, 0, false, true, 1);
  if (dims.size() == 2) return at::avg_pool2d(x, kernel, stride, 0, false, true, 1);
  return at::avg_pool2d(x.unsqueeze(2), {1, kernel[0]}, {1, stride[0]}, 0, false, true, 1).squeeze(2);
}

/// Three dims are summed by planes, and the planes by lines. On a GPU the gradient of LibTorch's pool of
/// three dims adds in an order left to chance, and throws where one order is asked for.
at::Tensor window_sums_elsewhere(const std::vector<Counted>& dims, const at::Tensor& x) {
  if (dims.size() < 3) return window_sums_in_memory(dims, x);
  const at::Tensor planes = window_sums_in_memory({dims[1], dims[2]}, x.flatten(1, 2));
  const at::Tensor lines = planes.reshape({x.size(0), x.size(1), x.size(2), -1});
  const Window& depth = dims[0].window;
  const at::Tensor y = at::avg_pool2d(lines, {depth.kernel, 1}, {depth.stride, 1}, 0, false, true, 1);
  return y.reshape({y.size(0), y.size(1), y.size(2), planes.size(2), planes.size(3)});
}

constexpr Dispatched<at::Tensor(const std::vector<Counted>&, const at::Tensor&)> window_sums{
    window_sums_in_memory, window_sums_elsewhere};

LocalFunction avg_pool(const std::string& whose, const Space& X, const Space& Y, const PoolWindows& by,
                       const AvgPoolOptions& options) {
  const detail::PoolGeometry geometry = detail::pool_geometry(whose, X, by);
  const Space range = detail::bound(whose, X, Y, geometry.outputs);
  std::vector<Counted> counted;
  for (std::size_t i = 0; i < geometry.windows.size(); ++i)
    counted.push_back(
        {geometry.windows[i], X.shape()[i + 2], geometry.padding[i], options.count_include_pad});
  const auto f = [counted](const at::Tensor& x, const std::vector<detail::Slab>& slabs) {
    const at::Tensor read = detail::padded_inputs(x, slabs, 0);
    at::Tensor y = window_sums(x.device(), counted, detail::to_accumulation_type(read));
    for (std::size_t i = 0; i < slabs.size(); ++i)
      y = y.mul(shares(counted[i], slabs[i], y, static_cast<std::int64_t>(i) + 2));
    return y.to(x.scalar_type());
  };
  return detail::windowed_function(whose, X, range, geometry.dims, f);
}

}  // namespace

AvgPool::AvgPool(OwnerAndName place, const Space& X, const Space& Y, const PoolWindows& windows,
                 const AvgPoolOptions& options)
    : Layer(std::move(place)), windows_(windows), options_(options) {
  const std::string whose = concat("AvgPool ", path());
  for (const std::int64_t d : windows.dilation)
    RIESZ_CHECK(d == 1, whose, ": a dilation of ", d, "; the windows of a mean have none");
  set_domain(X);
  set_range(detail::bound(whose, X, Y, detail::pool_geometry(whose, X, windows).outputs));
  if (X.concrete() && range()->concrete()) avg_pool(whose, X, *range(), windows, options);
}

Vector AvgPool::forward(const Vector& x) {
  return values_(x, [this](const Space& X) {
    return avg_pool(concat("AvgPool ", path()), X, *range(), windows_, options_);
  });
}

std::string AvgPool::describe() const {
  return concat("AvgPool of ", at::IntArrayRef(windows_.kernel), ", stride ",
                at::IntArrayRef(windows_.stride.empty() ? windows_.kernel : windows_.stride));
}

}  // namespace riesz
