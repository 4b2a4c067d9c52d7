// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/local_convolution.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace riesz::detail {
namespace {

/// Padding of the dims of space: what a call of torch's adds on both sides, and more on one.
struct Sides {
  std::vector<std::int64_t> both;
  std::vector<std::int64_t> more;  // as constant_pad_nd has it: the last dim first
  bool uneven = false;
};

Sides sides_of(const LocalConvolution& local, const std::vector<Piece>& pieces) {
  const std::size_t space = local.stride.size();
  Sides sides{std::vector<std::int64_t>(space, 0), std::vector<std::int64_t>(2 * space, 0)};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (local.dims[i] < 2) continue;
    const auto at = static_cast<std::size_t>(local.dims[i] - 2);
    sides.both[at] = std::min(pieces[i].before, pieces[i].after);
    const std::size_t last_first = 2 * (space - 1 - at);
    sides.more[last_first] = pieces[i].before - sides.both[at];
    sides.more[last_first + 1] = pieces[i].after - sides.both[at];
    sides.uneven = sides.uneven || pieces[i].before != pieces[i].after;
  }
  return sides;
}

/// The part along the channels, if they are in groups.
const Piece* channels_of(const LocalConvolution& local, const std::vector<Piece>& pieces) {
  return local.run > 0 ? &pieces[0] : nullptr;
}

/// Groups in one call: several whole ones, or one of which these outputs are a part.
std::int64_t groups_of(const LocalConvolution& local, const Piece* channels) {
  return channels ? std::max<std::int64_t>(1, channels->outputs.size() / local.run) : 1;
}

at::Tensor rows_of(const at::Tensor& w, const Piece* channels) {
  return channels ? w.narrow(0, channels->outputs.begin, channels->outputs.size()) : w;
}

bool nothing_to_add(const at::Tensor& x, const at::Tensor& w, const std::vector<std::int64_t>& shape) {
  return x.numel() == 0 || w.numel() == 0 || std::find(shape.begin(), shape.end(), 0) != shape.end();
}

/// Zeros that autograd sees come from x.
at::Tensor none_of(const at::Tensor& x, const std::vector<std::int64_t>& shape) {
  return at::zeros(shape, x.options()).add(x.sum().mul(0));
}

/// The inputs of the pieces, with the padding that is not on both sides.
at::Tensor padded(const LocalConvolution& local, const std::vector<Piece>& pieces, const Sides& sides,
                  at::Tensor x) {
  for (std::size_t i = 0; i < pieces.size(); ++i) x = inputs_of(pieces[i], x, local.dims[i]);
  return sides.uneven ? at::constant_pad_nd(x, sides.more) : x;
}

at::Tensor one_value(const LocalConvolution& local, const std::vector<Piece>& pieces, const at::Tensor& x,
                     const at::Tensor& w) {
  const Sides sides = sides_of(local, pieces);
  const Piece* channels = channels_of(local, pieces);
  const std::vector<std::int64_t> none(local.stride.size(), 0);
  return at::convolution(padded(local, pieces, sides, x), rows_of(w, channels), {}, local.stride, sides.both,
                         local.dilation, false, none, groups_of(local, channels));
}

at::Tensor one_transposed(const LocalConvolution& local, const std::vector<Piece>& pieces, at::Tensor y,
                          const at::Tensor& w) {
  const Piece* channels = channels_of(local, pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    y = y.narrow(local.dims[i], pieces[i].outputs.begin, pieces[i].outputs.size());
  const std::vector<std::int64_t> none(local.stride.size(), 0);
  at::Tensor x = at::convolution(y, rows_of(w, channels), {}, local.stride, none, local.dilation, true, none,
                                 groups_of(local, channels));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int64_t dim = local.dims[i];
    x = x.narrow(dim, pieces[i].before, x.size(dim) - pieces[i].before - pieces[i].after);
    x = put_back(pieces[i], x, dim, local.x_shape[static_cast<std::size_t>(dim)]);
  }
  return x;
}

}  // namespace

LocalConvolution local_convolution(const ConvForm& form, const WindowedPlan& plan) {
  LocalConvolution local;
  for (const Window& window : form.windows) {
    local.stride.push_back(window.stride);
    local.dilation.push_back(window.dilation);
  }
  if (form.groups > 1) local.run = form.channels_out / form.groups;
  for (const WindowedDim& dim : plan.dims) local.dims.push_back(dim.x);
  local.pieces = plan.pieces;
  local.x_shape = plan.x().local_shape(), local.y_shape = plan.y().local_shape();
  return local;
}

at::Tensor value_of(const LocalConvolution& local, const at::Tensor& x, const at::Tensor& w) {
  if (nothing_to_add(x, w, local.y_shape)) return none_of(x, local.y_shape);
  return over_pieces(local.pieces, local.dims,
                     [&](const std::vector<Piece>& pieces) { return one_value(local, pieces, x, w); });
}

at::Tensor transposed_of(const LocalConvolution& local, const at::Tensor& y, const at::Tensor& w) {
  if (nothing_to_add(y, w, local.x_shape)) return none_of(y, local.x_shape);
  at::Tensor sum;
  each_of_pieces(local.pieces, [&](const std::vector<Piece>& pieces) {
    const at::Tensor term = one_transposed(local, pieces, y, w);
    sum = sum.defined() ? sum.add(term) : term;
  });
  return sum;
}

}  // namespace riesz::detail
