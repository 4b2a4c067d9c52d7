// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/label_overlap.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <string>

#include "riesz/nn/vectors/to_space.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

/// (2, labels): a term of a sum on each axis that shards a dim of S.
Space counts_space(const Space& S, std::int64_t labels) {
  Space counts(S.partition(), {2, labels});
  for (int dim = 0; dim < S.dims(); ++dim)
    for (const Shard& shard : S.shards(dim)) counts = counts.partial(S.partition().axis(shard.axis).name);
  return counts;
}

at::Tensor counts_of(const at::Tensor& logits, const at::Tensor& targets) {
  const std::int64_t labels = logits.size(-1);
  at::Tensor counts = at::zeros({2, labels}, logits.options().dtype(at::kDouble));
  if (targets.numel() == 0) return counts;
  const at::Tensor given = at::argmax(logits, -1).masked_fill(targets.lt(0), -1);  // what does not count
  for (std::int64_t label = 0; label < labels; ++label) {
    const at::Tensor has = targets.eq(label), gets = given.eq(label);
    counts.select(0, 0).select(0, label).copy_(has.logical_and(gets).sum());
    counts.select(0, 1).select(0, label).copy_(has.logical_or(gets).sum());
  }
  return counts;
}

}  // namespace

Vector with_whole_labels(const Vector& logits) {
  const Space& S = logits.space();
  Space whole = S;
  for (const Shard& shard : S.shards(S.dims() - 1))
    whole = whole.replicated(S.partition().axis(shard.axis).name);
  return to_space(logits, whole);
}

Vector intersection_and_union(const Vector& logits, const Vector& targets) {
  const at::NoGradGuard no_grad;
  const Vector whole = with_whole_labels(logits);
  const Space terms = counts_space(targets.space(), logits.space().shape().back());
  const bool here = terms.partition().active();
  const Vector mine(terms, here ? counts_of(whole.local(), targets.local())
                                : at::zeros({0}, logits.local().options().dtype(at::kDouble)));
  return to_space(mine, Space(terms.partition(), terms.shape()));
}

std::vector<double> iou_of(const at::Tensor& counts) {
  const at::Tensor both = counts.to(at::kDouble).cpu().view({2, -1}).contiguous();
  const std::int64_t labels = both.size(1);
  std::vector<double> overlaps;
  for (std::int64_t label = 0; label < labels; ++label) {
    const double in = both.const_data_ptr<double>()[label];
    const double any = both.const_data_ptr<double>()[labels + label];
    overlaps.push_back(any > 0 ? in / any : 1);
  }
  return overlaps;
}

}  // namespace riesz
