// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/status_board.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "riesz/comm/progress/process_identity.h"
#include "riesz/comm/progress/status_board_memory.h"
#include "riesz/comm/spin_lock.h"
#include "riesz/comm/table_text.h"
#include "riesz/comm/transports/mpi_check.h"

namespace riesz {
namespace {

constexpr std::size_t kText = 160;
constexpr std::size_t kPlace = 1000;  // an error's text is told whole
constexpr std::size_t kPeers = WorkerStatus::kMostPeers;

/// One worker's part. Its threads take turns under a lock of the process; readers look at `version`, odd
/// while it is being written, before and after.
struct Slot {
  std::atomic<std::uint32_t> version;
  int rank;
  ProcessIdentity process;
  std::atomic<bool> finished;
  std::int64_t calls;
  std::int64_t since;  // nanoseconds of the host's steady clock
  int waiting;         // threads of the worker that wait
  int threads;         // that take part in its program
  int peers[kPeers];   // −1: no more
  char operation[kText];
  char note[kText];
  char place[kPlace];
};

struct Shared {
  MPI_Comm host = MPI_COMM_NULL;
  std::unique_ptr<StatusBoardMemory> memory;
  int size = 0;
  std::atomic<int>* reported = nullptr;
  Slot* slots = nullptr;
  Slot* mine = nullptr;
  std::vector<bool> seen;  // by slot: is its process to be seen from here?
};

Shared shared;
SpinLock mutex;

/// A report tells tenths of seconds, and this clock takes a fifth of the time of the exact one.
std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

/// A thread's. By when they began.
struct Waiting {
  std::uint64_t number;
  std::int64_t since;
  std::string_view operation;
  int peers[kPeers];
};
std::uint64_t waits_begun = 0;
std::vector<Waiting> waits;  // under `mutex`
int threads = 1;             // too

template <std::size_t size>
void write(char (&to)[size], std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

/// Under `mutex`.
template <typename Change>
void change(const Change& change) {
  Slot* slot = shared.mine;
  if (slot == nullptr) return;
  // This process alone writes it.
  const std::uint32_t version = slot->version.load(std::memory_order_relaxed);
  slot->version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  change(*slot);
  slot->version.store(version + 2, std::memory_order_release);
}

/// What there is to say of waits: the first is the one that holds up the others, more likely than not.
void show_waits(Slot& slot) {
  slot.waiting = static_cast<int>(waits.size());
  if (waits.empty()) {
    slot.since = now();
    std::fill(std::begin(slot.peers), std::end(slot.peers), -1);
    return;
  }
  const Waiting& first = waits.front();
  slot.since = first.since;
  write(slot.operation, first.operation);
  std::copy(std::begin(first.peers), std::end(first.peers), slot.peers);
}

/// "stopped" or "gone" where the system says so.
std::string process_state_at(int at) {
  return shared.seen[static_cast<std::size_t>(at)] ? state_of(shared.slots[at].process) : "";
}

/// Those of `ranks` on this host of whose slot `holds` is true.
template <typename Holds>
std::vector<int> filtered(const std::vector<int>& ranks, const Holds& holds) {
  std::vector<int> found;
  for (int i = 0; shared.slots != nullptr && i < shared.size; ++i) {
    const int rank = shared.slots[i].rank;
    if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end() && holds(i)) found.push_back(rank);
  }
  return found;
}

WorkerStatus status_of(int at) {
  const Slot& slot = shared.slots[at];
  WorkerStatus status;
  std::int64_t since = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::uint32_t before = slot.version.load(std::memory_order_acquire);
    status.rank = slot.rank;
    status.calls = slot.calls;
    status.operation.assign(slot.operation, strnlen(slot.operation, kText));
    status.note.assign(slot.note, strnlen(slot.note, kText));
    status.place.assign(slot.place, strnlen(slot.place, kPlace));
    status.waiting = slot.waiting;
    status.threads = slot.threads;
    status.waits_for.clear();
    for (const int peer : slot.peers) {
      if (peer >= 0) status.waits_for.push_back(peer);
    }
    since = slot.since;
    std::atomic_thread_fence(std::memory_order_acquire);  // what was read, was before this
    if (before % 2 == 0 && slot.version.load(std::memory_order_relaxed) == before) break;
  }
  status.seconds = static_cast<double>(now() - since) * 1e-9;
  status.finished = slot.finished.load(std::memory_order_acquire);
  status.process = process_state_at(at);
  return status;
}

}  // namespace

