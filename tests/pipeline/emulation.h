// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "riesz/models/min_gpt.h"
#include "riesz/optim/optimizer.h"
#include "riesz/optim/store.h"
#include "riesz/pipeline/schedule/schedule.h"

namespace riesz::testing {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const std::shared_ptr<Store>&)>;
using ChunkOf = std::function<int(const std::string& parameter)>;

/// An asynchronous table on one worker that has the whole model: all versions of each chunk's weights in a
/// list. The gradients of a micro-batch are computed at once, for the versions that its passes read; version
/// v + 1 is version v after a step with the gradients that the table has between the two updates.
class Emulation {
 public:
  using Loss = std::function<Vector(std::int64_t micro_batch)>;

  /// Of a model that is not placed, and initialised.
  Emulation(models::MinGpt& model, const Schedule& table, const ChunkOf& chunk_of, const MakeOptimizer& make);

  /// A run of the table: the micro-batches' losses. The model has the newest weights after it.
  std::vector<double> run(const Loss& loss);

  /// By parameter: the gradients that came after its chunk's last update.
  std::map<std::string, at::Tensor> left() const;

 private:
  using Tensors = std::vector<at::Tensor>;
  struct Reads {
    int forward = 0, backward = 0;
  };
  struct Chunk {
    std::vector<Parameter> parameters;
    std::unique_ptr<Optimizer> optimizer;
    std::map<int, Reads> reads;             // by micro-batch
    std::vector<std::vector<int>> updates;  // the micro-batches of each
    std::vector<int> left;                  // those after the last one
    Tensors carried;                        // their gradients, of the run before
    std::vector<Tensors> versions;
  };
  struct Evaluated {
    double loss;
    std::vector<Tensors> gradients;  // by chunk
  };

  const Tensors& version(std::size_t chunk, int number, const Loss& loss);
  Tensors sum_of(std::size_t chunk, const std::vector<int>& come, const Loss& loss);
  const Evaluated& evaluated(int micro_batch, const Loss& loss);

  std::vector<Chunk> chunks_;
  int micro_batches_;
  std::map<int, Evaluated> evaluated_;
};

}  // namespace riesz::testing
