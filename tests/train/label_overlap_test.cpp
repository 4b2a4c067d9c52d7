// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/label_overlap.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

constexpr std::int64_t kLabels = 5;

at::Tensor drawn(const std::vector<std::int64_t>& shape, std::uint64_t key) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return normal(Intervals{{0, count}}, key).view(shape);
}

/// A third of the pixels has no label.
TEST(LabelOverlap, IsThatOfAllPixelsWhereverTheyLie) {
  const at::Tensor logits = drawn({3, 4, 6, kLabels}, 1);
  const at::Tensor targets =
      at::argmax(drawn({3, 4, 6, kLabels}, 2).add(logits), -1).masked_fill(drawn({3, 4, 6}, 3).gt(0.43), -1);
  std::vector<double> expected;
  const at::Tensor given = at::argmax(logits, -1).masked_fill(targets.lt(0), -1);
  for (std::int64_t label = 0; label < kLabels; ++label) {
    const at::Tensor has = targets.eq(label), gets = given.eq(label);
    expected.push_back(has.logical_and(gets).sum().item<double>() /
                       has.logical_or(gets).sum().item<double>());
  }
  const int p = Runtime::size();
  const Partition mesh =
      Partition::world().grid({{"dp", p % 2 == 0 ? 2 : 1}, {"tp", p % 2 == 0 ? p / 2 : p}});
  const Space S(mesh, {3, 4, 6});
  const auto check = [&](const Space& lies, const Space& X) {
    const Vector counts = intersection_and_union(distribute(X, logits), distribute(lies, targets));
    EXPECT_EQ(counts.space(), Space(mesh, {2, kLabels}));
    EXPECT_EQ(iou_of(counts.local()), expected) << to_string(X);
  };
  const Space X(mesh, {3, 4, 6, kLabels});
  check(S, X);
  check(S.sharded(0, "dp").sharded(2, "tp"), X.sharded(0, "dp").sharded(2, "tp"));
  check(S.sharded(1, "dp"), X.sharded(1, "dp").sharded(3, "tp"));
}

TEST(LabelOverlap, OfALabelThatNobodyHasIsWhole) {
  EXPECT_EQ(iou_of(at::tensor({1.0, 0.0, 4.0, 0.0}, at::kDouble)), (std::vector<double>{0.25, 1}));
}

}  // namespace
}  // namespace riesz
