// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "riesz/nn/module.h"

namespace riesz {

/// The cost of a part of a model for a worker that has it.
struct Cost {
  double time = 0;         ///< seconds: forward and backward of a micro-batch
  double parameters = 0;   ///< bytes of weights
  double activations = 0;  ///< bytes kept from forward of a micro-batch to its backward

  double memory() const { return parameters + activations; }
  Cost& operator+=(const Cost& other);
};

/// A model as partitioners see it: its tree of modules, with what each costs by itself, without those below.
struct CostTree {
  std::string path;  ///< as Module::path
  Cost own = {};
  double output = 0;                     ///< bytes of what it gives for a micro-batch
  std::vector<std::string> shared = {};  ///< names of parameters that it uses, and another too
  std::vector<CostTree> children = {};   ///< in the order of calls
};

/// The module and those below it, in the order of construction; a parameter is n elements of `type`, and
/// belongs to the module that made it. Parameters that another module uses too, such as tied weights, are
/// shared by both. Times, activations and outputs are 0. Local.
CostTree cost_tree(const Module& module, at::ScalarType type = at::kFloat);

/// With all below it.
Cost total(const CostTree& tree);

/// A part of a model that no partitioner of contiguous stages cuts.
struct Block {
  std::string path;
  Cost cost;
  double output = 0;
  bool numbered = false;  ///< one of several: "transformer.h.3"
};

/// The tree cut into blocks, in the order of calls. These are the modules that have a number for a name
/// ("h.0", "h.1" …, the outermost such), and beside them the largest that have none below. A cost that
/// belongs to no block, such as a parameter of the root, is in stage 0 as the root is, so it counts with the
/// first block.
std::vector<Block> blocks(const CostTree& tree);

/// @throws Error naming the module unless every cost is finite and at least 0.
void check_costs(const CostTree& tree);

}  // namespace riesz
