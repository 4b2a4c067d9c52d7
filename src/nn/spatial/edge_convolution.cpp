// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/edge_convolution.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "riesz/nn/vectors/held_once.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

using Tensors = std::vector<at::Tensor>;
using Numbers = std::vector<std::int64_t>;

at::Tensor first_of(const at::Tensor& x, int dim, std::int64_t rows) { return x.narrow(dim, 0, rows); }
at::Tensor last_of(const at::Tensor& x, int dim, std::int64_t rows) {
  return x.narrow(dim, x.size(dim) - rows, rows);
}

/// x + (its first rows) + (its last rows), in x's memory if nobody else holds it.
at::Tensor with_added(at::Tensor x, int dim, const at::Tensor& first, const at::Tensor& last) {
  if (at::GradMode::is_enabled() || !held_once(x)) x = x.clone();
  if (first.defined()) first_of(x, dim, first.size(dim)).add_(first);
  if (last.defined()) last_of(x, dim, last.size(dim)).add_(last);
  return x;
}

/// x itself, and its first and last rows. Backward adds their gradient to that of x where they are.
class EdgesNode : public Node {
 public:
  EdgesNode(int dim, std::int64_t width) : dim_(dim), width_(width) {}

  Tensors forward(const Tensors& inputs) override {
    const at::Tensor& x = inputs[0];
    return {x.detach(), at::cat({first_of(x, dim_, width_), last_of(x, dim_, width_)}, dim_)};
  }

  Tensors backward(Tensors gradients) override {
    const at::Tensor first = first_of(gradients[1], dim_, width_), last = last_of(gradients[1], dim_, width_);
    return {with_added(std::move(gradients[0]), dim_, first, last)};
  }

 private:
  int dim_;
  std::int64_t width_;
};

/// y with terms added to its first and last rows; one of them may be undefined. It writes to y, which is the
/// caller's alone.
class AddedNode : public Node {
 public:
  explicit AddedNode(int dim) : dim_(dim) {}

  Tensors forward(const Tensors& inputs) override {
    const at::Tensor y = inputs[0].detach();
    if (inputs[1].defined()) first_of(y, dim_, inputs[1].size(dim_)).add_(inputs[1]);
    if (inputs[2].defined()) last_of(y, dim_, inputs[2].size(dim_)).add_(inputs[2]);
    rows_ = {inputs[1].defined() ? inputs[1].size(dim_) : 0, inputs[2].defined() ? inputs[2].size(dim_) : 0};
    return {y};
  }

  Tensors backward(Tensors gradients) override {
    const at::Tensor& ybar = gradients[0];
    return {ybar, rows_.first > 0 ? first_of(ybar, dim_, rows_.first) : at::Tensor(),
            rows_.second > 0 ? last_of(ybar, dim_, rows_.second) : at::Tensor()};
  }

 private:
  int dim_;
  std::pair<std::int64_t, std::int64_t> rows_;
};

/// One worker's part.
struct Local {
  int dim;
  std::int64_t width;
  bool above, below;  // is there a neighbour?
  Numbers stride, padding, dilation;
  Numbers y_shape;

  at::Tensor convolved(const at::Tensor& x, const at::Tensor& w, const Numbers& by) const {
    const Numbers none(by.size(), 0);
    return at::convolution(x, w, {}, stride, by, dilation, false, none, 1);
  }

  /// What the rows above give to the first outputs: of the kernel's first rows.
  at::Tensor from_above(const at::Tensor& halo, const at::Tensor& w) const {
    const at::Tensor rows = first_of(halo, dim, width);
    return last_of(convolved(rows, first_of(w, dim, width), around_edge()), dim, width);
  }

  /// What the rows below give to the last outputs.
  at::Tensor from_below(const at::Tensor& halo, const at::Tensor& w) const {
    const at::Tensor rows = halo.narrow(dim, above ? width : 0, width);
    return first_of(convolved(rows, last_of(w, dim, width), around_edge()), dim, width);
  }

  Numbers around_edge() const {
    Numbers by = padding;
    by[static_cast<std::size_t>(dim - 2)] = width - 1;
    return by;
  }

  /// Of this worker's x, the rows around it, and w.
  at::Tensor operator()(const Tensors& z) const {
    const at::Tensor &x = z[0], &halo = z[1], &w = z[2];
    if (x.numel() == 0 || w.numel() == 0 || std::find(y_shape.begin(), y_shape.end(), 0) != y_shape.end())
      return at::zeros(y_shape, x.options()).add(x.sum().mul(0));
    const at::Tensor y = convolved(x.contiguous(), w, padding);
    return record(std::make_shared<AddedNode>(dim),
                  {y, above ? from_above(halo, w) : at::Tensor(), below ? from_below(halo, w) : at::Tensor()})
        .front();
  }
};

/// The one dim of space that axes cut, or −1.
int cut_dim(const ConvGeometry& geometry, const Space& Zx, const Space& Zy) {
  int found = -1;
  for (const WindowedDim& dim : geometry.dims) {
    if (dim.x < 2 || dim.x != dim.y || dim.reading.mode != PaddingMode::zeros) return -1;
    if (sharding_axes(Zy, dim.y).empty() && sharding_axes(Zx, dim.x).empty()) continue;
    if (std::exchange(found, dim.x) >= 0) return -1;
  }
  return found;
}

