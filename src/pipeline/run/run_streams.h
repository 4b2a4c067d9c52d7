// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// The streams of messages of one run: two for each micro-batch, its own and that of its regions that run
/// again. Runs use the same ones. One that is left by an exception gives up the messages under way in its own
/// streams, and later runs use others. So messages that nobody received are never taken for later ones. Made
/// and left alike on all workers of the run.
class RunStreams {
 public:
  /// @throws Error where so many runs were left by exceptions that no streams are left.
  explicit RunStreams(std::int64_t micro_batches);
  ~RunStreams();
  RunStreams(const RunStreams&) = delete;
  RunStreams& operator=(const RunStreams&) = delete;

  int of(std::int64_t micro_batch) const;
  int of_regions(std::int64_t micro_batch) const { return of(micro_batch) + 1; }

 private:
  int first_;
  int micro_batches_;  // with streams of their own; those after them share
  int exceptions_;     // under way when it was made
};

}  // namespace riesz
