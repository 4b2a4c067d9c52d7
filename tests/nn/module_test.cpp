// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/module.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "riesz/nn/layers/dropout.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

Space pair() { return {Partition::simulated(1), {2}}; }

class Leaf : public Module {
 public:
  explicit Leaf(std::string name) : Module(std::move(name)), weight_("weight", pair(), {Initial::normal(1)}) {
    adopt(weight_);
  }
  std::string describe() const override { return "Leaf"; }

 private:
  Parameter weight_;
};

class Branch : public Module {
 public:
  Branch(std::string name, const std::string& first, const std::string& second)
      : Module(std::move(name)), first_(first), scale_("scale", pair(), {Initial::ones()}), second_(second) {
    adopt(first_, scale_, second_);
  }
  void adopt_child(Module& child) { adopt(child); }
  std::string describe() const override { return "Branch"; }

  Leaf first_;
  Parameter scale_;
  Leaf second_;
};

class Root : public Module {
 public:
  Root() : Module(""), branch_("h.0", "ln", "mlp"), drop_("drop", 0.5), head_("head") {
    adopt(branch_, drop_, head_);
  }
  std::string describe() const override { return "Root"; }

  Branch branch_;
  Dropout drop_;
  Leaf head_;
};

std::vector<std::string> names(const Module& module) {
  std::vector<std::string> all;
  for (const Parameter& parameter : module.parameters()) all.push_back(parameter.name());
  return all;
}

TEST(Module, NamesParametersFromTheRootInOrder) {
  const Root root;

  EXPECT_EQ(names(root),
            (std::vector<std::string>{"h.0.scale", "h.0.ln.weight", "h.0.mlp.weight", "head.weight"}));
  EXPECT_EQ(names(root), names(root));  // asking names nothing twice
  EXPECT_EQ(names(root.branch_), (std::vector<std::string>{"h.0.scale", "h.0.ln.weight", "h.0.mlp.weight"}));
  EXPECT_EQ(root.branch_.second_.path(), "h.0.mlp");
  EXPECT_EQ(root.path(), "");
}

TEST(Module, InitialisesUnderFullNames) {
  Root root;
  Leaf same("h.0.ln");
  Leaf other("ln");

  root.initialise(5, at::kDouble);
  same.initialise(5, at::kDouble);
  other.initialise(5, at::kDouble);

  const auto value = [](const Module& module, std::size_t i) {
    return module.parameters()[i].value().local();
  };
  EXPECT_TRUE(at::equal(value(root, 1), value(same, 0)));
  EXPECT_FALSE(at::equal(value(root, 1), value(other, 0)));
  EXPECT_FALSE(at::equal(value(root, 1), value(root, 2)));
}

TEST(Module, GivesTrainingStepAndSeedOfTheRootToAllBelow) {
  Root root;
  root.initialise(5, at::kFloat);
  root.set_step(3);

  EXPECT_TRUE(root.drop_.training());
  EXPECT_EQ(root.branch_.first_.seed(), 5U);
  EXPECT_EQ(root.branch_.first_.step(), 3);
  root.set_training(false);
  EXPECT_FALSE(root.drop_.training());
  EXPECT_FALSE(root.drop_.active());
}

TEST(Module, PartsAreNotSetApart) {
  Root root;

  EXPECT_ERROR(root.drop_.set_training(false), "drop", "is a part", "call it on the whole");
  EXPECT_ERROR(root.drop_.set_step(1), "drop", "is a part");
  EXPECT_ERROR(root.branch_.initialise(1, at::kFloat), "h.0", "is a part");
}

TEST(Module, HasOneOwner) {
  Root root;
  Branch other("other", "a", "b");

  EXPECT_ERROR(other.adopt_child(root.head_), "Module other", "its part head has an owner already, head");
  EXPECT_ERROR(root.branch_.adopt_child(root.branch_.first_), "its part ln has an owner already");
  EXPECT_EQ(names(other), (std::vector<std::string>{"other.scale", "other.a.weight", "other.b.weight"}));
}

TEST(Module, RefusesTwoParametersOfOneName) {
  Branch twins("h", "ln", "ln");

  EXPECT_ERROR(twins.initialise(1, at::kFloat), "h.ln.weight", "twice");
}

TEST(Module, PrintsItsTree) {
  const Root root;

  EXPECT_EQ(root.tree(),
            "Root\n"
            "  h.0: Branch\n"
            "    h.0.scale (2) on (world=1): world replicated\n"
            "    h.0.ln: Leaf\n"
            "      h.0.ln.weight (2) on (world=1): world replicated\n"
            "    h.0.mlp: Leaf\n"
            "      h.0.mlp.weight (2) on (world=1): world replicated\n"
            "  drop: Dropout with probability 0.5\n"
            "  head: Leaf\n"
            "    head.weight (2) on (world=1): world replicated\n");
}

}  // namespace
}  // namespace riesz::testing
