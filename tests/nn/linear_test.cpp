// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/linear.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "expect.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

std::string without(const std::string& letters, const std::string& others) {
  std::string kept;
  for (const char index : letters)
    kept += others.find(index) == std::string::npos ? std::string(1, index) : "";
  return kept;
}

/// The layer's value and its three gradients are those of x·w + b on global tensors.
void expect_dense(Linear& linear, const std::string& spec, const Space& X) {
  SCOPED_TRACE(linear.describe());
  const detail::Indices s = detail::parse_indices(spec);
  const std::string over = without(s[1], without(s[1], s[2]));  // the bias's indices
  const std::string spread = without(s[2], over);
  linear.initialise(3, at::kDouble);
  const std::vector<Parameter> parameters = linear.parameters();
  const at::Tensor x_global = draws(X.shape(), 1);
  const at::Tensor w_global = draws(parameters[0].space().shape(), 2);
  const at::Tensor b_global = draws(parameters[1].space().shape(), 3);
  const Vector x = leaf(X, x_global);
  const Vector w = set(parameters[0], w_global);
  const Vector b = set(parameters[1], b_global);

  Chain chain;
  const Vector y = linear(x);
  const at::Tensor ybar = draws(y.space().shape(), 4);
  const std::vector<Vector> gradients = pullback(y, distribute(dual(y.space()), ybar), {x, w, b});

  const at::Tensor ones = at::einsum(s[2] + "->" + spread, {ybar.mul(0)}).add(1);
  const at::Tensor bias = at::einsum(spread + "," + over + "->" + s[2], {ones, b_global});
  EXPECT_TRUE(means(y, at::einsum(spec, {x_global, w_global}).add(bias)));
  EXPECT_TRUE(means(gradients[0], at::einsum(s[1] + "," + s[2] + "->" + s[0], {w_global, ybar})));
  EXPECT_TRUE(means(gradients[1], at::einsum(s[0] + "," + s[2] + "->" + s[1], {x_global, ybar})));
  EXPECT_TRUE(means(gradients[2], at::einsum(s[2] + "->" + over, {ybar})));
}

/// lay(X, "0:dp 2:tp"): dp shards dim 0, tp shards dim 2.
Space lay(Space X, const std::string& layout) {
  std::istringstream words(layout);
  for (std::string word; words >> word;) X = X.sharded(word[0] - '0', word.substr(2));
  return X;
}

struct Layout {
  std::string x, y, w;  // w as the layer chooses it
};

const Layout kColumn{"0:dp", "0:dp 2:tp", "1:tp"}, kRow{"0:dp 2:tp", "0:dp", "0:tp"};
const std::vector<Layout> kLayouts{kColumn,
                                   kRow,
                                   {"0:dp 1:tp", "0:dp 2:tp", "1:tp"},  // sequence parallel, up
                                   {"0:dp 2:tp", "0:dp 1:tp", "0:tp"},  // and down
                                   {"0:dp 0:tp", "0:dp 0:tp", ""},      // data parallel on both axes
                                   {"", "", ""},                        // everyone the same
                                   {"2:tp", "2:tp", "1:tp"},            // in and out: out it is
                                   {"0:dp", "0:dp 2:tp", "1:tp"}};

TEST(Linear, IsXTimesWPlusBAtEveryLayout) {
  for (const Partition& mesh : meshes()) {
    for (const Layout& layout : kLayouts) {
      const Space X = lay(Space(mesh, {5, 3, 4}), layout.x);
      const Space Y = lay(Space(mesh, {5, 3, 7}), layout.y);
      Linear linear("linear", "bti,io->bto", X, Y);

      EXPECT_EQ(linear.parameters()[0].space(), lay(Space(mesh, {4, 7}), layout.w));
      expect_dense(linear, "bti,io->bto", X);
    }
  }
}

