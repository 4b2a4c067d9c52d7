// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/embedding.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expect.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kVocabulary = 5, kWidth = 3;

/// 4 × 3 ids that name every row but one, some several times.
at::Tensor ids() { return at::tensor({0, 4, 2, 2, 2, 0, 4, 4, 1, 1, 0, 4}, at::kLong).view({4, 3}); }

void expect_dense(const Space& X, const Space& W, const Space& Y) {
  SCOPED_TRACE("from " + to_string(X) + "\nby " + to_string(W) + "\nto " + to_string(Y));
  Embedding embedding("wte", X, W, Y, Initial::ones());
  embedding.initialise(1, at::kDouble);
  const at::Tensor table = draws({kVocabulary, kWidth}, 1);
  const Vector w = set(embedding.parameters()[0], table);

  Chain chain;
  const Vector y = embedding(distribute(X.with_shape({4, 3}), ids()));
  const at::Tensor ybar = draws({4, 3, kWidth}, 2);
  const Vector gradient = pullback(y, distribute(dual(y.space()), ybar), {w}).front();

  at::Tensor rows = at::zeros({kVocabulary, kWidth}, at::kDouble);
  rows.index_add_(0, ids().view(-1), ybar.view({12, kWidth}));
  EXPECT_EQ(y.space(), Y.with_shape({4, 3, kWidth}));
  EXPECT_TRUE(means(y, at::embedding(table, ids()), 0));
  EXPECT_TRUE(means(gradient, rows));
}

TEST(Embedding, LooksUpTheRowsAtEveryLayout) {
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {Space::any, 3}), W(mesh, {kVocabulary, kWidth}), Y(mesh, {Space::any, 3, kWidth});
    const Space rows = X.sharded(0, "dp"), out = Y.sharded(0, "dp");

    expect_dense(rows, W, out);                                    // batch
    expect_dense(rows, W.sharded(0, "tp"), out);                   // batch and vocabulary, many shards empty
    expect_dense(rows, W.sharded(0, "tp"), out.sharded(1, "tp"));  // to a sharded sequence
    expect_dense(rows, W.sharded(1, "tp"), out.sharded(2, "tp"));  // width
    expect_dense(rows, W.sharded(0, "tp").sharded(0, "dp"), out);  // vocabulary over both
    expect_dense(X.sharded(1, "tp"), W.sharded(0, "dp").sharded(1, "tp"),
                 Y.sharded(2, "tp").sharded(0, "dp"));
    expect_dense(X, W, Y);
  }
}

TEST(Embedding, LooksUpTheRowsWhereverTheSpacesLie) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const auto placed = [&](const Space& S) { return random.place(S, {Placement::Replicated}); };
    expect_dense(placed(Space(grid, {4, 3})), placed(Space(grid, {kVocabulary, kWidth})),
                 placed(Space(grid, {4, 3, kWidth})));
  }
}

TEST(Embedding, OfTheVocabularyInSeveralIntervals) {
  const Partition P = Partition::world();
  const Space W = Space(P, {kVocabulary, kWidth}).sharded(0, "world", Split::zigzag(kVocabulary, P.size()));

  expect_dense(Space(P, {4, 3}), W, Space(P, {4, 3, kWidth}));
  expect_dense(Space(P, {4, 3}).sharded(0, "world"), W, Space(P, {4, 3, kWidth}).sharded(1, "world"));
}

TEST(Embedding, OfTheVocabularyInPartsAddsOnceForwardAndMovesNothingBackward) {
  const Partition P = Partition::world();
  Embedding embedding("wte", Space(P, {4, 3}), Space(P, {kVocabulary, kWidth}).sharded(0, "world"),
                      Space(P, {4, 3, kWidth}));
  embedding.initialise(1, at::kDouble);

  Chain chain;
  Counters::instance().reset();
  const Vector y = embedding(distribute(Space(P, {4, 3}), ids()));
  const Traffic forward = Counters::instance().total();
  pullback(y, y, {embedding.parameters()[0].value()});

  const Space Y(P, {4, 3, kWidth});
  EXPECT_EQ(forward.elements, between(Y.partial("world"), Y).traffic(P.rank()).elements);
  EXPECT_EQ(Counters::instance().total(), forward);
}

/// In bf16 256 + 1 is 256, and in fp16 2,048 + 1 is 2,048.
TEST(Embedding, OfHalfTypesAddsTheGradientsOfARowsUsesInFloat) {
  constexpr std::int64_t n = 4096;
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf, at::kFloat}) {
    for (const Partition& mesh : meshes()) {
      const std::int64_t workers = mesh.extent("dp");
      const Space X(mesh, {workers, 2 * n}), W(mesh, {kVocabulary, kWidth}),
          Y(mesh, {workers, 2 * n, kWidth});
      for (const Space& table : {W, W.sharded(0, "tp"), W.sharded(1, "tp")}) {
        SCOPED_TRACE(std::string(at::toString(type)) + " in " + to_string(table));
        Embedding embedding("wte", X.sharded(0, "dp"), table, Y.sharded(0, "dp"), Initial::ones());
        embedding.initialise(1, type);
        at::Tensor some = at::full({workers, 2 * n}, 3, at::kLong);
        some.narrow(1, 0, n).fill_(1);  // each worker of dp uses two rows 4,096 times
        const Vector w = embedding.parameters()[0].value();

        Chain chain;
        const Vector y = embedding(distribute(X.sharded(0, "dp"), some));
        const at::Tensor ybar = at::full({workers, 2 * n, kWidth}, 1.0 / n, type);
        const Vector gradient = pullback(y, distribute(dual(y.space()), ybar), {w}).front();

        at::Tensor rows = at::zeros({kVocabulary, kWidth}, type);
        rows.select(0, 1).fill_(workers);
        rows.select(0, 3).fill_(workers);
        EXPECT_EQ(y.local().scalar_type(), type);
        EXPECT_EQ(gradient.local().scalar_type(), type);
        EXPECT_TRUE(means(gradient, rows, 0));
      }
    }
  }
}

