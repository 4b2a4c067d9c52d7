// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/stages.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/layers/linear.h"
#include "riesz/nn/module.h"
#include "riesz/partition/participation.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// Two slices of a worker, seen from the first.
Partition slice(int at) { return Partition::simulated(2).grid({{"pp", 2}, {"tp", 1}}).at("pp", at); }

riesz::Layout two_stages(std::map<std::string, int> stage_of) {
  return spaces::placed({spaces::one_d(slice(0)), spaces::one_d(slice(1))}, std::move(stage_of));
}

const Roles kRoles{{'b', {Role::batch}}, {'c', {Role::width, 4}}, {'f', {Role::inner, 6}}};

/// x + x, and how often it was entered.
class Twice : public Layer<Twice> {
 public:
  explicit Twice(OwnerAndName place) : Layer(std::move(place)) {}
  Vector forward(const Vector& x, double factor = 2) {
    ++entered;
    if (meets) count_participation("meets");
    return factor * x;
  }
  std::string describe() const override { return "twice"; }

  int entered = 0;
  bool meets = false;
};

class Block : public Layer<Block> {
 public:
  explicit Block(OwnerAndName place) : Layer(std::move(place)) {}
  Vector forward(const Vector& x) { return down_(up_(x)); }
  std::string describe() const override { return "block"; }

 private:
  Linear up_{*this, "up", "bc,cf->bf"};
  Linear down_{*this, "down", "bf,fc->bc"};
};

class Model : public Layer<Model> {
 public:
  explicit Model(const riesz::Layout& layout) : Layer("", {layout, kRoles}) {}
  Vector forward(const Vector& x) { return last_(h_(first_(x))); }
  std::string describe() const override { return "model"; }

  Twice first_{{*this, "first"}};
  Repeated<Block> h_{*this, "h", 2};
  Twice last_{{*this, "last"}};
};

/// Notes what is entered, and puts zeros there.
class Notes : public Crossing {
 public:
  void enter(int stage, const Partition& home, const std::vector<Vector*>& arguments,
             const std::vector<Space>& targets) override {
    entered.push_back(concat(stage, " with ", arguments.size()));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      EXPECT_TRUE(targets[i].partition() == home);
      *arguments[i] = Vector(targets[i], at::ones(targets[i].local_shape(), at::kDouble));
    }
  }

  std::vector<std::string> entered;
};

TEST(Stages, AreOfWholeNamesAndTheLongestCounts) {
  const Stages stages({spaces::one_d(slice(0)), spaces::one_d(slice(1))}, kRoles,
                      {{"h.1", 1}, {"h.1.norm", 0}, {"h.2.mlp", 1}});
  EXPECT_EQ(stages.named("h.1"), 1);
  EXPECT_EQ(stages.named("h.1.attn.c_attn"), 1);
  EXPECT_EQ(stages.named("h.1.norm"), 0);
  EXPECT_EQ(stages.named("h.10"), std::nullopt);
  EXPECT_EQ(stages.named("h.1.attn", "h.1"), std::nullopt);
  EXPECT_TRUE(stages.spans("h", 0) && stages.spans("h.1", 1) && stages.spans("h.2", 0));
  EXPECT_FALSE(stages.spans("h.1.norm", 0) || stages.spans("h.1", 0) || stages.spans("h.2.mlp", 1));
}

TEST(Stages, SayWhatIsWrong) {
  EXPECT_ERROR(two_stages({{"h.0", 2}}), "h.0 is of stage 2, but there are layouts of the stages 0 to 1");
  EXPECT_ERROR(spaces::placed({}, {}), "one stage at least");
  Model model(two_stages({{"h.1", 1}, {"h.7", 1}}));
  EXPECT_ERROR(model.initialise(1, at::kDouble), "no module of the model is named h.7, of stage 1",
               "there are first, h, h.0, h.1, last");
}

