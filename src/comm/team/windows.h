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

/// Team windows: a team's buffers on one host, which all its members there map (no windows of MPI). With them
/// goes the state of each member in each collective. A member may end alone: the others keep what they map.
/// Private to src/comm.
class TeamWindows {
 public:
  /// The state of a member in a collective.
  enum class MemberState : std::uint64_t {
    begun = 1,   ///< its part is in its buffer, and its label is announced
    ended = 2,   ///< it neither reads nor writes another's memory any more
    closed = 3,  ///< it has read how much the others took
  };

  /// Collective over the members that share memory with this worker; nullptr where there is no other.
  /// `position`: this worker's in `team`. @throws Error if one cannot open another's memory.
  static std::shared_ptr<TeamWindows> make(const std::vector<int>& team, int position, std::int64_t bytes);

  /// True if the member at this position of the team shares memory with this worker.
  bool has(int position) const { return member(position).memory != nullptr; }
  /// That member's buffer.
  std::byte* data(int position) const;

  /// The number of the next collective.
  std::uint64_t next() { return begun_++; }
  /// Announces that this worker has begun the collective of that label. False if it cannot yet: the slot of
  /// this collective is still used by an earlier one, with which a member is not done.
  bool announce(std::uint64_t collective, const Label& label);
  void reach(std::uint64_t collective, MemberState state);
  /// True if all members have reached that state.
  bool all(std::uint64_t collective, MemberState state) const;
  /// The same, polled some tens of times: workers that arrive together meet faster so.
  bool all_soon(std::uint64_t collective, MemberState state) const;
  /// World ranks of the members that have not reached it.
  std::vector<int> late(std::uint64_t collective, MemberState state) const;
  /// Called once all have begun. @throws Error if a member has begun a different collective.
  void check(std::uint64_t collective) const;

  /// Notes that this worker reads so many elements of the buffer of the member at `position`.
  void take(std::uint64_t collective, int position, std::int64_t elements);
  /// The number of elements that the member at `position` has read of this worker's buffer. Valid from its
  /// state `ended` until this worker closes the collective.
  std::int64_t taken(std::uint64_t collective, int position) const;

 private:
  struct Slot;
  struct Member {
    int rank;
    std::shared_ptr<SharedMemory> memory;  // nullptr: on another host
  };

  TeamWindows() = default;
  const Member& member(int position) const { return members_[static_cast<std::size_t>(position)]; }
  std::size_t slot_bytes() const;
  Slot& slot(const Member& member, std::uint64_t collective) const;
  /// In a member's slot of a collective: the elements that it has read of each member's buffer, by position;
  /// and the text of its operation.
  std::int64_t* takes(const Member& member, std::uint64_t collective) const;
  char* text(const Member& member, std::uint64_t collective) const;

  std::vector<Member> members_;  // by position
  int position_ = 0;
  std::atomic<std::uint64_t> begun_ = 0;
};

}  // namespace riesz
