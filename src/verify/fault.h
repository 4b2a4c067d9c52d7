// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace riesz {

/// An event of a worker.
struct EventId {
  int rank;
  std::size_t recording;  ///< the number of the recording that stands for the worker
  std::size_t event;      ///< its number in the recording; the number of all events means the end

  bool operator==(const EventId&) const = default;
};

/// A worker in a fault. It stands at an event that does not fit an event of another worker.
struct WorkerInFault {
  EventId at;
  EventId other;
  std::string does;  ///< "sends", "expects", or "waits in" an operation
  std::string what;  ///< the message, or whom the worker waits for
};

/// A fault of a job: a message whose two ends differ, or a circle of workers that wait for each other.
struct Fault {
  std::string what;  ///< in one line
  /// The sender and the receiver of a message; or all workers of a circle, each of which waits for the next.
  std::vector<WorkerInFault> workers;

  bool empty() const { return what.empty(); }
};

/// The fault as text: what it is, and a line for each worker. Empty if there is none.
std::string to_string(const Fault& fault);

}  // namespace riesz
