// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/comm/on_device.h"
#include "riesz/nn/spatial/pool_form.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz {
namespace {

/// One dim of space: how many elements of a window count.
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

/// Along one dim: 1/count of each output of a piece, to multiply y by.
at::Tensor shares(const Counted& counted, const detail::Piece& piece, const at::Tensor& y, std::int64_t dim) {
  const std::int64_t m = piece.outputs.size();
  const at::Tensor each = at::zeros({m}, at::kDouble);
  auto* numbers = each.mutable_data_ptr<double>();
  for (std::int64_t j = 0; j < m; ++j)
    numbers[j] = 1.0 / static_cast<double>(counted(piece.first + j * counted.window.stride));
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
  const detail::PoolForm form = detail::pool_form(whose, X, by);
  const Space range = detail::with_outputs(whose, X, Y, form.outputs);
  std::vector<Counted> counted;
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < form.windows.size(); ++i) {
    counted.push_back({form.windows[i], X.shape()[i + 2], form.padding[i], options.count_include_pad});
    dims.push_back(static_cast<std::int64_t>(i) + 2);
  }
  const auto f = [counted, dims](const at::Tensor& x, const std::vector<detail::Piece>& pieces) {
    const at::Tensor read = detail::padded_inputs(x, pieces, dims, 0);
    at::Tensor y = window_sums(x.device(), counted, detail::to_accumulation_type(read));
    for (std::size_t i = 0; i < pieces.size(); ++i) y = y.mul(shares(counted[i], pieces[i], y, dims[i]));
    return y.to(x.scalar_type());
  };
  return detail::windowed_function(whose, X, range, form.dims, f);
}

/// The means along one dim of what a piece reads. Windows may share an input, and differ in size.
at::Tensor means_of(std::int64_t n, std::int64_t m, const detail::Piece& piece, const at::Tensor& x,
                    std::int64_t dim) {
  const std::int64_t outputs = piece.outputs.size();
  std::vector<std::int64_t> reads, owners;
  const at::Tensor share = at::zeros({outputs}, at::kDouble);
  for (std::int64_t j = 0; j < outputs; ++j) {
    const Interval window = detail::adaptive_reach(n, m, {piece.global + j, piece.global + j + 1});
    for (std::int64_t i = window.begin; i < window.end; ++i)
      reads.push_back(i - piece.first), owners.push_back(j);
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
  const detail::AdaptiveForm form = detail::adaptive_form(whose, X, Y);
  const auto f = [extents = form.inputs, outputs = form.outputs](const at::Tensor& x,
                                                                 const std::vector<detail::Piece>& pieces) {
    at::Tensor y = detail::to_accumulation_type(x);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::int64_t dim = static_cast<std::int64_t>(i) + 2;
      y = means_of(extents[i], outputs[i], pieces[i], detail::inputs_of(pieces[i], y, dim), dim);
    }
    return y.to(x.scalar_type());
  };
  return detail::windowed_function(whose, X, form.range, form.dims, f);
}

}  // namespace

AvgPool::AvgPool(OwnerAndName place, const Space& X, const Space& Y, const PoolWindows& windows,
                 const AvgPoolOptions& options)
    : Layer(std::move(place)), windows_(windows), options_(options) {
  const std::string whose = concat("AvgPool ", path());
  for (const std::int64_t d : windows.dilation)
    RIESZ_CHECK(d == 1, whose, ": a dilation of ", d, "; the windows of a mean have none");
  set_domain(X);
  set_range(detail::with_outputs(whose, X, Y, detail::pool_form(whose, X, windows).outputs));
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
