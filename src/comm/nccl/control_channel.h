// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "riesz/comm/nccl/functions.h"

namespace riesz::nccl {

/// A control message: what the processes of a team tell each other about its communicator.
struct ControlMessage {
  enum class Kind : std::int32_t {
    want,     ///< to the team's first member: one is needed
    ask,      ///< from it: have you room for one?
    yes,      ///< to it: a place is kept
    no,       ///< to it: there is no room
    make,     ///< from it: make one with this id
    stage,    ///< from it: there is none, messages go through host memory
    turn,     ///< to the next member: this team has the turns of all members before you; take yours
    connect,  ///< from the last member: it has those of all
    counts,   ///< how many of our messages have you issued?
    issued,   ///< the answer: to you, and from you
  };

  Kind kind;
  std::vector<int> team;
  UniqueId id = {};
  std::int64_t sent = 0, received = 0;
};

/// A control channel: control messages between any two workers of the job, over a communicator of MPI's own.
/// Those of one sender come in order. Private to src/comm.
class ControlChannel {
 public:
  /// Collective over the job.
  ControlChannel();
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  /// Never waits. From any thread.
  void send(int rank, const ControlMessage& message);
  struct Received {
    int from;
    ControlMessage message;
  };
  /// The next message, if one has come. From one thread.
  std::optional<Received> take();

 private:
  struct Sent {
    std::vector<std::int32_t> words;
    MPI_Request request;
  };

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::mutex mutex_;
  std::list<Sent> sent_;  // until they are taken
};

}  // namespace riesz::nccl
