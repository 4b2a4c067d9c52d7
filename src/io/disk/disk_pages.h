// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/disk/transfers.h"
#include "riesz/optim/pages.h"

namespace riesz {

/// Pages of unnamed files, one in each folder, which take the pages in turns. At most 2·depth + 1 pages are
/// in memory: one that is used, `depth` that are read ahead and `depth` that are written behind. A wait for
/// the disk is on the status board and has the deadline of all waits. The call that next needs the memory of
/// a failed transfer throws its error, and so do all calls after that.
class DiskPages : public Pages {
 public:
  /// @throws Error as UnnamedFile.
  DiskPages(std::string what, const std::vector<std::filesystem::path>& folders,
            const std::vector<std::int64_t>& sizes, std::size_t depth,
            std::shared_ptr<DiskTransfers> transfers);

  void expect(std::size_t page) override;
  at::Tensor bring(std::size_t page) override;
  void let_go(std::size_t page, bool changed) override;
  std::int64_t bytes() const override;
  std::int64_t bytes_in_memory() const override;

  /// The file in a folder.
  const UnnamedFile& file(std::size_t folder = 0) const { return *files_[folder]; }

 private:
  struct Page {
    std::size_t file;
    std::int64_t at;
    std::int64_t size;
    bool written = false;  ///< else it is zero, wherever it lies
  };
  enum class Does { nothing, reading, writing };
  /// Memory for a page.
  struct Slot {
    std::shared_ptr<std::byte> memory;
    std::optional<std::size_t> page = {};
    Does does = Does::nothing;
    bool used = false;           ///< between `bring` and `let_go`
    std::uint64_t transfer = 0;  ///< of what it does
    std::uint64_t turn = 0;      ///< of its last use
  };

  Slot* slot_of(std::size_t page);
  Slot& emptied();
  Slot& filled(std::size_t page);
  void begin(Slot& slot, std::size_t number, Does what);
  void settle(Slot& slot);
  void take_ends();
  void check(std::size_t page, bool reads, const DiskTransferEnd& end);

  std::string what_;
  std::vector<Page> pages_;
  std::int64_t slot_bytes_ = 0;
  std::vector<std::shared_ptr<const UnnamedFile>> files_;
  std::shared_ptr<DiskTransfers> transfers_;
  std::vector<Slot> slots_;
  std::uint64_t turn_ = 0;
  std::string failed_;  // why
};

}  // namespace riesz