TEST(Linear, SplitsAFusedProjectionByHeads) {
  for (const Partition& mesh : meshes()) {
    const Space X = lay(Space(mesh, {5, 2, 6}), "0:dp");
    const Space Y = lay(Space(mesh, {3, 5, 2, 3, 2}), "1:dp 3:tp");
    Linear linear("c_attn", "bti,iqhd->qbthd", X, Y, {.weight_shape = {6, 18}, .bias_shape = {18}});

    EXPECT_EQ(linear.parameters()[0].space(), lay(Space(mesh, {6, 3, 3, 2}), "2:tp"));
    EXPECT_EQ(linear.parameters()[1].space(), lay(Space(mesh, {3, 3, 2}), "1:tp"));
    EXPECT_EQ(linear.parameters()[0].shape(), (std::vector<std::int64_t>{6, 18}));
    EXPECT_EQ(linear.parameters()[1].shape(), (std::vector<std::int64_t>{18}));
    EXPECT_TRUE(linear.parameters()[0].decays());
    EXPECT_FALSE(linear.parameters()[1].decays());
    expect_dense(linear, "bti,iqhd->qbthd", X);
  }
}

TEST(Linear, StoresItsWeightWhereItIsTold) {
  for (const Partition& mesh : meshes()) {
    const Space X = lay(Space(mesh, {5, 3, 4}), "0:dp"), Y = lay(Space(mesh, {5, 3, 7}), "0:dp 2:tp");
    for (const std::string at : {"0:dp 1:tp", "1:tp 1:dp", "1:dp 1:tp", "0:tp 0:dp", ""}) {
      const Space W = lay(Space(mesh, {4, 7}), at);
      Linear linear("linear", "bti,io->bto", X, W, Y, {});

      EXPECT_EQ(linear.parameters()[0].space(), W);
      expect_dense(linear, "bti,io->bto", X);
    }
  }
}

/// Of a grid of up to three axes, with empty shards and sizes of its own; x also as copies or terms, and y
/// left as terms, which another layer's would join.
TEST(Linear, IsXTimesWPlusBWhereverItsOperandsLie) {
  const std::vector<Placement> of_x{Placement::Replicated, Placement::Copied, Placement::Partial};
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const Space X = random.place(Space(grid, {5, 3, 4}), of_x);
    const Space W = random.place(Space(grid, {4, 7}), {Placement::Replicated});
    const Space Y = random.place(Space(grid, {5, 3, 7}), {Placement::Replicated});
    SCOPED_TRACE("by " + to_string(W));
    Linear linear("linear", "bti,io->bto", X, W, Y, {});

    expect_dense(linear, "bti,io->bto", X);
    Linear terms("terms", "bti,io->bto", X, W, Y, {.terms = true});
    const std::string write = to_string(adjoint(Contraction("bti,io->bto", X, W, *terms.range()).read(2)));
    EXPECT_EQ(write.find("Reduce"), std::string::npos) << write << "\nin " << to_string(Y);
    expect_dense(terms, "bti,io->bto", X);
  }
}

TEST(Linear, LeavesTermsWhereItsRowsAreSummed) {
  const Partition mesh = Partition::simulated(4).grid({{"dp", 2}, {"tp", 2}});
  for (const Layout& layout : kLayouts) {
    const Space X = lay(Space(mesh, {5, 3, 4}), layout.x), Y = lay(Space(mesh, {5, 3, 7}), layout.y);
    const Linear linear("linear", "bti,io->bto", X, Y, {.terms = true});
    const bool rows = layout.w == "0:tp";
    EXPECT_EQ(linear.range(), rows ? lay(Space(mesh, {5, 3, 7}), "0:dp").partial("tp") : Y);
    EXPECT_EQ(linear.describe(), "Linear bti,io->bto with bias, left as terms");
  }
}

