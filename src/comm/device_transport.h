// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// A call's team: the world ranks of all workers that make the call, each once, in any order. nullptr: not
/// all of them know it.
using CallTeam = std::shared_ptr<const std::vector<int>>;

/// A collective that a device's library has of its own, as one call. Its ranks are the team's, in ascending
/// order of their world ranks.
enum class LibraryCollective { all_reduce, all_gather, reduce_scatter };

/// A device transport: a way to bring messages from the memory of one device to that of another without the
/// host's. It knows no keys: within a pair of workers the order of the posts decides. Members post a team's
/// rounds in one order. Workers that share several teams also use these teams in one order; otherwise the
/// devices deadlock. A post queues work in the transport's own stream. The work begins after what the current
/// stream has queued, and the current stream then waits for it. The host does not wait. Safe to use from
/// several threads.
class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;

  /// True if messages among these workers can go this way. All of them get the same answer. Waits, when a
  /// team is new, until the others are ready for it too; their programs need not be at the same place.
  /// @throws Error if the device's library reports one.
  virtual bool carries(const CallTeam& team, const std::string& operation) = 0;

  /// Queues one round of a team that it carries. All tensors are on the device. What is queued in the current
  /// stream afterwards sees the messages received, and may write those sent.
  /// @pre carries(team), and there is at least one message. @throws Error with the library's text if it
  /// refuses a call.
  virtual void post(const CallTeam& team, const std::vector<Message>& sends,
                    const std::vector<Message>& receives) = 0;

  /// True if a team that it carries uses the library's own collective instead of rounds, for vectors of this
  /// type. All members get the same answer. The library adds in an order of its own.
  virtual bool has(LibraryCollective collective, const CallTeam& team, at::ScalarType type) const = 0;
  /// Queues the library's collective in place of a call's rounds: from `from` on every member to `to`. An
  /// all-reduce has as many elements in both; an all-gather and a reduce-scatter have pieces of one size.
  /// Members post it in the order of the team's rounds. @pre carries(team), and has(…).
  virtual void post(const CallTeam& team, LibraryCollective collective, const TensorSpan& from,
                    const TensorSpan& to, const std::string& operation) = 0;

  /// The stream in which it queues what is posted. A call that was started queues its other work there too,
  /// beside what the program computes.
  virtual c10::Stream stream() const = 0;
  /// The device's type.
  virtual at::DeviceType type() const = 0;
  /// True if both ends of each message compare its description first, by a message of the host.
  virtual bool compares() const = 0;
};

}  // namespace riesz
