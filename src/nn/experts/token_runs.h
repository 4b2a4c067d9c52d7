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
  /// Neighbouring tokens that a worker holds, in its local order.
  struct Run {
    std::int64_t first;  ///< of the micro-batch
    std::int64_t count;
    std::int64_t local;
  };

  std::int64_t tokens;                 ///< of the micro-batch
  std::vector<std::string> axes;       ///< those that shard tokens
  std::vector<int> ranks;              ///< along these through this worker, in their order
  std::vector<std::vector<Run>> runs;  ///< by position in `ranks`
  std::size_t me;                      ///< this worker's position

  std::int64_t most() const;  ///< runs of a worker
};

/// The runs of T's workers. Local. @pre this worker is in T's partition
TokenRuns token_runs(const Space& T);

}  // namespace riesz::detail
