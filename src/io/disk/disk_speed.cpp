// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/disk_speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <thread>

#include "riesz/comm/error.h"
#include "riesz/comm/wait.h"
#include "riesz/io/disk/disk_memory.h"
#include "riesz/io/disk/transfers.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWhat = "the trial of a disk";
/// Between two looks at what a disk does.
constexpr std::chrono::microseconds kLook(50);

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Transfers of one memory from or to neighbouring places of a file.
class Trial {
 public:
  Trial(DiskTransfers& transfers, std::shared_ptr<const UnnamedFile> file, std::int64_t page)
      : transfers_(transfers), file_(std::move(file)), page_(page), memory_(disk_memory(kWhat, page)) {
    std::mt19937_64 draw(1);  // a file system may leave out zeros
    for (std::int64_t at = 0; at + 8 <= page_; at += 8) {
      const std::uint64_t number = draw();
      std::memcpy(memory_.get() + at, &number, sizeof number);
    }
  }

  /// Moves bytes up to `end`, or for so long. Returns those that were moved.
  std::int64_t move(bool writes, std::int64_t end, double seconds, std::size_t at_once) {
    const auto begin = Clock::now();
    std::int64_t at = 0;
    for (; at + page_ <= end && seconds_since(begin) < seconds; at += page_) {
      if (under_way_.size() == at_once) settle(writes);
      under_way_.push_back(transfers_.begin({file_, writes, at, memory_, page_}));
    }
    while (!under_way_.empty()) settle(writes);
    return at;
  }

 private:
  /// The first one under way.
  void settle(bool writes) {
    std::optional<DiskTransferEnd> end;
    const auto done = [&] {
      if (!(end = transfers_.ended(under_way_.front()))) std::this_thread::sleep_for(kLook);
      return end.has_value();
    };
    if (!done()) wait_here(kWhat, done, [] { return std::vector<int>(); });
    under_way_.pop_front();
    RIESZ_CHECK(end->moved == page_, file_->cannot(writes ? "write" : "read"),
                end->reason != 0 ? std::strerror(end->reason) : "it ends too early",
                "; choose another folder");
  }

  DiskTransfers& transfers_;
  std::shared_ptr<const UnnamedFile> file_;
  std::int64_t page_;
  std::shared_ptr<std::byte> memory_;
  std::deque<std::uint64_t> under_way_;
};

/// What the page cache holds is written, and forgotten.
void leave_page_cache(const UnnamedFile& file) {
  if (file.direct()) return;
  ::fdatasync(file.number());
  ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace

DiskSpeed measure_disk(const std::filesystem::path& folder, const DiskOptions& options,
                       const DiskTrial& trial) {
  const auto transfers = transfers_by(options.by, options.depth);
  make_folders(absolute_path(folder));
  const std::int64_t bytes = std::max(trial.bytes / options.page_bytes, std::int64_t{1}) * options.page_bytes;
  const auto file = std::make_shared<const UnnamedFile>(kWhat, absolute_path(folder), bytes);
  Trial one(*transfers, file, options.page_bytes);
  const auto rate = [&](bool writes, std::int64_t end) {
    const auto begin = Clock::now();
    const std::int64_t moved = one.move(writes, end, trial.seconds, 2 * options.depth + 1);
    if (writes) leave_page_cache(*file);
    return std::pair(moved, static_cast<double>(moved) / seconds_since(begin));
  };
  const auto [written, write] = rate(true, bytes);
  return {write, rate(false, written).second};
}

}  // namespace riesz
