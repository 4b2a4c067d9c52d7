// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/io/disk/transfers.h"

namespace riesz {
namespace {

/// The most bytes of one request, whose length has 32 bits.
constexpr std::int64_t kMost = std::int64_t{1} << 30;

/// A number of the ring that the kernel writes, or reads.
std::uint32_t seen(std::uint32_t* number) {
  return std::atomic_ref<std::uint32_t>(*number).load(std::memory_order_acquire);
}
void show(std::uint32_t* number, std::uint32_t value) {
  std::atomic_ref<std::uint32_t>(*number).store(value, std::memory_order_release);
}

/// Memory that a process shares with the kernel.
class Mapped {
 public:
  Mapped() = default;
  Mapped(int file, std::uint64_t offset, std::size_t bytes) : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file,
                     static_cast<off_t>(offset));
  }
  ~Mapped() {
    if (*this) ::munmap(memory_, bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  explicit operator bool() const { return memory_ != MAP_FAILED; }
  template <typename T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(memory_) + offset);
  }

 private:
  void* memory_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

/// A file of the system's, closed when this is destroyed.
struct Ring {
  Ring(unsigned entries, io_uring_params& p)
      : file(static_cast<int>(::syscall(__NR_io_uring_setup, entries, &p))) {}
  ~Ring() {
    if (file >= 0) ::close(file);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Returns 0, or the system's reason (errno).
  int enter(unsigned requests, unsigned flags = 0) const {
    return ::syscall(__NR_io_uring_enter, file, requests, 0, flags, nullptr, 0) < 0 ? errno : 0;
  }

  int file;
};

/// What is under way: a transfer, and how far it is.
struct UnderWay {
  DiskTransfer transfer;
  std::int64_t moved = 0;
};

class ByUring : public DiskTransfers {
 public:
  explicit ByUring(unsigned entries)
      : ring_(entries, about_),
        queues_(ring_.file, IORING_OFF_SQ_RING, queue_bytes()),
        requests_(ring_.file, IORING_OFF_SQES, std::size_t{about_.sq_entries} * sizeof(io_uring_sqe)) {}

  /// Asks for nothing more. Where a disk holds transfers up, their memory and files are left to the kernel.
  ~ByUring() override {
    constexpr int kLooks = 1000;
    for (int i = 0; i < kLooks && !under_way_.empty(); ++i) {
      take_ends();
      for (const std::uint64_t number : std::exchange(to_ask_, {})) under_way_.erase(number);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!under_way_.empty()) new std::map<std::uint64_t, UnderWay>(std::move(under_way_));
  }

  /// Does the kernel allow it, and know reads and writes as they are asked for here (Linux 5.11)?
  bool works() const {
    constexpr unsigned kNeeded = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
    return ring_.file >= 0 && (about_.features & kNeeded) == kNeeded && queues_ && requests_;
  }

  std::uint64_t begin(DiskTransfer transfer) override {
    under_way_.emplace(++last_, UnderWay{std::move(transfer)});
    to_ask_.push_back(last_);
    ask_all();
    return last_;
  }

  std::optional<DiskTransferEnd> ended(std::uint64_t number) override {
    take_ends();
    ask_all();
    const auto found = ended_.find(number);
    if (found == ended_.end()) return std::nullopt;
    const DiskTransferEnd end = found->second;
    ended_.erase(found);
    return end;
  }

  const char* name() const override { return "io_uring"; }

 private:
  std::size_t queue_bytes() const {
    return std::max<std::size_t>(about_.sq_off.array + about_.sq_entries * sizeof(std::uint32_t),
                                 about_.cq_off.cqes + about_.cq_entries * sizeof(io_uring_cqe));
  }

  std::uint32_t* number_at(std::uint32_t offset) const { return queues_.at<std::uint32_t>(offset); }

  /// For all that is to be asked for. What the kernel has no room for now is asked for at the next call.
  void ask_all() {
    for (const std::uint64_t number : std::exchange(to_ask_, {})) ask(number);
  }

