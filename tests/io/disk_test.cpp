// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Pages on a disk: what was written is read, by io_uring and by threads; what goes wrong is said; nothing
// stays.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "riesz/io/disk/disk_pages.h"
#include "riesz/io/disk/disk_place.h"
#include "riesz/io/disk/disk_speed.h"
#include "riesz/io/disk/free_room.h"
#include "riesz/testing/error.h"
#include "temporary_folder.h"

namespace riesz {
namespace {

using testing::TemporaryFolder;

/// By io_uring, where this kernel allows it, and by threads.
std::vector<std::shared_ptr<DiskTransfers>> all_transfers() {
  std::vector<std::shared_ptr<DiskTransfers>> all{transfers_by_threads(3)};
  if (auto uring = transfers_by_uring()) all.push_back(uring);
  return all;
}

/// Sizes that no line divides, too.
const std::vector<std::int64_t> kSizes{4096, 8192, 64, 8000, 4097, 12288, 8192, 128};

void expect_holds(DiskPages& pages, std::size_t page, int value) {
  const at::Tensor bytes = pages.bring(page);
  EXPECT_TRUE(at::equal(bytes, at::full({kSizes[page]}, value, at::kByte))) << "page " << page;
  pages.let_go(page, false);
}

TEST(DiskPages, HoldWhatWasWritten) {
  const TemporaryFolder folder;
  for (const auto& transfers : all_transfers()) {
    for (const std::size_t depth : {0, 1, 2, 7}) {
      SCOPED_TRACE(std::string(transfers->name()) + ", depth " + std::to_string(depth));
      DiskPages pages("test", {folder.path()}, kSizes, depth, transfers);
      for (std::size_t page = 0; page < kSizes.size(); ++page) expect_holds(pages, page, 0);
      for (int round = 1; round < 4; ++round) {
        for (std::size_t page = 0; page < kSizes.size(); ++page) {
          for (std::size_t ahead = 0; ahead <= depth; ++ahead) pages.expect((page + ahead) % kSizes.size());
          const at::Tensor bytes = pages.bring(page);
          EXPECT_TRUE(at::equal(bytes, at::full({kSizes[page]}, round - 1, at::kByte))) << "page " << page;
          bytes.fill_(round);
          pages.let_go(page, true);
        }
      }
      for (const std::size_t page : {5, 0, 7, 3, 3, 1, 6, 2, 4}) expect_holds(pages, page, 3);
    }
  }
}

/// The kernel keeps those for which its queue has no room.
TEST(DiskTransfers, MayBeMoreThanTheQueueOfEndsHolds) {
  const TemporaryFolder folder;
  const auto transfers = transfers_by_uring(1);  // two ends
  if (!transfers) return;
  const auto file = std::make_shared<const UnnamedFile>("test", folder.path(), 16 * kDiskLine);
  const std::shared_ptr<std::byte> line(static_cast<std::byte*>(std::aligned_alloc(kDiskLine, kDiskLine)),
                                        std::free);
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 16; ++i)
    numbers.push_back(transfers->begin({file, true, i * kDiskLine, line, kDiskLine}));
  for (const std::uint64_t number : numbers) {
    std::optional<DiskTransferEnd> end;
    for (int i = 0; i < 1000 && !end; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      end = transfers->ended(number);
    }
    ASSERT_TRUE(end);
    EXPECT_EQ(end->moved, kDiskLine);
  }
}

TEST(DiskPages, TakeTheBytesOfTheirLines) {
  const TemporaryFolder folder;
  const DiskPages pages("test", {folder.path()}, kSizes, 1, transfers_by_threads(1));
  EXPECT_EQ(pages.bytes(), (1 + 2 + 1 + 2 + 2 + 3 + 2 + 1) * 4096);
  EXPECT_EQ(pages.bytes_in_memory(), 3 * 3 * 4096);
}

/// One is on a disk that fails.
TEST(DiskPages, GoToSeveralFoldersInTurns) {
  const TemporaryFolder first, second, third;
  DiskPages pages("AdamW: first", {first.path(), second.path(), third.path()}, kSizes, 1,
                  transfers_by_threads(2));
  EXPECT_EQ(pages.file(0).bytes(), (1 + 2 + 2) * 4096);
  EXPECT_EQ(pages.file(1).bytes(), (2 + 2 + 1) * 4096);
  EXPECT_EQ(pages.file(2).bytes(), (1 + 3) * 4096);
  EXPECT_EQ(pages.bytes(), 14 * 4096);
  for (std::size_t page = 0; page < kSizes.size(); ++page) {
    pages.bring(page).fill_(static_cast<std::int64_t>(page) + 1);
    pages.let_go(page, true);
  }
  for (const std::size_t page : {5, 0, 7, 3, 1, 6, 2, 4})
    expect_holds(pages, page, static_cast<int>(page) + 1);
  ASSERT_EQ(::ftruncate(pages.file(1).number(), 0), 0);
  expect_holds(pages, 0, 1);
  expect_holds(pages, 2, 3);
  expect_holds(pages, 3, 4);
  expect_holds(pages, 5, 6);
  expect_holds(pages, 6, 7);
  EXPECT_ERROR(pages.bring(1), "cannot read its file in ", second.path().string(), "it was cut off");

  const auto place = disk_place({first.path(), second.path()}, {.by = DiskBy::threads});
  for (const TemporaryFolder* folder : {&first, &second})
    EXPECT_NE(place->describe().find(folder->path().string()), std::string::npos);
}

/// So a disk moves them in few requests.
TEST(DiskPages, OfAnyLengthBeginAtAHugeOne) {
  const TemporaryFolder folder;
  constexpr std::int64_t kHuge = std::int64_t{2} << 20;
  DiskPages pages("test", {folder.path()}, {2 * kHuge, 3 * kHuge}, 1, transfers_by_threads(1));
  for (const std::size_t page : {0, 1}) {
    const at::Tensor bytes = pages.bring(page);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data_ptr()) % kHuge, 0U);
    bytes[bytes.numel() - 1] = 7;
    pages.let_go(page, true);
  }
  EXPECT_EQ(pages.bring(1)[3 * kHuge - 1].item<int>(), 7);
}

