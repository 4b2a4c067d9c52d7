// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/label.h"
#include "riesz/comm/shared/memory.h"

namespace riesz {

/// Team windows: a team's buffers on one host, which all its members there map, and the state of each member
/// in each move. A member may end alone: the others keep what they map. Private to this room.
class TeamWindows {
 public:
  /// The state of a member in a move.
  enum class MemberState : std::uint64_t {
    begun = 1,   ///< its part is in its buffer, and its label is announced
    ended = 2,   ///< it neither reads nor writes another's memory any more
    closed = 3,  ///< it has read how much the others took
  };

  /// Collective over the members that share memory with this worker; nullptr where there is no other.
  /// `place`: this worker's in `team`. @throws Error if one cannot open another's memory.
  static std::shared_ptr<TeamWindows> make(const std::vector<int>& team, int place, std::int64_t bytes);

  /// True if the member at this place of the team shares memory with this worker.
  bool has(int place) const { return member(place).memory != nullptr; }
  /// That member's buffer.
  std::byte* data(int place) const;

  /// The number of the next move.
  std::uint64_t next() { return moves_++; }
  /// Announces that this worker has begun the move of that label. False if it cannot yet: the slot of this
  /// move is still used by an earlier one, with which a member is not done.
  bool announce(std::uint64_t move, const Label& label);
  void reach(std::uint64_t move, MemberState state);
  /// True if all members have reached that state.
  bool all(std::uint64_t move, MemberState state) const;
  /// The same, polled some tens of times: workers that arrive together meet faster so.
  bool all_soon(std::uint64_t move, MemberState state) const;
  /// World ranks of the members that have not reached it.
  std::vector<int> late(std::uint64_t move, MemberState state) const;
  /// Called once all have begun. @throws Error if a member has begun a different move.
  void check(std::uint64_t move) const;

  /// Notes that this worker reads so many elements of the buffer of the member at `place`.
  void take(std::uint64_t move, int place, std::int64_t elements);
  /// The number of elements that the member at `place` has read of this worker's buffer. Valid from its state
  /// `ended` until this worker closes the move.
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
  /// In a member's slot of a move: the elements that it has read of each member's buffer, by place; and the
  /// text of its operation.
  std::int64_t* takes(const Member& member, std::uint64_t move) const;
  char* text(const Member& member, std::uint64_t move) const;

  std::vector<Member> members_;  // by place
  int place_ = 0;
  std::atomic<std::uint64_t> moves_ = 0;
};

}  // namespace riesz
