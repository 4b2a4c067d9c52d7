// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "emulation.h"

#include <ATen/ops/zeros_like.h>

#include <utility>

#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors copies_of(const std::vector<Parameter>& parameters) {
  Tensors copies;
  for (const Parameter& parameter : parameters) copies.push_back(parameter.leaf().detach().clone());
  return copies;
}

/// Behind autograd's back: what it has saved of the parameters has these values from now on.
void write(const std::vector<Parameter>& parameters, const Tensors& values) {
  for (std::size_t k = 0; k < parameters.size(); ++k) parameters[k].leaf().variable_data().copy_(values[k]);
}

bool gives_gradients_of_weights(const Action& action) {
  return action.pass == Pass::backward || action.pass == Pass::backward_weights;
}

}  // namespace

Emulation::Emulation(models::MinGpt& model, const Schedule& table, const ChunkOf& chunk_of,
                     const MakeOptimizer& make)
    : chunks_(static_cast<std::size_t>(table.chunks())), micro_batches_(table.micro_batches) {
  for (const Parameter& parameter : model.parameters())
    chunks_[static_cast<std::size_t>(chunk_of(parameter.name()))].parameters.push_back(parameter);
  for (Chunk& chunk : chunks_)
    if (!chunk.parameters.empty()) chunk.optimizer = make(whole(chunk.parameters));
  for (const std::vector<Action>& row : table.rows) {
    std::map<int, std::vector<int>> come;
    for (const Action& action : row) {
      if (action.pass == Pass::idle) continue;
      Chunk& chunk = chunks_[static_cast<std::size_t>(action.chunk)];
      Reads& reads = chunk.reads[action.micro_batch];
      (action.pass == Pass::forward ? reads.forward : reads.backward) = action.version;
      if (gives_gradients_of_weights(action)) come[action.chunk].push_back(action.micro_batch);
      if (action.update) chunk.updates.push_back(std::exchange(come[action.chunk], {}));
    }
    for (const auto& [chunk, left] : come) chunks_[static_cast<std::size_t>(chunk)].left = left;
  }
}

std::vector<double> Emulation::run(const Loss& loss) {
  evaluated_.clear();
  for (Chunk& chunk : chunks_) chunk.versions = {copies_of(chunk.parameters)};
  std::vector<double> losses;
  for (int i = 0; i < micro_batches_; ++i) losses.push_back(evaluated(i, loss).loss);
  for (std::size_t c = 0; c < chunks_.size(); ++c)
    write(chunks_[c].parameters, version(c, static_cast<int>(chunks_[c].updates.size()), loss));
  for (std::size_t c = 0; c < chunks_.size(); ++c) chunks_[c].carried = sum_of(c, chunks_[c].left, loss);
  return losses;
}

std::map<std::string, at::Tensor> Emulation::left() const {
  std::map<std::string, at::Tensor> all;
  for (const Chunk& chunk : chunks_) {
    for (std::size_t k = 0; k < chunk.parameters.size(); ++k)
      all[chunk.parameters[k].name()] = chunk.carried[k].clone();
  }
  return all;
}

const Tensors& Emulation::version(std::size_t c, int number, const Loss& loss) {
  Chunk& chunk = chunks_[c];
  while (static_cast<int>(chunk.versions.size()) <= number) {
    const Tensors sum = sum_of(c, chunk.updates[chunk.versions.size() - 1], loss);
    write(chunk.parameters, chunk.versions.back());
    for (std::size_t k = 0; k < chunk.parameters.size(); ++k)
      chunk.parameters[k].leaf().mutable_grad() = sum[k];
    if (chunk.optimizer) chunk.optimizer->step();
    if (chunk.optimizer) chunk.optimizer->zero_gradients();
    chunk.versions.push_back(copies_of(chunk.parameters));
  }
  return chunk.versions[static_cast<std::size_t>(number)];
}

/// Of these micro-batches, and what the run before has left.
Tensors Emulation::sum_of(std::size_t c, const std::vector<int>& come, const Loss& loss) {
  for (const int i : come) evaluated(i, loss);
  Tensors sum = std::exchange(chunks_[c].carried, {});
  if (sum.empty()) {
    for (const Parameter& parameter : chunks_[c].parameters)
      sum.push_back(at::zeros_like(parameter.leaf().detach()));
  }
  for (const int i : come) {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k].add_(evaluated_.at(i).gradients[c][k]);
  }
  return sum;
}

const Emulation::Evaluated& Emulation::evaluated(int i, const Loss& loss) {
  if (const auto known = evaluated_.find(i); known != evaluated_.end()) return known->second;
  std::vector<Tensors> forward, backward_reads;
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    const Reads reads = chunks_[c].reads.at(i);
    forward.push_back(version(c, reads.forward, loss));
    backward_reads.push_back(version(c, reads.backward, loss));
  }
  for (std::size_t c = 0; c < chunks_.size(); ++c) write(chunks_[c].parameters, forward[c]);
  const Chain chain;
  const Vector value = loss(i);
  for (std::size_t c = 0; c < chunks_.size(); ++c) write(chunks_[c].parameters, backward_reads[c]);
  backward(value);
  Evaluated result{value.local().item<double>(), {}};
  for (Chunk& chunk : chunks_) {
    result.gradients.emplace_back();
    for (Parameter& parameter : chunk.parameters) {
      result.gradients.back().push_back(parameter.gradient().local().clone());
      parameter.zero_gradient();
    }
  }
  return evaluated_.emplace(i, std::move(result)).first->second;
}

}  // namespace riesz::testing
