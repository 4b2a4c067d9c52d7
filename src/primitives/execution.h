// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/device_stream.h"
#include "riesz/primitives/plan/buffers.h"
#include "riesz/primitives/plan/packed.h"
#include "riesz/primitives/plan/small_round.h"

namespace riesz {

/// An execution: one run through the rounds of a move, or of several moves together. It is made in program
/// order, which gives its messages their match keys. Then it is launched with x, and `progress` brings it on,
/// round by round, until it has y. Between two partitions it ends once its receives are there; its sends go
/// on in memory of their own. One thread at a time. On a device all is queued in the stream that is current
/// where it is launched, whatever thread advances it.
class Execution {
 public:
  /// A move of the execution. Both outlive it.
  struct Move {
    const Operation* operation;
    const Rounds* rounds;
  };

  Execution(const Operation& operation, const Rounds& rounds);
  /// In each round, one message to each peer carries the data of all moves. Elements and bytes are counted
  /// under the moves' operations, messages under `together`, which outlives it.
  Execution(const Operation& together, c10::ArrayRef<Move> moves);

  /// Messages that have not come are received all the same, and dropped. It gives up rounds that
  /// have not begun, as when an exception leaves this one (`give_up` in comm/progress/given_up.h).
  ~Execution();
  Execution(Execution&&) = default;
  Execution& operator=(Execution&&) = delete;

  /// Its messages go through the host's memory, whatever device transport there is. Before the launch.
  void stage() { staged_ = true; }
  /// x of a move; each has one before the launch.
  void give(std::size_t move, at::Tensor x) { moves_[move].begin(std::move(x)); }
  /// Begins. A caller that does not call `progress` immediately afterwards calls `ring`: else a worker that
  /// sleeps would not wake.
  void launch();
  /// Rings the doorbells of the workers to which small messages went immediately. `progress` does so too,
  /// after it has taken what has come.
  void ring();
  /// Makes what progress it can without waiting; true at the end.
  bool progress();
  /// y of a move, once it is done; it is given once.
  at::Tensor result(std::size_t move = 0) { return moves_[move].finish(); }
  /// World ranks of the workers whose messages have not arrived.
  std::vector<int> waits_for() const;

 private:
  using Peers = c10::SmallVector<int, 8>;

  /// World ranks to which a round sends, and from which it receives.
  std::pair<Peers, Peers> peers_of(std::size_t round) const;
  void reserve(c10::ArrayRef<int> to, c10::ArrayRef<int> from);
  void reserve();
  void give_up_what_is_left();
  bool begin_collective();
  void begin_round();
  bool begin_small_round();
  bool round_done();
  void end_round();
  CallTeam team_of_all() const;
  void post(std::vector<Transfer> sends, std::vector<Transfer> receives);

  const Operation* operation_;
  bool merged_;
  bool staged_ = false;
  c10::SmallVector<Buffers, 1> moves_;
  c10::SmallVector<Reservation, 2> reservations_;  // by round
  std::size_t round_ = 0;
  DeviceStream stream_;
  std::unique_ptr<Requests> requests_;
  std::optional<Packed> packed_;
  std::optional<SmallRound> small_;
  bool sent_ = false;    // are this round's messages sent?
  bool unrung_ = false;  // small messages went since doorbells last rang
};

/// Computes y = A x of one move, from launch to end.
at::Tensor execute(const Operation& operation, const Rounds& rounds, at::Tensor x);

}  // namespace riesz