TEST(PlacedModule, KnowsItsStageItsSpacesAndPrintsThem) {
  Model model(two_stages({{"h.1", 1}}));
  EXPECT_EQ(model.stage(), 0);
  EXPECT_TRUE(model.spans_stages() && model.h_.spans_stages() && !model.h_[1].spans_stages());
  EXPECT_EQ(model.h_[0].stage(), 0);
  EXPECT_EQ(model.h_[1].stage(), 1);
  EXPECT_TRUE(model.h_[1].spaces().mesh() == slice(1));
  for (const Parameter& parameter : model.h_[1].parameters())
    EXPECT_TRUE(parameter.space().partition() == slice(1)) << parameter.name();
  const std::string tree = model.tree();
  EXPECT_NE(tree.find("\n    h.1: block, stage 1\n      h.1.up: Linear bc,cf->bf with bias from"),
            std::string::npos)
      << tree;
  EXPECT_EQ(tree.find("model, stage"), std::string::npos);
  EXPECT_EQ(model.placement(),
            "stage 0 on (tp=1), ranks 0: first, h.0, last\nstage 1 on (tp=1), ranks 1: h.1\n");
  EXPECT_EQ(Model(two_stages({})).placement(),
            "stage 0 on (tp=1), ranks 0: the model\nstage 1 on (tp=1), ranks 1: \n");
  EXPECT_EQ(Model(spaces::one_d(slice(0))).stage(), std::nullopt);
}

TEST(PlacedModule, IsEnteredOnceAndItsPartsWithIt) {
  Model model(two_stages({{"h.1", 1}}));
  model.initialise(1, at::kDouble);
  Notes notes;
  const Vector x(Space(slice(1), {3, 4}), at::ones({0}, at::kDouble));
  const at::NoGradGuard no_gradient;
  const Vector y = model.last_(model.h_[1](model.first_(x)));
  EXPECT_EQ(notes.entered, (std::vector<std::string>{"0 with 1", "1 with 1", "0 with 1"}));
  EXPECT_TRUE(y.space() == Space(slice(0), {3, 4}));
  EXPECT_TRUE(x.space() == Space(slice(1), {3, 4}));
}

TEST(PlacedModule, IsNotEnteredElsewhereWhereItsRangeIsKnown) {
  Model model(two_stages({{"last", 1}}));
  Twice& last = model.last_;
  const Vector x(Space(slice(1), {3, 4}), at::ones({0}, at::kDouble));
  const Vector trained(x.space(), at::ones({0}, at::kDouble).requires_grad_());
  EXPECT_FALSE(last(x).local().requires_grad());
  EXPECT_TRUE(last(trained).local().requires_grad());
  EXPECT_EQ(last.entered, 2);
  for (int again = 0; again < 2; ++again) {
    EXPECT_FALSE(last(x).local().requires_grad());
    const Vector y = last(trained);
    EXPECT_TRUE(y.local().requires_grad() && y.space() == x.space());
    EXPECT_EQ(last.entered, 2);
  }
  last(x, 3.0), last(x, 3.0);
  EXPECT_EQ(last.entered, 3);
  const at::NoGradGuard no_gradient;
  EXPECT_FALSE(last(trained).local().requires_grad());
  EXPECT_EQ(last.entered, 4);
  const Vector longer(Space(slice(1), {5, 4}), at::ones({0}, at::kFloat));
  EXPECT_EQ(last(longer).local().scalar_type(), at::kFloat);
  EXPECT_EQ(last(longer).space().shape(), (std::vector<std::int64_t>{5, 4}));
  EXPECT_EQ(last.entered, 5);
  model.first_(Vector(Space(slice(0), {3, 4}), at::ones({3, 4}))),
      model.first_(Vector(Space(slice(0), {3, 4}), at::ones({3, 4})));
  EXPECT_EQ(model.first_.entered, 2);  // it lies here
}

TEST(PlacedModule, IsEnteredElsewhereWhereThisWorkerHasAPart) {
  Model model(two_stages({{"last", 1}}));
  model.last_.meets = true;
  const Vector x(Space(slice(1), {3, 4}), at::ones({0}, at::kDouble));
  model.last_(x), model.last_(x);
  EXPECT_EQ(model.last_.entered, 2);
}

