// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/team_buffer.h"
#include "riesz/comm/team_windows.h"

namespace riesz {

/// A move that a worker begins. Private to this room.
struct TeamTask {
  enum class Kind { all_reduce, reduce_scatter, all_gather };
  Kind kind;
  Operation operation;                           ///< with a label of all that the members must begin alike
  std::shared_ptr<const std::vector<int>> team;  ///< world ranks
  int place;                                     ///< this worker's
  Pieces pieces;
  at::Tensor local;
  std::shared_ptr<TeamWindows> windows;  ///< of the members on this host, if there are others; or nullptr
  MoveStream stream;                     ///< of the messages with the others, if there are any; or nullptr

  std::int64_t size(int of) const { return begin(of + 1) - begin(of); }
  std::int64_t begin(int of) const { return pieces[static_cast<std::size_t>(of)]; }
  int members() const { return static_cast<int>(team->size()); }
  int rank(int of) const { return (*team)[static_cast<std::size_t>(of)]; }
  /// Is the member's buffer at hand?
  bool near(int of) const { return of == place || (windows && windows->has(of)); }
};

/// The three moves: with members on this host through their windows, with others by messages.
std::shared_ptr<TeamMove> make_all_reduce(TeamTask task);
std::shared_ptr<TeamMove> make_reduce_scatter(TeamTask task, at::Tensor out, bool add);
std::shared_ptr<TeamMove> make_all_gather(TeamTask task, bool whole, at::Tensor out, std::int64_t from);

}  // namespace riesz