TEST(Embedding, OfHalfTypesLooksUpTheSameRowsWithGradientsAndWithout) {
  const Partition P = Partition::world();
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    Embedding embedding("wte", Space(P, {4, 3}), Space(P, {kVocabulary, kWidth}).sharded(0, "world"),
                        Space(P, {4, 3, kWidth}), Initial::normal(1));
    embedding.initialise(1, type);
    const Vector some = distribute(Space(P, {4, 3}), ids());

    Chain chain;
    const at::Tensor recorded = embedding(some).local();
    const at::NoGradGuard guard;
    EXPECT_TRUE(recorded.requires_grad());
    EXPECT_SAME_BITS(recorded, embedding(some).local());
  }
}

TEST(Embedding, NamesTheIdOutsideTheVocabulary) {
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {4}), Y(mesh, {4, kWidth});
    for (const Space& W :
         {Space(mesh, {kVocabulary, kWidth}), Space(mesh, {kVocabulary, kWidth}).sharded(0, "tp")}) {
      Embedding embedding("wte", X, W, Y);
      embedding.initialise(1, at::kDouble);
      const Chain chain;

      EXPECT_ERROR(embedding(distribute(X, at::tensor({0, 5, 1, 2}, at::kLong))), "Embedding wte",
                   "the id 5 is outside", "vocabulary of 5");
      EXPECT_ERROR(embedding(distribute(X, at::tensor({0, -1, 1, 2}, at::kLong))), "the id -1 is outside");
    }
  }
}

TEST(Embedding, NamesOnEveryWorkerTheIdThatOneHoldsBeforeAnythingMoves) {
  for (const Partition& mesh : meshes()) {
    const Space Y(mesh, {4, 3, kWidth}), W(mesh, {kVocabulary, kWidth});
    for (const Space& X :
         {Space(mesh, {4, 3}).sharded(0, "dp"), Space(mesh, {4, 3}).sharded(1, "tp").sharded(0, "dp"),
          Space(mesh, {4, 3}).sharded(1, "tp").sharded(1, "dp")}) {
      Embedding embedding("wte", X, W.sharded(0, "tp"), Y.sharded(0, "dp"));
      embedding.initialise(1, at::kDouble);
      for (const std::int64_t bad : {5, -1}) {
        at::Tensor some = ids().clone();
        some[3][2] = bad;  // of the last worker
        const Chain chain;
        Counters::instance().reset();

        EXPECT_ERROR(embedding(distribute(X, some)),
                     "Embedding wte: the id " + std::to_string(bad) + " is outside");
        const auto counted = Counters::instance().by_operation();
        EXPECT_EQ(counted.size(), counted.count("AllMax"));
      }
    }
  }
}

TEST(Embedding, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const Space X(P, {4}), W(P, {kVocabulary, kWidth}), Y(P, {4, kWidth});

  EXPECT_ERROR(Embedding("wte", X, W, Space(P, {4, 7})), "Embedding wte", "do not give", "(4, 7) on");
  EXPECT_ERROR(Embedding("wte", X, Space(P, {kVocabulary}), Y), "Embedding wte", "do not give");
  EXPECT_ERROR(Embedding("wte", X, W, Space(P, {5, kWidth})), "Embedding wte", "do not give", "(5, 3) on");
  EXPECT_NO_THROW(Embedding("wte", X, W, Space(P, {Space::any, kWidth})));
  Embedding embedding("wte", X, W, Y);
  EXPECT_ERROR(embedding(distribute(X.sharded(0, "world"), at::zeros({4}, at::kLong))),
               "Embedding wte takes vectors of", "dim 0 over world");
  embedding.initialise(1, at::kDouble);
  EXPECT_ERROR(embedding(distribute(X, at::zeros({4}))), "Embedding wte: ids of type Float",
               "tensor.to(at::kLong)");
}

/// The commonest fault of what loads data: one worker has other ids. They meet no operator that moves.
TEST(Embedding, SeesIdsThatDiffer) {
  if (Runtime::size() == 1) return;
  const Partition world = Partition::world();
  const Space X(world, {2}), Y(world, {2, kWidth});
  Embedding embedding("wte", X, Space(world, {kVocabulary, kWidth}).sharded(0, "world"), Y);
  embedding.initialise(1, at::kDouble);
  const at::NoGradGuard guard;
  const bool before = consistency_checks();
  set_consistency_checks(true);
  const std::int64_t id = Runtime::rank() + 1 == Runtime::size() ? 3 : 2;
  EXPECT_ERROR(embedding(Vector(X, at::full({2}, id, at::kLong))),
               "Embedding wte: the vector of ids is Replicated on axis world", "rank 0 has 2 at (0)");
  set_consistency_checks(before);
}

}  // namespace
}  // namespace riesz::testing
