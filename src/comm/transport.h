// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/label.h"
#include "riesz/comm/stream.h"

namespace riesz {

class Bell;

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

/// What a message is matched by: its number in a stream between two workers. A stream is counted on its own,
/// so two may go on in another order at either end.
struct MessageKey {
  MessageKey(int of) : number(of) {}
  MessageKey(int in, int of) : stream(in), number(of) {}

  int stream = 0;  // below the transport's streams()
  int number;      // below kNumbers: the next after the last is 0

  auto operator<=>(const MessageKey&) const = default;
};

inline constexpr int kNumbers = 1 << 14;
/// A transport's streams: one in which workers make themselves known, then the program's and those of teams'
/// buffers, in turns.
inline constexpr int kMostStreams = 1 + 2 * kStreams;

/// To or from the worker of world rank `peer`. A message is received by the key it was sent with, alone. Its
/// label, size and type travel in a header, and are compared with the receiver's afterwards.
struct Message {
  int peer;
  MessageKey key;
  Range range;
  std::shared_ptr<const Label> label = no_label();
  /// Of a receive whose elements' type the sender alone knows: until it comes, `range` says how many there
  /// are and no more; then they are here.
  std::shared_ptr<at::Tensor> arrived = nullptr;

  Declared declared() const {
    return {label->text(), label->digest(), range.bytes(), range.data.scalar_type()};
  }
  /// Is a message that was sent so the one that is expected? Then there is room for it, of its type.
  bool admits(const Declared& sent);
};

/// Messages on their way. The destructor waits for nobody: it gives up what is not done, and memory that is
/// still in use is kept.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Drives the messages; true once all are sent and received. Cheap; never waits.
  /// @throws Error naming both ends if a message has not the label, size and type that the receiver expects:
  /// the workers' programs differ.
  virtual bool done() = 0;

  /// World ranks of the workers whose messages are not done, each once.
  virtual std::vector<int> unfinished() const = 0;
};

/// Moves bytes between the processes of the job. Callable from several threads.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Begins to send all of `sends` and to fill all of `receives`, whose tensors it keeps until they are done.
  /// Both sides of a message know its size; an empty one tells its label.
  virtual std::unique_ptr<Exchange> post(std::vector<Message> sends, std::vector<Message> receives) = 0;

  /// How many streams it tells apart.
  virtual int streams() const { return kMostStreams; }

  /// Sends on what is owed to others though no exchange of this worker waits for it, such as the answer that
  /// memory has been read. Never waits.
  virtual void go_on() {}

  /// What others ring when they have moved a message to or from this worker, or nullptr: not all of them do.
  virtual std::shared_ptr<Bell> bell() const { return nullptr; }
  /// Rings the bell of the worker of world rank `rank`, where it has one.
  virtual void ring(int /*rank*/) {}

  /// May this worker and the one of world rank `rank` map the same memory?
  virtual bool shares_memory_with(int /*rank*/) const { return false; }
};

}  // namespace riesz
