// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/local_convolution.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>

namespace riesz::detail {
namespace {

/// Padding of the spatial dims: what a call of torch's adds on both sides, and more on one.
struct Sides {
  std::vector<std::int64_t> both;
  std::vector<std::array<std::int64_t, 2>> more;  // before and after
};

Sides sides_of(const LocalConvolution& local, const std::vector<Slab>& slabs) {
  const std::size_t space = local.stride.size();
  Sides sides{std::vector<std::int64_t>(space, 0), std::vector<std::array<std::int64_t, 2>>(space)};
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    if (local.dims[i] < 2) continue;
    const auto at = static_cast<std::size_t>(local.dims[i] - 2);
    sides.both[at] = std::min(slabs[i].before, slabs[i].after);
    sides.more[at] = {slabs[i].before - sides.both[at], slabs[i].after - sides.both[at]};
  }
  return sides;
}

/// The part along the channels, if they are in groups.
const Slab* channels_of(const LocalConvolution& local, const std::vector<Slab>& slabs) {
  return local.group_outputs > 0 ? &slabs[0] : nullptr;
}

/// Groups in one call: several whole ones, or one of which these outputs are a part.
std::int64_t groups_of(const LocalConvolution& local, const Slab* channels) {
  return channels ? std::max<std::int64_t>(1, channels->outputs.size() / local.group_outputs) : 1;
}

at::Tensor rows_of(const at::Tensor& w, const Slab* channels) {
  return channels ? narrowed(w, 0, channels->outputs) : w;
}

bool nothing_to_add(const at::Tensor& read, const std::vector<std::int64_t>& shape) {
  return read.numel() == 0 || std::find(shape.begin(), shape.end(), 0) != shape.end();
}

/// x between zeros along a dim. In its backward the gradient of x is a view, where that of `constant_pad_nd`
/// copies.
at::Tensor between_zeros(const at::Tensor& x, std::int64_t dim, const std::array<std::int64_t, 2>& zeros) {
  std::vector<at::Tensor> parts{x};
  std::vector<std::int64_t> shape = x.sizes().vec();
  for (const std::size_t side : {0, 1}) {
    shape[static_cast<std::size_t>(dim)] = zeros[side];
    if (zeros[side] > 0) parts.insert(side == 0 ? parts.begin() : parts.end(), at::zeros(shape, x.options()));
  }
  return parts.size() == 1 ? x : at::cat(parts, dim);
}

/// The inputs of the slabs, with the padding that is not on both sides.
at::Tensor padded(const LocalConvolution& local, const std::vector<Slab>& slabs, const Sides& sides,
                  at::Tensor x) {
  for (std::size_t i = 0; i < slabs.size(); ++i) x = inputs_of(slabs[i], x, local.dims[i]);
  for (std::size_t i = 0; i < sides.more.size(); ++i)
    x = between_zeros(x, static_cast<std::int64_t>(i) + 2, sides.more[i]);
  return x;
}

at::Tensor one_value(const LocalConvolution& local, const std::vector<Slab>& slabs, const at::Tensor& x,
                     const at::Tensor& w) {
  const Sides sides = sides_of(local, slabs);
  const Slab* channels = channels_of(local, slabs);
  const std::vector<std::int64_t> none(local.stride.size(), 0);
  return at::convolution(padded(local, slabs, sides, x), rows_of(w, channels), {}, local.stride, sides.both,
                         local.dilation, false, none, groups_of(local, channels));
}

at::Tensor one_transposed(const LocalConvolution& local, const std::vector<Slab>& slabs, at::Tensor y,
                          const at::Tensor& w) {
  const Slab* channels = channels_of(local, slabs);
  for (std::size_t i = 0; i < slabs.size(); ++i) y = narrowed(y, local.dims[i], slabs[i].outputs);
  const std::vector<std::int64_t> none(local.stride.size(), 0);
  at::Tensor x = at::convolution(y, rows_of(w, channels), {}, local.stride, none, local.dilation, true, none,
                                 groups_of(local, channels));
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    const std::int64_t dim = local.dims[i];
    x = narrowed(x, dim, {slabs[i].before, x.size(dim) - slabs[i].after});
    x = scatter_add(slabs[i], x, dim, local.x_shape[static_cast<std::size_t>(dim)]);
  }
  return x;
}

}  // namespace

LocalConvolution local_convolution(const ConvGeometry& geometry, const WindowedPlan& plan) {
  LocalConvolution local;
  for (const Window& window : geometry.windows) {
    local.stride.push_back(window.stride);
    local.dilation.push_back(window.dilation);
  }
  if (geometry.groups > 1) local.group_outputs = geometry.channels_out / geometry.groups;
  for (const WindowedDim& dim : plan.dims) local.dims.push_back(dim.x);
  local.slabs = plan.slabs;
  local.x_shape = plan.x().local_shape(), local.y_shape = plan.y().local_shape();
  return local;
}

at::Tensor value_of(const LocalConvolution& local, const at::Tensor& x, const at::Tensor& w) {
  if (nothing_to_add(x, local.y_shape)) return at::zeros(local.y_shape, x.options());
  return over_slabs(local.slabs, local.dims,
                    [&](const std::vector<Slab>& slabs) { return one_value(local, slabs, x, w); });
}

at::Tensor transposed_of(const LocalConvolution& local, const at::Tensor& y, const at::Tensor& w) {
  if (nothing_to_add(y, local.x_shape)) return at::zeros(local.x_shape, y.options());
  at::Tensor sum;
  for (const std::vector<Slab>& slabs : combinations_of(local.slabs)) {
    const at::Tensor term = one_transposed(local, slabs, y, w);
    sum = sum.defined() ? sum.add(term) : term;
  }
  return sum;
}

}  // namespace riesz::detail