// DistDL's linear: x on P_x, w on P_w, y on P_y, whose axes match by name and whose workers need not.
TEST(Linear, LivesOnThePartitionOfItsWeight) {
  const Partition world = Partition::world();
  const auto workers = [&](int first, int count) {
    std::vector<int> ranks;
    for (int i = 0; i < count; ++i) ranks.push_back((first + i) % world.size());
    return world.subset(ranks);
  };
  for (int out = 1; out <= 3; ++out) {
    for (int in = 1; in * out <= world.size(); ++in) {
      for (const int shift : {0, 1, world.size() - 1}) {
        const Partition P_w = workers(shift, in * out).grid({{"out", out}, {"in", in}});
        const Partition P_x = workers(1, in).grid({{"in", in}});
        const Partition P_y = workers(world.size() / 2, out).grid({{"out", out}});
        const Space X = Space(P_x, {5, 4}).sharded(1, "in");
        const Space W = Space(P_w, {7, 4}).sharded(0, "out").sharded(1, "in");
        const Space Y = Space(P_y, {5, 7}).sharded(1, "out");
        Linear linear("linear", "bi,oi->bo", X, W, Y, {});
        expect_dense(linear, "bi,oi->bo", X);
      }
    }
  }
}

TEST(Linear, UsesAnothersWeightWhereItsOptionsGiveOne) {
  const at::NoGradGuard guard;
  for (const Partition& mesh : meshes()) {
    const Space X = lay(Space(mesh, {5, 4}), "0:dp"), Y = lay(Space(mesh, {5, 7}), "0:dp 1:tp");
    Linear owner("owner", "bi,io->bo", X, Y);
    owner.initialise(3, at::kDouble);
    const at::Tensor w = draws({4, 7}, 1), x = draws({5, 4}, 2);
    set(owner.weight(), w);
    const LinearOptions tied{.bias = false, .weight = &owner.weight()};
    Linear between("between", "bi,io->bo", X, Y, tied);
    Linear told("told", "bi,io->bo", X, owner.weight().space(), Y, tied);
    for (Linear* each : {&between, &told}) {
      EXPECT_TRUE(each->parameters().empty());
      EXPECT_TRUE(means((*each)(distribute(X, x)), at::einsum("bi,io->bo", {x, w})));
    }
  }
}

TEST(Linear, TakesVectorsOfAnyExtent) {
  const Partition mesh = meshes().front();
  Linear linear("linear", "bti,io->bto", lay(Space(mesh, {Space::any, Space::any, 4}), "0:dp"),
                lay(Space(mesh, {Space::any, Space::any, 7}), "0:dp 2:tp"));
  for (const std::int64_t batch : {5, 1, 8, 5}) {
    expect_dense(linear, "bti,io->bto", lay(Space(mesh, {batch, 2, 4}), "0:dp"));
  }
}

TEST(WeightBetween, AsksPlacementsAloneNotWhichObjectsTheyAreOf) {
  const Partition mesh = Partition::simulated(4).grid({{"dp", 2}, {"tp", 2}});
  const Space X = lay(Space(mesh, {5, 3, 6}), "0:dp 2:tp");
  const Space Y = lay(Space(mesh, {5, 3, 6}), "0:dp 2:tp");

  EXPECT_EQ(weight_between("bti,io->bto", X, Y), lay(Space(mesh, {6, 6}), "1:tp"));
  EXPECT_EQ(weight_between("bti,io->bto", X, X), lay(Space(mesh, {6, 6}), "1:tp"));
}

TEST(WeightBetween, KeepsUnitsAndSplits) {
  const Partition mesh = Partition::simulated(2);
  const Split split = Split::sizes({4, 2});
  const Space X = Space(mesh, {5, 4}).unit(1, 2);
  const Space Y = Space(mesh, {5, 6}).unit(1, 2).sharded(1, "world", split);

  EXPECT_EQ(weight_between("bi,io->bo", X, Y),
            Space(mesh, {4, 6}).unit(0, 2).unit(1, 2).sharded(1, "world", split));
}