TEST(DiskSpeed, IsMeasuredInAShortTime) {
  const TemporaryFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  const DiskSpeed speed = measure_disk(folder.path() / "made", {.page_bytes = 4096}, {.seconds = 0.02});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_GT(speed.write, 0);
  EXPECT_GT(speed.read, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "made"));
  EXPECT_ERROR(measure_disk(folder.path(), {}, {.bytes = std::int64_t{1} << 50}),
               "the trial of a disk: cannot reserve ", folder.path().string());
}

/// Also not of a process that is killed.
TEST(DiskPages, LeaveNothing) {
  const TemporaryFolder folder;
  const auto place = disk_place(folder.path() / "made");
  const auto pages = place->room("test", kSizes);
  pages->bring(1).fill_(1);
  pages->let_go(1, true);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "made"));

  const pid_t child = ::fork();
  if (child == 0) {
    const UnnamedFile file("test", folder.path(), 8192);
    if (::pwrite(file.number(), "x", 0, 0) == 0) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  std::filesystem::remove(folder.path() / "made");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(DiskPages, OfAFileThatWasCutOffAreAnError) {
  const TemporaryFolder folder;
  for (const auto& transfers : all_transfers()) {
    DiskPages pages("AdamW: first", {folder.path()}, kSizes, 0, transfers);
    for (const std::size_t page : {3, 0}) {
      pages.bring(page).fill_(1);
      pages.let_go(page, true);
    }
    pages.bring(1);  // the file has both
    pages.let_go(1, false);
    ASSERT_EQ(::ftruncate(pages.file().number(), 4 * 4096 + 512), 0);
    EXPECT_ERROR(pages.bring(3), "AdamW: first: cannot read its file in ", folder.path().string(),
                 "it was cut off: it ends at byte 16896 of ", "go on from the last checkpoint");
  }
}

TEST(UnnamedFile, GrowsAsLongAsThereIsRoom) {
  const TemporaryFolder folder;
  UnnamedFile file("test", folder.path(), 4096);
  file.grow(12288);
  EXPECT_EQ(file.bytes(), 12288);
  const std::int64_t tebibyte = std::int64_t{1} << 40;
  EXPECT_ERROR(file.grow(12288 + 1000 * tebibyte), "test: cannot reserve 1099511627776000 bytes in ",
               "No space left on device", "make room there");
  EXPECT_EQ(file.bytes(), 12288);
}

TEST(FreeRoom, IsUsedAgain) {
  FreeRoom room;
  EXPECT_EQ(room.take(10), 0);
  EXPECT_EQ(room.take(20), 10);
  EXPECT_EQ(room.take(30), 30);
  EXPECT_EQ(room.take(20), 60);
  EXPECT_EQ(room.end(), 80);
  room.give(10, 20), room.give(60, 20), room.give(0, 10);  // 0 to 30 and 60 to 80 are free
  EXPECT_EQ(room.take(25), 0);
  EXPECT_EQ(room.take(6), 60);
  EXPECT_EQ(room.take(5), 25);
  EXPECT_EQ(room.take(20), 66);  // and more at the end
  EXPECT_EQ(room.end(), 86);
  room.give(30, 30), room.give(25, 5), room.give(0, 25), room.give(66, 20), room.give(60, 6);
  EXPECT_EQ(room.take(86), 0);
  EXPECT_EQ(room.end(), 86);
}

TEST(DiskPages, ThatHaveNoRoomAreAnError) {
  const TemporaryFolder folder;
  const std::int64_t tebibyte = std::int64_t{1} << 40;
  EXPECT_ERROR(
      DiskPages("AdamW: first", {folder.path()}, {tebibyte, 1000 * tebibyte}, 0, all_transfers().front()),
      "AdamW: first: cannot reserve 1100611139403776 bytes in ", folder.path().string(),
      "No space left on device, its file system has room for ", "make room there");
  EXPECT_ERROR(disk_place("/proc"), "cannot make its file in \"/proc\": ", "choose another folder");
}

/// A disk on which transfers end as a test says, and in memory.
class BadDisk : public DiskTransfers {
 public:
  std::uint64_t begin(DiskTransfer transfer) override {
    under_way_.push_back(transfer.writes);
    return under_way_.size() - 1;
  }
  std::optional<DiskTransferEnd> ended(std::uint64_t number) override {
    if (looks_ > 0 && --looks_ > 0) return std::nullopt;
    return under_way_[number] ? write : read;
  }
  const char* name() const override { return "a bad disk"; }

  DiskTransferEnd read{4096, 0}, write{4096, 0};
  void be_slow() { looks_ = 1000; }

 private:
  std::vector<bool> under_way_;
  int looks_ = 0;
};

/// Two pages, of which one is in memory, written in turns until the disk is bad.
struct OnBadDisk {
  OnBadDisk() { write(0), write(1), disk->be_slow(), write(0); }
  void write(std::size_t page) {
    pages.bring(page);
    pages.let_go(page, true);
  }

  TemporaryFolder folder;
  std::shared_ptr<BadDisk> disk = std::make_shared<BadDisk>();
  DiskPages pages{"AdamW: second", {folder.path()}, {4096, 4096}, 0, disk};
};

TEST(DiskPages, SayWhatWentWrong) {
  OnBadDisk reads, full, takes_less;
  reads.disk->read = {512, EIO};
  EXPECT_ERROR(reads.write(1), "AdamW: second: cannot read its file in ",
               "Input/output error, at byte 4608 of 8192", "the optimizer's state is lost");
  reads.disk->read = {4096, 0};
  EXPECT_ERROR(reads.write(1), "Input/output error, at byte 4608 of 8192");  // from then on

  full.disk->write = {0, ENOSPC};
  EXPECT_ERROR(full.write(1), "cannot write its file in ", "No space left on device, at byte 0 of 8192");
  takes_less.disk->write = {2048, 0};
  EXPECT_ERROR(takes_less.write(1), "cannot write its file in ", "it takes no more than byte 2048 of 8192");
}

TEST(DiskPlace, SaysByWhatItIsRead) {
  const TemporaryFolder folder;
  const std::string threads = disk_place(folder.path(), {.by = DiskBy::threads})->describe();
  EXPECT_NE(threads.find("the disk of \"" + folder.path().string() + "\" (threads, "), std::string::npos);
  const std::string any = disk_place(folder.path())->describe();
  EXPECT_NE(any.find(transfers_by_uring() ? "(io_uring, " : "(threads, "), std::string::npos);
  EXPECT_ERROR(disk_place(folder.path(), {.page_bytes = 1000}),
               "a page of 1000 bytes; it must be a multiple");
}

}  // namespace
}  // namespace riesz
