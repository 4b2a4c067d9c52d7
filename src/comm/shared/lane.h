// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "riesz/comm/progress/doorbell.h"
#include "riesz/comm/shared/ring.h"
#include "riesz/comm/shared/texts.h"
#include "riesz/comm/transport.h"

namespace riesz {

struct PostedRound;

/// A request: one message on its way through shared memory, at the sender or the receiver.
struct Request {
  Message* message = nullptr;
  PostedRound* round = nullptr;
  std::int64_t moved = 0;  // bytes
  std::atomic<bool> done = false;
};

/// A posted round: messages that are posted together, the number of those that are not done, and the failure
/// of one. A held request keeps its round alive.
struct PostedRound {
  PostedRound(std::vector<Message> sent, std::vector<Message> received);

  std::vector<Message> sends, receives;
  Request single;
  std::unique_ptr<Request[]> several;
  Request* requests = &single;  // of those received, then of those sent
  std::atomic<std::int64_t> left;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
};

/// A lane: the connection, both ways, between this process and one other of its host. One thread at a time.
/// Private to src/comm.
class SharedLane {
 public:
  /// `doorbell`: the peer's.
  SharedLane(int peer, SharedRing out, SharedRing in, Doorbell& doorbell)
      : peer_(peer), out_(std::move(out)), in_(std::move(in)), doorbell_(doorbell) {}

  int peer() const { return peer_; }
  /// Adds a request of that round. `send` immediately writes what fits into the `SharedRing`. The next
  /// `progress` rings the peer's doorbell.
  void send(const std::shared_ptr<PostedRound>& round, Request& request);
  void receive(const std::shared_ptr<PostedRound>& round, Request& request);
  /// Writes a small message immediately; `pack` writes its bytes. False if there is no room, or more to be
  /// sent before. The next `progress` rings the peer's doorbell.
  bool send_now(MatchKey key, const Signature& signature, const Transport::Pack& pack);
  /// Takes a small message for which no request was added, if it is there: `unpack` reads it.
  /// @throws Error if it has another signature.
  bool receive_now(MatchKey key, const Signature& expected, const Transport::Unpack& unpack);
  /// Prefetches what `receive_now` looks at first. Any thread may call it at any time.
  void prefetch_awaited() const { in_.prefetch_awaited(awaited_at_.load(std::memory_order_relaxed)); }
  /// Moves what it can, and rings the peer's doorbell if it moved something.
  /// @throws Error if there is no memory for outgoing fragments. Then it has rung the doorbell for what it
  /// moved, and the next call tries again.
  void progress();
  /// Rings the peer's doorbell if something was moved since it last rang.
  void ring();

 private:
  /// A request held with its round, or none.
  using Held = std::shared_ptr<Request>;
  /// A send that waits for room in the `SharedRing`: one fragment, or all of a message, part by part.
  struct QueuedSend {
    Fragment fragment;
    Held request;  // its bytes
  };
  struct Expected {
    MatchKey key;
    Held request;
  };
  /// A fragment that has arrived, as it lies in the `SharedRing`.
  struct Arrival {
    const Fragment& fragment;
    std::string_view text;
    const std::byte* bytes;
  };
  /// A message that arrived before its receive was posted.
  struct UnexpectedMessage {
    Fragment fragment;
    std::string text;
    std::vector<std::byte> bytes;
  };

  Arrival arrival(const Fragment& fragment);
  std::optional<UnexpectedMessage> take_unexpected(MatchKey key);
  void take_in();
  void pop(const Fragment& first);
  void put_out();
  bool send_queued(const Fragment& fragment, Request* request);
  void arrive(const Arrival& arrival);
  void match(const Held& request, const Arrival& arrival);
  void take(const Held& request, const Fragment& fragment);
  void answer(Fragment::Kind kind, const Fragment& fragment);
  void finish(Request& request);
  void fail(Request& request, const Signature& sent, const Signature& expected);
  void hand_over(const Arrival& arrival, const Signature& expected, const Transport::Unpack& unpack);

  int peer_;
  SharedRing out_;
  SharedRing in_;
  CarriedTexts texts_out_, texts_in_;
  Doorbell& doorbell_;
  std::int64_t sent_ = 0;
  std::uint64_t rung_ = 0;                              // the doorbell, for so many bytes that went out
  std::atomic<const std::byte*> awaited_at_ = nullptr;  // where the next fragment will come
  bool taken_ = false;                                  // something, since the doorbell last rang
  std::deque<QueuedSend> queued_;
  std::map<std::int64_t, Held> announced_;  // large sends, by our number
  std::map<std::int64_t, Held> asked_;      // posted large receives, by the peer's number
  std::deque<Expected> expected_;           // as they were posted: most come in that order
  std::map<MatchKey, std::deque<UnexpectedMessage>> unexpected_;
};

}  // namespace riesz