TEST(Linear, SaysWhatDoesNotFit) {
  const Partition alone = Partition::simulated(2);
  const Space X(alone, {Space::any, 4}), Y(alone, {Space::any, 7});
  Linear linear("mlp", "bi,io->bo", X, Y);
  linear.initialise(1, at::kDouble);
  const auto call = [&](const Space& S) { return linear(distribute(S, at::ones(S.shape()))); };

  EXPECT_ERROR(call(Space(alone, {5, 3})), "Linear mlp takes vectors of", "(any, 4) on (world=2)",
               "(5, 3) on (world=2)");
  EXPECT_ERROR(call(Space(alone, {5, 4}).sharded(0, "world")), "Linear mlp takes vectors of",
               "between(X, Y)");
  EXPECT_ERROR(call(Space(alone, {5, 4}).partial("world")), "Linear mlp takes vectors of", "world partial");
  EXPECT_ERROR(call(Space(alone, {5, 4})),
               "contract bi,io->bo: x has elements of type Float and w of type Double",
               "tensor.to(at::kFloat)", "initialise(seed, dtype)");
  const LinearOptions published{.weight_shape = {4, 8}};
  EXPECT_ERROR(Linear("mlp", "bi,io->bo", X, Y, published), "Parameter mlp.weight", "[4, 8] has 32 elements",
               "has 28");
  EXPECT_ERROR(Linear("mlp", "bi->bo", X, Y), "does not name two operands");
}

/// What no x could be multiplied by is refused when it is made.
TEST(Linear, RefusesExtentsThatContradictEachOther) {
  const Partition alone = Partition::simulated(2);
  const auto of = [&](const std::vector<std::int64_t>& shape) { return Space(alone, shape); };
  const std::int64_t any = Space::any;

  EXPECT_ERROR(Linear("mlp", "bi,io->bo", of({5, 4}), of({3, 7})),
               "Linear mlp bi,io->bo: the index b has extent 5", "but 3", "(5, 4) on (world=2)",
               "(3, 7) on (world=2)");
  EXPECT_ERROR(Linear("mlp", "bi,io->bo", of({5, 4}), of({6, 7}), of({5, 7}), {}), "Linear mlp",
               "the index i has extent 4", "but 6");
  EXPECT_ERROR(Linear("mlp", "bi,io->bo", of({any, 4}), of({4, 8}), of({any, 7}), {}), "Linear mlp",
               "the index o has extent 8", "but 7");
  EXPECT_ERROR(Linear("mlp", "bi,io->bo", of({any, 4}), of({4, 6}).unit(1, 2), of({any, 6}), {}),
               "Linear mlp", "in units of 2", "but 6 in units of 1");
  const Parameter tied("wte", of({7, 4}), {});
  EXPECT_ERROR(Linear("head", "bi,oi->bo", of({any, 5}), tied, of({any, 7}), {}), "Linear head",
               "the index i has extent 5", "but 4");
  EXPECT_ERROR(Linear("mlp", "bi,io->bo", of({5, any}), of({5, 7})), "Linear mlp",
               "would have dims of any extent", "(any, 7) on (world=2)");
  EXPECT_ERROR(Linear("mlp", "bti,io->bto", of({5, 4}), of({5, 3, 7})), "the operand \"bti\" has 3 dims",
               "its space has 2");
  EXPECT_NO_THROW(Linear("mlp", "bi,io->bo", of({any, 4}), of({5, 7})));
  EXPECT_NO_THROW(Linear("mlp", "bi,io->bo", of({5, 4}), of({any, 7})));
}

TEST(Linear, MayHaveNoBias) {
  const Space X(Partition::simulated(1), {5, 4});
  const Linear linear("head", "bi,oi->bo", X, X, {.bias = false});

  ASSERT_EQ(linear.parameters().size(), 1U);
  EXPECT_EQ(linear.describe(), "Linear bi,oi->bo");
  EXPECT_EQ(linear.tree(),
            "head: Linear bi,oi->bo from (5, 4) on (world=1): world replicated to (5, 4) on (world=1): "
            "world replicated\n  head.weight (4, 4) on (world=1): world replicated\n");
}

}  // namespace
}  // namespace riesz::testing
