// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/module.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/nn/layers/dropout.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

Space pair() { return {Partition::simulated(1), {2}}; }

class Leaf : public Layer<Leaf> {
 public:
  explicit Leaf(OwnerAndName place)
      : Layer(std::move(place)), weight_(parameter("weight", pair(), {Initial::normal(1)})) {
    set_domain(pair()), set_range(pair());
  }
  Vector forward(const Vector& x, double factor = 1) { return factor * x; }
  std::string describe() const override { return "Leaf of two"; }

 private:
  Parameter weight_;
};

/// Both of a vector and its negative, as a struct of vectors.
struct Both {
  Vector plus, minus;
};

class Branch : public Layer<Branch> {
 public:
  Branch(OwnerAndName place, const std::string& first, const std::string& second)
      : Layer(std::move(place)),
        first_({*this, first}),
        scale_(parameter("scale", pair(), {Initial::ones()})),
        second_({*this, second}) {}
  Both forward(const Vector& x) { return {first_(x), second_(x, -1)}; }
  std::string describe() const override { return "Branch"; }

  Leaf first_;
  Parameter scale_;
  Leaf second_;
};

class Tree : public Module {
 public:
  Tree()
      : Module(""), branch_({*this, "h.0"}, "ln", "mlp"), drop_(*this, "drop", 0.5), head_({*this, "head"}) {}
  std::string describe() const override { return "Tree"; }

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
  const Tree root;

  EXPECT_EQ(names(root),
            (std::vector<std::string>{"h.0.scale", "h.0.ln.weight", "h.0.mlp.weight", "head.weight"}));
  EXPECT_EQ(names(root), names(root));  // asking names nothing twice
  EXPECT_EQ(names(root.branch_), (std::vector<std::string>{"h.0.scale", "h.0.ln.weight", "h.0.mlp.weight"}));
  EXPECT_EQ(root.branch_.second_.path(), "h.0.mlp");
  EXPECT_EQ(root.path(), "");
}

TEST(Module, InitialisesUnderFullNames) {
  Tree root;
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

/// Two that drop by one path would drop alike.
TEST(Module, RefusesTwoPartsThatDrawByOnePath) {
  struct Dropping : Module {
    Dropping(const std::string& second, double p) : Module(""), inner({*this, ""}), other(*this, second, p) {}
    std::string describe() const override { return "Dropping"; }
    struct Inner : Module {
      explicit Inner(OwnerAndName place) : Module(std::move(place)), drop(*this, "drop", 0.5) {}
      std::string describe() const override { return "Inner"; }
      Dropout drop;
    } inner;
    Dropout other;
  };
  EXPECT_ERROR(
      Dropping("drop", 0.25).initialise(1, at::kFloat),
      "two parts have the path \"drop\", Dropout with probability 0.5, part 0 of the model, part 0 of",
      "and Dropout with probability 0.25, part 1 of the model", "another name");
  EXPECT_NO_THROW(Dropping("other", 0.25).initialise(1, at::kFloat));
  EXPECT_NO_THROW(Dropping("drop", 0).initialise(1, at::kFloat)) << "that one draws nothing";
}

TEST(Module, IsCalledByItsForwardWithWhateverThatTakesAndReturns) {
  Tree root;
  const Vector x(pair(), at::ones({2}, at::kDouble));

  const Both both = root.branch_(x);

  EXPECT_TRUE(at::equal(both.plus.local(), x.local()));
  EXPECT_TRUE(at::equal(both.minus.local(), x.local().neg()));
}

TEST(Module, ChecksTheDomainOfWhatItIsCalledWith) {
  Tree root;
  const Vector x(Space(Partition::simulated(1), {3}), at::ones({3}, at::kDouble));

  EXPECT_EQ(root.head_.domain(), pair());
  EXPECT_FALSE(root.branch_.domain().has_value());
  EXPECT_ERROR(root.head_(x), "Leaf head takes vectors of\n  (2) on (world=1)", "not of\n  (3) on (world=1)",
               "their shapes differ, [3] and [2], which no between(X, Y) mends", "reshape one");
  EXPECT_ERROR(root.branch_(x), "Leaf h.0.ln takes vectors of");
}

TEST(Module, IsCountedUnderItsPath) {
  struct Asking : Layer<Asking> {
    using Layer::Layer;
    std::string forward() const { return LayerScope::current() ? LayerScope::current()->layer : ""; }
    std::string describe() const override { return "Asking"; }
  };
  Tree root;
  Asking asking({root.branch_, "asking"});
  Counters::instance().record(true);

  EXPECT_EQ(asking(), "h.0.asking");
  Counters::instance().record(false);
}

TEST(Module, LeavesItsOwnerWhenItEnds) {
  Tree root;
  {
    const Leaf passing({root, "passing"});
    EXPECT_EQ(names(root).back(), "passing.weight");
  }
  EXPECT_EQ(names(root).back(), "head.weight");
}

TEST(Module, WithoutALayoutHasNoSpacesOfLetters) {
  Tree root;

  EXPECT_ERROR(root.branch_.spaces(), "Module h.0 takes its spaces from letters, but no owner has a layout",
               "give the spaces themselves");
}

TEST(Module, RefusesTwoParametersOfOneName) {
  Branch twins("h", "ln", "ln");

  EXPECT_ERROR(twins.initialise(1, at::kFloat), "h.ln.weight", "twice");
}

TEST(Module, FreezesAllBelow) {
  Tree root;
  root.branch_.freeze();
  root.initialise(5, at::kDouble);

  for (const Parameter& parameter : root.parameters()) {
    const bool trained = parameter.name() == "head.weight";
    EXPECT_EQ(parameter.trained(), trained) << parameter.name();
    EXPECT_EQ(parameter.value().local().requires_grad(), trained) << parameter.name();
  }
}

TEST(Module, PrintsItsTree) {
  Tree root;
  root.branch_.second_.freeze();
  const std::string between =
      " from (2) on (world=1): world replicated to (2) on (world=1): world replicated\n";

  EXPECT_EQ(root.tree(),
            "Tree\n"
            "  h.0: Branch\n"
            "    h.0.scale (2) on (world=1): world replicated\n"
            "    h.0.ln: Leaf of two" +
                between +
                "      h.0.ln.weight (2) on (world=1): world replicated\n"
                "    h.0.mlp: Leaf of two" +
                between +
                "      h.0.mlp.weight (2) on (world=1): world replicated, frozen\n"
                "  drop: Dropout with probability 0.5\n"
                "  head: Leaf of two" +
                between + "    head.weight (2) on (world=1): world replicated\n");
}

}  // namespace
}  // namespace riesz::testing
