// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/disk_place.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/disk/disk_pages.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

/// Of a worker.
constexpr std::size_t kMostThreads = 8;

class DiskPlace : public StatePlace {
 public:
  DiskPlace(const std::vector<std::filesystem::path>& folders, const DiskOptions& options)
      : options_(options) {
    RIESZ_CHECK(!folders.empty(), "disk_place: no folder; it needs one or more");
    RIESZ_CHECK(options.page_bytes > 0 && options.page_bytes % kDiskLine == 0, "disk_place: a page of ",
                options.page_bytes, " bytes; it must be a multiple of ", kDiskLine);
    transfers_ = transfers_by(options.by, options.depth);
    for (const std::filesystem::path& folder : folders) {
      folders_.push_back(absolute_path(folder));
      make_folders(folders_.back());
      direct_.push_back(UnnamedFile("a look at the disk", folders_.back(), kDiskLine).direct());
    }
  }

  std::unique_ptr<Pages> room(const std::string& what, const std::vector<std::int64_t>& sizes) override {
    return std::make_unique<DiskPages>(what, folders_, sizes, options_.depth, transfers_);
  }
  std::int64_t page_bytes() const override { return options_.page_bytes; }
  std::size_t depth() const override { return options_.depth; }
  std::string describe() const override {
    std::string text = folders_.size() == 1 ? "the disk of " : "the disks of ";
    for (std::size_t i = 0; i < folders_.size(); ++i)
      text += concat(i == 0                    ? ""
                     : i + 1 < folders_.size() ? ", "
                                               : " and ",
                     in_quotes(folders_[i].string()), " (", transfers_->name(),
                     direct_[i] ? ", past the page cache)" : ", through the page cache)");
    return text;
  }

 private:
  std::vector<std::filesystem::path> folders_;
  DiskOptions options_;
  std::shared_ptr<DiskTransfers> transfers_;
  std::vector<bool> direct_;  // by folder
};

}  // namespace

std::shared_ptr<DiskTransfers> transfers_by(DiskBy by, std::size_t depth) {
  return detail::disk_transfers(by, std::min(2 * depth + 1, kMostThreads));
}

std::shared_ptr<StatePlace> disk_place(const std::filesystem::path& folder, const DiskOptions& options) {
  return disk_place(std::vector<std::filesystem::path>{folder}, options);
}

std::shared_ptr<StatePlace> disk_place(const std::vector<std::filesystem::path>& folders,
                                       const DiskOptions& options) {
  return std::make_shared<DiskPlace>(folders, options);
}

}  // namespace riesz
