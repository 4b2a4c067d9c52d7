// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/nccl/functions.h"

namespace riesz::testing {

/// A stand-in for NCCL, for tests on machines without a GPU. It has NCCL's functions and rules, and its calls
/// are work on the streams of the pretend device. The ranks are the processes of the job; the bytes travel
/// over MPI in messages of its own. A call that breaks a rule gives NCCL's result, and a text that names the
/// rule:
///
/// - **Within a pair order decides.** The n-th ncclSend to a rank meets its n-th ncclRecv from this one.
///   Count and type are the same at both ends. NCCL itself would hang, or give other values.
/// - **One order of a communicator's collectives on all its ranks,** with one count, type and reduction.
/// - **One order of a device's communicators on all ranks.** A device runs one group after another, of
///   whatever communicator and stream, for NCCL promises no room for two. A group that moves single bytes,
///   such as one that connects, has room beside another.
/// - **Two ranks meet in their first group.** Until the other has begun a group with the matching call,
///   ncclGroupEnd is in progress, and the communicator takes no other call. The first of each collective on a
///   communicator's ranks meets likewise, unless NCCL_RUNTIME_CONNECT is 0. A communicator that blocks meets
///   nobody.
/// - **A call ends when its peers have theirs.** So a send waits for its receive, unless both are in one
///   group. A communicator's calls run one after another, whatever their streams. A call that waits longer
///   than the standstill is an error, where NCCL would hang. It names the call and whom it waits for.
/// - **A group** begins and ends in one thread, and has one stream for each communicator.
/// - **A communicator** has one id, one count of ranks, each rank once, and each on a device of its own. It
///   is ready before its first call, is called by one thread at a time, and by none after its end.
///
/// A call that is refused sends nothing. A fault in queued work is the communicator's asynchronous error.
class NcclStandIn {
 public:
  /// Collective over the job, as is its end. There is one at a time.
  NcclStandIn();
  ~NcclStandIn();
  NcclStandIn(const NcclStandIn&) = delete;
  NcclStandIn& operator=(const NcclStandIn&) = delete;

  static const nccl::Functions& functions();

  /// The identity of this process's device; by default each has another. Ranks with one share a GPU.
  void set_identity(std::string identity);
  /// How long a call may wait for its peers.
  void set_standstill(std::chrono::milliseconds time);
  /// Texts of the faults in queued work since the last call, and of groups that are not closed. Other
  /// threads' groups count once they are open for longer than the standstill.
  std::vector<std::string> faults();
  /// While it is so, queued work does nothing and waits for nobody, as if all communicators were aborted.
  void abandon(bool all);
  /// How many calls of a function were issued so far, such as "ncclSend"; without those of groups that move
  /// single bytes.
  int calls(const std::string& function) const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace riesz::testing
