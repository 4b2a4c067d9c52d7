// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What every primitive moves, where to, and what it costs, against the definition.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "moves.h"
#include "reference.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// The same numbers, not contiguous in memory where that can be.
at::Tensor strided(const at::Tensor& tensor) {
  if (tensor.dim() >= 2) return tensor.transpose(0, -1).contiguous().transpose(0, -1);
  if (tensor.dim() == 0) return tensor;
  const at::Tensor wide = at::empty({2 * tensor.numel()}, tensor.options());
  const at::Tensor part = wide.slice(0, 0, wide.numel(), 2);
  part.copy_(tensor);
  return part;
}

/// Parts of arbitrary bits: zeros of both signs, infinities, NaNs with payloads; replicas are equal.
std::vector<at::Tensor> random_bits(const Space& X, at::ScalarType type) {
  std::vector<at::Tensor> parts;
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    const int leader = X.leader(rank, {Placement::Replicated, Placement::Copied});
    std::mt19937 random(static_cast<unsigned>(leader));
    at::Tensor part = at::empty(X.local_shape(rank), type);
    auto* bytes = static_cast<unsigned char*>(part.mutable_data_ptr());
    for (std::size_t i = 0; i < part.nbytes(); ++i) bytes[i] = static_cast<unsigned char>(random());
    parts.push_back(part);
  }
  return parts;
}

constexpr at::ScalarType kTypes[] = {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf};

TEST(Primitives, MoveBitsWhereTheyBelong) {
  const at::NoGradGuard guard;
  int turn = 0;
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    for_each_move(grid, Shapes::all, [&](const Step& step) {
      if (adds(*step)) return;
      const at::ScalarType type = kTypes[++turn % 4];
      const std::vector<at::Tensor> parts = random_bits(step->domain(), type);
      const Vector x(step->domain(), strided(part_of(step->domain(), parts).local()));

      const Vector y = alone(step)(x);

      EXPECT_EQ(y.space(), step->range());
      EXPECT_SAME_BITS(y.local(), expected_part(*step, parts, grid.rank()));
      EXPECT_SAME_BITS(x.local(), part_of(step->domain(), parts).local());
    });
  });
}

TEST(Primitives, AddInRankOrderBitForBit) {
  const at::NoGradGuard guard;
  int turn = 0;
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    for_each_move(grid, Shapes::all, [&](const Step& step) {
      if (!adds(*step)) return;
      for (int i = 0; i < 2; ++i) {
        const at::ScalarType type = kTypes[++turn % 4];
        const std::vector<at::Tensor> parts = random_parts(step->domain(), 3, false, type);
        const Vector x(step->domain(), strided(part_of(step->domain(), parts).local()));

        const Vector y = alone(step)(x);

        EXPECT_SAME_BITS(y.local(), expected_part(*step, parts, grid.rank()));
        EXPECT_EQ(y.local().scalar_type(), type);
        EXPECT_SAME_BITS(x.local(), part_of(step->domain(), parts).local());
      }
    });
  });
}

TEST(Primitives, MoveWholeNumbersAndTruthsWithoutAChain) {
  const Partition P = Partition::world();
  const Space X = Space(P, {2 * P.size() + 1}).sharded(0, "world");
  const Space Y = X.copied("world");
  const at::Tensor v = at::arange(2 * P.size() + 1);

  EXPECT_SAME_BITS(between(X, Y)(distribute(X, v)).local(), v);
  EXPECT_SAME_BITS(between(X, Y)(distribute(X, v.gt(2))).local(), v.gt(2));
  EXPECT_SAME_BITS(between(X.partial("world"), Y)(distribute(X.partial("world"), v)).local(), v);
}

TEST(Primitives, CostTheFormula) {
  const at::NoGradGuard guard;
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    for_each_move(grid, Shapes::all, [&](const Step& step) {
      const Operator A = alone(step);
      const Vector x = random_vector(step->domain(), 1, true, at::kFloat);
      Counters::instance().reset();

      A(x);

      const Traffic expected = expected_sent(*step, grid.rank());
      const Traffic counted = Counters::instance().total();
      EXPECT_EQ(counted, (Traffic{expected.elements, 4 * expected.elements, expected.messages}));
      EXPECT_EQ(counted, Counters::instance().by_operation()[step->name()]);
      for (int rank = 0; rank < grid.size(); ++rank) {
        EXPECT_EQ(A.traffic(rank), expected_sent(*step, rank));
        EXPECT_EQ(step->traffic(rank), expected_sent(*step, rank));
      }
    });
  });
}

bool touches_replicated(const Step& step) {
  for (const int a : step->axes()) {
    if (step->domain().placement(a) == Placement::Replicated ||
        step->range().placement(a) == Placement::Replicated) {
      return true;
    }
  }
  return false;
}

TEST(Primitives, SwapSenderAndReceiverInTheAdjoint) {
  for_each_grid(Partition::simulated(8), [&](const Partition& grid) {
    for_each_move(grid, Shapes::all, [&](const Step& step) {
      if (touches_replicated(step)) return;
      for (int rank = 0; rank < grid.size(); ++rank) {
        EXPECT_EQ(adjoint(alone(step)).traffic(rank), expected_received(*step, rank));
      }
    });
  });
}

TEST(Primitives, OnOneWorkerMoveNothing) {
  const at::NoGradGuard guard;
  for_each_grid(Partition::world().subset({Runtime::rank()}), [&](const Partition& grid) {
    for_each_move(grid, Shapes::all, [&](const Step& step) {
      Counters::instance().reset();
      const Vector x = random_vector(step->domain(), 1);

      EXPECT_SAME_BITS(alone(step)(x).local(), x.local());
      EXPECT_EQ(Counters::instance().total(), Traffic{});
    });
  });
}

}  // namespace
}  // namespace riesz::testing
