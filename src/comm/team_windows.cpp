// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team_windows.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/lent_memory.h"
#include "riesz/comm/sum_kernels.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

constexpr std::size_t kText = 160;
constexpr std::uint64_t kSlots = 64;
constexpr std::uint64_t kStages = 4;

/// Moves on a buffer are numbered from 0; a slot goes from one to that `kSlots` later.
std::uint64_t word(std::uint64_t move, TeamWindows::Stage stage) {
  return kStages * move + static_cast<std::uint64_t>(stage);
}

/// What the members tell each other of their memory.
struct Card {
  SharedMemory::Address address;
  std::int64_t name = 0;
};

at::Tensor tensor_of(const Card& card) {
  at::Tensor bytes = at::zeros({static_cast<std::int64_t>(sizeof card)}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), &card, sizeof card);
  return bytes;
}

Card card_of(const at::Tensor& bytes) {
  Card card;
  std::memcpy(&card, bytes.const_data_ptr(), sizeof card);
  return card;
}

/// What each of `peers` says in a leg of a move.
std::vector<at::Tensor> swap(const std::string& operation, const std::vector<Round>& move, int leg,
                             const at::Tensor& mine) {
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  std::vector<at::Tensor> theirs;
  for (const Round& round : move) {
    theirs.push_back(at::zeros(mine.sizes(), mine.options()));
    sends.push_back({round.peer, mine});
    receives.push_back({round.peer, theirs.back()});
  }
  const auto exchange =
      Communicator::world().post_leg(operation, move, leg, std::move(sends), std::move(receives));
  wait_until(
      operation, [&] { return exchange->done(); }, [&] { return exchange->unfinished(); });
  return theirs;
}

std::int64_t new_name(int rank) {
  static std::atomic<std::int64_t> made = 0;
  return (std::int64_t{rank} << 32) + made++;
}

}  // namespace

struct alignas(64) TeamWindows::Slot {
  std::atomic<std::uint64_t> word;
  std::uint64_t digest;
  char operation[kText];
};

std::shared_ptr<TeamWindows> TeamWindows::make(const std::vector<int>& team, int place, std::int64_t bytes) {
  Communicator& world = Communicator::world();
  std::vector<int> near;
  for (const int rank : team) {
    if (rank != team[static_cast<std::size_t>(place)] && world.shares_memory_with(rank)) near.push_back(rank);
  }
  if (near.empty()) return nullptr;
  std::shared_ptr<TeamWindows> windows(new TeamWindows());
  windows->place_ = place;
  const int me = team[static_cast<std::size_t>(place)];
  const std::size_t all = kSlots * sizeof(Slot) + static_cast<std::size_t>(bytes);
  std::shared_ptr<SharedMemory> mine = SharedMemory::make(all);
  const Card card{mine->address(), new_name(me)};
  const std::string operation = concat("TeamBuffer of ", bytes, " bytes");
  const std::vector<Round> move = world.number_move(near, static_cast<std::uint64_t>(bytes));
  const std::vector<at::Tensor> cards = swap(operation, move, 0, tensor_of(card));
  bool opened = true;
  std::size_t next = 0;
  for (const int rank : team) {
    const bool is_near = std::find(near.begin(), near.end(), rank) != near.end();
    windows->members_.push_back({rank, rank == me ? mine : nullptr});
    if (!is_near) continue;
    const Card theirs = card_of(cards[next++]);
    windows->members_.back().memory = SharedMemory::open(theirs.address);
    opened = opened && windows->members_.back().memory != nullptr;
    if (opened) LentMemory::add(theirs.name, windows->members_.back().memory, near);
  }
  const std::vector<at::Tensor> answers = swap(operation, move, 1, at::zeros({1}, at::kByte).fill_(opened));
  for (const at::Tensor& answer : answers) opened = opened && answer.item<std::uint8_t>() == 1;
  RIESZ_CHECK(opened, operation, ": the workers of this host cannot open each other's memory");
  LentMemory::add(card.name, mine, near);
  return windows;
}

TeamWindows::Slot& TeamWindows::slot(const Member& member, std::uint64_t move) const {
  return reinterpret_cast<Slot*>(member.memory->data())[move % kSlots];
}

std::byte* TeamWindows::data(int place) const { return member(place).memory->data() + kSlots * sizeof(Slot); }

bool TeamWindows::announce(std::uint64_t move, const std::string& operation, std::uint64_t digest) {
  if (move >= kSlots && !all(move - kSlots, Stage::ended)) return false;
  Slot& mine = slot(member(place_), move);
  mine.digest = digest;
  const std::size_t length = operation.copy(mine.operation, kText - 1);
  mine.operation[length] = '\0';
  reach(move, Stage::begun);
  return true;
}

void TeamWindows::reach(std::uint64_t move, Stage stage) {
  slot(member(place_), move).word.store(word(move, stage), std::memory_order_release);
}

bool TeamWindows::all(std::uint64_t move, Stage stage) const {
  const std::uint64_t needed = word(move, stage);
  return std::all_of(members_.begin(), members_.end(), [&](const Member& each) {
    return each.memory == nullptr || slot(each, move).word.load(std::memory_order_acquire) >= needed;
  });
}

bool TeamWindows::all_soon(std::uint64_t move, Stage stage) const {
  for (int i = 0; i < 32; ++i) {
    if (all(move, stage)) return true;
    kernels::relax();
  }
  return false;
}

std::vector<int> TeamWindows::late(std::uint64_t move, Stage stage) const {
  const std::uint64_t needed = word(move, stage);
  std::vector<int> ranks;
  for (const Member& each : members_) {
    if (each.memory != nullptr && slot(each, move).word.load(std::memory_order_acquire) < needed)
      ranks.push_back(each.rank);
  }
  return ranks;
}

void TeamWindows::check(std::uint64_t move) const {
  const Slot& mine = slot(member(place_), move);
  for (const Member& each : members_) {
    if (each.memory == nullptr) continue;
    const Slot& theirs = slot(each, move);
    const bool same_text = std::strncmp(mine.operation, theirs.operation, kText) == 0;
    RIESZ_CHECK(same_text && mine.digest == theirs.digest, "the workers' programs differ: in move ", move + 1,
                " on a buffer with rank ", each.rank, " this worker is in ", mine.operation, ", rank ",
                each.rank, " in ", theirs.operation,
                mine.digest == theirs.digest ? "" : ", of another kind or other pieces",
                "; every worker must begin the same moves in the same order");
  }
}

}  // namespace riesz