  /// For what a transfer still has to move. The ring holds this request alone. If the kernel refuses it, it
  /// is taken back.
  void ask(std::uint64_t number) {
    const UnderWay& one = under_way_.at(number);
    const std::uint32_t tail = *number_at(about_.sq_off.tail);
    const std::uint32_t at = tail & *number_at(about_.sq_off.ring_mask);
    io_uring_sqe& request = requests_.at<io_uring_sqe>(0)[at];
    std::memset(&request, 0, sizeof request);
    request.opcode = one.transfer.writes ? IORING_OP_WRITE : IORING_OP_READ;
    request.fd = one.transfer.file->number();
    request.off = static_cast<std::uint64_t>(one.transfer.at + one.moved);
    request.addr = reinterpret_cast<std::uint64_t>(one.transfer.memory.get() + one.moved);
    request.len = static_cast<std::uint32_t>(std::min(one.transfer.count - one.moved, kMost));
    request.user_data = number;
    number_at(about_.sq_off.array)[at] = at;
    show(number_at(about_.sq_off.tail), tail + 1);
    const int reason = ring_.enter(1);
    if (reason == 0 || seen(number_at(about_.sq_off.head)) != tail) return;
    show(number_at(about_.sq_off.tail), tail);
    if (reason == EINTR || reason == EAGAIN || reason == EBUSY)
      to_ask_.push_back(number);
    else
      finish(number, reason);
  }

  /// Those in the ring, and those for which it had no room: the kernel gives them only to who asks.
  void take_ends() {
    bool some = take_ends_of_ring();
    while (some && (seen(number_at(about_.sq_off.flags)) & IORING_SQ_CQ_OVERFLOW) != 0) {
      ring_.enter(0, IORING_ENTER_GETEVENTS);
      some = take_ends_of_ring();
    }
  }

  /// Were there any?
  bool take_ends_of_ring() {
    std::uint32_t* const head = number_at(about_.cq_off.head);
    const std::uint32_t mask = *number_at(about_.cq_off.ring_mask);
    const std::uint32_t before = *head;
    while (*head != seen(number_at(about_.cq_off.tail))) {
      const io_uring_cqe end = queues_.at<io_uring_cqe>(about_.cq_off.cqes)[*head & mask];
      show(head, *head + 1);
      take(end.user_data, end.res);
    }
    return *head != before;
  }

  /// `result`: the bytes that were moved, or the system's reason, negative.
  void take(std::uint64_t number, std::int32_t result) {
    UnderWay& one = under_way_.at(number);
    if (result > 0) one.moved += result;
    // The kernel cancels what a thread has asked for when that thread ends.
    const bool asks_again = result == -EINTR || result == -EAGAIN || result == -ECANCELED;
    const bool again = asks_again || (result > 0 && one.moved < one.transfer.count);
    if (again) return to_ask_.push_back(number);
    // Behind a part of a line, a file that bypasses the page cache says EINVAL instead of its end.
    const bool ends = result == -EINVAL && one.moved % kDiskLine != 0;
    finish(number, result < 0 && !ends ? -result : 0);
  }

  void finish(std::uint64_t number, int reason) {
    ended_.emplace(number, DiskTransferEnd{under_way_.at(number).moved, reason});
    under_way_.erase(number);
  }

  io_uring_params about_{};
  Ring ring_;
  Mapped queues_;
  Mapped requests_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, UnderWay> under_way_;
  std::map<std::uint64_t, DiskTransferEnd> ended_;
  std::vector<std::uint64_t> to_ask_;  // of those under way, what the kernel does not have
};

}  // namespace

std::shared_ptr<DiskTransfers> transfers_by_uring(unsigned entries) {
  auto made = std::make_shared<ByUring>(entries);
  return made->works() ? made : nullptr;
}

}  // namespace riesz
