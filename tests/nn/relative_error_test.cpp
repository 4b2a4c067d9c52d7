// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/relative_error.h"

#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

at::Tensor norms_of_rows(const at::Tensor& x) { return x.flatten(1).square().sum(1).sqrt(); }

TEST(RelativeError, IsThatOfRowsWhereverTheyLie) {
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {5, 3, 7});
    for (const Space& S :
         {X, X.sharded(0, "dp"), X.sharded(0, "dp").sharded(2, "tp"), X.sharded(1, "tp").sharded(1, "dp")}) {
      SCOPED_TRACE(to_string(S));
      const at::Tensor x_global = draws(X.shape(), 1).requires_grad_();
      const at::Tensor y_global = draws(X.shape(), 2).requires_grad_();
      const at::Tensor expected = norms_of_rows(x_global.sub(y_global)).div(norms_of_rows(y_global)).mean();
      expected.backward();
      const Vector x = leaf(S, x_global.detach()), y = leaf(S, y_global.detach());

      Chain chain;
      const Loss loss = relative_error(x, y);
      const Vector mean = loss.mean();
      backward(mean);

      EXPECT_EQ(loss.count, 5);
      EXPECT_EQ(loss.sum.space(), Space(mesh, {}));
      EXPECT_TRUE(means(mean, expected));
      EXPECT_TRUE(means(gradient(x), x_global.grad()));
      EXPECT_TRUE(means(gradient(y), y_global.grad()));
    }
  }
}

TEST(RelativeError, OfWhatIsRightHasNoSlope) {
  const Space X = Space(Partition::world(), {2, 6}).sharded(1, "world");
  const at::Tensor y = draws({2, 6}, 1);
  const Vector x = leaf(X, y);
  Chain chain;
  backward(relative_error(x, distribute(X, y)).mean());
  EXPECT_TRUE(means(gradient(x), y.mul(0)));
  EXPECT_ERROR(relative_error(x, distribute(Space(Partition::world(), {2, 6}), y)),
               "relative_error needs x and y in one space");
}

}  // namespace
}  // namespace riesz::testing
