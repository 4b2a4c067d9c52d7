// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <vector>

#include "riesz/io/file.h"

namespace riesz {

/// Many files that are read at any place; the few opened last are kept open. A file that is cut off or
/// replaced meanwhile is an Error, so wrong bytes are never read. Safe to use from several threads.
class PartFiles {
 public:
  /// Adds a file as it is now; returns its number, from 0 on. @throws Error naming it unless it can be read
  /// and has this number of bytes.
  std::size_t add(const std::filesystem::path& path, std::int64_t bytes);

  const std::filesystem::path& path(std::size_t file) const { return files_[file].path; }
  /// @throws Error naming the file where it ends too early or is not the one that was added.
  void read(std::size_t file, std::int64_t at, void* to, std::int64_t count) const;

 private:
  struct Known {
    std::filesystem::path path;
    FileState state;
  };
  /// @throws Error unless the file is as it was when it was first opened.
  static void check_same(const File& file, const Known& known);

  struct Open {
    std::size_t number;
    File file;
  };

  std::vector<Known> files_;
  mutable std::deque<Open> open_;  // the one opened last comes first
  mutable std::mutex mutex_;
};

}  // namespace riesz
