// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/label.h"
#include "riesz/comm/shared_memory.h"

namespace riesz {

/// A team's buffer on the members of one host, each of whom maps all of theirs, and how far each is with the
/// moves on it. A member ends on its own: what the others map stays. Private to this room.
class TeamWindows {
 public:
  /// How far a member is with a move.
  enum class Stage : std::uint64_t {
    begun = 1,   ///< its part is there, and what it is up to is said
    ended = 2,   ///< it neither reads nor writes another's memory any more
    closed = 3,  ///< it has seen what the others took
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
  /// Says that this worker has begun the move of that label. False if it cannot yet: others are not done with
  /// one long before.
  bool announce(std::uint64_t move, const Label& label);
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

  /// This worker reads so many elements of the buffer of the member at `place`.
  void take(std::uint64_t move, int place, std::int64_t elements);
  /// How many that member has read of this worker's. When it has ended, until this worker closes the move.
  std::int64_t taken(std::uint64_t move, int place) const;

 private:
  struct Slot;
  struct Member {
    int rank;
    std::shared_ptr<SharedMemory> memory;  // nullptr: on another host
  };

  TeamWindows() = default;
  const Member& member(int place) const { return members_[static_cast<std::size_t>(place)]; }
  std::size_t slot_bytes() const;
  Slot& slot(const Member& member, std::uint64_t move) const;
  /// What the member has taken in a move of each of the team's, by place; and what it is up to.
  std::int64_t* takes(const Member& member, std::uint64_t move) const;
  char* text(const Member& member, std::uint64_t move) const;

  std::vector<Member> members_;  // by place
  int place_ = 0;
  std::atomic<std::uint64_t> moves_ = 0;
};

}  // namespace riesz
