// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/row_terms.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/accumulate.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/held_indices.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

/// (…, v) as (n, v), and (…) as (n, 1).
at::Tensor as_rows(const at::Tensor& x, std::int64_t n) { return x.contiguous().view({n, x.size(-1)}); }
at::Tensor as_column(const at::Tensor& of_rows) { return of_rows.reshape({-1, 1}); }

/// Is x the only way to its memory? Then nobody can tell what is written there: no tensor, view, hook or
/// other node has it, and torch made it, so it is no part of memory that lies elsewhere.
bool is_held_once(const at::Tensor& x) {
  return x.use_count() == 1 && x.has_storage() && x.storage().use_count() == 1 && x.storage().resizable();
}

/// Of x and g.
class RowTermsNode final : public Node {
 public:
  RowTermsNode(HeldIndices targets, const RowSums& sums, double smoothing, std::int64_t vocabulary)
      : column_(as_column(targets.local.to(at::kLong).masked_fill(targets.elsewhere, -1))),
        sums_(sums),
        of_target_(1 - smoothing),
        of_each_(smoothing / static_cast<double>(vocabulary)) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    save(inputs);
    const RowSums sums = std::exchange(sums_, {});  // it is not for backward
    const at::Tensor &x = inputs[0], &g = inputs[1];
    if (x.numel() == 0) return {at::zeros_like(g), at::zeros_like(g)};
    const at::Tensor beside = sums.greatest.sub(g);
    at::Tensor wanted = at::gather(as_rows(x, g.numel()), 1, column_.clamp_min(0)).to(g.scalar_type());
    wanted = wanted.sub(as_column(g)).masked_fill_(column_.lt(0), 0).mul_(of_target_).view(g.sizes());
    if (of_each_ != 0) wanted.add_(sums.shifted.add(beside, static_cast<double>(x.size(-1))), of_each_);
    return {sums.sum.mul(at::exp(beside)), wanted};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const bool again = at::GradMode::is_enabled();
    std::vector<at::Tensor> inputs = again ? saved() : take_saved();
    const at::Tensor x = again ? inputs[0] : inputs[0].tensor_data(), g = inputs[1];
    inputs.clear();
    const at::Tensor of_wanted = as_column(gradients[1]);
    const RowFactors factors{as_column(g), as_column(gradients[0]), of_wanted.mul(of_each_),
                             of_wanted.mul(of_target_), column_};
    const bool alone = !again && is_held_once(x);
    const at::Tensor rows = as_rows(x, g.numel());
    const at::Tensor xbar =
        again ? row_gradients_by_operators(rows, factors) : row_gradients(rows, factors, alone);
    return {xbar.view(x.sizes()), at::Tensor()};
  }

 private:
  at::Tensor column_;  // −1: of another worker
  RowSums sums_;
  double of_target_, of_each_;
};

}  // namespace

RowSums sums_of_last_dim(const at::Tensor& x) {
  const at::NoGradGuard no_gradient;
  const at::IntArrayRef of_rows = x.sizes().slice(0, x.dim() - 1);
  const RowSums sums = row_sums(as_rows(x, c10::multiply_integers(of_rows)));
  return {sums.greatest.view(of_rows), sums.sum.view(of_rows), sums.shifted.view(of_rows)};
}

RowTerms row_terms(const at::Tensor& x, const RowSums& sums, const at::Tensor& g, const WantedTargets& wanted,
                   const Intervals& held) {
  const auto node = std::make_shared<RowTermsNode>(held_indices(wanted.targets, held), sums, wanted.smoothing,
                                                   wanted.vocabulary);
  std::vector<at::Tensor> terms = record(node, {x, g});
  return {std::move(terms[0]), std::move(terms[1])};
}

}  // namespace riesz::detail
