// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace riesz {

/// All bytes of a contiguous tensor, to or from the worker of world rank `peer`. A message is received by the
/// `tag` it was sent with, from 0 to kTags − 1.
struct Message {
  int peer;
  int tag;
  at::Tensor data;
};

inline constexpr int kTags = 1 << 14;  // MPI promises at least twice these

/// Messages on their way. Going away waits for them.
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
};

}  // namespace riesz