void StatusBoard::open() {
  RIESZ_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared.host));
  int rank = 0;
  RIESZ_MPI(MPI_Comm_rank(shared.host, &rank));
  RIESZ_MPI(MPI_Comm_size(shared.host, &shared.size));
  shared.memory = std::make_unique<StatusBoardMemory>(
      shared.host, sizeof(Slot) * static_cast<std::size_t>(shared.size) + sizeof(Slot));
  if (!shared.memory->shared()) {
    rank = 0;
    shared.size = 1;
  }
  std::byte* memory = shared.memory->data();
  if (rank == 0) new (memory) std::atomic<int>(0);
  auto* slots = reinterpret_cast<Slot*>(memory + sizeof(Slot));
  Slot* mine = new (slots + rank) Slot{};
  std::fill(std::begin(mine->peers), std::end(mine->peers), -1);
  MPI_Comm_rank(MPI_COMM_WORLD, &mine->rank);
  mine->process = this_process();
  mine->since = now();
  RIESZ_MPI(MPI_Barrier(shared.host));
  std::vector<bool> seen;
  for (int i = 0; i < shared.size; ++i) seen.push_back(sees(mine->process, slots[i].process));
  const std::lock_guard lock(mutex);
  shared.reported = reinterpret_cast<std::atomic<int>*>(memory);
  shared.slots = slots;
  shared.seen = std::move(seen);
  shared.mine = mine;
  change([](Slot& slot) { slot.threads = threads; });
}

void StatusBoard::close() {
  {
    const std::lock_guard lock(mutex);
    shared.mine = nullptr;
    shared.slots = nullptr;
    shared.reported = nullptr;
  }
  shared.memory = nullptr;
  MPI_Comm_free(&shared.host);
}

void StatusBoard::enter(std::string_view operation) {
  const std::lock_guard lock(mutex);
  change([&](Slot& slot) {
    ++slot.calls;
    if (!waits.empty()) return;
    slot.since = now();
    write(slot.operation, operation);
  });
}

std::uint64_t StatusBoard::wait_begins(const std::string& operation) {
  const std::lock_guard lock(mutex);
  Waiting& wait = waits.emplace_back(Waiting{++waits_begun, now(), operation, {}});
  std::fill(std::begin(wait.peers), std::end(wait.peers), -1);
  change(show_waits);
  return wait.number;
}

void StatusBoard::waits_for(std::uint64_t wait, const std::vector<int>& ranks) {
  const std::lock_guard lock(mutex);
  for (Waiting& each : waits) {
    for (std::size_t i = 0; each.number == wait && i < kPeers; ++i)
      each.peers[i] = i < ranks.size() ? ranks[i] : -1;
  }
  change(show_waits);
}

void StatusBoard::wait_ends(std::uint64_t wait) {
  const std::lock_guard lock(mutex);
  std::erase_if(waits, [&](const Waiting& each) { return each.number == wait; });
  change(show_waits);
}

void StatusBoard::note(std::string_view text) {
  const std::lock_guard lock(mutex);
  change([&](Slot& slot) { write(slot.note, text); });
}

void StatusBoard::place(std::string_view text) {
  const std::lock_guard lock(mutex);
  change([&](Slot& slot) { write(slot.place, text); });
}

void StatusBoard::add_threads(int more) {
  const std::lock_guard lock(mutex);
  threads += more;
  change([](Slot& slot) { slot.threads = threads; });
}

void StatusBoard::finish() {
  const std::lock_guard lock(mutex);
  if (shared.mine != nullptr) shared.mine->finished.store(true, std::memory_order_release);
}

std::vector<int> StatusBoard::unfinished() {
  std::vector<int> found;
  for (int i = 0; shared.slots != nullptr && i < shared.size; ++i) {
    if (!shared.slots[i].finished.load(std::memory_order_acquire)) found.push_back(shared.slots[i].rank);
  }
  return found;
}

std::vector<WorkerStatus> StatusBoard::read() {
  std::vector<WorkerStatus> all;
  for (int i = 0; shared.slots != nullptr && i < shared.size; ++i) all.push_back(status_of(i));
  return all;
}

std::vector<int> StatusBoard::gone(const std::vector<int>& ranks) {
  return filtered(ranks, [](int at) { return process_state_at(at) == "gone"; });
}

std::vector<int> StatusBoard::finished(const std::vector<int>& ranks) {
  return filtered(ranks, [](int at) { return shared.slots[at].finished.load(std::memory_order_acquire); });
}

bool StatusBoard::first_to_report() { return shared.reported == nullptr || shared.reported->exchange(1) == 0; }

bool StatusBoard::has_rank_0() {
  return !filtered({0}, [](int) { return true; }).empty();
}

std::string to_string(const WorkerStatus& status) {
  char since[32];
  std::snprintf(since, sizeof since, "%.1f s", status.seconds);
  std::string text = "rank " + std::to_string(status.rank) + ": ";
  if (!status.note.empty()) text += status.note + ", ";
  if (!status.operation.starts_with(status.place)) text += status.place + ", ";
  text += "call " + std::to_string(status.calls) + ", ";
  if (status.waiting > 0) {
    text += "has waited for " + std::string(since) + " in " + status.operation;
    if (!status.waits_for.empty()) text += ", for rank " + list_text(status.waits_for);
    if (status.waiting > 1) text += ", first of " + std::to_string(status.waiting) + " threads that wait";
  } else {
    text += "outside of any operator for " + std::string(since);
    if (!status.operation.empty()) text += "; its last was " + status.operation;
  }
  if (status.finished) text += "; it has come to its end";
  return text + (status.process.empty() ? "" : "; its process is " + status.process);
}

}  // namespace riesz
