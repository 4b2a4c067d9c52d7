// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/recompute/kept_inputs.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>

#include <algorithm>

#include "riesz/primitives/between.h"

namespace riesz::detail {
namespace {

/// On the first of the longest dims. Nothing where X is Replicated on none of the axes.
std::optional<Space> in_pieces(const Space& X, const std::vector<std::string>& axes) {
  const std::vector<std::int64_t> shape = X.shape();
  if (shape.empty()) return std::nullopt;
  const auto dim = static_cast<int>(std::max_element(shape.begin(), shape.end()) - shape.begin());
  std::optional<Space> pieces;
  for (const std::string& axis : axes) {
    const Partition& P = X.partition();
    const int at = P.find(axis);
    if (at < 0 || P.axis(at).extent == 1 || X.placement(at) != Placement::Replicated) continue;
    pieces = pieces.value_or(X).sharded(dim, axis);
  }
  return pieces;
}

}  // namespace

KeptInputs::KeptInputs(const std::vector<Vector>& xs, const std::vector<std::string>& pieces_over) {
  for (const Vector& x : xs)
    inputs_.push_back(
        {x.space(), in_pieces(x.space(), pieces_over), x.local().requires_grad(), x.is_constant()});
}

std::vector<at::Tensor> KeptInputs::kept(const std::vector<Vector>& xs) const {
  const at::NoGradGuard no_gradient;
  std::vector<at::Tensor> all;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto& pieces = inputs_[i].pieces;
    all.push_back(!pieces ? xs[i].local() : between(inputs_[i].space, *pieces)(xs[i]).local().clone());
  }
  return all;
}

std::vector<Vector> KeptInputs::given_back(const std::vector<at::Tensor>& kept) const {
  const at::NoGradGuard no_gradient;
  std::vector<Vector> xs;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Input& input = inputs_[i];
    at::Tensor local = kept[i].detach();
    if (input.pieces) local = between(*input.pieces, input.space)(Vector(*input.pieces, local)).local();
    xs.emplace_back(input.space, local.requires_grad_(input.requires_grad), input.constant);
  }
  return xs;
}

}  // namespace riesz::detail
