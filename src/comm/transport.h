// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace riesz {

/// `count` elements of a contiguous tensor, from number `begin` on in its order in memory; by default all.
struct Range {
  Range(at::Tensor all) : data(std::move(all)), count(data.numel()) {}
  Range(at::Tensor whole, std::int64_t first, std::int64_t elements)
      : data(std::move(whole)), begin(first), count(elements) {}

  at::Tensor data;
  std::int64_t begin = 0;
  std::int64_t count;

  std::int64_t bytes() const { return count * static_cast<std::int64_t>(data.element_size()); }
  std::byte* first() const { return static_cast<std::byte*>(data.data_ptr()) + begin * data.element_size(); }
};

/// To or from the worker of world rank `peer`. A message is received by the `tag` it was sent with, from 0 to
/// 2·kTags − 1.
struct Message {
  int peer;
  int tag;
  Range range;
};

inline constexpr int kTags = 1 << 14;  // MPI promises at least twice these: as many again for fingerprints

/// Messages on their way. The destructor waits for nobody: it gives up what is not done, and memory that is
/// still in use is kept.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Drives the messages; true once all are sent and received. Cheap; never waits.
  /// @throws Error if a message has not the size that the receiver expects: the workers' programs differ.
  virtual bool done() = 0;

  /// World ranks of the workers whose messages are not done, each once.
  virtual std::vector<int> unfinished() const = 0;
};

/// Moves bytes between the processes of the job. Callable from several threads.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Begins to send all of `sends` and to fill all of `receives`, whose tensors it keeps until they are done.
  /// Both sides of a message know its size; no empty messages.
  virtual std::unique_ptr<Exchange> post(std::vector<Message> sends, std::vector<Message> receives) = 0;

  /// Are there workers at the other end? In a simulation there are none, and nothing is to be checked.
  virtual bool has_peers() const { return true; }

  /// May this worker and the one of world rank `rank` map the same memory?
  virtual bool shares_memory_with(int /*rank*/) const { return false; }
};

}  // namespace riesz
