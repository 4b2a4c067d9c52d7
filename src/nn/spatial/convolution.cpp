// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/convolution.h"

#include <optional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/local/local_function.h"
#include "riesz/nn/spatial/conv_geometry.h"
#include "riesz/nn/spatial/edge_convolution.h"
#include "riesz/nn/spatial/local_convolution.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/spatial/windowed_plan.h"

namespace riesz {

struct Convolution::Plan {
  std::string spec;
  detail::WindowedPlan windowed;
  Space range;
  bool keeps;
  LocalFunction value;
  LocalFunction transposed;
  std::optional<detail::EdgeConvolution> edges;  ///< the same function as `value`, where it applies
};

namespace {

using Tensors = std::vector<at::Tensor>;

Traffic leaving(const Operator& A, const Partition& grid, int rank) {
  const int there = A.domain().partition().rank_in(grid.world_rank(rank));
  return there < 0 ? Traffic{} : A.traffic(there);
}

/// S, Replicated on the axes on which all three are Copied. There a Y* has terms, of which a local function
/// takes none.
Space agreed(Space S, const Space& X, const Space& W, const Space& Y) {
  for (const Axis& axis : W.partition().axes()) {
    const bool all = X.partition() == W.partition() && Y.partition() == W.partition() &&
                     X.placement(axis.name) == Placement::Copied &&
                     W.placement(axis.name) == Placement::Copied &&
                     Y.placement(axis.name) == Placement::Copied;
    if (all) S = S.replicated(axis.name);
  }
  return S;
}

Convolution::Plan planned(const std::string& spec, const Space& X, const Space& W, const Space& Y,
                          const ConvWindows& windows) {
  const std::string whose = "convolution " + spec;
  const detail::ConvGeometry geometry = detail::conv_geometry(whose, spec, X, W.shape(), windows);
  const Space range = detail::bound(whose, X, Y, geometry.outputs, geometry.channels_out);
  detail::WindowedPlan plan = detail::plan_windowed(whose, geometry.indices, X, W, range, geometry.dims);
  const detail::LocalConvolution local = detail::local_convolution(geometry, plan);
  const bool keeps = !plan.read_w.sends();
  LocalFunction value(whose, {{X, plan.x()}, {W, plan.w()}}, {range, plan.y()},
                      [local](const Tensors& z) { return detail::value_of(local, z[0], z[1]); },
                      {.keep = keeps});
  const detail::WindowedPlan other =
      detail::plan_windowed(whose, geometry.indices, X, W, agreed(range, X, W, range), geometry.dims);
  LocalFunction transposed("transposed " + whose, {{dual(range), other.read_y.range()}, {W, other.w()}},
                           {dual(X), dual(other.x())},
                           [local](const Tensors& z) { return detail::transposed_of(local, z[0], z[1]); },
                           {.keep = keeps});
  std::optional<detail::EdgeConvolution> edges =
      detail::EdgeConvolution::planned(whose, geometry, X, W, range, plan);
  return {spec, std::move(plan), range, keeps, std::move(value), std::move(transposed), std::move(edges)};
}

}  // namespace

Convolution::Convolution(const std::string& spec, const Space& X, const Space& W, const Space& Y,
                         const ConvWindows& windows)
    : plan_(std::make_shared<const Plan>(planned(spec, X, W, Y, windows))) {}

const std::string& Convolution::spec() const { return plan_->spec; }
const Space& Convolution::range() const { return plan_->range; }
const Parallel& Convolution::parallel() const { return plan_->windowed.parallel; }

const Operator& Convolution::read(int operand) const {
  const detail::WindowedPlan& plan = plan_->windowed;
  return operand == 0 ? plan.read_x : operand == 1 ? plan.read_w : plan.read_y;
}

bool Convolution::communicates() const { return plan_->value.communicates(); }

Traffic Convolution::forward_traffic(int rank) const {
  const Partition& grid = read(1).domain().partition();
  return leaving(read(0), grid, rank) + leaving(read(1), grid, rank) + leaving(adjoint(read(2)), grid, rank);
}

Traffic Convolution::backward_traffic(int rank, GradientsWanted wanted) const {
  if (!wanted.of_x && !wanted.of_w) return {};
  const Partition& grid = read(1).domain().partition();
  Traffic sum = leaving(read(2), grid, rank);
  if (wanted.of_x) sum += leaving(adjoint(read(0)), grid, rank);
  if (wanted.of_w) sum += leaving(adjoint(read(1)), grid, rank);
  if (!plan_->keeps) sum += leaving(read(0), grid, rank) + leaving(read(1), grid, rank);
  return sum;
}

Vector Convolution::operator()(const Vector& x, const Vector& w) const {
  const bool edges = plan_->edges && x.space() == read(0).domain() && w.space() == read(1).domain() &&
                     detail::EdgeConvolution::takes(x.local());
  return edges ? (*plan_->edges)(x, w) : plan_->value({x, w});
}

Vector Convolution::transposed(const Vector& y, const Vector& w) const { return plan_->transposed({y, w}); }

Traffic Convolution::transposed_traffic(int rank) const {
  const Partition& grid = read(1).domain().partition();
  const LocalFunction& f = plan_->transposed;
  return leaving(f.reads()[0], grid, rank) + leaving(f.reads()[1], grid, rank) +
         leaving(f.write(), grid, rank);
}

Space convolved(const std::string& spec, const Space& X, const std::vector<std::int64_t>& weight_shape,
                const Space& Y, const ConvWindows& windows) {
  const std::string whose = "convolution " + spec;
  const detail::ConvGeometry geometry = detail::conv_geometry(whose, spec, X, weight_shape, windows);
  return detail::bound(whose, X, Y, geometry.outputs, geometry.channels_out);
}

std::string to_string(const Convolution& convolution) {
  std::string text;
  for (const auto& [axis, index] : convolution.parallel())
    text += (text.empty() ? "" : ", ") + axis + ": " + std::string(1, index);
  const auto& read = convolution.read(0);
  return concat("convolution ", convolution.spec(), " on ", text.empty() ? "no axis" : text,
                "; it reads x by ", to_string(read));
}

}  // namespace riesz
