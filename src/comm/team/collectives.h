// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/team/windows.h"

namespace riesz {

/// What the members of a collective must begin alike. A buffer keeps those that it has begun, in a cache of
/// plans: a step begins the same ones again. Private to src/comm.
struct TeamCall {
  enum class Kind { all_reduce, reduce_scatter, all_gather };
  Kind kind;
  Operation operation;  ///< with a label of all of this
  PieceOffsets pieces;
  std::int64_t from;  ///< the element at which a piece alone begins; -1: the buffer holds the whole
};

/// The arguments of a collective that a worker begins. Private to src/comm.
struct TeamCollectiveSpec {
  std::shared_ptr<const TeamCall> call;
  std::shared_ptr<const std::vector<int>> team;  ///< world ranks
  int position;                                  ///< this worker's
  at::Tensor local;
  std::shared_ptr<TeamWindows> windows;  ///< of the members on this host, if there are others; or nullptr
  TeamChannel channel;                   ///< of the messages with the others, if there are any; or nullptr

  std::int64_t size(int of) const { return begin(of + 1) - begin(of); }
  std::int64_t begin(int of) const { return call->pieces[static_cast<std::size_t>(of)]; }
  const Operation& operation() const { return call->operation; }
  int members() const { return static_cast<int>(team->size()); }
  int rank(int of) const { return (*team)[static_cast<std::size_t>(of)]; }
  /// True if this worker can read the member's buffer directly.
  bool near(int of) const { return of == position || (windows && windows->has(of)); }
};

/// Make the three collectives. Members that share memory with this worker use windows, if the buffer is a CPU
/// tensor. All others exchange messages.
std::shared_ptr<TeamCollective> make_all_reduce(TeamCollectiveSpec task);
std::shared_ptr<TeamCollective> make_reduce_scatter(TeamCollectiveSpec task, at::Tensor out, bool add);
std::shared_ptr<TeamCollective> make_all_gather(TeamCollectiveSpec task, at::Tensor out);

/// The same three, as a collective of the device's library. Returns nullptr if the library's collectives are
/// not asked for. Also if the pieces differ in size, or their order is not that of the ranks. `out`: as in
/// `TeamBuffer`, undefined for an all-reduce. All members get the same answer.
std::shared_ptr<TeamCollective> make_of_library(const TeamCollectiveSpec& task, DeviceTransport& transport,
                                                const at::Tensor& out, bool add);

}  // namespace riesz
