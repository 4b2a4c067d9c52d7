// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/stages/stages.h"

namespace riesz::testing {

/// (B, C) → (B, C): x + drop(down(gelu(up(x)))), Megatron's along tp.
class Block : public Layer<Block> {
 public:
  Block(OwnerAndName place, std::function<void()> called)
      : Layer(std::move(place)), called_(std::move(called)) {}
  Vector forward(const Vector& x);
  std::string describe() const override { return "block"; }

 private:
  std::function<void()> called_;
  Linear up_{*this, "up", "bc,cf->bf", {.initial = Initial::normal(0.3)}};
  Linear down_{*this, "down", "bf,fc->bc", {.initial = Initial::normal(0.3)}};
  Dropout drop_{*this, "drop", 0.3};
};

/// Blocks, and the way in which they are a model; by default one after another.
class BlockNet : public Layer<BlockNet> {
 public:
  using Way = std::function<Vector(BlockNet&, const Vector&)>;

  BlockNet(const ModelSpaces& spaces, int blocks, Way way = {});
  Vector forward(const Vector& x);
  Block& operator[](std::size_t i) { return blocks_[i]; }
  std::size_t size() const { return blocks_.size(); }
  std::string describe() const override { return "blocks"; }

  /// In a block's forward, also in its second run, on the workers of its stage.
  std::function<void(int block)> called;

 private:
  Way way_;
  std::deque<Block> blocks_;
};

/// Block i lies on stage i, stage s on pp = worker_of[s]; the other workers are along tp. All of the job.
Stages a_block_a_stage(const std::vector<int>& worker_of);

/// Of micro-batch i, of its own number of rows, in a context whose step is i.
Vector loss_of(BlockNet& net, std::int64_t i);

/// Every parameter's gradient, on all workers, by name. Collective.
std::map<std::string, at::Tensor> gradients_of(const BlockNet& net);

}  // namespace riesz::testing
