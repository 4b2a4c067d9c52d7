// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/device_transport.h"
#include "riesz/primitives/plan/box_copy.h"
#include "riesz/primitives/plan/sum_cells.h"

namespace riesz {

/// Parts: boxes of one of a worker's tensors, which lie one after another in a message.
struct Parts {
  std::vector<Box> boxes;       ///< in the tensor's local indices
  std::vector<BoxCopy> copies;  ///< by box: from the tensor to the message, or from the message to the tensor
  std::int64_t elements = 0;

  /// Boxes of a tensor of this shape, which go out of it into a message, or into it out of one.
  static Parts out_of(const std::vector<std::int64_t>& shape, std::vector<Box> boxes);
  static Parts into(const std::vector<std::int64_t>& shape, std::vector<Box> boxes);

  /// True if the parts are contiguous in the tensor's memory: then they are sent or received there, without a
  /// copy.
  bool direct() const { return copies.size() == 1 && copies.front().contiguous(); }
};

/// A round: the messages that one worker sends and receives together, and how those received are combined.
struct Round {
  /// The tensor that is sent.
  enum class Source { x, y };
  /// How arriving parts make y: they are copied into it; or y is their sum, or their maximum or minimum, in
  /// rank order.
  enum class Combination { copy, sum, greatest, least };
  /// An element type relative to x's, for a plan is made before any x is known. `own` is x's, and `sums` the
  /// one in which such elements are added: fp32 for bf16 and fp16, else x's.
  enum class Type { own, sums };

  struct Send {
    int peer;              ///< world rank
    Parts parts;           ///< of the source
    bool repeats = false;  ///< it has the parts of the send before
  };
  struct Receive {
    int peer;     ///< world rank; this worker's own for the part that stays
    Parts parts;  ///< of y
  };

  Source source = Source::x;
  Combination combination = Combination::copy;
  Type sent_in = Type::own;       ///< the type of the messages
  Type combined_in = Type::own;   ///< that of the combination; y is rounded to x's once
  std::vector<Send> sends;        ///< to other workers, at most one to each
  std::vector<Receive> receives;  ///< in rank order, at most one from each, the part that stays included
  std::optional<std::size_t> stays_at;  ///< the position in `receives` of the part that stays
  Parts stays;                          ///< that part in x; the copies lead from x to y
  std::vector<SumCell> cells;           ///< for a sum in which some part covers only some of y
  std::optional<Interval> into;         ///< the elements of y that this round combines; none given: all
  /// Each worker's part, before a `HostCopy` cuts it, covers all that is combined, as terms do.
  bool whole = false;
  /// The parts that stay or come, here or in the spread of a `HostCopy` after it, are disjoint and all of y.
  bool fills = false;

  // What every run needs, as `Rounds::add` notes it.

  std::vector<int> to = {}, from = {};  ///< the peers of the messages, without the part that stays
  bool answered = false;                ///< every peer in `to` is in `from`
  std::int64_t largest = 0;             ///< elements of the largest message
  Traffic traffic = {};                 ///< of the sends

  bool empty() const { return to.empty() && from.empty(); }
};

/// Rounds: the plan of the messages of one worker that take x to y = A x. It depends only on the spaces, the
/// worker and the hosts; it is made once and kept. An `Execution` follows it. No decision depends on a
/// message's contents.
struct Rounds {
  std::vector<Round> rounds;
  std::vector<std::int64_t> y_shape;
  bool flat = false;        ///< x and y are of one shape, and seen as one row of elements
  bool identity = false;    ///< y is x: there are no rounds
  bool detached = false;    ///< it does not wait for its sends: the receivers may come much later
  CallTeam team = nullptr;  ///< all workers that make the move together; nullptr between two partitions
  /// The collective of a device's library that takes x to y as all rounds together do, where there is one.
  /// The whole team has the same.
  std::optional<LibraryCollective> collective = std::nullopt;

  void add(Round round);
  /// The worker's traffic in elements and messages; bytes stay 0.
  Traffic traffic() const;
};

}  // namespace riesz
