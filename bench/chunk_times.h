// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/stages/crossing.h"

namespace riesz {

/// Seconds of a micro-batch in one chunk.
struct ChunkSeconds {
  double forward = 0;
  double backward = 0;
  double weights = 0;  ///< of backward, if they are put off
};

/// The time of each chunk of a placed model, by the clock, where this worker has it: for one micro-batch, run
/// without a pipeline while this lives. The moves from chunk to chunk are not counted. Within a Chain of its
/// own, as in
///
///     ChunkTimes times(chunks, weights_apart);
///     const Vector loss = …;
///     times.end_forward();
///     backward(loss);
///     times.weights();
class ChunkTimes final : public Crossing {
 public:
  ChunkTimes(int chunks, bool weights_apart) : weights_apart_(weights_apart), chunks_(chunks) {}

  void enter(int stage, const Partition& home, const std::vector<Vector*>& arguments,
             const std::vector<Space>& targets) override;
  void end_forward() { end_chunk(); }
  /// Adds the gradients of weights that backward has put off.
  void weights();

  /// By chunk.
  const std::vector<ChunkSeconds>& seconds() const { return chunks_; }

 private:
  using Clock = std::chrono::steady_clock;

  void begin_chunk(int chunk);
  void end_chunk();

  bool weights_apart_;
  std::vector<ChunkSeconds> chunks_;
  int under_way_ = -1;  // its chunk, this worker's or not
  bool mine_ = false;
  Clock::time_point since_;
  Clock::time_point backward_since_;
  std::map<int, std::unique_ptr<DeferredGradients>> put_off_;  // by chunk
};

}  // namespace riesz
