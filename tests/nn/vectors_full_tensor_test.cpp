// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "expect.h"
#include "expect_vectors.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

TEST(FullTensor, IsWhatWasDistributed) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 20; ++i) {
    const Space X = any_lay_out(random, random.shape(random.grid(some_workers(random))));
    const at::Tensor global = draws(X.shape(), 3);
    const Vector x = distribute(X, global);
    const at::Tensor found = full_tensor(x);
    if (!X.partition().active()) continue;
    EXPECT_SAME_BITS(found, global) << to_string(X);
    EXPECT_FALSE(found.numel() > 0 && found.data_ptr() == x.local().data_ptr());
  }
}

TEST(FullTensor, IsTheVectorMeantOnAllWorkers) {
  const Partition P = Partition::world();
  const Space X = Space(P, {6, 2}).unit(0, 2);

  for (const Space& S : {X.sharded(0, "world"), X.partial("world"), X.copied("world")}) {
    EXPECT_SAME_BITS(full_tensor(random_vector(S, 1, true)), meant(S, random_parts(S, 1, true)));
  }
  EXPECT_SAME_BITS(full_tensor(random_vector(X, 1)), random_part(X, 0, 1, true));
}

}  // namespace
}  // namespace riesz::testing
