// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Every primitive's adjoint is its adjoint: by the pairing, by the matrix, by autograd.
#include "riesz/testing/adjoint.h"

#include <gtest/gtest.h>

#include "moves.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/matrix.h"

namespace riesz::testing {
namespace {

TEST(Primitives, HaveAdjointsOnEveryGrid) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    for_each_move(grid, Shapes::all, [](const Step& step) { EXPECT_ADJOINT(alone(step)); });
  });
}

TEST(Primitives, HaveTransposedMatrices) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    if (grid.axes().size() > 2) return;
    for_each_move(grid, Shapes::small, [](const Step& step) { EXPECT_MATRIX_ADJOINT(alone(step)); });
  });
}

}  // namespace
}  // namespace riesz::testing
