// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/activations_on_disk.h"

#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/disk/disk_memory.h"
#include "riesz/io/disk/free_room.h"
#include "riesz/io/disk/transfers.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

/// Of a worker.
constexpr std::size_t kThreads = 4;

/// Memory of LibTorch's that begins at a line.
std::shared_ptr<std::byte> aligned(std::int64_t bytes) {
  auto memory = std::make_shared<c10::DataPtr>(
      c10::GetCPUAllocator()->allocate(static_cast<std::size_t>(bytes + kDiskLine)));
  void* begin = memory->get();
  auto room = static_cast<std::size_t>(bytes + kDiskLine);
  std::align(static_cast<std::size_t>(kDiskLine), static_cast<std::size_t>(bytes), begin, room);
  return {std::move(memory), static_cast<std::byte*>(begin)};
}

/// What is on the disk, and what becomes of it there.
class ActivationFile {
 public:
  ActivationFile(const std::filesystem::path& folder, std::shared_ptr<DiskTransfers> transfers)
      : folder_(folder),
        transfers_(std::move(transfers)),
        file_(std::make_shared<UnnamedFile>("activations", folder, kDiskLine)) {}

  /// Room for so many bytes. Waits for transfers of bytes that nobody needs, so the file does not grow for
  /// them.
  std::int64_t take(std::int64_t count) {
    for (const Ending& each : std::exchange(ending_, {})) {
      await_end(*transfers_, each.number, [] { return std::string("activations: write of what is gone"); });
      room_.give(each.at, each.count);
    }
    const std::int64_t at = room_.take(count);
    if (room_.end() > file_->bytes()) file_->grow(room_.end());
    return at;
  }
  void give(std::int64_t at, std::int64_t count) { room_.give(at, count); }
  void give_after(std::uint64_t number, std::int64_t at, std::int64_t count) {
    ending_.push_back({number, at, count});
    take_ends();
  }

  std::uint64_t begin(bool writes, std::int64_t at, const std::shared_ptr<std::byte>& memory,
                      std::int64_t count) {
    if (!failed_.empty()) throw_error(failed_);
    (writes ? moved_.written : moved_.read) += count;
    return transfers_->begin({file_, writes, at, memory, count});
  }
  void settle(std::uint64_t number, bool reads, std::int64_t at, std::int64_t count) {
    const DiskTransferEnd end = await_end(*transfers_, number, [&] {
      return concat("activations: ", reads ? "read" : "write", " of ", count, " bytes");
    });
    if (end.moved == count) return;
    failed_ = what_went_wrong(end, at, reads, *file_) +
              "; what blocks saved for backward is lost, so go on from the last checkpoint";
    throw_error(failed_);
  }

  const MovedBytes& moved() const { return moved_; }
  std::int64_t bytes() const { return room_.end(); }
  std::string describe() const {
    return concat("the disk of ", in_quotes(folder_.string()), " (", transfers_->name(),
                  file_->direct() ? ", past the page cache)" : ", through the page cache)");
  }

 private:
  /// A transfer that goes on, of bytes that nobody needs.
  struct Ending {
    std::uint64_t number;
    std::int64_t at, count;
  };

  void take_ends() {
    std::erase_if(ending_, [this](const Ending& each) {
      if (!transfers_->ended(each.number)) return false;
      room_.give(each.at, each.count);
      return true;
    });
  }

  std::filesystem::path folder_;
  std::shared_ptr<DiskTransfers> transfers_;
  std::shared_ptr<UnnamedFile> file_;
  FreeRoom room_;
  std::vector<Ending> ending_;
  MovedBytes moved_;
  std::string failed_;  // why
};

