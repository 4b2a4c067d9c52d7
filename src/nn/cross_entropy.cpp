// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/cross_entropy.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

/// The logits' space without the vocabulary.
Space rows_space(const Space& S) {
  std::vector<int> dims;
  for (int dim = 0; dim + 1 < S.dims(); ++dim) dims.push_back(dim);
  return select_dims(S, dims);
}

/// A scalar of the rows' partition, Partial on the axes that shard rows, brought to all.
Vector sum_over_rows(const Space& rows, const at::Tensor& local) {
  const Space whole(rows.partition(), {});
  Space terms = whole;
  for (int dim = 0; dim < rows.dims(); ++dim) {
    for (const std::string& axis : sharding_axes(rows, dim)) terms = terms.partial(axis);
  }
  const bool here = rows.partition().active();
  return between(terms, whole)(Vector(terms, here ? at::sum(local) : at::zeros({0}, local.options())));
}

void check_targets(const Space& logits, const Vector& targets, std::int64_t ignore) {
  RIESZ_CHECK(logits.dims() >= 1, "cross_entropy: logits need a last dim, the vocabulary, unlike ", to_string(logits));
  check_not_partial("cross_entropy", logits);
  for (const Axis& axis : logits.partition().axes()) {
    RIESZ_CHECK(axis.extent == 1 || logits.placement(axis.name) != Placement::Copied, "cross_entropy: the logits are "
                "Copied on axis ", axis.name, ", in ", to_string(logits), ", so each copy would add its own loss; "
                "bring them to Replicated with between(X, Y)");
  }
  RIESZ_CHECK(matches(targets.space(), rows_space(logits)), "cross_entropy: targets of\n  ",
              to_string(targets.space()), "\nfor logits of\n  ", to_string(logits), "\nwhich need targets of\n  ",
              to_string(rows_space(logits)));
  const at::Tensor counted = targets.local().masked_select(targets.local().ne(ignore));
  if (counted.numel() == 0) return;
  const auto least = counted.min().item<std::int64_t>();
  const auto greatest = counted.max().item<std::int64_t>();
  RIESZ_CHECK(least >= 0 && greatest < logits.shape().back(), "cross_entropy: the target ",
              least < 0 ? least : greatest, " is outside the vocabulary of ", logits.shape().back(),
              " and not the ignored ", ignore);
}

/// This worker's share of the target's logit: zero where the target is in another's part of the vocabulary.
at::Tensor target_logit(const at::Tensor& logits, const at::Tensor& targets, const Interval& held) {
  if (held.size() == 0) return at::zeros(targets.sizes(), logits.options());
  const at::Tensor at_column = at::clamp(targets.sub(held.begin), 0, held.size() - 1);
  const at::Tensor here = at::logical_and(targets.ge(held.begin), targets.lt(held.end));
  return at::gather(logits, -1, at_column.unsqueeze(-1)).squeeze(-1).masked_fill(here.logical_not(), 0);
}

/// The greatest logit of each row among those that this worker holds.
at::Tensor greatest_held(const at::Tensor& logits) {
  if (logits.size(-1) > 0) return at::amax(logits, {-1});
  std::vector<std::int64_t> rows = logits.sizes().vec();
  rows.pop_back();
  return at::full(rows, -std::numeric_limits<double>::infinity(), logits.options());
}

/// −log softmax(logits)[target] per row. Σ exp and the target's logit are taken relative to the row's greatest logit,
/// so that large logits lose no digits; the workers' shares of both go in one AllReduce.
at::Tensor row_losses(const Vector& logits, const at::Tensor& x, const at::Tensor& targets) {
  const Space& S = logits.space();
  const Partition& P = S.partition();
  const bool here = P.active();
  const Interval held = here ? S.box(P.rank()).back() : Interval{};
  const std::vector<std::string> axes = sharding_axes(S, S.dims() - 1);
  if (axes.empty()) return here ? target_logit(at::log_softmax(x, -1), targets, held).neg() : x;
  const at::Tensor greatest = all_max(P, axes, here ? greatest_held(x.detach()) : x);
  const Space whole = insert_dim(rows_space(S), 0, 2);
  Space terms = whole;
  for (const std::string& axis : axes) terms = terms.partial(axis);
  const at::Tensor shifted = here ? x.sub(greatest.unsqueeze(-1)) : x;
  const at::Tensor shares =
      here ? at::stack({at::sum(at::exp(shifted), {-1}), target_logit(shifted, targets, held)}) : x;
  const at::Tensor sums = between(terms, whole)(Vector(terms, shares)).local();
  return here ? at::log(sums.select(0, 0)).sub(sums.select(0, 1)) : x;
}

}  // namespace

Loss cross_entropy(const Vector& logits, const Vector& targets, std::int64_t ignore) {
  check_targets(logits.space(), targets, ignore);
  const bool half = logits.local().scalar_type() == at::kHalf || logits.local().scalar_type() == at::kBFloat16;
  const at::Tensor x = half ? logits.local().to(at::kFloat) : logits.local();
  const at::Tensor ignored = targets.local().eq(ignore);
  const at::Tensor losses = row_losses(logits, x, targets.local()).masked_fill(ignored, 0);
  const Vector count = sum_over_rows(targets.space(), ignored.logical_not().to(at::kLong));
  const bool here = logits.space().partition().active();
  return {sum_over_rows(targets.space(), losses), here ? count.local().item<std::int64_t>() : 0};
}

}  // namespace riesz
