// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace c10 {
struct Allocator;
}

namespace riesz {

/// The bytes that tensors have at one time, by how long they live.
struct MemoryUse {
  std::int64_t lasting = 0;      ///< there before: weights, the optimizer's state, a batch
  std::int64_t activations = 0;  ///< of forward, or of a region that runs again, until backward has used them
  std::int64_t gradients = 0;    ///< of backward, until the update or longer
  std::int64_t temporaries = 0;  ///< gone within forward, backward or the update

  std::int64_t all() const { return lasting + activations + gradients + temporaries; }
};

/// A record of the memory of CPU tensors: while it lives, it notes when each is allocated and let go, in all
/// threads, by the bytes asked for. In a scope without values (`WithoutValues`) it says what a program would
/// take, and takes almost none:
///
///     const Simulation job(rank, workers);   // as any worker of any job
///     const WithoutValues nothing_computed;
///     MemoryRecord memory;
///     …                                      // the model, its optimizer and a first step
///     memory.restart();
///     …                                      // a step
///     const MemoryUse most = memory.at_peak();
///
/// Memory that is no tensor's, such as the scratch of a library or memory that workers of a host share, is
/// not in it. One at a time. It must end before any scope that was open when it was made.
class MemoryRecord {
 public:
  /// @throws Error where LibTorch has an allocator of a higher priority, or another record lives.
  MemoryRecord();
  ~MemoryRecord();
  MemoryRecord(const MemoryRecord&) = delete;
  MemoryRecord& operator=(const MemoryRecord&) = delete;

  /// Begins anew: what is there now is `lasting` from now on.
  void restart();
  /// The bytes that are there now.
  std::int64_t alive() const;
  /// The most bytes that were there at once since the last `restart`, or since it was made.
  std::int64_t peak() const { return at_peak().all(); }
  /// These by how long they live, as far as it is over. Cost: linear in what was allocated since then.
  MemoryUse at_peak() const;

 private:
  c10::Allocator* before_;
};

}  // namespace riesz
