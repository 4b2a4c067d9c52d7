// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Stream.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing::pretend {

/// The stream of a block that is no stream's.
inline constexpr c10::StreamId kNoStream = -1;

/// A block of host memory, which stands for the device's or is pinned.
struct Block {
  std::byte* memory;
  std::size_t bytes;
  c10::StreamId stream;
  std::set<c10::StreamId> users = {};  // other streams that use it
};

/// A cache of blocks. A block that is given back is its stream's again at once; if other streams use it,
/// after what these have queued by then.
class BlockCache {
 public:
  /// `poison` fills a block with NaN before it is used again.
  explicit BlockCache(void (*poison)(const Block&)) : poison_(poison) {}

  Block* take(std::size_t bytes, c10::StreamId stream);
  void give_back(Block* block);
  void use(Block* block, c10::StreamId user);

  /// The taken block that has this address, or nullptr.
  Block* find(const void* address) const;
  /// Frees all blocks that are not taken. Nothing is to be queued that uses them.
  void empty();

  std::int64_t taken_bytes() const;
  std::int64_t most_taken_bytes() const;
  void reset_most();
  /// The most bytes that it has, taken or not; 0: no limit. Returns the one before.
  std::int64_t limit(std::int64_t bytes);
  std::pair<std::int64_t, std::int64_t> held_and_limit() const;

 private:
  struct Waiting {
    Block* block;
    std::vector<std::pair<c10::StreamId, Number>> until;
  };

  void take_up_finished();
  void make_free(Block* block);
  void empty_free();
  Block* made(std::size_t bytes, c10::StreamId stream);

  void (*poison_)(const Block&);
  mutable std::mutex mutex_;
  std::map<std::pair<std::size_t, c10::StreamId>, std::vector<Block*>> free_;
  std::vector<Waiting> waiting_;
  std::map<const std::byte*, Block*> taken_;
  std::int64_t held_bytes_ = 0, taken_bytes_ = 0, most_taken_bytes_ = 0, limit_ = 0;
};

/// Fills memory with what is NaN in every type of floating point numbers, and large in the others.
void fill_with_nan(std::byte* memory, std::size_t bytes);

}  // namespace riesz::testing::pretend
