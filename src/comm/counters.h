// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "riesz/comm/layer_scope.h"
#include "riesz/comm/operation.h"

namespace riesz {

/// Traffic: elements, bytes and messages that left this worker for others. Copies to itself, headers and
/// empty messages do not count.
struct Traffic {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::int64_t messages = 0;

  Traffic& operator+=(const Traffic& other);
  bool operator==(const Traffic&) const = default;
};

Traffic operator+(Traffic a, const Traffic& b);
Traffic operator-(const Traffic& a, const Traffic& b);

/// One line of the counters' records: the traffic of one operation in one layer and phase.
struct TrafficRecord {
  Origin origin;
  std::string operation;  ///< its text, with its axes
  Traffic traffic;
};

/// Untaken bytes: those that `Reservation::send` has posted, and that receivers have not taken yet. They stay
/// in this worker's memory until then.
struct Untaken {
  std::int64_t bytes = 0;
  std::int64_t most_bytes = 0;  ///< at any time since the last `reset`

  bool operator==(const Untaken&) const = default;
};

/// Exact counters of this worker's traffic, by operation. They sit above the transports, so they are the same
/// for each of them. Tests compare them with formulas. Safe to use from several threads.
class Counters {
 public:
  /// The counters of this process.
  static Counters& instance();

  void add(const Operation& operation, const Traffic& traffic);
  /// Notes that an operation that sends in the background begins. The records list it before operations that
  /// begin later.
  void begin(const Operation& operation);
  /// Adds `bytes`, which may be negative, to what is sent and not taken.
  void add_untaken(std::int64_t bytes);
  /// The bytes of `Reservation::send` that receivers have not taken yet.
  Untaken untaken() const;

  /// Everything counted since the last `reset`.
  Traffic total() const;
  /// The same by the operation's name, such as "AllReduce".
  std::map<std::string, Traffic> by_operation() const;
  void reset();

  /// Turns records on or off: traffic by layer, phase and the operation's text. Either way, earlier records
  /// are dropped.
  void record(bool on);
  bool recording() const;
  /// In the order in which operations first sent, or began.
  std::vector<TrafficRecord> records() const;
};

}  // namespace riesz