class OnDisk : public PlacedMemory {
 public:
  OnDisk(std::shared_ptr<ActivationFile> file, const at::Storage& memory)
      : file_(std::move(file)),
        bytes_(memory.nbytes()),
        count_(disk_lines(static_cast<std::int64_t>(bytes_))),
        at_(file_->take(count_)) {
    memory_ = aligned(count_);
    std::memcpy(memory_.get(), memory.data(), bytes_);
    std::memset(memory_.get() + bytes_, 0, static_cast<std::size_t>(count_) - bytes_);
    begin(Does::writing);
  }
  ~OnDisk() override {
    if (does_ == Does::nothing)
      file_->give(at_, count_);
    else
      file_->give_after(transfer_, at_, count_);
  }

  void let_go() override {
    settle();
    memory_.reset();
  }
  void expect() override {
    if (memory_) return;
    memory_ = aligned(count_);
    begin(Does::reading);
  }
  /// What is still written is here as well.
  at::Storage bring() override {
    expect();
    if (does_ == Does::reading) settle();
    auto* const held = new std::shared_ptr<std::byte>(std::move(memory_));
    c10::DataPtr data(
        held->get(), held, [](void* all) { delete static_cast<std::shared_ptr<std::byte>*>(all); },
        at::Device(at::kCPU));
    return {at::Storage::use_byte_size_t(), bytes_, std::move(data), c10::GetCPUAllocator(), true};
  }

 private:
  enum class Does { nothing, reading, writing };

  void begin(Does what) {
    transfer_ = file_->begin(what == Does::writing, at_, memory_, count_);
    does_ = what;
  }
  void settle() {
    if (does_ == Does::nothing) return;
    const bool reads = std::exchange(does_, Does::nothing) == Does::reading;
    file_->settle(transfer_, reads, at_, count_);
  }

  std::shared_ptr<ActivationFile> file_;
  std::size_t bytes_;
  std::int64_t count_, at_;
  std::shared_ptr<std::byte> memory_;
  Does does_ = Does::nothing;
  std::uint64_t transfer_ = 0;  // of what it does
};

class ActivationsOnDisk : public ActivationPlace {
 public:
  ActivationsOnDisk(const std::vector<std::filesystem::path>& folders,
                    const std::shared_ptr<DiskTransfers>& transfers) {
    RIESZ_CHECK(!folders.empty(), "activations_on_disk: no folder; it needs one or more");
    for (const std::filesystem::path& folder : folders) {
      const std::filesystem::path path = absolute_path(folder);
      make_folders(path);
      files_.push_back(std::make_shared<ActivationFile>(path, transfers));
    }
  }

  std::unique_ptr<PlacedMemory> put(const at::Storage& memory) override {
    RIESZ_CHECK(memory.device().is_cpu(), "activations of ", memory.device(), " cannot lie on ", describe(),
                ", which takes those of the CPU; leave their offload out");
    return std::make_unique<OnDisk>(files_[turn_++ % files_.size()], memory);
  }
  MovedBytes moved() const override {
    MovedBytes sum;
    for (const auto& file : files_) sum.written += file->moved().written, sum.read += file->moved().read;
    return sum;
  }
  std::int64_t bytes() const override {
    std::int64_t sum = 0;
    for (const auto& file : files_) sum += file->bytes();
    return sum;
  }
  std::string describe() const override {
    std::string text = files_.front()->describe();
    for (std::size_t i = 1; i < files_.size(); ++i) text += " and " + files_[i]->describe();
    return text;
  }

 private:
  std::vector<std::shared_ptr<ActivationFile>> files_;
  std::size_t turn_ = 0;
};

}  // namespace

std::shared_ptr<ActivationPlace> activations_on_disk(const std::filesystem::path& folder, DiskBy by) {
  return activations_on_disk(std::vector<std::filesystem::path>{folder}, by);
}

std::shared_ptr<ActivationPlace> activations_on_disk(const std::vector<std::filesystem::path>& folders,
                                                     DiskBy by) {
  return detail::activations_on_disk(folders, detail::disk_transfers(by, kThreads));
}

std::shared_ptr<ActivationPlace> detail::activations_on_disk(
    const std::vector<std::filesystem::path>& folders, std::shared_ptr<DiskTransfers> transfers) {
  return std::make_shared<ActivationsOnDisk>(folders, transfers);
}

}  // namespace riesz
