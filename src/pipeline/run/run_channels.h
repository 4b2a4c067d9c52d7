// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// The channels of messages of one run: two for each micro-batch, its own and that of its regions that run
/// again. Runs use the same ones. One that is left by an exception gives up the messages under way in its own
/// channels, and later runs use others. So messages that nobody received are never taken for later ones. Made
/// and left alike on all workers of the run.
class RunChannels {
 public:
  /// @throws Error where so many runs were left by exceptions that no channels are left.
  explicit RunChannels(std::int64_t micro_batches);
  ~RunChannels();
  RunChannels(const RunChannels&) = delete;
  RunChannels& operator=(const RunChannels&) = delete;

  int of(std::int64_t micro_batch) const;
  int of_regions(std::int64_t micro_batch) const { return of(micro_batch) + 1; }

 private:
  int first_;
  int micro_batches_;  // with channels of their own; those after them share
  int exceptions_;     // under way when it was made
};

}  // namespace riesz
