// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/bell.h"
#include "riesz/comm/shared_ring.h"
#include "riesz/comm/transport.h"

namespace riesz {

struct Round;

/// A message on its way through shared memory, on either side.
struct Letter {
  Message* message = nullptr;
  Round* round = nullptr;
  std::int64_t moved = 0;  // bytes
  std::atomic<bool> done = false;
};

/// The messages that are posted at once: how many are not done, and what went wrong with one. Who holds a
/// letter holds its round.
struct Round {
  Round(std::vector<Message> sent, std::vector<Message> received);

  std::vector<Message> sends, receives;
  Letter single;
  std::unique_ptr<Letter[]> several;
  Letter* letters = &single;  // of those received, then of those sent
  std::atomic<std::int64_t> left;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
};

/// The traffic between this process and one neighbour, both ways. One thread at a time. Private to this room.
class SharedLane {
 public:
  /// `bell`: the neighbour's.
  SharedLane(int peer, SharedRing out, SharedRing in, Bell& bell)
      : peer_(peer), out_(std::move(out)), in_(std::move(in)), bell_(bell) {}

  int peer() const { return peer_; }
  /// A letter of that round. What finds room goes at once; `go_on` rings for it.
  void send(const std::shared_ptr<Round>& round, Letter& letter);
  void receive(const std::shared_ptr<Round>& round, Letter& letter);
  /// Moves what can be moved, and rings where something was. @throws Error if there is no memory for what
  /// goes out; then it has rung for what it has moved, and what was not moved is tried again at the next
  /// call.
  void go_on();

 private:
  /// A letter held with its round, or none.
  using Held = std::shared_ptr<Letter>;
  /// To be put into the ring: a frame, or all of a letter that was asked for, part by part.
  struct Departure {
    Frame frame;
    Held letter;  // its bytes
  };
  struct Expected {
    MessageKey key;
    Held letter;
  };
  /// What came, as it lies in the ring.
  struct Arrival {
    const Frame& frame;
    const char* text;
    const std::byte* bytes;
  };
  /// What came before its receive.
  struct Early {
    Frame frame;
    std::string text;
    std::vector<std::byte> bytes;
  };

  bool take_in();
  void put_out();
  void ring(bool taken);
  bool depart(const Frame& frame, Letter* letter);
  void arrive(const Arrival& arrival);
  void match(const Held& letter, const Arrival& arrival);
  void take(const Held& letter, const Frame& frame);
  void answer(Frame::Kind kind, const Frame& frame);
  void finish(Letter& letter);
  void fail(Letter& letter, const Declared& sent, const Declared& expected);

  int peer_;
  SharedRing out_;
  SharedRing in_;
  Bell& bell_;
  std::int64_t sent_ = 0;
  std::uint64_t rung_ = 0;  // for so many bytes that went out
  std::deque<Departure> departures_;
  std::map<std::int64_t, Held> announced_;  // by number here
  std::map<std::int64_t, Held> asked_;      // by number there
  std::deque<Expected> receives_;           // as they were posted: most come in that order
  std::map<MessageKey, std::deque<Early>> early_;
};

}  // namespace riesz
