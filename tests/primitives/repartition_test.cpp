// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Any boxes to any boxes: on one grid, and between partitions.
#include "riesz/primitives/repartition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exchanges.h"
#include "random_spaces.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

using Kinds = std::vector<Placement>;
const Kinds kAll{Placement::Replicated, Placement::Copied, Placement::Partial};

TEST(Repartition, OfAnyTwoSpacesOnOneGridIsNatural) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomSpaces random(seed);
    const Space ground = random.shape(random.grid(Partition::world()));
    const Space X = random.lay_out(ground, kAll, true);
    const Space Y = random.lay_out(ground, kAll, true);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_natural(X, Y);
  }
}

}  // namespace
}  // namespace riesz::testing