bool keeps_extent(const Window& window) {
  return window.stride == 1 && window.dilation == 1 && window.kernel % 2 == 1 && window.kernel > 1 &&
         window.padding_before == window.kernel / 2 && window.padding_after == window.kernel / 2;
}

/// What each worker of the axis that cuts the dim holds of S.
std::vector<Intervals> held_along(const Space& S, int dim) {
  const Split split = split_of(S, dim);
  std::vector<Intervals> held;
  for (int worker = 0; worker < split.workers(); ++worker) held.push_back(split.held(worker));
  return held;
}

/// One interval behind the other, each of at least so many rows.
bool in_order(const std::vector<Intervals>& held, std::int64_t least) {
  std::int64_t at = 0;
  for (const Intervals& each : held) {
    if (each.size() != 1 || each[0].begin != at || each[0].size() < least) return false;
    at = each[0].end;
  }
  return true;
}

/// Edges are convolutions of their own, each with all of the weight. So it takes many rows for each row of a
/// halo until they cost less than a copy of x.
constexpr std::int64_t kRowsThatPay = 16;

/// Is x cut as y, by one axis, and read with its halo alone? Has each worker enough rows?
bool reads_only_halo(const WindowedPlan& plan, const Space& X, int dim, std::int64_t width) {
  const std::vector<std::string> axes = sharding_axes(X, dim);
  if (axes.size() != 1 || axes != sharding_axes(plan.y(), dim) || X.shards(dim).front().split) return false;
  if (X.shards(dim).size() != 1 || X.partition() != plan.y().partition()) return false;
  const std::vector<Intervals> held = held_along(X, dim);
  if (held != held_along(plan.y(), dim) || !in_order(held, kRowsThatPay * width)) return false;
  std::vector<Intervals> needs;
  const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
  for (const Intervals& each : held)
    needs.push_back({intersect({0, n}, {each[0].begin - width, each[0].end + width})});
  return plan.x() == covering(X, dim, needs);
}

/// Each worker's first and last rows, one behind the other.
Space edges_of(const Space& X, int dim, std::int64_t width) {
  Numbers shape = X.shape();
  shape[static_cast<std::size_t>(dim)] = 2 * width * split_of(X, dim).workers();
  return X.with_shape(shape);
}

/// In which a worker holds the last rows of the worker above, and the first rows of the one below.
Space around(const Space& edges, int dim, std::int64_t width) {
  const int workers = split_of(edges, dim).workers();
  std::vector<Intervals> needs(static_cast<std::size_t>(workers));
  for (int worker = 0; worker < workers; ++worker) {
    const std::int64_t begin = 2 * width * worker, end = begin + 2 * width;
    if (worker > 0) needs[static_cast<std::size_t>(worker)].push_back({begin - width, begin});
    if (worker < workers - 1) needs[static_cast<std::size_t>(worker)].push_back({end, end + width});
  }
  return covering(edges, dim, needs);
}

}  // namespace

std::optional<EdgeConvolution> EdgeConvolution::planned(const std::string& whose,
                                                        const ConvGeometry& geometry, const Space& X,
                                                        const Space& W, const Space& Y,
                                                        const WindowedPlan& plan) {
  const int dim = cut_dim(geometry, plan.x(), plan.y());
  if (dim < 0 || geometry.groups > 1 || plan.read_w.sends()) return std::nullopt;
  const Window& window = geometry.windows[static_cast<std::size_t>(dim - 2)];
  const std::int64_t width = window.kernel / 2;
  if (!keeps_extent(window) || !reads_only_halo(plan, X, dim, width)) return std::nullopt;
  Local local{.dim = dim, .width = width, .above = false, .below = false, .y_shape = plan.y().local_shape()};
  for (const Window& each : geometry.windows) {
    if (each.padding_before != each.padding_after) return std::nullopt;
    local.stride.push_back(each.stride), local.dilation.push_back(each.dilation);
    local.padding.push_back(each.padding_before);
  }
  const Space rows = edges_of(X, dim, width);
  if (X.partition().active()) {
    const int at = X.partition().coordinate(X.partition().rank(), X.shards(dim).front().axis);
    local.above = at > 0, local.below = at < split_of(X, dim).workers() - 1;
  }
  return EdgeConvolution({dim, width}, rows,
                         LocalFunction(whose, {{X, X}, {rows, around(rows, dim, width)}, {W, plan.w()}},
                                       {Y, plan.y()}, local, {.keep = true}));
}

Vector EdgeConvolution::operator()(const Vector& x, const Vector& w) const {
  if (!x.space().partition().active()) return value_({x, Vector(rows_, x.local(), x.is_constant()), w});
  const Tensors parts = record(std::make_shared<EdgesNode>(edges_.dim, edges_.width), {x.local()});
  return value_({Vector(x.space(), parts[0], x.is_constant()), Vector(rows_, parts[1], x.is_constant()), w});
}

}  // namespace riesz::detail
