// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/folder.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "checkpoint-";
constexpr std::string_view kUnfinished = ".unfinished", kLock = ".lock";

void check(const std::error_code& error, const char* what, const fs::path& path) {
  RIESZ_CHECK(!error, "cannot ", what, " ", in_quotes(path.string()), ": ", error.message());
}

void remove_folder(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  check(error, "remove", path);
}

/// Swaps two names at once, so that there is no moment without a folder of the second; false where the file
/// system cannot.
bool exchanged(const fs::path& a, const fs::path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

fs::path without_slash(const fs::path& path) {
  const fs::path normal = absolute_path(path);
  return normal.has_filename() ? normal : normal.parent_path();
}

}  // namespace

WholeFolder::WholeFolder(const fs::path& path, bool replaces)
    : path_(without_slash(path)), replaces_(replaces) {
  unfinished_ = path_.parent_path() / ("." + path_.filename().string() + std::string(kUnfinished));
}

void WholeFolder::make() {
  make_folders(path_.parent_path());
  fs::path lock = unfinished_;
  lock += kLock;
  lock_.emplace(path_, lock);
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(path_, error)) && !fs::is_empty(path_, error);
  RIESZ_CHECK(replaces_ || !there, "there is something at ", in_quotes(path_.string()),
              " already; choose another name, or remove it first");
  remove_folder(unfinished_);
  make_folders(unfinished_);
}

void WholeFolder::finish() {
  sync_folder(unfinished_);
  std::error_code error;
  const bool replaces = replaces_ && fs::exists(path_, error);
  const bool swapped = replaces && exchanged(unfinished_, path_);
  if (replaces && !swapped) remove_folder(path_);
  if (!swapped) fs::rename(unfinished_, path_, error);
  check(error, "rename the finished folder to", path_);
  sync_folder(path_.parent_path());
  if (swapped) remove_folder(unfinished_);
  lock_.reset();
}

void WholeFolder::drop() {
  if (!lock_) return;
  std::error_code error;
  fs::remove_all(unfinished_, error);
  lock_.reset();
}

std::string checkpoint_name(std::int64_t step) { return std::string(kName) + std::to_string(step); }

std::vector<std::pair<std::int64_t, fs::path>> checkpoints_in(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    std::int64_t step = 0;
    const char* end = name.data() + name.size();
    if (!name.starts_with(kName) || !entry.is_directory(error)) continue;
    const auto [at, failed] = std::from_chars(name.data() + kName.size(), end, step);
    if (failed == std::errc() && at == end && name == checkpoint_name(step))
      found.emplace_back(step, entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void keep_checkpoints(const fs::path& folder, std::int64_t keep, std::int64_t stays) {
  std::vector<fs::path> goes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool left = name.ends_with(kUnfinished) || name.ends_with(concat(kUnfinished, kLock));
    if (name.starts_with("." + std::string(kName)) && left) goes.push_back(entry.path());
  }
  const auto all = checkpoints_in(folder);
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) {
    if (all[i].first == stays) continue;
    // Away from its name at once: a part of it must not look like a whole one.
    const fs::path aside = folder / ("." + checkpoint_name(all[i].first) + std::string(kUnfinished));
    fs::rename(all[i].second, aside, error);
    check(error, "remove", all[i].second);
    goes.push_back(aside);
  }
  for (const fs::path& path : goes) remove_folder(path);
}

}  // namespace riesz
