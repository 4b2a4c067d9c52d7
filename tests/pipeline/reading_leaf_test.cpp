// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/reading_leaf.h"

#include <ATen/ops/full.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>
#include <gtest/gtest.h>

#include <utility>

#include "riesz/testing/parts.h"

namespace riesz {
namespace {

/// A leaf's own storage is another; it shows whether the memory of these values lives.
c10::weak_intrusive_ptr<c10::StorageImpl> memory_of(const at::Tensor& values) {
  using Memory = c10::intrusive_ptr<c10::StorageImpl>;
  return c10::weak_intrusive_ptr<c10::StorageImpl>(
      Memory::reclaim_copy(values.storage().unsafeGetStorageImpl()));
}

TEST(ReadingLeaf, KeepsWhatItReadsAliveAndNothingElse) {
  at::Tensor first = at::full({2, 3}, 1., at::kDouble), second = at::full({2, 3}, 2., at::kDouble);
  const auto memory_of_first = memory_of(first), memory_of_second = memory_of(second);
  const ReadingLeaf leaf(first);
  first.reset();
  EXPECT_FALSE(memory_of_first.expired());
  leaf.read(std::exchange(second, {}));
  EXPECT_TRUE(memory_of_first.expired());
  EXPECT_FALSE(memory_of_second.expired());
  EXPECT_SAME_BITS(leaf.tensor().detach(), at::full({2, 3}, 2., at::kDouble));
}

}  // namespace
}  // namespace riesz
