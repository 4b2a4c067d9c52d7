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

/// What left this worker for other workers: self-copies and headers excluded, an empty message not counted.
struct Traffic {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::int64_t messages = 0;

  Traffic& operator+=(const Traffic& other);
  bool operator==(const Traffic&) const = default;
};

Traffic operator+(Traffic a, const Traffic& b);
Traffic operator-(const Traffic& a, const Traffic& b);

/// What left this worker on behalf of one layer, in one phase, by one operator.
struct Record {
  Origin origin;
  std::string operation;  ///< its text, with its axes
  Traffic traffic;
};

/// What this worker has sent and its receivers have not taken yet; until they do, it is in its memory.
struct Unsent {
  std::int64_t bytes = 0;
  std::int64_t most_bytes = 0;  ///< at any time since the last `reset`

  bool operator==(const Unsent&) const = default;
};

/// Exact counters of this worker's traffic, by operator. They sit above the transports, so they hold for each
/// of them; tests compare them with the formula. Safe to use from several threads.
class Counters {
 public:
  /// The counters of this process.
  static Counters& instance();

  void add(const Operation& operation, const Traffic& traffic);
  /// An operation begins that will send in the background: the records list it from now on, before those that
  /// begin later.
  void begin(const Operation& operation);
  /// So many bytes more are sent and not taken; below 0, fewer.
  void keep(std::int64_t bytes);
  /// Of sends that wait for nobody (`Communicator::send`): what late receivers cost here.
  Unsent unsent() const;

  /// Everything counted since the last `reset`.
  Traffic total() const;
  /// The same by operator's name, such as "AllReduce".
  std::map<std::string, Traffic> by_operation() const;
  void reset();

  /// On: from now on it also keeps records of what is sent, by layer, phase and operator's text. Off: it no
  /// longer does. Those that there were are gone either way.
  void record(bool on);
  bool recording() const;
  /// In the order in which each sent, or began, first.
  std::vector<Record> records() const;
};

}  // namespace riesz
