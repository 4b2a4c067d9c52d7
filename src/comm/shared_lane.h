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

/// How many messages of a round are not done, and what went wrong with one.
struct Ticket {
  std::atomic<std::int64_t> left = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
};

/// A message on its way through shared memory, on either side.
struct Letter {
  Letter(Message message_moved, std::shared_ptr<Ticket> of)
      : message(std::move(message_moved)), ticket(std::move(of)) {}

  Message message;
  std::shared_ptr<Ticket> ticket;
  std::int64_t moved = 0;  // bytes
  std::atomic<bool> done = false;
};

/// The traffic between this process and one neighbour, both ways. One thread at a time. Private to this room.
class SharedLane {
 public:
  /// `bell`: the neighbour's.
  SharedLane(int peer, SharedRing out, SharedRing in, Bell& bell)
      : peer_(peer), out_(std::move(out)), in_(std::move(in)), bell_(bell) {}

  int peer() const { return peer_; }
  void send(std::shared_ptr<Letter> letter);
  void receive(std::shared_ptr<Letter> letter);
  /// Moves what can be moved, and rings where something was. @throws Error if there is no memory for what goes
  /// out; then it has rung for what it has moved, and what was not moved is tried again at the next call.
  void go_on();

 private:
  /// To be put into the ring: a frame, or all of a letter that was asked for, part by part.
  struct Departure {
    Frame frame;
    std::shared_ptr<Letter> letter;  // its bytes; nullptr: none
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
  bool depart(Departure& departure);
  void arrive(const Arrival& arrival);
  void match(const std::shared_ptr<Letter>& letter, const Arrival& arrival);
  void take(const std::shared_ptr<Letter>& letter, const Frame& frame);
  void answer(Frame::Kind kind, const Frame& frame);
  void finish(Letter& letter);
  void fail(Letter& letter, const Declared& sent, const Declared& expected);

  int peer_;
  SharedRing out_;
  SharedRing in_;
  Bell& bell_;
  std::int64_t sent_ = 0;
  std::deque<Departure> departures_;
  std::map<std::int64_t, std::shared_ptr<Letter>> announced_;  // by number here
  std::map<std::int64_t, std::shared_ptr<Letter>> asked_;      // by number there
  std::map<MessageKey, std::deque<std::shared_ptr<Letter>>> receives_;
  std::map<MessageKey, std::deque<Early>> early_;
};

}  // namespace riesz
