// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "random_tree.h"

#include <string>

namespace riesz::testing {
namespace {

double up_to(std::mt19937& random, unsigned most) { return static_cast<double>(random() % (most + 1)); }

CostTree grow(std::mt19937& random, const std::string& path, int levels, unsigned least, unsigned most) {
  CostTree tree{.path = path, .own = {up_to(random, 9), up_to(random, 9), up_to(random, 3)}};
  const unsigned parts = levels == 0 ? 0 : least + static_cast<unsigned>(random() % (most - least + 1));
  for (unsigned i = 0; i < parts; ++i)
    tree.children.push_back(
        grow(random, path + "." + std::string(1, static_cast<char>('a' + i)), levels - 1, 0, 3));
  return tree;
}

}  // namespace

CostTree random_tree(std::mt19937& random) {
  CostTree tree = grow(random, "m", 2, 1, 4);
  const Cost all = total(tree);
  tree.own.time += 1024 - all.time;
  tree.own.parameters += 1024 - all.memory();
  return tree;
}

CostTree chain_of(const std::vector<Cost>& blocks, const std::vector<double>& outputs) {
  CostTree tree;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    tree.children.push_back(
        {.path = std::to_string(i), .own = blocks[i], .output = outputs.empty() ? 0 : outputs[i]});
  return tree;
}

}  // namespace riesz::testing
