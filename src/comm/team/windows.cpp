// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team/windows.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/shared/regions.h"
#include "riesz/comm/struct_bytes.h"
#include "riesz/comm/sum/kernels.h"

namespace riesz {
namespace {

constexpr std::uint64_t kSlots = 64;
constexpr std::uint64_t kStages = 4;

/// Collectives on a buffer are numbered from 0; a slot goes from one to that `kSlots` later.
std::uint64_t word(std::uint64_t collective, TeamWindows::MemberState state) {
  return kStages * collective + static_cast<std::uint64_t>(state);
}

/// What the members tell each other of their memory.
struct Card {
  SharedMemory::Address address;
  std::int64_t name = 0;
};

std::int64_t new_name(int rank) {
  static std::atomic<std::int64_t> made = 0;
  return (std::int64_t{rank} << 32) + made++;
}

}  // namespace

/// Behind it lies what its member takes of each, and then its text.
struct TeamWindows::Slot {
  std::atomic<std::uint64_t> word;
  std::uint64_t digest;
  std::uint64_t text;  // bytes
};

std::shared_ptr<TeamWindows> TeamWindows::make(const std::vector<int>& team, int position,
                                               std::int64_t bytes) {
  Communicator& world = Communicator::world();
  std::vector<int> near;
  for (const int rank : team) {
    if (rank != team[static_cast<std::size_t>(position)] && world.shares_memory_with(rank))
      near.push_back(rank);
  }
  if (near.empty()) return nullptr;
  std::shared_ptr<TeamWindows> windows(new TeamWindows());
  windows->position_ = position;
  const int me = team[static_cast<std::size_t>(position)];
  for (const int rank : team) windows->members_.push_back({rank, nullptr});
  const std::size_t all = kSlots * windows->slot_bytes() + static_cast<std::size_t>(bytes);
  std::shared_ptr<SharedMemory> mine = SharedMemory::make(all);
  const Card card{mine->address(), new_name(me)};
  const Operation operation("TeamBuffer", concat("TeamBuffer of ", bytes, " bytes"));
  const std::vector<at::Tensor> cards = world.host_allgather(operation, near, bytes_of(card));
  bool opened = true;
  std::size_t next = 0;
  for (Member& member : windows->members_) {
    if (member.rank == me) member.memory = mine;
    if (std::find(near.begin(), near.end(), member.rank) == near.end()) continue;
    const auto theirs = struct_of<Card>(cards[next++]);
    member.memory = SharedMemory::open(theirs.address);
    opened = opened && member.memory != nullptr;
    if (opened) SharedRegions::add(theirs.name, member.memory, near);
  }
  for (const at::Tensor& answer :
       world.host_allgather(operation, near, at::zeros({1}, at::kByte).fill_(opened)))
    opened = opened && answer.item<std::uint8_t>() == 1;
  RIESZ_CHECK(opened, operation.text, ": the workers of this host cannot open each other's memory");
  SharedRegions::add(card.name, mine, near);
  return windows;
}

std::size_t TeamWindows::slot_bytes() const {
  const std::size_t bytes = sizeof(Slot) + members_.size() * sizeof(std::int64_t) + Label::kMostTextBytes;
  return (bytes + 63) / 64 * 64;
}

TeamWindows::Slot& TeamWindows::slot(const Member& member, std::uint64_t collective) const {
  return *reinterpret_cast<Slot*>(member.memory->data() + collective % kSlots * slot_bytes());
}

std::int64_t* TeamWindows::takes(const Member& member, std::uint64_t collective) const {
  return reinterpret_cast<std::int64_t*>(&slot(member, collective) + 1);
}

char* TeamWindows::text(const Member& member, std::uint64_t collective) const {
  return reinterpret_cast<char*>(takes(member, collective) + members_.size());
}

std::byte* TeamWindows::data(int position) const {
  return member(position).memory->data() + kSlots * slot_bytes();
}

bool TeamWindows::announce(std::uint64_t collective, const Label& label) {
  if (collective >= kSlots && !all(collective - kSlots, MemberState::closed)) return false;
  const Member& me = member(position_);
  Slot& mine = slot(me, collective);
  mine.digest = label.digest();
  mine.text = label.text().copy(text(me, collective), Label::kMostTextBytes);
  std::fill_n(takes(me, collective), members_.size(), 0);
  reach(collective, MemberState::begun);
  return true;
}

void TeamWindows::take(std::uint64_t collective, int position, std::int64_t elements) {
  takes(member(position_), collective)[position] += elements;
}

std::int64_t TeamWindows::taken(std::uint64_t collective, int position) const {
  return takes(member(position), collective)[position_];
}

void TeamWindows::reach(std::uint64_t collective, MemberState state) {
  slot(member(position_), collective).word.store(word(collective, state), std::memory_order_release);
  if (state == MemberState::closed) return;  // nobody waits for that but a collective long after
  for (const Member& each : members_) {
    if (each.memory != nullptr && each.rank != member(position_).rank) Communicator::world().ring(each.rank);
  }
}

bool TeamWindows::all(std::uint64_t collective, MemberState state) const {
  const std::uint64_t needed = word(collective, state);
  return std::all_of(members_.begin(), members_.end(), [&](const Member& each) {
    return each.memory == nullptr || slot(each, collective).word.load(std::memory_order_acquire) >= needed;
  });
}

bool TeamWindows::all_soon(std::uint64_t collective, MemberState state) const {
  for (int i = 0; i < 32; ++i) {
    if (all(collective, state)) return true;
    kernels::relax();
  }
  return false;
}

std::vector<int> TeamWindows::late(std::uint64_t collective, MemberState state) const {
  const std::uint64_t needed = word(collective, state);
  std::vector<int> ranks;
  for (const Member& each : members_) {
    if (each.memory != nullptr && slot(each, collective).word.load(std::memory_order_acquire) < needed)
      ranks.push_back(each.rank);
  }
  return ranks;
}

void TeamWindows::check(std::uint64_t collective) const {
  const Slot& mine = slot(member(position_), collective);
  for (const Member& each : members_) {
    if (each.memory == nullptr) continue;
    const Slot& theirs = slot(each, collective);
    const std::string_view my_text(text(member(position_), collective), mine.text);
    const std::string_view their_text(text(each, collective), theirs.text);
    RIESZ_CHECK(mine.digest == theirs.digest, "the workers' programs differ: in collective ", collective + 1,
                " on a buffer with rank ", each.rank, " this worker is in ", my_text, ", rank ", each.rank,
                " in ", their_text, my_text == their_text ? ", of another type or other pieces" : "",
                "; every worker must begin the same collectives in the same order");
  }
}

}  // namespace riesz
