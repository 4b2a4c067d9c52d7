// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::detail {

/// The tokens of a space without its last dim, numbered row-major: who holds which.
struct TokenRuns {
  /// A run: consecutive tokens that a worker holds one after another.
  struct Run {
    std::int64_t first;  ///< number in the micro-batch
    std::int64_t count;
    std::int64_t local;  ///< number of the first one on this worker
  };

  std::int64_t tokens;                 ///< of the micro-batch
  std::vector<std::string> axes;       ///< those that shard tokens
  std::vector<int> ranks;              ///< the workers along these axes through this one, in their order
  std::vector<std::vector<Run>> runs;  ///< by position in `ranks`
  std::size_t me;                      ///< this worker's position

  std::int64_t most() const;  ///< the runs of the worker with the most
};

/// The runs of T's workers. Local. @pre this worker is in T's partition
TokenRuns token_runs(const Space& T);

}  // namespace riesz::detail
