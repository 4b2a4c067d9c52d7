// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/disk_place.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/disk/disk_pages.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

/// Of a worker.
constexpr std::size_t kMostThreads = 8;

std::shared_ptr<DiskTransfers> transfers(DiskBy by, std::size_t depth) {
  std::shared_ptr<DiskTransfers> made;
  if (by != DiskBy::threads) made = transfers_by_uring();
  RIESZ_CHECK(
      made || by != DiskBy::uring,
      "the kernel of this host refuses io_uring; read and write the disk by threads (DiskBy::threads)");
  return made ? made : transfers_by_threads(std::min(2 * depth + 1, kMostThreads));
}

class DiskPlace : public StatePlace {
 public:
  DiskPlace(const std::filesystem::path& folder, const DiskOptions& options)
      : folder_(absolute_path(folder)), options_(options) {
    RIESZ_CHECK(options.page_bytes > 0 && options.page_bytes % kDiskLine == 0, "disk_place: a page of ",
                options.page_bytes, " bytes; it must be a multiple of ", kDiskLine);
    transfers_ = transfers(options.by, options.depth);
    make_folders(folder_);
    direct_ = UnnamedFile("a look at the disk", folder_, kDiskLine).direct();
  }

  std::unique_ptr<Pages> room(const std::string& what, const std::vector<std::int64_t>& sizes) override {
    return std::make_unique<DiskPages>(what, folder_, sizes, options_.depth, transfers_);
  }
  std::int64_t page_bytes() const override { return options_.page_bytes; }
  std::size_t depth() const override { return options_.depth; }
  std::string describe() const override {
    return concat("the disk of ", in_quotes(folder_.string()), " (", transfers_->name(),
                  direct_ ? ", past the page cache)" : ", through the page cache)");
  }

 private:
  std::filesystem::path folder_;
  DiskOptions options_;
  std::shared_ptr<DiskTransfers> transfers_;
  bool direct_ = false;
};

}  // namespace

std::shared_ptr<StatePlace> disk_place(const std::filesystem::path& folder, const DiskOptions& options) {
  return std::make_shared<DiskPlace>(folder, options);
}

}  // namespace riesz
