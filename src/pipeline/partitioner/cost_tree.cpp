// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/cost_tree.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <set>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

bool numbered(const std::string& path) {
  const std::string name = path.substr(path.rfind('.') + 1);
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

bool has_numbered(const CostTree& tree) {
  return std::any_of(tree.children.begin(), tree.children.end(),
                     [](const CostTree& child) { return numbered(child.path) || has_numbered(child); });
}

void add_blocks(const CostTree& tree, bool root, Cost& without_block, std::vector<Block>& found) {
  const bool number = !root && numbered(tree.path);
  const bool opened = !tree.children.empty() && !number && (root || has_numbered(tree));
  if (!opened) return found.push_back({tree.path, total(tree), tree.output, number});
  without_block += tree.own;
  for (const CostTree& child : tree.children) add_blocks(child, false, without_block, found);
}

void add_used_of_others(const Module& module, std::set<std::string>& names) {
  for (const Parameter& parameter : module.used_of_others()) names.insert(parameter.name());
  for (const Module* part : module.parts()) add_used_of_others(*part, names);
}

CostTree tree_of(const Module& module, at::ScalarType type, const std::set<std::string>& shared) {
  CostTree tree{.path = module.path()};
  std::size_t below = 0;
  for (const Module* part : module.parts()) {
    tree.children.push_back(tree_of(*part, type, shared));
    below += part->parameters().size();
  }
  const std::vector<Parameter> all = module.parameters();  // its own come first
  for (std::size_t i = 0; i + below < all.size(); ++i) {
    tree.own.parameters += static_cast<double>(all[i].numel()) * static_cast<double>(c10::elementSize(type));
    if (shared.contains(all[i].name())) tree.shared.push_back(all[i].name());
  }
  for (const Parameter& parameter : module.used_of_others()) tree.shared.push_back(parameter.name());
  return tree;
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  time += other.time;
  parameters += other.parameters;
  activations += other.activations;
  return *this;
}

CostTree cost_tree(const Module& module, at::ScalarType type) {
  std::set<std::string> shared;
  add_used_of_others(module, shared);
  return tree_of(module, type, shared);
}

Cost total(const CostTree& tree) {
  Cost sum = tree.own;
  for (const CostTree& child : tree.children) sum += total(child);
  return sum;
}

std::vector<Block> blocks(const CostTree& tree) {
  std::vector<Block> found;
  Cost without_block;
  add_blocks(tree, true, without_block, found);
  found.front().cost += without_block;
  return found;
}

void check_costs(const CostTree& tree) {
  for (const double cost : {tree.own.time, tree.own.parameters, tree.own.activations, tree.output})
    RIESZ_CHECK(std::isfinite(cost) && cost >= 0, "Module ", tree.path, " costs ", tree.own.time, " s, ",
                tree.own.parameters, " and ", tree.own.activations, " bytes, and gives ", tree.output,
                " bytes; each is finite and at least 0");
  for (const CostTree& child : tree.children) check_costs(child);
}

}  // namespace riesz
