// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/weight_versions.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/pipeline/schedule/links.h"

namespace riesz {
namespace {

/// The leaf, once its values are there.
at::Tensor awaited_leaf(const Parameter& parameter) {
  const at::NoGradGuard no_gradient;
  return parameter.value().local();
}

}  // namespace

WeightVersions::WeightVersions(const std::vector<Action>& row,
                               const std::map<int, std::vector<Parameter>>& parameters, Update update)
    : row_(row), update_(std::move(update)) {
  for (const auto& [number, of_chunk] : parameters) {
    for (const Parameter& parameter : of_chunk) {
      const at::Tensor leaf = awaited_leaf(parameter);
      chunks_[number].all.push_back({parameter, leaf, std::exchange(leaf.mutable_grad(), {})});
      chunks_[number].all.back().use(leaf);
    }
  }
  for (std::size_t slot = 0; slot < row_.size(); ++slot) {
    if (row_[slot].pass != Pass::idle) chunks_[row_[slot].chunk].last_read[row_[slot].version] = slot;
  }
}

WeightVersions::~WeightVersions() {
  for (auto& [number, chunk] : chunks_) {
    for (One& one : chunk.all) {
      one.parameter.use_leaf(std::nullopt);
      if (one.gradient.defined()) one.parameter.leave_gradient(one.gradient);
    }
  }
}

void WeightVersions::begin(std::size_t slot) {
  const Action& action = row_[slot];
  Chunk& chunk = chunks_.at(action.chunk);
  std::vector<ReadingLeaf>& leaves = chunk.of_passage[action.micro_batch];
  const auto older = chunk.older.find(action.version);
  if (older == chunk.older.end()) await(chunk);
  for (std::size_t k = 0; k < chunk.all.size(); ++k) {
    One& one = chunk.all[k];
    if (k == leaves.size()) leaves.emplace_back(one.newest);
    leaves[k].read(older == chunk.older.end() ? one.newest : older->second[k]);
    one.use(leaves[k].tensor());
  }
}

void WeightVersions::end(std::size_t slot) {
  const at::NoGradGuard no_gradient;
  const Action& action = row_[slot];
  Chunk& chunk = chunks_.at(action.chunk);
  for (std::size_t k = 0; k < chunk.all.size(); ++k) {
    chunk.all[k].use(chunk.all[k].newest);
    chunk.of_passage[action.micro_batch][k].read(chunk.all[k].newest);  // nothing older lives for its sake
  }
  if (ends_micro_batch(action)) {  // what came with the inputs' gradients too
    collect(action);
    chunk.of_passage.erase(action.micro_batch);
  }
  forget(chunk, slot);
  if (!action.update) return;
  await(chunk);
  make_next(chunk, slot);
  if (chunk.all.empty()) return;
  for (One& one : chunk.all) one.parameter.leave_gradient(std::exchange(one.gradient, {}));
  for (One& one : chunk.all) one.parameter.use_leaf(std::nullopt);  // to read what its keeper has of it
  {
    const at::AutoGradMode as_before(true);
    update_(action.chunk);
  }
  chunk.coming = true;
  for (One& one : chunk.all) {
    one.use(one.newest);
    one.gradient = std::exchange(one.newest.mutable_grad(), {});
  }
}

void WeightVersions::await(Chunk& chunk) {
  if (!std::exchange(chunk.coming, false)) return;
  for (One& one : chunk.all) one.await();
}

void WeightVersions::One::await() {
  parameter.use_leaf(std::nullopt);
  awaited_leaf(parameter);
  use(newest);
}

/// What came at the passage's leaves.
void WeightVersions::collect(const Action& action) {
  for (const auto& [number, chunk] : chunks_) {
    for (const One& one : chunk.all) {
      RIESZ_CHECK(!one.newest.grad().defined(), "Pipeline::train: the parameter ", one.parameter.name(),
                  " of chunk ", number,
                  " is read outside of its chunk too: it has a gradient from there after ", to_string(action),
                  "; a schedule with updates says which version each pass of a chunk reads,",
                  " and none for other readers, so let modules of one chunk alone use it");
    }
  }
  Chunk& chunk = chunks_.at(action.chunk);
  const std::vector<ReadingLeaf>& leaves = chunk.of_passage[action.micro_batch];
  for (std::size_t k = 0; k < chunk.all.size(); ++k)
    chunk.all[k].add(std::exchange(leaves[k].tensor().mutable_grad(), {}));
}

void WeightVersions::One::add(const at::Tensor& come) {
  if (!come.defined()) return;
  const at::ScalarType type = come.scalar_type();
  if (gradient.defined())
    gradient.add_(come);
  else
    gradient = parameter.has_keeper() ? come.to(accumulation_type(type)) : come;
}

/// The versions that no action reads after this one.
void WeightVersions::forget(Chunk& chunk, std::size_t slot) {
  std::erase_if(chunk.older, [&](const auto& one) { return chunk.last_read[one.first] <= slot; });
}

void WeightVersions::make_next(Chunk& chunk, std::size_t slot) {
  const auto read = chunk.last_read.find(chunk.newest);
  if (read != chunk.last_read.end() && read->second > slot) {
    std::vector<at::Tensor>& copies = chunk.older[chunk.newest];
    for (const One& one : chunk.all) copies.push_back(one.newest.detach().clone());
  }
  ++chunk.newest;
  most_ = std::max(most_, 1 + static_cast<int>(chunk.older.size()));
}

}  // namespace riesz