TEST(PlacedModule, IsCalledElsewhereAsWhereItLies) {
  Model model(two_stages({{"h", 1}}));
  model.initialise(1, at::kDouble);
  const Vector x(Space(slice(1), {3, 4}), at::ones({0}, at::kDouble));
  const Chain chain;
  const Vector y = model.h_(x);
  EXPECT_TRUE(y.local().requires_grad() && y.space() == x.space());
  EXPECT_TRUE(model.h_[0].parameters().front().value().local().requires_grad());
  EXPECT_EQ(model.h_[0].parameters().front().value().local().numel(), 0);
}

TEST(Space, LiesElsewhereByTheNamesOfAxes) {
  const Partition mesh = Partition::simulated(12).grid({{"dp", 2}, {"tp", 3}, {"sp", 2}});
  const Partition other = Partition::simulated(8).grid({{"tp", 2}, {"dp", 2}, {"cp", 2}});
  const Space X = Space(mesh, {8, 6, 12}).unit(2, 2).sharded(0, "dp").sharded(2, "sp").copied("tp");
  EXPECT_EQ(X.on(other), Space(other, {8, 6, 12}).unit(2, 2).sharded(0, "dp").copied("tp"));
  EXPECT_EQ(X.on(mesh), X);
  const Space Y = Space(mesh, {8, 6, 12}).sharded(1, "tp", Split::sizes({1, 2, 3}));
  EXPECT_EQ(Y.on(other), Space(other, {8, 6, 12}).sharded(1, "tp"));
}

/// Of rows, alone.
class Rows : public Layer<Rows> {
 public:
  Rows(const riesz::Layout& layout, const Roles& roles) : Layer("", {layout, roles}) {}
  Vector forward(const Vector& x) { return up_(x); }
  std::string describe() const override { return "rows"; }

 private:
  Linear up_{*this, "up", "btc,cf->btf"};
};

/// Notes where the first vector is to lie.
class Target : public Crossing {
 public:
  void enter(int /*stage*/, const Partition& /*home*/, const std::vector<Vector*>& arguments,
             const std::vector<Space>& targets) override {
    seen = to_string(targets.at(0));
    bring(arguments, targets);
  }
  std::string seen;
};

TEST(PlacedModule, TakesWhatItsFirstPartTakes) {
  const Partition mesh = Partition::simulated(6).grid({{"pp", 3}, {"tp", 2}});
  const Roles roles{
      {'b', {Role::batch}}, {'t', {Role::sequence}}, {'c', {Role::width, 4}}, {'f', {Role::inner, 6}}};
  Rows model(spaces::placed({spaces::one_d(mesh.at("pp", 1)), spaces::sequence_parallel(mesh.at("pp", 2))},
                            {{"", 1}}),
             roles);
  model.initialise(1, at::kDouble);
  const Target crossing;
  const at::NoGradGuard no_gradient;
  model(Vector(Space(mesh.at("pp", 1), {3, 5, 4}), at::ones({0}, at::kDouble)));
  EXPECT_EQ(crossing.seen, "(3, 5, 4) on (tp=2): dim 1 over tp");
}

class Writer : public Layer<Writer> {
 public:
  Writer(const riesz::Layout& layout, bool writes) : Layer("", {layout, kRoles}), writes_(writes) {}
  void forward(std::vector<Vector>& xs) {
    const Vector x = xs.at(0);
    if (writes_) xs.at(0) = 2.0 * x;
  }
  std::string describe() const override { return "writer"; }

 private:
  bool writes_;
};

TEST(PlacedModule, MayNotWriteIntoItsArguments) {
  std::vector<Vector> xs{Vector(Space(slice(0), {3, 4}), at::ones({3, 4}))};
  Writer reader(two_stages({}), false), writer(two_stages({}), true), unplaced(spaces::one_d(slice(0)), true);
  reader(xs), unplaced(xs);
  EXPECT_EQ(xs[0].local().sum().item<double>(), 24);
  EXPECT_ERROR(writer(xs), "has written a vector into an argument", "return it instead");
}

TEST(PlacedModule, FreeFunctionsSayWhatToDoWithVectorsOfTwoStages) {
  const Vector x(Space(slice(0), {2}), at::ones({2})), y(Space(slice(1), {2}), at::ones({0}));
  EXPECT_ERROR(x + y, "which lie on other workers, of ranks 0 and of ranks 1",
               "give both to a module of the stage that is to have them");
}

}  // namespace
}  // namespace riesz::testing
