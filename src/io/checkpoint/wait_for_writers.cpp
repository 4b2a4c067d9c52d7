// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/wait_for_writers.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"
#include "riesz/comm/wait.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kShortestPause(50), kLongestPause(50'000);
/// A round that takes longer finds workers that were stopped, which is no waiting.
constexpr std::chrono::seconds kLongestRound(1);

constexpr const char* kOver = "over";
constexpr const char* kWaits = "waits";

std::string state_of(const WriteProgress& progress) {
  return progress.at_work() ? std::to_string(progress.pieces()) : kWaits;
}

[[noreturn]] void end_for(int rank, const std::string& what) {
  end_job(concat("[rank ", Runtime::rank(), " of ", Runtime::size(), "] rank ", rank, " writes ", what,
                 ", and has written nothing for ", deadline().count(),
                 " s, past the deadline (RIESZ_DEADLINE); look at the disk of its host"));
}

}  // namespace

void wait_for_writers(const Partition& P, const std::string& what, const WriteProgress& progress,
                      const std::function<bool(std::chrono::microseconds pause)>& over) {
  std::vector<std::string> before(static_cast<std::size_t>(P.size()));
  std::vector<std::chrono::duration<double>> still(before.size());
  Clock::time_point last = Clock::now();
  for (auto pause = kShortestPause;; pause = std::min(2 * pause, kLongestPause)) {
    const bool mine = over(pause);
    const std::vector<std::string> now = collect_texts(P, mine ? kOver : state_of(progress));
    if (std::all_of(now.begin(), now.end(), [](const std::string& text) { return text == kOver; })) return;
    const Clock::time_point time = Clock::now();
    const auto round = std::min<Clock::duration>(time - std::exchange(last, time), kLongestRound);
    for (std::size_t r = 0; r < now.size(); ++r) {
      const bool writes = now[r] != kOver && now[r] != kWaits && now[r] == before[r];
      still[r] = writes ? still[r] + std::chrono::duration<double>(round) : std::chrono::duration<double>(0);
      if (deadline().count() > 0 && still[r] > deadline()) end_for(P.world_rank(static_cast<int>(r)), what);
    }
    before = now;
  }
}

void write_together(const Partition& P, const std::string& what, WriteProgress& progress,
                    const std::function<void()>& part) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr thrown;
  progress.set_at_work(true);
  Thread thread([&] {
    try {
      part();
    } catch (...) {
      thrown = std::current_exception();
    }
    progress.set_at_work(false);
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  });
  wait_for_writers(P, what, progress, [&](std::chrono::microseconds pause) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, pause, [&] { return done; });
  });
  thread.join();
  all_or_none(P, [&] {
    if (thrown) std::rethrow_exception(thrown);
  });
}

}  // namespace riesz
