// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/plan.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "riesz/nn/contraction/contraction.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kB = 16, kI = 32, kO = 64;

/// lay(mesh, "bi", "b:d b:q1 i:q2"): d, then q1, shard b, q2 shards i.
Space lay(const Partition& mesh, const std::string& indices, const std::string& layout) {
  const std::map<char, std::int64_t> sizes{{'b', kB}, {'i', kI}, {'o', kO}};
  std::vector<std::int64_t> shape;
  for (const char index : indices) shape.push_back(sizes.at(index));
  Space X(mesh, shape);
  std::istringstream words(layout);
  for (std::string word; words >> word;)
    X = X.sharded(static_cast<int>(indices.find(word[0])), word.substr(2));
  return X;
}

struct Layout {
  std::string name;
  std::vector<Axis> axes;
  std::string x, w, y;
  std::string parallel;      // by axis
  double forward, backward;  // elements that leave each worker; backward reads x and w again
};

/// The layouts of the literature, on p or q × q (× q or d) workers, with their volumes as published.
std::vector<Layout> layouts() {
  constexpr int p = 4, q = 2;
  constexpr double X = kB * kI, W = kI * kO, Y = kB * kO;
  constexpr double f = 3.0 / 4, g = 1.0 / 4, h = 1.0 / 8;  // (p−1)/p, (q−1)/q², (q−1)/q³
  const std::vector<Axis> line{{"p", p}}, square{{"q1", q}, {"q2", q}};
  const std::vector<Axis> deep{{"d", q}, {"q1", q}, {"q2", q}}, cube{{"a", q}, {"b", q}, {"c", q}};
  return {
      {"column", line, "", "o:p", "o:p", "o", 0, 2 * f * X},
      {"row", line, "i:p", "i:p", "", "i", 2 * f * Y, 0},
      {"sequence parallel up", line, "b:p", "o:p", "o:p", "o", f * X, f * X + f * X},
      {"sequence parallel down", line, "i:p", "i:p", "b:p", "i", f * Y, f * Y},
      {"data parallel", line, "b:p", "", "b:p", "b", 0, 2 * f * W},
      {"FSDP", line, "b:p", "i:p", "b:p", "b", f * W, f * W + f * W},
      {"rule c", line, "i:p", "", "o:p", "i", f * Y, f * Y + f * W},
      {"2D", square, "b:q1 i:q2", "i:q1 o:q2", "b:q1 o:q2", "bo", g * (X + W), 2 * g * (X + W)},
      {"2.5D", deep, "b:d b:q1 i:q2", "i:q1 o:q2", "b:d b:q1 o:q2", "bbo", g * (X / q + W),
       2 * g * (X / q + W) + g * 2 * W / q},
      {"3D", cube, "b:a b:c i:b", "i:b i:a o:c", "b:a b:b o:c", "bio", h * (X + W + Y),
       h * (X + W + Y) + h * (X + W)},
  };
}

Contraction plan_of(const Layout& layout) {
  int workers = 1;
  for (const Axis& axis : layout.axes) workers *= axis.extent;
  const Partition mesh = Partition::simulated(workers).grid(layout.axes);
  return {"bi,oi->bo", lay(mesh, "bi", layout.x), lay(mesh, "oi", layout.w), lay(mesh, "bo", layout.y)};
}

TEST(ContractionPlan, HasTheParallelIndicesOfTheNamedLayouts) {
  for (const Layout& layout : layouts()) {
    const Contraction plan = plan_of(layout);
    std::string parallel;
    for (const Axis& axis : layout.axes) parallel += plan.parallel().at(axis.name);

    EXPECT_EQ(parallel, layout.parallel) << layout.name << ": " << to_string(plan);
  }
}

TEST(ContractionPlan, MovesThePublishedVolumes) {
  for (const Layout& layout : layouts()) {
    const Contraction plan = plan_of(layout);
    for (int rank = 0; rank < plan.read(1).domain().partition().size(); ++rank) {
      EXPECT_EQ(static_cast<double>(plan.forward_traffic(rank).elements), layout.forward) << layout.name;
      EXPECT_EQ(static_cast<double>(plan.backward_traffic(rank).elements), layout.backward) << layout.name;
    }
  }
}

TEST(ContractionPlan, SendsTheMessagesOfItsPrimitives) {
  const std::vector<Layout> all = layouts();

  EXPECT_EQ(plan_of(all[0]).backward_traffic(0).messages, 6);  // column: one AllReduce of 4 workers
  EXPECT_EQ(plan_of(all[2]).forward_traffic(0).messages, 3);   // sequence parallel up: one AllGather
  EXPECT_EQ(plan_of(all[2]).backward_traffic(0).messages, 6);  // the AllGather again, a ReduceScatter
  EXPECT_EQ(plan_of(all[4]).backward_traffic(0).messages, 6);  // data parallel: one AllReduce
}

