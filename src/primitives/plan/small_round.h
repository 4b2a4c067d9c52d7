// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/primitives/plan/buffers.h"

namespace riesz {

/// A small round: a round of one move whose messages all go immediately (`Transport::send_now`). Its parts
/// are packed straight into the transport's memory, and taken from there straight into y. There are no
/// tensors for messages, and no requests but for sends that find no room.
class SmallRound {
 public:
  /// True if all messages can go so. They have at most `kMostNow` bytes, in x's type, and all peers are
  /// near (`Reservation::goes_now`). The tensor that is sent is contiguous, in host memory, and has values.
  /// Else the round is posted.
  static bool fits(const Buffers& move, const Round& round, const Reservation& reservation);

  explicit SmallRound(const Round& round);

  /// Sends. While messages travel it makes room for what comes, and copies what stays; a y above `kMostNow`
  /// bytes has its room before the sends. Sends that find no room are posted: it returns their requests, if the
  /// move waits for them.
  std::unique_ptr<Requests> begin(Buffers& move, const Round& round, const Reservation& reservation);
  /// Takes what has come; true if all has.
  bool take(const Buffers& move, const Round& round, const Reservation& reservation);
  /// Posts receives for the messages that have not come, and drops what they bring. Else a message that comes
  /// late would be kept. Once the numbers begin again, a receive of the same number would get it.
  void give_up(const Buffers& move, const Round& round, const Reservation& reservation) const;
  bool has_all() const { return left_.empty(); }
  /// True once its messages have gone.
  bool sent() const { return sent_; }
  /// World ranks of the workers whose messages have not arrived.
  std::vector<int> waits_for(const Round& round) const;

 private:
  /// A receive's number among those of the reservation.
  static std::size_t number(const Round& round, std::size_t receive);
  /// The signature of a message of these parts.
  static Signature signature(const Buffers& move, const Parts& parts);
  void make_room(Buffers& move, const Round& round);
  static bool adds_at_once(const Buffers& move, const Round& round);
  static std::unique_ptr<Requests> post(const Buffers& move, const Round& round,
                                        const Reservation& reservation, const std::vector<std::size_t>& late);
  void unpack(const Buffers& move, const Round& round, std::size_t receive, const std::byte* from) const;
  void add(const Buffers& move, const Round& round, std::size_t receive, const std::byte* from) const;

  bool sent_ = false;
  std::byte* y_ = nullptr;                 // where messages are combined as they come
  c10::SmallVector<std::size_t, 8> left_;  // the receives whose messages have not come, in rank order
};

}  // namespace riesz
