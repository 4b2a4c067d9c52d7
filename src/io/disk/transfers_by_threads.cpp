// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/thread.h"
#include "riesz/io/disk/transfers.h"

namespace riesz {
namespace {

DiskTransferEnd moved(const DiskTransfer& t) {
  DiskTransferEnd end;
  while (end.moved < t.count) {
    std::byte* const memory = t.memory.get() + end.moved;
    const auto left = static_cast<std::size_t>(t.count - end.moved);
    const ssize_t done = t.writes ? ::pwrite(t.file->number(), memory, left, t.at + end.moved)
                                  : ::pread(t.file->number(), memory, left, t.at + end.moved);
    if (done < 0 && errno == EINTR) continue;
    // Behind a part of a line, a file that bypasses the page cache says EINVAL instead of its end.
    if (done < 0 && errno == EINVAL && end.moved % kDiskLine != 0) break;
    if (done < 0) end.reason = errno;
    if (done <= 0) break;
    end.moved += done;
  }
  return end;
}

/// What the threads share with who uses them.
struct Work {
  std::mutex mutex;
  std::condition_variable more;
  std::deque<std::pair<std::uint64_t, DiskTransfer>> waiting;
  std::map<std::uint64_t, DiskTransferEnd> ended;
  std::size_t under_way = 0;
  bool over = false;

  bool idle() {
    const std::lock_guard lock(mutex);
    return under_way == 0 && waiting.empty();
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      more.wait(lock, [this] { return over || !waiting.empty(); });
      if (waiting.empty()) return;
      const auto [number, transfer] = std::move(waiting.front());
      waiting.pop_front();
      ++under_way;
      lock.unlock();
      const DiskTransferEnd end = moved(transfer);
      lock.lock();
      --under_way;
      ended.emplace(number, end);
    }
  }
};

class ByThreads : public DiskTransfers {
 public:
  explicit ByThreads(std::size_t threads) : work_(std::make_shared<Work>()) {
    threads_.reserve(threads);
    try {
      for (std::size_t i = 0; i < threads; ++i)
        threads_.push_back(start_thread([work = work_] { work->run(); }));
    } catch (...) {
      stop();  // those that the system has given
      throw;
    }
  }

  ~ByThreads() override { stop(); }

  std::uint64_t begin(DiskTransfer transfer) override {
    {
      const std::lock_guard lock(work_->mutex);
      work_->waiting.emplace_back(++last_, std::move(transfer));
    }
    work_->more.notify_one();
    return last_;
  }

  std::optional<DiskTransferEnd> ended(std::uint64_t number) override {
    const std::lock_guard lock(work_->mutex);
    const auto found = work_->ended.find(number);
    if (found == work_->ended.end()) return std::nullopt;
    const DiskTransferEnd end = found->second;
    work_->ended.erase(found);
    return end;
  }

  const char* name() const override { return "threads"; }

 private:
  /// Leaves threads to themselves that a disk holds up for a second.
  void stop() {
    {
      const std::lock_guard lock(work_->mutex);
      work_->over = true;
    }
    work_->more.notify_all();
    constexpr int kLooks = 1000;
    for (int i = 0; i < kLooks && !work_->idle(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const bool idle = work_->idle();
    for (std::thread& thread : threads_) idle ? thread.join() : thread.detach();
  }

  std::shared_ptr<Work> work_;
  std::vector<std::thread> threads_;
  std::uint64_t last_ = 0;
};

}  // namespace

std::shared_ptr<DiskTransfers> transfers_by_threads(std::size_t threads) {
  return std::make_shared<ByThreads>(threads);
}

}  // namespace riesz
