// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/sagemaker.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>

#include "riesz/comm/error.h"
#include "riesz/pipeline/partitioner/divide.h"

namespace riesz {
namespace {

/// A module, with those that joined it for a shared parameter.
struct Node {
  std::vector<std::string> paths;
  Cost cost;         // with all below
  double claim = 0;  // C
  int leaves = 1;    // modules without parts
  int stage = 0;
  std::vector<Node> children;
};

/// Which modules join another, of a parameter that both use.
struct Joined {
  std::map<std::string, std::string> user;                     // the first of a parameter
  std::map<std::string, std::vector<const CostTree*>> guests;  // of a module
  std::set<std::string> gone;                                  // from their own place

  void add_users(const CostTree& tree, const std::string& as) {
    for (const std::string& name : tree.shared) user.emplace(name, as);
    for (const CostTree& child : tree.children) add_users(child, as);
  }

  void find(const CostTree& tree, const std::set<std::string>& above) {
    for (const std::string& name : tree.shared) {
      const auto first = user.find(name);
      if (first == user.end() || above.contains(first->second)) continue;
      guests[first->second].push_back(&tree);
      gone.insert(tree.path);
      return add_users(tree, first->second);
    }
    for (const std::string& name : tree.shared) user.emplace(name, tree.path);
    std::set<std::string> here = above;
    here.insert(tree.path);
    for (const CostTree& child : tree.children) find(child, here);
  }
};

Node node(const CostTree& tree, const Joined& joined) {
  Node made{.paths = {tree.path}, .cost = tree.own, .children = {}};
  if (const auto guests = joined.guests.find(tree.path); guests != joined.guests.end()) {
    for (const CostTree* guest : guests->second) {
      made.paths.push_back(guest->path);
      made.cost += total(*guest);
    }
  }
  for (const CostTree& child : tree.children) {
    if (joined.gone.contains(child.path)) continue;
    made.children.push_back(node(child, joined));
    made.cost += made.children.back().cost;
  }
  if (!made.children.empty())
    made.leaves = std::accumulate(made.children.begin(), made.children.end(), 0,
                                  [](int sum, const Node& child) { return sum + child.leaves; });
  return made;
}

void set_claims(Node& node, const Cost& root, double memory_weight) {
  if (root.memory() > 0) node.claim += memory_weight * node.cost.memory() / root.memory();
  if (root.time > 0) node.claim += (1 - memory_weight) * node.cost.time / root.time;
  for (Node& child : node.children) set_claims(child, root, memory_weight);
}

using Range = std::pair<std::vector<Node>::iterator, std::vector<Node>::iterator>;

struct Segment {
  Range nodes;
  double claim = 0;
  int leaves = 0;
  std::vector<int> stages = {};

  double per_stage() const {
    return static_cast<int>(stages.size()) < leaves ? claim / static_cast<double>(stages.size() + 1) : -1;
  }
};

std::vector<Segment> segments(Range nodes, std::size_t most) {
  std::vector<double> claims;
  for (auto each = nodes.first; each != nodes.second; ++each) claims.push_back(each->claim);
  const auto count = static_cast<int>(std::min(most, claims.size()));
  std::vector<Segment> found;
  auto begin = nodes.first;
  for (const std::size_t end : divide(claims, count).ends) {
    Segment segment{{begin, nodes.first + static_cast<std::ptrdiff_t>(end)}};
    for (; begin != segment.nodes.second; ++begin) {
      segment.claim += begin->claim;
      segment.leaves += begin->leaves;
    }
    found.push_back(segment);
  }
  return found;
}

void place(Node& node, const std::vector<int>& stages);

void share_out(const std::vector<int>& stages, Range nodes) {
  std::vector<Segment> parts = segments(nodes, stages.size());
  for (const int stage : stages)
    std::max_element(parts.begin(), parts.end(), [](const Segment& a, const Segment& b) {
      return a.per_stage() < b.per_stage();
    })->stages.push_back(stage);
  for (Segment& part : parts) {
    if (part.stages.empty()) part.stages = {stages.front()};
    if (part.stages.size() > 1 && part.nodes.second - part.nodes.first > 1) {
      share_out(part.stages, part.nodes);
    } else {
      for (auto each = part.nodes.first; each != part.nodes.second; ++each) place(*each, part.stages);
    }
  }
}

void place(Node& node, const std::vector<int>& stages) {
  node.stage = stages.front();
  if (!node.children.empty()) share_out(stages, {node.children.begin(), node.children.end()});
}

void number(const Node& node, std::map<int, int>& numbers) {
  if (node.children.empty()) numbers.emplace(node.stage, static_cast<int>(numbers.size()));
  for (const Node& child : node.children) number(child, numbers);
}

void collect(const Node& node, const std::map<int, int>& numbers, ModuleStages& stage_of) {
  for (const std::string& path : node.paths) stage_of[path] = numbers.at(node.stage);
  for (const Node& child : node.children) collect(child, numbers, stage_of);
}

/// Those that are elsewhere than what they are part of.
void say(const CostTree& tree, int inherited, const ModuleStages& stage_of, ModuleStages& said) {
  const auto found = stage_of.find(tree.path);
  const int stage = found == stage_of.end() ? inherited : found->second;
  if (stage != inherited) said.emplace(tree.path, stage);
  for (const CostTree& child : tree.children) say(child, stage, stage_of, said);
}

}  // namespace

StagePlan sagemaker(const CostTree& tree, int stages, double memory_weight) {
  RIESZ_CHECK(memory_weight >= 0 && memory_weight <= 1, "SageMaker's partitioner: a weight of memory of ",
              memory_weight, " is not in [0, 1]");
  check_costs(tree);
  Joined joined;
  joined.find(tree, {});
  Node root = node(tree, joined);
  RIESZ_CHECK(stages >= 1 && stages <= root.leaves, "SageMaker's partitioner: ", stages, " stages of ",
              root.leaves, " modules without parts; each has one at least");
  set_claims(root, root.cost, memory_weight);
  RIESZ_CHECK(root.claim > 0, "SageMaker's partitioner: with a weight of memory of ", memory_weight,
              " all costs are 0; measure times first, or weigh memory");
  std::vector<int> all(static_cast<std::size_t>(stages));
  std::iota(all.begin(), all.end(), 0);
  place(root, all);
  std::map<int, int> numbers;
  number(root, numbers);
  ModuleStages stage_of;
  collect(root, numbers, stage_of);
  ModuleStages said;
  say(tree, 0, stage_of, said);
  return stage_plan(tree, said, stages);
}

}  // namespace riesz