TEST(ContractionPlan, FollowsTheRuleInItsOrder) {
  const Partition mesh = Partition::simulated(2);
  const auto index = [&](const std::string& x, const std::string& w, const std::string& y) {
    return plan_of({"", {{"p", 2}}, x, w, y, "", 0, 0}).parallel().at("p");
  };

  EXPECT_EQ(index("b:p", "o:p", "b:p"), 'b');  // (a) before W's
  EXPECT_EQ(index("b:p", "o:p", ""), 'o');     // (b) before X's
  EXPECT_EQ(index("", "o:p", "b:p"), 'o');     // (b) before Y's
  EXPECT_EQ(index("i:p", "", "b:p"), 'i');     // (c) before Y's
  EXPECT_EQ(index("", "", "o:p"), 'o');        // (d)
  EXPECT_EQ(index("", "", ""), '-');           // (e)
}

TEST(ContractionPlan, OrdersAxesOfOneIndexAsXThenWThenYListThem) {
  const Partition mesh = Partition::simulated(8).grid({{"a", 2}, {"b", 2}, {"c", 2}});
  const Contraction plan("bi,oi->bo", lay(mesh, "bi", "i:c"), lay(mesh, "oi", "i:b i:c"),
                         lay(mesh, "bo", ""));

  EXPECT_EQ(plan.read(0).range(), lay(mesh, "bi", "i:c i:b"));
  EXPECT_EQ(plan.read(1).range(), lay(mesh, "oi", "i:c i:b"));
  EXPECT_EQ(plan.read(2).range(), lay(mesh, "bo", "").copied("c").copied("b"));
}

TEST(ContractionPlan, KeepsASplitOfOnesOwn) {
  const Partition mesh = Partition::simulated(3);
  const Split split = Split::sizes({9, 0, 7});
  const Space X = Space(mesh, {kB, kI}).sharded(0, "world", split);
  const Space W(mesh, {kO, kI});

  const Contraction plan("bi,oi->bo", X, W, Space(mesh, {kB, kO}).sharded(0, "world"));

  EXPECT_EQ(plan.read(0).range(), X);
  EXPECT_EQ(plan.read(2).range(), Space(mesh, {kB, kO}).sharded(0, "world", split));
}

TEST(ContractionPlan, PrintsItself) {
  const std::vector<Layout> all = layouts();

  EXPECT_EQ(to_string(plan_of(all[0])), "bi,oi->bo on p: multiply");
  EXPECT_EQ(to_string(plan_of(all[1])), "bi,oi->bo on p: multiply, sum y (1,536 elements, 6 messages)");
  EXPECT_EQ(to_string(plan_of(all[2])),
            "bi,oi->bo on p: gather x over b (384 elements, 3 messages), multiply");
  EXPECT_EQ(to_string(plan_of(all[3])),
            "bi,oi->bo on p: multiply, scatter-sum y over b (768 elements, 3 messages)");
  EXPECT_EQ(to_string(plan_of(all[7])),
            "bi,oi->bo on q1, q2: gather x over i on q2 (128 elements, 1 message), "
            "gather w over i on q1 (512 elements, 1 message), multiply");
}

TEST(ContractionPlan, ReadsFromGridsThatHaveNoAxisInCommon) {
  const Partition world = Partition::simulated(4);
  const Space X = Space(world.grid({{"a", 4}}), {kB, kI}).sharded(0, "a");
  const Space W = Space(world.grid({{"b", 2}, {"c", 2}}), {kO, kI}).sharded(0, "b").sharded(1, "c");
  const Contraction plan("bi,oi->bo", X, W, Space(W.partition(), {kB, kO}).sharded(1, "b"));

  EXPECT_EQ(to_string(plan.read(0)), "Repartition: (a=4) -> (b=2, c=2)");
}

TEST(ContractionPlan, SaysWhichSpacesItIsFor) {
  const Contraction plan = plan_of(layouts()[1]);  // row
  const Vector x = distribute(plan.read(0).domain(), at::ones({kB, kI}));
  const Vector w = distribute(plan.read(1).domain(), at::ones({kO, kI}));
  const Vector elsewhere = distribute(Space(w.space().partition(), {kO, kI}), at::ones({kO, kI}));

  EXPECT_ERROR(plan(x, elsewhere), "contract bi,oi->bo is planned for x and w in", to_string(w.space()),
               "but is called with vectors of", to_string(elsewhere.space()));
  EXPECT_ERROR(plan(w, x), "is planned for x and w in");
}

TEST(ContractionPlan, ThatCommunicatesNeedsAChainWhileGradientsAreRecorded) {
  const Contraction column = plan_of(layouts()[0]);  // whose backward alone communicates
  const Vector x = distribute(column.read(0).domain(), at::ones({kB, kI}));
  const Vector w = distribute(column.read(1).domain(), at::ones({kO, kI}));

  EXPECT_ERROR(column(x, w), "contract bi,oi->bo on p: multiply", "outside a chain", "riesz::Chain chain;",
               "NoGradGuard");
  const at::NoGradGuard guard;
  EXPECT_TRUE(column(x, w).local().eq(kI).all().item<bool>());
}

}  // namespace
}  // namespace riesz::testing
