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

/// The arguments of a collective that a worker begins. Private to src/comm.
struct TeamCollectiveSpec {
  enum class Kind { all_reduce, reduce_scatter, all_gather };
  Kind kind;
  Operation operation;                           ///< with a label of all that the members must begin alike
  std::shared_ptr<const std::vector<int>> team;  ///< world ranks
  int position;                                  ///< this worker's
  PieceOffsets pieces;
  at::Tensor local;
  std::shared_ptr<TeamWindows> windows;  ///< of the members on this host, if there are others; or nullptr
  TeamChannel channel;                   ///< of the messages with the others, if there are any; or nullptr

  std::int64_t size(int of) const { return begin(of + 1) - begin(of); }
  std::int64_t begin(int of) const { return pieces[static_cast<std::size_t>(of)]; }
  int members() const { return static_cast<int>(team->size()); }
  int rank(int of) const { return (*team)[static_cast<std::size_t>(of)]; }
  /// True if this worker can read the member's buffer directly.
  bool near(int of) const { return of == position || (windows && windows->has(of)); }
};

/// Make the three collectives. Members that share memory with this worker use windows, if the buffer is a CPU
/// tensor. All others exchange messages.
std::shared_ptr<TeamCollective> make_all_reduce(TeamCollectiveSpec task);
std::shared_ptr<TeamCollective> make_reduce_scatter(TeamCollectiveSpec task, at::Tensor out, bool add);
std::shared_ptr<TeamCollective> make_all_gather(TeamCollectiveSpec task, bool whole, at::Tensor out,
                                                std::int64_t from);

}  // namespace riesz
