// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/sagemaker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "every_division.h"
#include "random_tree.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// The definition, with every search by trying all.
class Definition {
 public:
  explicit Definition(double alpha) : alpha_(alpha) {}

  std::map<std::string, int> leaves(const CostTree& tree, int stages) {
    std::vector<int> all(static_cast<std::size_t>(stages));
    for (int i = 0; i < stages; ++i) all[static_cast<std::size_t>(i)] = i;
    visit(tree, all);
    std::map<int, int> numbers;
    for (const auto& [path, stage] : order_) numbers.emplace(stage, static_cast<int>(numbers.size()));
    std::map<std::string, int> found;
    for (const auto& [path, stage] : order_) found[path] = numbers.at(stage);
    return found;
  }

 private:
  using Children = std::vector<const CostTree*>;

  double claim(const CostTree& n) const {
    return alpha_ * total(n).memory() / 1024 + (1 - alpha_) * total(n).time / 1024;
  }
  static int count(const CostTree& n) {
    int leaves = n.children.empty();
    for (const CostTree& child : n.children) leaves += count(child);
    return leaves;
  }

  void visit(const CostTree& n, const std::vector<int>& P) {
    if (n.children.empty()) order_.emplace_back(n.path, P[0]);
    Children children;
    for (const CostTree& child : n.children) children.push_back(&child);
    std::map<const CostTree*, std::vector<int>> of;
    if (P.size() > 1 && !children.empty()) share(P, children, of);
    for (const CostTree* child : children) visit(*child, of.contains(child) ? of[child] : std::vector{P[0]});
  }

  void share(const std::vector<int>& P, const Children& Q, std::map<const CostTree*, std::vector<int>>& of) {
    std::vector<double> costs;
    for (const CostTree* q : Q) costs.push_back(claim(*q));
    const int l = static_cast<int>(std::min(P.size(), Q.size()));
    const Division cuts = best_division(Q.size(), l, 1, sum_of(costs));
    std::vector<Children> S;
    std::vector<std::tuple<double, int, int>> quotients;  // the largest first, then the first segment
    for (std::size_t s = 0, begin = 0; s < cuts.ends.size(); begin = cuts.ends[s], ++s) {
      S.emplace_back(Q.begin() + static_cast<std::ptrdiff_t>(begin),
                     Q.begin() + static_cast<std::ptrdiff_t>(cuts.ends[s]));
      double cost = 0;
      int leaves = 0;
      for (const CostTree* q : S.back()) {
        cost += claim(*q);
        leaves += count(*q);
      }
      for (int seat = 1; seat <= leaves; ++seat)
        quotients.emplace_back(-cost / seat, static_cast<int>(s), seat);
    }
    std::sort(quotients.begin(), quotients.end());
    std::vector<std::vector<int>> seats(S.size());
    for (std::size_t i = 0; i < P.size(); ++i)
      seats[static_cast<std::size_t>(std::get<1>(quotients[i]))].push_back(P[i]);
    for (std::size_t s = 0; s < S.size(); ++s) {
      if (seats[s].size() > 1 && S[s].size() > 1) {
        share(seats[s], S[s], of);
      } else {
        for (const CostTree* q : S[s]) of[q] = seats[s].empty() ? std::vector{P[0]} : seats[s];
      }
    }
  }

  double alpha_;
  std::vector<std::pair<std::string, int>> order_;
};

/// Every module without parts, and its stage.
std::map<std::string, int> leaves(const CostTree& tree, const StagePlan& plan) {
  std::map<std::string, int> said = plan.placement, found;
  const std::function<void(const CostTree&, int)> visit = [&](const CostTree& n, int inherited) {
    const int stage = said.contains(n.path) ? said[n.path] : inherited;
    if (n.children.empty()) found[n.path] = stage;
    for (const CostTree& child : n.children) visit(child, stage);
  };
  visit(tree, 0);
  return found;
}

TEST(SageMaker, IsWhatItsDefinitionSays) {
  std::mt19937 random(4);
  int apart = 0;
  for (int i = 0; i < 300; ++i) {
    const CostTree tree = random_tree(random);
    const std::size_t most = std::min<std::size_t>(Definition(0.5).leaves(tree, 1).size(), 6);
    const int stages = 1 + static_cast<int>(random() % most);
    const double alpha = static_cast<double>(random() % 5) / 4;
    const StagePlan plan = sagemaker(tree, stages, alpha);
    EXPECT_EQ(leaves(tree, plan), Definition(alpha).leaves(tree, stages)) << stages << " stages, α " << alpha;
    int last = 0;
    for (const auto& [path, stage] : leaves(tree, plan)) apart += stage < std::exchange(last, stage);
  }
  EXPECT_GT(apart, 10) << "plans that are not contiguous";
}

CostTree with_table(double table, double blocks) {
  CostTree h{.path = "h"};
  for (int i = 0; i < 4; ++i) h.children.push_back({.path = concat("h.", i), .own = {0, blocks, 0}});
  return {.children = {{.path = "wte", .own = {0, table, 0}, .shared = {"wte.weight"}},
                       h,
                       {.path = "lm_head", .own = {0, 8, 0}, .shared = {"wte.weight"}}}};
}

TEST(SageMaker, KeepsModulesThatShareAParameterTogether) {
  const CostTree tree = with_table(40, 10);
  const StagePlan plan = sagemaker(tree, 3, 1);
  EXPECT_EQ(plan.stages[0].modules, (std::vector<std::string>{"wte", "lm_head"}));
  EXPECT_EQ(plan.stages[1].modules, (std::vector<std::string>{"h.0", "h.1"}));
  EXPECT_EQ(plan.stages[2].modules, (std::vector<std::string>{"h.2", "h.3"}));
  EXPECT_EQ(plan.stages[0].cost.parameters, 48);
}

TEST(SageMaker, GivesATableOneStageHoweverWideItIs) {
  const StagePlan plan = sagemaker(with_table(1000, 1), 3, 1);
  EXPECT_EQ(plan.stages[0].modules, (std::vector<std::string>{"wte", "lm_head"}));
  EXPECT_EQ(plan.stages[1].modules.size() + plan.stages[2].modules.size(), 4U);
}

TEST(SageMaker, LeavesPartsThatShareWithTheirOwnerWhereTheyAre) {
  const CostTree tree{.children = {{.path = "a",
                                    .own = {0, 2, 0},
                                    .shared = {"w"},
                                    .children = {{.path = "a.0", .own = {0, 2, 0}, .shared = {"w"}},
                                                 {.path = "a.1", .own = {0, 2, 0}}}}}};
  EXPECT_EQ(sagemaker(tree, 2, 1).stages[1].modules, std::vector<std::string>{"a.1"});
}

TEST(SageMaker, SaysWhatDoesNotFit) {
  const CostTree tree = with_table(1, 1);
  EXPECT_EQ(sagemaker(tree, 5, 1).stages.size(), 5U);
  EXPECT_ERROR(sagemaker(tree, 6, 1), "6 stages of 5 modules without parts");
  EXPECT_ERROR(sagemaker(tree, 2, 0), "all costs are 0; measure times first");
  EXPECT_ERROR(sagemaker(tree, 2, 1.5), "1.5 is not in [0, 1]");
}

}  // namespace
}  // namespace riesz::testing
