// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/team_buffer.h"

namespace riesz {

/// A move as all its ways see it. Private to this room.
struct TeamTask {
  enum class Kind { all_reduce, reduce_scatter, all_gather };
  Kind kind;
  std::string operation;
  std::vector<int> team;  ///< world ranks
  int place;              ///< this worker's
  Pieces pieces;
  at::Tensor local;

  std::int64_t size(int place_of) const {
    return pieces[static_cast<std::size_t>(place_of) + 1] - pieces[static_cast<std::size_t>(place_of)];
  }
  std::int64_t begin(int place_of) const { return pieces[static_cast<std::size_t>(place_of)]; }
  int members() const { return static_cast<int>(team.size()); }
  int rank(int place_of) const { return team[static_cast<std::size_t>(place_of)]; }
};

/// Of what all members must begin alike, beside the operation's text.
std::uint64_t digest(const TeamTask& task);

/// The three moves by messages between all members.
std::shared_ptr<TeamMove> all_reduce_by_messages(TeamTask task);
std::shared_ptr<TeamMove> reduce_scatter_by_messages(TeamTask task, at::Tensor out, bool add);
std::shared_ptr<TeamMove> all_gather_by_messages(TeamTask task, bool whole, at::Tensor out);

}  // namespace riesz
