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

#include "riesz/comm/channel.h"
#include "riesz/comm/label.h"

namespace riesz {

class Doorbell;

/// A tensor span: `count` elements of a contiguous tensor from element `begin` on, in the order of its
/// memory; by default all.
struct TensorSpan {
  TensorSpan(at::Tensor all) : data(std::move(all)), count(data.numel()) {}
  TensorSpan(at::Tensor whole, std::int64_t first, std::int64_t elements)
      : data(std::move(whole)), begin(first), count(elements) {}

  at::Tensor data;
  std::int64_t begin = 0;
  std::int64_t count;

  std::int64_t bytes() const { return count * static_cast<std::int64_t>(data.element_size()); }
  std::byte* first() const { return static_cast<std::byte*>(data.data_ptr()) + begin * data.element_size(); }
};

/// A match key: the channel of a message, and its number in that channel between two workers. Each channel
/// has numbers of its own. So the messages of two channels may interleave differently at the two ends.
struct MatchKey {
  MatchKey(int of) : number(of) {}
  MatchKey(int in, int of) : channel(in), number(of) {}

  int channel = 0;  // below the transport's channels()
  int number;       // below kNumbers: the next after the last is 0

  auto operator<=>(const MatchKey&) const = default;
};

inline constexpr int kNumbers = 1 << 30;
/// The most channels of a transport: one for `Communicator::host_allgather`, then the program's and the team
/// channels, alternately, and one for `DeviceOrder`.
inline constexpr int kMaxChannels = 2 + 2 * kChannels;

/// A message to or from the worker of world rank `peer`. It is matched by its key alone. A header carries its
/// label, size and type, which are compared with the receiver's after the match.
struct Message {
  int peer;
  MatchKey key;
  TensorSpan span;
  std::shared_ptr<const Label> label = no_label();

  Signature signature() const {
    return {label->text(), label->digest(), span.bytes(), span.data.scalar_type()};
  }
};

/// The requests of posted messages. The destructor does not wait: messages that are not done may still
/// arrive, and are dropped. Memory that is still in use is kept.
class Requests {
 public:
  virtual ~Requests() = default;

  /// Makes progress; true once all messages are sent and received. Cheap; never waits.
  /// @throws Error naming both ends if a message's label, size or type is not as the receiver expects: the
  /// workers' programs differ.
  virtual bool done() = 0;

  /// World ranks of the peers whose messages are not done, each once.
  virtual std::vector<int> unfinished() const = 0;
};

/// The most bytes of a message that goes immediately, by `Transport::send_now`. A larger message bypasses the
/// caches on its way into shared memory (`kPast` in shared/lane.cpp).
inline constexpr std::int64_t kMostNow = (std::int64_t{1} << 14) - 1;

/// A reference to a function of a pointer, such as a lambda. It does not own the function, which lives as
/// long as the call.
template <typename Byte>
class FunctionRef {
 public:
  template <typename Function>
  FunctionRef(const Function& function)  // NOLINT(google-explicit-constructor): a lambda is given as it is
      : function_(&function),
        call_([](const void* called, Byte* bytes) { (*static_cast<const Function*>(called))(bytes); }) {}
  void operator()(Byte* bytes) const { call_(function_, bytes); }

 private:
  const void* function_;
  void (*call_)(const void*, Byte*);
};

/// A transport: a way to bring messages from one process of the job to another. Safe to use from several
/// threads.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Begins to send all of `sends` and to fill all of `receives`; it keeps their tensors until they are done.
  /// Both sides of a message know its size. An empty message carries its label.
  virtual std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) = 0;

  /// Writes or reads the bytes of a message in the transport's own memory.
  using Pack = FunctionRef<std::byte>;
  using Unpack = FunctionRef<const std::byte>;

  /// True if small messages to and from the worker of world rank `rank` can go immediately, without requests,
  /// by `send_now` and `receive_now`. The other end may still post the same message.
  virtual bool goes_now(int /*rank*/) const { return false; }
  /// Sends a message of at most `kMostNow` bytes, which `pack` writes where the receiver reads it; nothing
  /// is kept. False if there is no room now: then it is to be posted.
  virtual bool send_now(int /*peer*/, MatchKey /*key*/, const Signature& /*signature*/, const Pack&) {
    return false;
  }
  /// Prefetches what `receive_now` looks at first. Called after the sends of a round: what comes arrives
  /// while this worker makes room for it.
  virtual void prefetch_awaited(int /*peer*/) const {}
  /// Takes such a message, if it has come; `unpack` reads it. Also rings that worker's doorbell, if something
  /// went to it since it was last rung. @throws Error as `Requests::done` does.
  virtual bool receive_now(int /*peer*/, MatchKey /*key*/, const Signature& /*expected*/, const Unpack&) {
    return false;
  }
  /// Advances the posted messages to and from the workers for which `goes_now` is true. Rings the
  /// doorbells of those to which `send_now` has sent. Called after the sends of a round, and again while its
  /// receives find nothing.
  virtual void progress_near() {}

  /// The number of channels that it can tell apart.
  virtual int channels() const { return kMaxChannels; }

  /// Sends what other workers need in order to go on, such as the notice that their memory has been read. For
  /// a worker that waits for no message itself. Never waits.
  virtual void progress() {}

  /// The doorbell that others ring when they have moved a message to or from this worker; nullptr if not all
  /// of them do.
  virtual std::shared_ptr<Doorbell> doorbell() const { return nullptr; }
  /// Rings the doorbell of the worker of world rank `rank`, if it has one.
  virtual void ring(int /*rank*/) {}

  /// True if this worker and the one of world rank `rank` can map the same memory.
  virtual bool shares_memory_with(int /*rank*/) const { return false; }

  /// The host of each worker of the job, by world rank, named by its first worker; empty if all are on one.
  /// All workers know the same.
  virtual const std::vector<int>& hosts() const {
    static const std::vector<int> one;
    return one;
  }
};

}  // namespace riesz
