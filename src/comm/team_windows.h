// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/shared_memory.h"

namespace riesz {

/// A team's buffer on the members of one host, each of whom maps all of theirs, and how far each is with the
/// moves on it. A member ends on its own: what the others map stays. Private to this room.
class TeamWindows {
 public:
  /// How far a member is with a move.
  enum class Stage : std::uint64_t {
    begun = 1,  ///< its part is there, and what it is up to is said
    ended = 2,  ///< it neither reads nor writes another's memory any more
  };

  /// Collective over the members that share memory with this worker; nullptr where there is no other.
  /// `place`: this worker's in `team`. @throws Error if one cannot open another's memory.
  static std::shared_ptr<TeamWindows> make(const std::vector<int>& team, int place, std::int64_t bytes);

  /// Does the member at this place of the team share memory with this worker?
  bool has(int place) const { return member(place).memory != nullptr; }
  /// The buffer of such a member.
  std::byte* data(int place) const;

  /// The number of the next move.
  std::uint64_t next() { return moves_++; }
  /// Says that this worker has begun the move. False if it cannot yet: others are not done with one long
  /// before.
  bool announce(std::uint64_t move, const std::string& operation, std::uint64_t digest);
  void reach(std::uint64_t move, Stage stage);
  /// Are all there?
  bool all(std::uint64_t move, Stage stage) const;
  /// The same, asked some tens of times in a row: between workers that come together that is faster than to
  /// come back.
  bool all_soon(std::uint64_t move, Stage stage) const;
  /// World ranks of those who are not.
  std::vector<int> late(std::uint64_t move, Stage stage) const;
  /// When all have begun. @throws Error if another has begun a different one.
  void check(std::uint64_t move) const;

 private:
  struct Slot;
  struct Member {
    int rank;
    std::shared_ptr<SharedMemory> memory;  // nullptr: on another host
  };

  TeamWindows() = default;
  const Member& member(int place) const { return members_[static_cast<std::size_t>(place)]; }
  Slot& slot(const Member& member, std::uint64_t move) const;

  std::vector<Member> members_;  // by place
  int place_ = 0;
  std::atomic<std::uint64_t> moves_ = 0;
};

}  // namespace riesz
