// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "chunk_times.h"

#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void ChunkTimes::enter(int stage, const Partition& home, const std::vector<Vector*>& arguments,
                       const std::vector<Space>& targets) {
  if (stage == under_way_) return bring(arguments, targets);
  end_chunk();
  bring(arguments, targets);
  mine_ = home.active();
  begin_chunk(stage);
}

void ChunkTimes::begin_chunk(int chunk) {
  under_way_ = chunk;
  if (!mine_) return;
  Chain::current()->on_backward([this, chunk] { chunks_[chunk].backward += seconds_since(backward_since_); });
  if (weights_apart_) put_off_[chunk] = std::make_unique<DeferredGradients>();
  since_ = Clock::now();
}

void ChunkTimes::end_chunk() {
  if (under_way_ < 0 || !mine_) return;
  chunks_[under_way_].forward += seconds_since(since_);
  if (weights_apart_) put_off_[under_way_]->leave();
  Chain::current()->on_backward([this] { backward_since_ = Clock::now(); });
  mine_ = false;
}

void ChunkTimes::weights() {
  for (const auto& [chunk, gradients] : put_off_) {
    const Clock::time_point begin = Clock::now();
    gradients->compute();
    chunks_[chunk].weights += seconds_since(begin);
  }
}

}  // namespace riesz
